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
use tokio::sync::{OnceCell, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

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
        let rid = self.rid.take().unwrap_or_default();
        self.client.all().held.remove(&rid);
        let items = [ReleaseItem::new(rid)];
        self.client.locks.release(ReleaseArgs::new(items)).await?;
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
        tokio::spawn(async move {
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
    /// When we asked for the domain's time, and what it was.
    clock: Arc<OnceCell<(Instant, i64)>>,
}

impl LockClient {
    pub fn new(locks: Lock) -> Self {
        let (all, clock) = Default::default();
        Self { locks, all, clock }
    }

    /// Wait for a lock, for so long at most.
    pub async fn take(&self, resource: &str, wait: Duration) -> Result<Grant, NotGranted> {
        let issued_ms = self.now().await?;
        let rid = new_rid();
        let mut asked = Instant::now();
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
        let (fence, lease_ms) = match self.locks.acquire(request).await? {
            AcquireAnswer::Granted {
                now_ms,
                fence,
                deadline_ms,
            } => (fence, deadline_ms - now_ms),
            AcquireAnswer::Queued { mut poll_ms, .. } => loop {
                sleep(milliseconds(poll_ms)).await;
                asked = Instant::now();
                let poll = PollArgs::new([PollItem::new(&rid)]);
                let mut answer = self.locks.poll(poll).await?;
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
        over.send_replace(asked + lease);
        self.keep(rid, over, lease);
        Ok(grant)
    }

    /// Now, on the domain's clock.
    async fn now(&self) -> Result<i64, Error> {
        let ask = async || {
            let asked = Instant::now();
            let answer = self.locks.stats(StatsArgs::default()).await?;
            Ok((asked, answer.now_ms))
        };
        let (asked, now_ms) = self.clock.get_or_try_init(ask).await?;
        Ok(now_ms + asked.elapsed().as_millis() as i64)
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
            if let Ok(Err(error)) = timeout(every, self.renew_once(&rids)).await {
                eprintln!("{error}");
            }
        }
    }

    async fn renew_once(&self, rids: &[String]) -> Result<(), Error> {
        let asked = Instant::now();
        let items: Vec<_> = rids.iter().map(RenewItem::new).collect();
        let answer = self.locks.renew(RenewArgs::new(items)).await?;
        let all = self.all();
        for (rid, item) in rids.iter().zip(answer.items) {
            let left = match item {
                RenewItemAnswer::Renewed { deadline_ms } => deadline_ms - answer.now_ms,
                _ => 0,
            };
            if let Some(over) = all.held.get(rid) {
                over.send_replace(asked + milliseconds(left));
            }
        }
        Ok(())
    }
}

fn milliseconds(number: i64) -> Duration {
    Duration::from_millis(number.try_into().unwrap_or_default())
}
