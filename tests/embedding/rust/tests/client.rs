//! What a client does besides encoding: cargo test, with URL and CLUSTER in the environment.

use std::env;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use embedding::proxy::Proxy;
use pyadeq::queue::{
    AckArgs, AckItem, AckItemAnswer, ClaimAnswer, ClaimArgs, ClaimItem, EnqueueArgs, EnqueueItem,
    EnqueueItemAnswer, RegisterArgs, StatsArgs,
};
use pyadeq::sync::{Adeq, Connect, Queue};
use pyadeq::{Cluster, Error, ErrorCode, Options, events, events_base, partition_base};
use redis::cluster::ClusterClient;
use redis::streams::StreamRangeReply;
use redis::{
    Client, Cmd, Commands, Connection, ConnectionLike, RedisResult, Value, cmd, parse_redis_value,
};

fn url() -> String {
    env::var("URL").expect("URL")
}

fn cluster() -> bool {
    env::var("CLUSTER").is_ok()
}

/// The server, which is empty, and a client.
fn open() -> (Connection, Adeq) {
    let mut server = Client::open(url()).unwrap().get_connection().unwrap();
    cmd("FLUSHALL").exec(&mut server).unwrap();
    let options = Options {
        source: "tests".into(),
        ..Options::default()
    };
    let adeq = match cluster() {
        true => {
            let cluster = Cluster::new(ClusterClient::builder([url()]));
            Adeq::with_options(cluster.unwrap(), options)
        }
        false => Adeq::with_options(Client::open(url()).unwrap(), options),
    };
    (server, adeq.unwrap())
}

fn task() -> EnqueueArgs {
    EnqueueArgs::new([EnqueueItem::new("t", "{}")])
}

#[test]
fn scripts_are_loaded_at_a_deploy() {
    let (mut server, adeq) = open();
    cmd("SCRIPT").arg("FLUSH").exec(&mut server).unwrap();
    let ids = adeq.load().unwrap();
    assert!(ids.contains(&"queue.claim.v1") && ids.contains(&"lock.acquire.v1"));
    let memory: String = cmd("INFO").arg("memory").query(&mut server).unwrap();
    assert!(memory.contains(&format!("number_of_cached_scripts:{}\r\n", ids.len())));
}

#[test]
fn a_script_that_the_server_has_forgotten_is_loaded_by_the_call() {
    let (mut server, adeq) = open();
    cmd("SCRIPT").arg("FLUSH").exec(&mut server).unwrap();
    let answer = adeq.queue("q").unwrap().enqueue(task()).unwrap();
    assert_eq!(answer.items, [EnqueueItemAnswer::Created]);
}

#[test]
fn a_task_goes_from_line_to_result() {
    let (mut server, adeq) = open();
    let queue = adeq.queue("q").unwrap();
    let payload = vec![0, 255, 128];
    let task = EnqueueItem {
        priority: Some(3),
        tags: Some(vec!["a".into(), "b".into()]),
        ..EnqueueItem::new("t", payload.clone())
    };
    queue.enqueue(EnqueueArgs::new([task])).unwrap();
    queue.register(RegisterArgs::new("w", "i")).unwrap();
    let claim = ClaimArgs::new("w", "i", 0, 1, 5, [ClaimItem::new("any")]);
    let ClaimAnswer::Ok { leases, .. } = queue.claim(claim).unwrap() else {
        panic!("nothing was claimed");
    };
    let [lease] = leases.as_slice() else {
        panic!("{leases:?} is not one lease");
    };
    assert_eq!(lease.payload, payload);
    assert_eq!(lease.record["tags"], b"a,b");
    let ack = AckArgs::new([AckItem::new(&lease.id, &lease.token, "7")]);
    for _ in 0..2 {
        let answer = queue.ack(ack.clone()).unwrap();
        assert_eq!(answer.items, [AckItemAnswer::Completed]);
    }
    let events: StreamRangeReply = server.xrange_all(queue.keys().events()).unwrap();
    let source = |event: &redis::streams::StreamId| event.get("source");
    assert!(
        events
            .ids
            .iter()
            .all(|event| source(event) == Some("tests".to_owned()))
    );
}

