//! The worker and the lock client that the pages show: cargo test, with URL in the environment.

use std::env;
use std::future::pending;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use embedding::lock::{LockClient, NotGranted};
use embedding::worker::{Lease, Options, Outcome, Worker};
use pyadeq::aio::{Adeq, Lock, Queue};
use pyadeq::lock::{self, AcquireAnswer, ForceReleaseArgs};
use pyadeq::queue::{
    self, CancelArgs, CancelItem, ConfigureSettings, EnqueueArgs, EnqueueItem, GetArgs, GetItem,
    GetItemAnswer, Mode, SteerArgs, SteerItem, WorkersArgs,
};
use redis::aio::ConnectionManager;
use redis::{AsyncCommands, Client, cmd};
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything here takes, and shorter than a worker waits that nobody wakes.
const WOKEN: Duration = Duration::from_secs(5);

struct Place {
    client: Client,
    server: ConnectionManager,
    queue: Queue,
    locks: Lock,
}

impl Place {
    /// On the server, which is empty.
    async fn new() -> Self {
        let client = Client::open(env::var("URL").expect("URL")).unwrap();
        let mut server = client.get_connection_manager().await.unwrap();
        cmd("FLUSHALL").exec_async(&mut server).await.unwrap();
        let adeq = Adeq::new(client.clone());
        Self {
            client,
            server,
            queue: adeq.queue("q").unwrap(),
            locks: adeq.locks("d").unwrap(),
        }
    }

    /// Have a worker run, and stop it whatever happens.
    async fn working<H, F, D>(
        &self,
        handler: H,
        grace: Duration,
        during: impl FnOnce(Arc<Worker<H>>) -> D,
    ) where
        H: Fn(Lease) -> F + Send + Sync + 'static,
        F: Future<Output = Outcome> + Send + 'static,
        D: Future<Output = ()>,
    {
        let options = Options {
            name: "w".into(),
            group: None,
            lanes: vec!["group/g".into(), "any".into()],
            capacity: 2,
            grace,
        };
        let (queue, client) = (self.queue.clone(), self.client.clone());
        let worker = Arc::new(Worker::new(queue, client, handler, options));
        let running = worker.clone();
        let test = async {
            worker.registered().await;
            during(worker.clone()).await;
            worker.stop();
        };
        let (done, ()) = tokio::join!(running.run(), test);
        done.unwrap();
    }

    async fn enqueue(&self, item: EnqueueItem) {
        self.queue.enqueue(EnqueueArgs::new([item])).await.unwrap();
    }

    async fn look(&self, id: &str) -> (String, Vec<u8>, Vec<u8>) {
        let answer = self
            .queue
            .get(GetArgs::new([GetItem::new(id)]))
            .await
            .unwrap();
        let GetItemAnswer::Found {
            state,
            record,
            result,
            ..
        } = answer.items[0].clone()
        else {
            panic!("{id} is not there");
        };
        let reason = record.get("reason").cloned();
        (state, result, reason.unwrap_or_default())
    }

    /// Wait until a task has come so far.
    async fn until(&self, id: &str, state: &str) {
        until(async || self.look(id).await.0 == state).await;
    }
}

async fn until(condition: impl AsyncFn() -> bool) {
    let condition = async {
        while !condition().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(20), condition)
        .await
        .expect("it never came");
}

fn task(id: &str) -> EnqueueItem {
    EnqueueItem::new(id, "{}")
}

fn task_of_one_attempt(id: &str) -> EnqueueItem {
    EnqueueItem {
        max_attempts: Some(1),
        ..task(id)
    }
}

async fn empty(_: Lease) -> Outcome {
    Ok(Vec::new())
}

