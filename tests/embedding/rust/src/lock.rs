//! Locks with a wait, a fence and renewal. What a client has to do, and why, is in "Writing a lock
//! client" of the contract.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use pyadeq::aio::Lock;
use pyadeq::lock::{
    AcquireAnswer, AcquireArgs, CancelArgs, CancelItem, PollArgs, PollItem, PollItemAnswer,
    ReleaseArgs, ReleaseItem, RenewArgs, RenewItem, RenewItemAnswer, StatsArgs,
};
use pyadeq::{Error, new_rid};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

const LONGEST_WAIT: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(100);
/// Before the poll after the wait is over, whose end has to reach the server.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const MOST_ITEMS: usize = 1000; // in a call

/// Why there is no lock.
#[derive(Debug)]
pub enum NotGranted {
    /// What a request was answered.
    Answered(AcquireAnswer),
    /// What its wait ended with.
    Ended(PollItemAnswer),
    /// The call itself failed.
    Failed(Error),
}

impl fmt::Display for NotGranted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(answer) => write!(f, "the lock was not granted: {answer:?}"),
            Self::Ended(answer) => write!(f, "the wait has ended: {answer:?}"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotGranted {}

impl From<Error> for NotGranted {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A request for a lock, and then the lock. Dropped, it is given back; so is a wait that is dropped.
pub struct Grant {
    client: LockClient,
    rid: Option<String>,
    fence: i64,
    /// When it is over, unless it is renewed.
    until: watch::Receiver<Instant>,
}

impl Grant {
    /// Goes with what is written elsewhere; each grant of a resource has a larger one.
    pub fn fence(&self) -> i64 {
        self.fence
    }

    /// Whether somebody else may have it.
    pub fn is_lost(&self) -> bool {
        *self.until.borrow() <= Instant::now()
    }

    /// Wait until it is lost.
    pub async fn lost(&self) {
        let mut until = self.until.clone();
        loop {
            let over = *until.borrow_and_update();
            let Ok(Ok(())) = timeout_at(over, until.changed()).await else {
                return;
            };
        }
    }

    pub async fn release(mut self) -> Result<(), Error> {
        if let Some(rid) = &self.rid {
            self.client.all().held.remove(rid);
            let items = [ReleaseItem::new(rid)];
            self.client.locks.release(ReleaseArgs::new(items)).await?;
        }
        self.rid = None; // else it is given back when it is dropped
        Ok(())
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let Some(rid) = self.rid.take() else {
            return;
        };
        let client = self.client.clone();
        client.all().held.remove(&rid);
        // It may wait, or hold, or arrive yet: none of that is wanted any more.
        let runtime = client.runtime.clone();
        runtime.spawn(async move {
            let items = [CancelItem::new(rid)];
            client.locks.cancel(CancelArgs::new(items)).await
        });
    }
}

/// What is held, by rid: when each is over.
#[derive(Default)]
struct All {
    held: HashMap<String, watch::Sender<Instant>>,
    renewing: bool,
    /// How often.
    every: Duration,
}

#[derive(Clone)]
pub struct LockClient {
    locks: Lock,
    all: Arc<Mutex<All>>,
    /// When we asked last for something, and the domain's time of the reply.
    clock: Arc<Mutex<Option<(Instant, i64)>>>,
    /// Grants may be dropped outside of it.
    runtime: Handle,
}

impl LockClient {
    /// Within a runtime.
    pub fn new(locks: Lock) -> Self {
        let (all, clock) = Default::default();
        let runtime = Handle::current();
        Self {
            locks,
            all,
            clock,
            runtime,
        }
    }

    /// Wait for a lock, for so long at most.
    pub async fn take(&self, resource: &str, wait: Duration) -> Result<Grant, NotGranted> {
        let issued_ms = self.now().await?;
        let rid = new_rid();
        let sent = Instant::now();
        let mut asked = sent;
        let (over, until) = watch::channel(asked);
        let mut grant = Grant {
            client: self.clone(),
            rid: Some(rid.clone()),
            fence: 0,
            until,
        };
        let request = AcquireArgs {
            wait_ms: Some(wait.as_millis() as i64),
            ..AcquireArgs::new(&rid, resource, new_rid(), issued_ms)
        };
        let answer = self.locks.acquire(request).await?;
        if let AcquireAnswer::Granted { now_ms, .. }
        | AcquireAnswer::Queued { now_ms, .. }
        | AcquireAnswer::Busy { now_ms }
        | AcquireAnswer::RequestExpired { now_ms } = answer
        {
            self.set_clock(asked, now_ms);
        }
        let (fence, lease_ms) = match answer {
            AcquireAnswer::Granted {
                now_ms,
                fence,
                deadline_ms,
            } => (fence, deadline_ms - now_ms),
            AcquireAnswer::Queued { mut poll_ms, .. } => loop {
                let left = (sent + wait).saturating_duration_since(Instant::now());
                sleep(milliseconds(poll_ms).min(left + FIRST_PAUSE)).await;
                asked = Instant::now();
                let poll = PollArgs::new([PollItem::new(&rid)]);
                let mut answer = self.locks.poll(poll).await?;
                self.set_clock(asked, answer.now_ms);
                match answer.items.remove(0) {
                    PollItemAnswer::Granted {
                        deadline_ms,
                        fences,
                    } => break (fences[0].fence, deadline_ms - answer.now_ms),
                    PollItemAnswer::Queued { poll_ms: next, .. } => poll_ms = next,
                    ended => {
                        grant.rid = None;
                        return Err(NotGranted::Ended(ended));
                    }
                }
            },
            answer => {
                grant.rid = None;
                return Err(NotGranted::Answered(answer));
            }
        };
        grant.fence = fence;
        let lease = milliseconds(lease_ms);
        over.send_replace(asked + lease.saturating_sub(TICK));
        self.keep(rid, over, lease);
        Ok(grant)
    }

    /// Now, on the domain's clock.
    async fn now(&self) -> Result<i64, Error> {
        let known = *self.clock.lock().expect("no panic while it is locked");
        if let Some((asked, now_ms)) = known {
            return Ok(now_ms + asked.elapsed().as_millis() as i64);
        }
        let asked = Instant::now();
        let answer = self.locks.stats(StatsArgs::default()).await?;
        self.set_clock(asked, answer.now_ms);
        Ok(answer.now_ms)
    }

    fn set_clock(&self, asked: Instant, now_ms: i64) {
        let mut clock = self.clock.lock().expect("no panic while it is locked");
        *clock = Some((asked, now_ms));
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().expect("no panic while it is locked")
    }

    /// Renew it from now on, together with all that is held.
    fn keep(&self, rid: String, over: watch::Sender<Instant>, lease: Duration) {
        let mut all = self.all();
        all.held.insert(rid, over);
        all.every = lease / 3;
        if !all.renewing {
            all.renewing = true;
            tokio::spawn(self.clone().renew());
        }
    }

    async fn renew(self) {
        loop {
            let every = self.all().every;
            sleep(every).await;
            let rids: Vec<String> = {
                let mut all = self.all();
                let now = Instant::now();
                all.held.retain(|_, over| *over.borrow() > now);
                all.renewing = !all.held.is_empty();
                all.held.keys().cloned().collect()
            };
            if rids.is_empty() {
                return;
            }
            for rids in rids.chunks(MOST_ITEMS) {
                if let Err(error) = self.renew_once(rids, every.min(LONGEST_WAIT)).await {
                    eprintln!("{error}");
                }
            }
        }
    }

    async fn renew_once(&self, rids: &[String], within: Duration) -> Result<(), Error> {
        let locks = self.locks.with_timeout(within)?;
        let asked = Instant::now();
        let items: Vec<_> = rids.iter().map(RenewItem::new).collect();
        let answer = locks.renew(RenewArgs::new(items)).await?;
        self.set_clock(asked, answer.now_ms);
        let all = self.all();
        for (rid, item) in rids.iter().zip(answer.items) {
            let left = match item {
                RenewItemAnswer::Renewed { deadline_ms } => deadline_ms - answer.now_ms,
                _ => 0,
            };
            if let Some(over) = all.held.get(rid) {
                over.send_replace(asked + milliseconds(left).saturating_sub(TICK));
            }
        }
        Ok(())
    }
}

fn milliseconds(number: i64) -> Duration {
    Duration::from_millis(number.try_into().unwrap_or_default())
}