#[test]
fn events_are_read_where_their_noun_writes_them() {
    let (_, adeq) = open();
    adeq.queue("mail").unwrap().enqueue(task()).unwrap();
    let events = adeq.events("queue", "mail").unwrap();
    events.register(events::RegisterArgs::new("g")).unwrap();
    let events::ReadAnswer::Ok { items, .. } = events.read(events::ReadArgs::new("g")).unwrap()
    else {
        panic!("the group is unknown");
    };
    let kinds: Vec<_> = items.iter().map(|item| format!("{item:?}")).collect();
    assert!(
        kinds.iter().any(|kind| kind.contains("Event {")),
        "{kinds:?}"
    );
    for (noun, name, slot, base) in [
        ("queue", "mail", None, "ade:{queue:mail}"),
        ("session", "web/c7", None, "ade:{session:web/c7}"),
        ("change", "ops", Some("prod"), "ade:{prod}:change:ops"),
        ("rate", "api/1", Some("prod"), "ade:{prod}:rate:api/1"),
    ] {
        assert_eq!(events_base(noun, name, "ade", slot).unwrap(), base);
    }
    for (noun, name) in [
        ("events", "mail"),
        ("que", "mail"),
        ("queue", "a b"),
        ("queue", "q/"),
    ] {
        assert!(adeq.events(noun, name).is_err());
    }
}

#[test]
fn errors_have_codes() {
    let (_, adeq) = open();
    let bad = EnqueueArgs::new([EnqueueItem::new("no blanks", "")]);
    let error = adeq.queue("q").unwrap().enqueue(bad).unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::Arg));
    assert!(!error.may_have_applied());
    assert!(
        error.to_string().starts_with("queue.enqueue.v1: "),
        "{error}"
    );
}

#[test]
fn what_no_server_would_refuse_is_refused_before_anything_is_sent() {
    let (mut server, adeq) = open();
    let items: Vec<_> = (0..17)
        .map(|at| EnqueueItem::new(at.to_string(), vec![b'x'; 1 << 20]))
        .collect();
    for tag in ["a,b", ""] {
        let task = EnqueueItem {
            tags: Some(vec![tag.into()]),
            ..EnqueueItem::new("t", "{}")
        };
        let odd = adeq.queue("q").unwrap().enqueue(EnqueueArgs::new([task]));
        let error = odd.unwrap_err();
        assert!(error.to_string().contains("no commas"), "{error}");
    }
    let large = adeq.queue("q").unwrap().enqueue(EnqueueArgs::new(items));
    let error = large.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::Arg));
    assert!(error.to_string().contains("smaller batches"), "{error}");
    let keys: i64 = cmd("DBSIZE").query(&mut server).unwrap();
    assert_eq!(keys, 0);
}

#[test]
fn a_base_without_a_hash_tag_is_refused() {
    let (_, adeq) = open();
    for base in ["ade:queue", "ade:{}queue", "ade:}q{"] {
        assert!(
            matches!(adeq.queue_at(base), Err(Error::Config(_))),
            "{base}"
        );
    }
    assert!(matches!(adeq.queue("a b"), Err(Error::Config(_))));
    let options = Options {
        slot: Some("prod".into()),
        ..Options::default()
    };
    let adeq = Adeq::with_options(Client::open(url()).unwrap(), options).unwrap();
    assert_eq!(adeq.queue("q").unwrap().keys().base(), "ade:{prod}:queue:q");
    assert_eq!(partition_base("q", "1", "ade").unwrap(), "ade:{queue:q/1}");
}

#[test]
fn a_time_in_which_a_server_forgets_calls_is_refused() {
    let (_, adeq) = open();
    let queue = adeq.queue("q").unwrap();
    let long = queue.with_timeout(Duration::from_secs(46));
    assert!(matches!(long, Err(Error::Config(_))));
}

#[test]
fn a_call_whose_answer_is_lost_is_sent_again_and_acts_once() {
    let (mut server, _) = open();
    let proxy = Proxy::open(&url());
    let queue = Adeq::new(Client::open(proxy.url).unwrap())
        .queue("q")
        .unwrap();
    queue.stats(StatsArgs::default()).unwrap();
    proxy.losses.store(2, Ordering::SeqCst);
    let answer = queue.enqueue(task()).unwrap();
    assert_eq!(answer.items, [EnqueueItemAnswer::Created]);
    assert_eq!(proxy.losses.load(Ordering::SeqCst), 0);
    let ready: i64 = server.zcard(queue.keys().ready("any")).unwrap();
    assert_eq!(ready, 1);
}