async fn forever(_: Lease) -> Outcome {
    pending().await
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn tasks_of_all_its_lanes_are_done_those_that_come_while_it_waits_as_well() {
    let place = Place::new().await;
    for id in ["a", "b", "c"] {
        place.enqueue(task(id)).await;
    }
    let handler = async |lease: Lease| Ok(lease.id.into());
    let handler = move |lease| handler(lease);
    place
        .working(handler, LONG, async |_| {
            place.until("c", "completed").await;
            let began = Instant::now();
            let lane = Some("group/g".into());
            place.enqueue(EnqueueItem { lane, ..task("t") }).await;
            place.until("t", "completed").await;
            assert!(began.elapsed() < WOKEN);
        })
        .await;
    assert_eq!(place.look("t").await.1, b"t");
    let workers = place.queue.workers(WorkersArgs::default()).await.unwrap();
    assert_eq!(workers.items, []);
}

#[tokio::test]
async fn what_fails_is_tried_again() {
    let place = Place::new().await;
    let backoff_base_ms = Some(1);
    place
        .enqueue(EnqueueItem {
            backoff_base_ms,
            ..task("t")
        })
        .await;
    let handler = async |lease: Lease| match lease.attempt {
        1 => Err("not yet".into()),
        attempt => Ok(attempt.to_string().into()),
    };
    place
        .working(handler, LONG, async |_| place.until("t", "completed").await)
        .await;
    assert_eq!(place.look("t").await.1, b"2");
}

#[tokio::test]
async fn a_panic_is_a_failure_like_others() {
    let place = Place::new().await;
    place.enqueue(task_of_one_attempt("t")).await;
    let handler = async |_: Lease| panic!("on purpose");
    place
        .working(handler, LONG, async |_| place.until("t", "dead").await)
        .await;
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_its_task() {
    let place = Place::new().await;
    place.enqueue(task_of_one_attempt("t")).await;
    let handler = async |_: Lease| Ok(vec![b'x'; (1 << 20) + 1]);
    place
        .working(handler, LONG, async |_| place.until("t", "dead").await)
        .await;
}

#[tokio::test]
async fn a_task_that_is_cancelled_ends() {
    let place = Place::new().await;
    place.enqueue(task("t")).await;
    place
        .working(forever, LONG, async |_| {
            place.until("t", "running").await;
            let cancel = CancelArgs::new([CancelItem::new("t")]);
            place.queue.cancel(cancel).await.unwrap();
            place.until("t", "cancelled").await;
        })
        .await;
}

#[tokio::test]
async fn a_task_that_takes_too_long_fails_with_the_reason_timeout() {
    let place = Place::new().await;
    let item = EnqueueItem {
        timeout_ms: Some(50),
        ..task_of_one_attempt("t")
    };
    place.enqueue(item).await;
    place
        .working(forever, LONG, async |_| place.until("t", "dead").await)
        .await;
    assert_eq!(place.look("t").await.2, b"timeout");
}

#[tokio::test]
async fn a_lease_is_renewed_while_its_task_runs() {
    let place = Place::new().await;
    let settings = ConfigureSettings {
        lease_ms: Some(1000),
        ..ConfigureSettings::default()
    };
    let args = queue::ConfigureArgs {
        settings: Some(settings),
        ..queue::ConfigureArgs::default()
    };
    place.queue.configure(args).await.unwrap();
    place.enqueue(task("t")).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let handler = move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        async {
            sleep(Duration::from_millis(2500)).await;
            Ok(Vec::new())
        }
    };
    place
        .working(handler, LONG, async |_| place.until("t", "completed").await)
        .await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn it_is_quiet_when_told_so_and_goes_on() {
    let place = Place::new().await;
    let steer = async |mode| {
        let args = SteerArgs {
            mode: Some(mode),
            ..SteerArgs::new([SteerItem::new("w")])
        };
        place.queue.steer(args).await.unwrap();
    };
    place
        .working(empty, LONG, async |_| {
            steer(Mode::Quiet).await;
            let control = place.queue.keys().control("w");
            let heard = async || {
                let length: i64 = place.server.clone().llen(&control).await.unwrap();
                length == 0
            };
            until(heard).await;
            place.enqueue(task("t")).await;
            sleep(Duration::from_millis(100)).await;
            assert_eq!(place.look("t").await.0, "ready");
            steer(Mode::Run).await;
            place.until("t", "completed").await;
        })
        .await;
}

#[tokio::test]
async fn what_still_runs_when_its_time_is_up_is_given_back() {
    let place = Place::new().await;
    place.enqueue(task("t")).await;
    let grace = Duration::from_millis(50);
    place
        .working(forever, grace, async |_| place.until("t", "running").await)
        .await;
    assert_eq!(place.look("t").await.0, "ready");
}

#[tokio::test]
async fn it_registers_again_when_the_server_has_forgotten_it() {
    let place = Place::new().await;
    place
        .working(empty, LONG, async |_| {
            let keys = place.queue.keys();
            let both = [keys.workers(), keys.worker_hash("w")];
            place.server.clone().del::<_, ()>(&both).await.unwrap();
            place.enqueue(task("t")).await;
            place.until("t", "completed").await;
        })
        .await;
}

#[tokio::test]
async fn a_second_one_of_its_name_takes_its_place() {
    let place = Place::new().await;
    place.enqueue(task("t")).await;
    place
        .working(forever, LONG, async |_| {
            place.until("t", "running").await;
            place
                .working(empty, LONG, async |_| place.until("t", "completed").await)
                .await;
        })
        .await;
}

#[tokio::test]
async fn it_goes_on_when_its_connections_are_cut() {
    let place = Place::new().await;
    place
        .working(empty, LONG, async |_| {
            let mut admin = place.client.get_connection().unwrap();
            loop {
                let clients: String = cmd("INFO").arg("clients").query(&mut admin).unwrap();
                if clients.contains("blocked_clients:1") {
                    break;
                }
                sleep(Duration::from_millis(10)).await;
            }
            let kill = ["KILL", "TYPE", "normal", "SKIPME", "yes"];
            cmd("CLIENT").arg(&kill).exec(&mut admin).unwrap();
            let began = Instant::now();
            place.enqueue(task("t")).await;
            place.until("t", "completed").await;
            assert!(began.elapsed() < WOKEN);
        })
        .await;
}

#[tokio::test]
async fn sigterm_lets_it_finish() {
    let place = Place::new().await;
    place.enqueue(EnqueueItem::new("t", r#"{"ms": 500}"#)).await;
    let mut child = Command::new(env!("CARGO_BIN_EXE_mixed-worker"))
        .env("ADEQ_URL", env::var("URL").unwrap())
        .envs([
            ("ADEQ_QUEUE", "q"),
            ("ADEQ_WORKER", "w"),
            ("ADEQ_GROUP", "g"),
        ])
        .envs([("ADEQ_LANES", "group/g,any"), ("ADEQ_CAPACITY", "2")])
        .spawn()
        .unwrap();
    place.until("t", "running").await;
    terminate(&child);
    assert!(child.wait().unwrap().success());
    assert_eq!(place.look("t").await.0, "completed");
    let workers = place.queue.workers(WorkersArgs::default()).await.unwrap();
    assert_eq!(workers.items, []);
}

fn terminate(child: &Child) {
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
}

/// How many requests hold, and how many wait.
async fn stand(locks: &Lock) -> (i64, i64) {
    let stats = locks.stats(lock::StatsArgs::default()).await.unwrap();
    (stats.held, stats.waiting)
}

#[tokio::test]
async fn a_lock_is_one_owners_at_a_time_and_each_fence_is_above_the_last() {
    let locks = Place::new().await.locks;
    let [a, b] = [locks.clone(), locks.clone()].map(LockClient::new);
    let first = a.take("r", Duration::ZERO).await.unwrap();
    let refused = b.take("r", Duration::ZERO).await;
    assert!(matches!(
        refused,
        Err(NotGranted::Answered(AcquireAnswer::Busy { .. }))
    ));
    let waiting = tokio::spawn(async move { b.take("r", LONG).await });
    until(async || stand(&locks).await == (1, 1)).await;
    let fence = first.fence();
    first.release().await.unwrap();
    let second = waiting.await.unwrap().unwrap();
    assert!(second.fence() > fence);
    second.release().await.unwrap();
    assert_eq!(stand(&locks).await, (0, 0));
}

#[tokio::test]
async fn a_wait_that_is_broken_off_leaves_nothing_behind_nor_does_a_lock_that_is_dropped() {
    let locks = Place::new().await.locks;
    let client = LockClient::new(locks.clone());
    let grant = client.take("r", Duration::ZERO).await.unwrap();
    let other = client.clone();
    let waiting = tokio::spawn(async move { other.take("r", LONG).await });
    until(async || stand(&locks).await == (1, 1)).await;
    waiting.abort();
    until(async || stand(&locks).await == (1, 0)).await;
    drop(grant);
    until(async || stand(&locks).await == (0, 0)).await;
}

#[tokio::test]
async fn a_lock_is_renewed_and_who_loses_it_is_told() {
    let locks = Place::new().await.locks;
    let settings = lock::ConfigureSettings {
        lease_ms: Some(1000),
        ..lock::ConfigureSettings::default()
    };
    let args = lock::ConfigureArgs {
        settings: Some(settings),
        ..lock::ConfigureArgs::default()
    };
    locks.configure(args).await.unwrap();
    let client = LockClient::new(locks.clone());
    let grant = client.take("r", Duration::ZERO).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert!(!grant.is_lost());
    assert_eq!(stand(&locks).await, (1, 0));
    let force = ForceReleaseArgs::new("r", "test");
    locks.force_release(force).await.unwrap();
    timeout(LONG, grant.lost()).await.unwrap();
}

#[tokio::test]
async fn no_task_runs_on_when_its_worker_is_dropped() {
    let place = Place::new().await;
    place.enqueue(task("t")).await;
    let options = Options {
        name: "w".into(),
        group: None,
        lanes: vec!["any".into()],
        capacity: 1,
        grace: LONG,
    };
    let alive = Arc::new(());
    let kept = alive.clone();
    let handler = move |_| {
        let kept = kept.clone();
        async move {
            let _kept = kept;
            pending().await
        }
    };
    let (queue, client) = (place.queue.clone(), place.client.clone());
    let worker = Worker::new(queue, client, handler, options);
    tokio::select! {
        _ = worker.run() => panic!("it ended"),
        () = until(async || Arc::strong_count(&alive) == 3) => {}
    }
    until(async || Arc::strong_count(&alive) == 2).await; // the handler's own
}

#[test]
fn a_lock_may_be_dropped_outside_of_the_runtime() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let locks = runtime.block_on(Place::new()).locks;
    let grant = runtime.block_on(async {
        let client = LockClient::new(locks.clone());
        client.take("r", Duration::ZERO).await.unwrap()
    });
    drop(grant);
    runtime.block_on(until(async || stand(&locks).await == (0, 0)));
}
