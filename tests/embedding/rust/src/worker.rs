//! A worker: claims, heartbeats, settles, and ends in good order. What it has to do, and why, is in
//! "Writing a worker" of the contract.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::pending;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pyadeq::aio::Queue;
use pyadeq::queue::{
    AckArgs, AckItem, DeregisterArgs, FailArgs, FailItem, HeartbeatArgs, HeartbeatItem,
    HeartbeatItemAnswer, RegisterAbout, RegisterArgs, ReleaseArgs, ReleaseItem, SettleAcks,
    SettleAnswer, SettleArgs, SettleFails, SettleLanesWanted, SettleLeaseAnswer,
};
use pyadeq::{Error, LAYOUT, new_rid};
use redis::Client;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::hints::Hints;

const LONGEST_WAIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
const LARGEST_RESULT: usize = 1024 * 1024; // bytes
const MOST_RESULTS: usize = 8 * 1024 * 1024; // bytes in a call
const MOST_ITEMS: usize = 1000; // in a call, and so held

/// A task that is to be done.
pub type Lease = SettleLeaseAnswer;

/// A result, or an error; either is the task's.
pub type Outcome = Result<Vec<u8>, Box<dyn StdError + Send + Sync>>;

pub struct Options {
    pub name: String,
    pub group: Option<String>,
    /// From the narrowest to the widest.
    pub lanes: Vec<String>,
    /// How many tasks run at a time.
    pub capacity: usize,
    /// How long running tasks may take once it stops.
    pub grace: Duration,
}

pub struct Worker<H> {
    queue: Queue,
    client: Client,
    handler: H,
    options: Options,
    state: Arc<State>,
    stopped: watch::Sender<bool>,
    registered: watch::Sender<bool>,
}

/// What running tasks change, too.
struct State {
    now: Mutex<Now>,
    changed: watch::Sender<()>,
}

impl State {
    fn now(&self) -> MutexGuard<'_, Now> {
        self.now.lock().expect("no panic while it is locked")
    }

    /// Drop what somebody else may have soon; settling tells what came of that which has ended.
    fn lose(&self) {
        let soon = Instant::now() + TICK;
        let mut now = self.now();
        let before = now.held.len();
        now.held
            .retain(|_, held| held.ended.is_some() || held.until > soon);
        if now.held.len() < before {
            self.changed.send_replace(());
        }
    }
}

/// However `run` ends, nothing runs without a lease then.
struct Ending<'a>(&'a State);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.now().held.clear();
    }
}

struct Now {
    /// By token.
    held: HashMap<String, Held>,
    incarnation: String,
    calls: i64,
    lease: Duration,
    /// How many calls are on their way that give something back.
    giving_back: usize,
    grace_over: bool,
    mode: String,
    wanted: usize,
}

/// A lease, from the claim until it is settled. Dropped, its task ends.
struct Held {
    id: String,
    /// Tells the task to end, and why.
    ending: Option<oneshot::Sender<&'static str>>,
    /// When the lease is over, if no heartbeat renews it.
    until: Instant,
    ended: Option<Result<Vec<u8>, Failure>>,
    task: JoinHandle<()>,
}

struct Failure {
    reason: &'static str,
    error: String,
}