#[test]
fn a_call_that_is_given_up_says_whether_it_may_have_been_applied() {
    let proxy = Proxy::open(&url());
    let queue = Adeq::new(Client::open(proxy.url).unwrap())
        .queue("q")
        .unwrap();
    proxy.losses.store(usize::MAX, Ordering::SeqCst);
    let queue = queue.with_timeout(Duration::from_millis(50)).unwrap();
    let error = queue.enqueue(task()).unwrap_err();
    assert!(error.may_have_applied(), "{error}");

    let nobody = Client::open("redis://127.0.0.1:1").unwrap();
    let queue = Adeq::new(nobody).queue("q").unwrap();
    let queue = queue.with_timeout(Duration::from_millis(50)).unwrap();
    let error = queue.enqueue(task()).unwrap_err();
    assert!(matches!(error, Error::Transport { .. }));
    assert!(!error.may_have_applied(), "{error}");
}

#[test]
fn threads_call_at_once() {
    let (_, adeq) = open();
    let queue = adeq.queue("q").unwrap();
    thread::scope(|scope| {
        for thread in 0..8 {
            let queue = &queue;
            scope.spawn(move || {
                for at in 0..20 {
                    let task = EnqueueItem::new(format!("{thread}-{at}"), "{}");
                    queue.enqueue(EnqueueArgs::new([task])).unwrap();
                }
            });
        }
    });
    assert_eq!(queue.stats(StatsArgs::default()).unwrap().ready, 160);
}

/// Answers each command by what comes next, which may be a lost connection.
struct Scripted(Arc<Mutex<Vec<RedisResult<Value>>>>);

impl Connect for Scripted {
    type Connection = Self;

    const RESENDS: bool = false;

    fn connect(&self, _: Duration) -> RedisResult<Self> {
        Ok(Self(self.0.clone()))
    }

    fn set_timeout(_: &Self, _: Duration) -> RedisResult<()> {
        Ok(())
    }
}

impl ConnectionLike for Scripted {
    fn req_command(&mut self, _: &Cmd) -> RedisResult<Value> {
        self.0.lock().unwrap().pop().expect("a reply")
    }

    fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<Value> {
        unimplemented!("no call is sent packed")
    }

    fn req_packed_commands(&mut self, _: &[u8], _: usize, _: usize) -> RedisResult<Vec<Value>> {
        unimplemented!("no calls are sent together")
    }

    fn get_db(&self) -> i64 {
        0
    }

    fn check_connection(&mut self) -> bool {
        true
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// A queue whose server answers so.
fn answering<const N: usize>(mut replies: [RedisResult<Value>; N]) -> Queue {
    replies.reverse();
    let server = Scripted(Arc::new(Mutex::new(replies.into())));
    Adeq::new(server).queue("q").unwrap()
}

fn refused(code: &'static str) -> RedisResult<Value> {
    let error = format!("-{code} said the server\r\n");
    parse_redis_value(error.as_bytes())?.extract_error()
}

fn lost() -> RedisResult<Value> {
    Err(io::Error::from(io::ErrorKind::UnexpectedEof).into())
}

#[test]
fn a_refusal_says_whether_an_earlier_try_may_have_been_applied() {
    let error = answering([refused("ADEQ_EPOCH")]).enqueue(task());
    assert!(!error.unwrap_err().may_have_applied());
    let error = answering([lost(), refused("ADEQ_EPOCH")]).enqueue(task());
    let error = error.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::Epoch));
    assert!(error.may_have_applied());
}

#[test]
fn a_call_is_tried_although_its_script_could_not_be_loaded_everywhere() {
    let created = Value::Array(vec![Value::BulkString(b"created".into())]);
    let done = Value::Array(vec![
        Value::BulkString(b"ok".into()),
        Value::Int(1),
        Value::Array(vec![created]),
    ]);
    let queue = answering([refused("NOSCRIPT"), lost(), Ok(done)]);
    let answer = queue.enqueue(task()).unwrap();
    assert_eq!(answer.items, [EnqueueItemAnswer::Created]);
}

#[test]
fn a_wrong_password_is_known_before_anything_is_sent() {
    let url = url().replace("redis://", "redis://nobody:wrong@");
    let queue = Adeq::new(Client::open(url).unwrap()).queue("q").unwrap();
    let error = queue.enqueue(task()).unwrap_err();
    assert!(!error.may_have_applied(), "{error}");
}