impl<H, F> Worker<H>
where
    H: Fn(Lease) -> F,
    F: Future<Output = Outcome> + Send + 'static,
{
    /// `handler` does one task, and is dropped where that has to end before it is done. Blocking
    /// calls have a connection of their own, which `client` opens.
    pub fn new(queue: Queue, client: Client, handler: H, options: Options) -> Self {
        let now = Mutex::new(Now {
            held: HashMap::new(),
            incarnation: String::new(),
            calls: 0,
            lease: LONGEST_WAIT,
            giving_back: 0,
            grace_over: false,
            mode: "run".into(),
            wanted: 0,
        });
        let changed = watch::Sender::default();
        Self {
            queue,
            client,
            handler,
            options,
            state: Arc::new(State { now, changed }),
            stopped: watch::Sender::default(),
            registered: watch::Sender::default(),
        }
    }

    /// Work until `stop`.
    pub async fn run(&self) -> Result<(), Error> {
        let _ending = Ending(&self.state);
        self.register().await?;
        self.registered.send_replace(true);
        tokio::select! {
            done = self.work() => done?,
            never = self.beat() => match never {},
            never = self.lose_in_time() => match never {},
            never = self.end_after_grace() => match never {},
        }
        let incarnation = self.now().incarnation.clone();
        let args = DeregisterArgs::new(&self.options.name, incarnation);
        self.queue.deregister(args).await?;
        Ok(())
    }

    /// Wait until others see it.
    pub async fn registered(&self) {
        let mut registered = self.registered.subscribe();
        let _ = registered.wait_for(|registered| *registered).await;
    }

    /// Claim no more; `run` is over when all that runs has ended, or has been given back.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
        self.state.changed.send_replace(());
    }

    async fn work(&self) -> Result<(), Error> {
        let mut hints = Hints::new(self.client.clone());
        while !self.is_over() {
            match self.settle().await {
                Ok(most) => self.wait(&mut hints, most).await,
                Err(error @ Error::Script { .. }) => return Err(error),
                Err(error) if self.now().grace_over => return Err(error),
                Err(error) => {
                    eprintln!("{error}");
                    sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    async fn register(&self) -> Result<(), Error> {
        let incarnation = new_rid();
        self.now().incarnation = incarnation.clone();
        let about = RegisterAbout {
            pid: Some(process::id().into()),
            layout: Some(LAYOUT),
            lanes: Some(self.options.lanes.clone()),
            capacity: Some(self.options.capacity as i64),
            group: self.options.group.clone(),
            ..RegisterAbout::default()
        };
        let args = RegisterArgs {
            about: Some(about),
            ..RegisterArgs::new(&self.options.name, incarnation)
        };
        self.queue.register(args).await?;
        Ok(())
    }

    /// Report what has ended, claim what there is room for, and say how long there is nothing to do.
    async fn settle(&self) -> Result<Duration, Error> {
        let args = self.to_settle();
        let (acks, fails) = (args.acks.clone(), args.fails.clone());
        let asked = Instant::now();
        match self.queue.settle(args).await? {
            SettleAnswer::Ok {
                now_ms,
                next_ms,
                lease_ms,
                deadline_ms,
                leases,
                ..
            } => {
                self.forget(&acks, &fails);
                if self.now().grace_over && !leases.is_empty() {
                    let items = leases.iter();
                    let items = items.map(|lease| ReleaseItem::new(&lease.id, &lease.token));
                    let items: Vec<_> = items.collect();
                    self.queue.release(ReleaseArgs::new(items)).await?;
                    return Ok(Duration::ZERO);
                }
                for lease in leases {
                    self.start(lease, asked + milliseconds(deadline_ms - now_ms));
                }
                let lease = milliseconds(lease_ms);
                self.now().lease = lease;
                let due = match next_ms {
                    0 => LONGEST_WAIT,
                    _ => milliseconds(next_ms - now_ms),
                };
                Ok(due.min(LONGEST_WAIT).min(lease))
            }
            SettleAnswer::Stale => {
                self.leave(acks, fails).await?;
                Ok(Duration::ZERO)
            }
            SettleAnswer::Unregistered => {
                self.register().await?;
                Ok(Duration::ZERO)
            }
        }
    }

    fn to_settle(&self) -> SettleArgs {
        let room = match self.claims() {
            true => self.free(),
            false => 0,
        };
        let mut now = self.now();
        now.calls += 1;
        let (name, n) = (&self.options.name, now.calls);
        let mut args = SettleArgs::new(name, &now.incarnation, 0, n, 0);
        let lanes = self.options.lanes.iter();
        args.lanes_wanted = lanes.map(SettleLanesWanted::new).collect();
        let most = MOST_ITEMS - args.lanes_wanted.len();
        let mut bytes = 0;
        for (token, held) in &now.held {
            match &held.ended {
                _ if args.acks.len() + args.fails.len() == most => break,
                None => {}
                Some(Ok(result)) if bytes + result.len() <= MOST_RESULTS => {
                    bytes += result.len();
                    let ack = SettleAcks::new(&held.id, token, result.as_slice());
                    args.acks.push(ack);
                }
                Some(Ok(_)) => {}
                Some(Err(failure)) => args.fails.push(SettleFails {
                    reason: Some(failure.reason.into()),
                    error: Some(failure.error.clone().into()),
                    jitter_ppm: Some(fastrand::i64(0..1_000_000)),
                    ..SettleFails::new(&held.id, token)
                }),
            }
        }
        let busy = now.held.len() - args.acks.len() - args.fails.len();
        args.busy = Some(busy as i64);
        args.limit = room.min(MOST_ITEMS.saturating_sub(busy)) as i64;
        args
    }

    fn forget(&self, acks: &[SettleAcks], fails: &[SettleFails]) {
        let mut now = self.now();
        let tokens = acks.iter().map(|ack| &ack.token);
        for token in tokens.chain(fails.iter().map(|fail| &fail.token)) {
            now.held.remove(token);
        }
    }

    /// Somebody else has this worker's name now. What has ended or runs needs tokens only.
    async fn leave(&self, acks: Vec<SettleAcks>, fails: Vec<SettleFails>) -> Result<(), Error> {
        self.stop();
        let completed = acks
            .iter()
            .map(|ack| AckItem::new(&ack.id, &ack.token, &*ack.result));
        let failed = fails.iter().map(|fail| FailItem {
            reason: fail.reason.clone(),
            error: fail.error.clone(),
            jitter_ppm: fail.jitter_ppm,
            ..FailItem::new(&fail.id, &fail.token)
        });
        if !acks.is_empty() {
            let items: Vec<_> = completed.collect();
            self.queue.ack(AckArgs::new(items)).await?;
        }
        if !fails.is_empty() {
            let items: Vec<_> = failed.collect();
            self.queue.fail(FailArgs::new(items)).await?;
        }
        self.forget(&acks, &fails);
        self.give_back().await
    }

    async fn end_after_grace(&self) -> Infallible {
        let mut stopped = self.stopped.subscribe();
        let _ = stopped.wait_for(|stopped| *stopped).await;
        sleep(self.options.grace).await;
        self.now().grace_over = true;
        loop {
            if let Err(error) = self.give_back().await {
                eprintln!("{error}");
            }
            sleep(PAUSE).await;
        }
    }

    /// Others may do what still runs here.
    async fn give_back(&self) -> Result<(), Error> {
        let running: Vec<_> = {
            let mut now = self.now();
            let running = now.held.extract_if(|_, held| held.ended.is_none());
            let running: Vec<_> = running.collect();
            if running.is_empty() {
                return Ok(());
            }
            now.giving_back += 1;
            running
        };
        let items = running.iter();
        let items: Vec<_> = items
            .map(|(token, held)| ReleaseItem::new(&held.id, token))
            .collect();
        let tasks: Vec<_> = running.into_iter().map(|(_, held)| held.task).collect();
        let ended = async {
            for task in tasks {
                let _ = task.await;
            }
        };
        let _ = timeout(PAUSE, ended).await; // one that blocks its thread does not end
        let given = self.queue.release(ReleaseArgs::new(items)).await;
        self.now().giving_back -= 1;
        self.state.changed.send_replace(());
        given.map(drop)
    }

    /// Wait until there is something to do.
    async fn wait(&self, hints: &mut Hints, most: Duration) {
        let mut changes = self.state.changed.subscribe();
        let ended = self.now().held.values().any(|held| held.ended.is_some());
        if most.is_zero() || ended || self.is_over() {
            return;
        }
        let keys = self.queue.keys();
        let control = keys.control(&self.options.name);
        let mut names = vec![control.clone()];
        // The token of a lane wakes one worker only, so it has to be one with room for a task.
        if self.claims() && self.free() > 0 {
            names.extend(self.options.lanes.iter().map(|lane| keys.wake(lane)));
        }
        let hint = hints.next(&names, most, changes.changed()).await;
        if hint.is_err() {
            let _ = timeout(PAUSE, changes.changed()).await;
        }
        // Whatever was said while the connection was lost, nobody heard it.
        if hint.is_err() || hint.is_ok_and(|name| name == Some(control)) {
            self.heartbeat_or_log().await;
        }
    }

    fn start(&self, lease: Lease, until: Instant) {
        let (ending, ended) = oneshot::channel();
        let token = lease.token.clone();
        let (id, key) = (lease.id.clone(), lease.token.clone());
        let longest = lease.record.get("timeout_ms").and_then(|text| {
            let text = std::str::from_utf8(text).ok()?;
            Some(milliseconds(text.parse().ok()?))
        });
        let run = (self.handler)(lease);
        let state = self.state.clone();
        let mut now = self.now(); // so that it does not end before it is there
        let task = tokio::spawn(async move {
            let outcome = execute(run, longest, ended).await;
            if let Some(held) = state.now().held.get_mut(&token) {
                held.ended = Some(outcome);
                state.changed.send_replace(());
            }
        });
        let held = Held {
            id,
            ending: Some(ending),
            until,
            ended: None,
            task,
        };
        now.held.insert(key, held);
    }

    /// Whatever becomes of a heartbeat, no task runs on when its lease is over.
    async fn lose_in_time(&self) -> Infallible {
        loop {
            sleep(TICK).await;
            self.state.lose();
        }
    }

    async fn beat(&self) -> Infallible {
        let mut beaten = Instant::now();
        loop {
            sleep(TICK).await;
            if beaten.elapsed() >= self.every() {
                beaten = Instant::now();
                self.heartbeat_or_log().await;
            }
        }
    }

    /// How often a lease is renewed; it may be shorter now.
    fn every(&self) -> Duration {
        LONGEST_WAIT.min(self.now().lease / 3)
    }

    async fn heartbeat_or_log(&self) {
        if let Err(error) = self.heartbeat().await {
            eprintln!("{error}");
        }
    }

    async fn heartbeat(&self) -> Result<(), Error> {
        let (tokens, items): (Vec<_>, Vec<_>) = {
            let now = self.now();
            let held = now.held.iter();
            held.map(|(token, held)| (token.clone(), HeartbeatItem::new(&held.id, token)))
                .unzip()
        };
        let args = HeartbeatArgs {
            worker: Some(self.options.name.clone()),
            busy: Some(items.len() as i64),
            items,
            ..HeartbeatArgs::default()
        };
        let asked = Instant::now();
        let queue = self.queue.with_timeout(self.every())?;
        let answer = queue.heartbeat(args).await?;
        if matches!(answer.mode.as_str(), "stop" | "restart") {
            self.stop();
        }
        let mut now = self.now();
        now.mode = answer.mode;
        now.wanted = answer.wanted.try_into().unwrap_or_default();
        for (token, item) in tokens.iter().zip(answer.items) {
            let (deadline_ms, reason) = match item {
                HeartbeatItemAnswer::Renewed { deadline_ms } => (deadline_ms, None),
                HeartbeatItemAnswer::Cancelling { deadline_ms } => (deadline_ms, Some("cancelled")),
                HeartbeatItemAnswer::TimedOut { deadline_ms } => (deadline_ms, Some("timeout")),
                HeartbeatItemAnswer::LeaseLost => (0, None),
            };
            let Some(held) = now.held.get_mut(token) else {
                continue;
            };
            held.until = asked + milliseconds(deadline_ms - answer.now_ms);
            if let Some(reason) = reason
                && let Some(ending) = held.ending.take()
            {
                let _ = ending.send(reason);
            }
        }
        drop(now);
        self.state.lose();
        Ok(())
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.state.now()
    }

    fn is_over(&self) -> bool {
        let now = self.now();
        *self.stopped.borrow() && now.held.is_empty() && now.giving_back == 0
    }

    fn claims(&self) -> bool {
        self.now().mode == "run" && !*self.stopped.borrow()
    }

    fn free(&self) -> usize {
        let now = self.now();
        let running = now
            .held
            .values()
            .filter(|held| held.ended.is_none())
            .count();
        let most = match now.wanted {
            0 => self.options.capacity,
            wanted => wanted,
        };
        most.min(MOST_ITEMS).saturating_sub(running)
    }
}

/// Do a task, unless it takes too long or has to end before it is done.
async fn execute(
    run: impl Future<Output = Outcome> + Send + 'static,
    longest: Option<Duration>,
    ending: oneshot::Receiver<&'static str>,
) -> Result<Vec<u8>, Failure> {
    let mut run = tokio::spawn(run); // a panic is an error like others
    let late = async {
        match longest {
            Some(longest) => sleep(longest).await,
            None => pending().await,
        }
    };
    let reason = tokio::select! {
        done = &mut run => {
            let outcome = done.unwrap_or_else(|panic| Err(panic.into()));
            return outcome.and_then(accepted).map_err(|error| Failure {
                reason: "error",
                error: error.to_string().chars().take(1000).collect(),
            });
        }
        () = late => "timeout",
        reason = ending => reason.unwrap_or("lost"),
    };
    run.abort();
    let _ = run.await;
    Err(Failure {
        reason,
        error: "it was ended".into(),
    })
}

/// A result that does not fit is the failure of its task, and must not be that of a call.
fn accepted(result: Vec<u8>) -> Outcome {
    match result.len() {
        ..=LARGEST_RESULT => Ok(result),
        size => Err(format!("a result of {size} bytes; allowed: 1 MiB").into()),
    }
}

fn milliseconds(number: i64) -> Duration {
    Duration::from_millis(number.try_into().unwrap_or_default())
}
