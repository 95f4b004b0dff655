//! What calls on tokio do otherwise than blocking ones: cargo test, with URL and CLUSTER in the environment.

use std::env;
use std::sync::atomic::Ordering;
use std::time::Duration;

use embedding::proxy::Proxy;
use pyadeq::Cluster;
use pyadeq::aio::{Adeq, Queue};
use pyadeq::queue::{EnqueueArgs, EnqueueItem, EnqueueItemAnswer, StatsArgs};
use redis::cluster::ClusterClient;
use redis::{Client, Connection, cmd};
use tokio::time::timeout;

fn url() -> String {
    env::var("URL").expect("URL")
}

/// The server, which is empty.
fn server() -> Connection {
    let mut server = Client::open(url()).unwrap().get_connection().unwrap();
    cmd("FLUSHALL").exec(&mut server).unwrap();
    server
}

fn adeq() -> Adeq {
    match env::var("CLUSTER") {
        Ok(_) => Adeq::new(Cluster::new(ClusterClient::builder([url()])).unwrap()),
        Err(_) => over(url()),
    }
}

fn over(url: String) -> Adeq {
    Adeq::new(Client::open(url).unwrap())
}

async fn ready(queue: &Queue) -> i64 {
    queue.stats(StatsArgs::default()).await.unwrap().ready
}

fn task() -> EnqueueArgs {
    EnqueueArgs::new([EnqueueItem::new("t", "{}")])
}

#[tokio::test]
async fn scripts_are_loaded_at_a_deploy_and_by_the_call() {
    let mut server = server();
    let adeq = adeq();
    cmd("SCRIPT").arg("FLUSH").exec(&mut server).unwrap();
    let queue = adeq.queue("q").unwrap();
    let answer = queue.enqueue(task()).await.unwrap();
    assert_eq!(answer.items, [EnqueueItemAnswer::Created]);
    let ids = adeq.load().await.unwrap();
    let memory: String = cmd("INFO").arg("memory").query(&mut server).unwrap();
    assert!(memory.contains(&format!("number_of_cached_scripts:{}\r\n", ids.len())));
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_sent_again_and_acts_once() {
    server();
    let proxy = Proxy::open(&url());
    let queue = over(proxy.url).queue("q").unwrap();
    assert_eq!(ready(&queue).await, 0);
    proxy.losses.store(2, Ordering::SeqCst);
    let answer = queue.enqueue(task()).await.unwrap();
    assert_eq!(answer.items, [EnqueueItemAnswer::Created]);
    assert_eq!(proxy.losses.load(Ordering::SeqCst), 0);
    assert_eq!(ready(&queue).await, 1);
}

#[tokio::test]
async fn a_call_that_is_given_up_says_that_it_may_have_been_applied() {
    let proxy = Proxy::open(&url());
    let queue = over(proxy.url).queue("q").unwrap();
    proxy.losses.store(usize::MAX, Ordering::SeqCst);
    let queue = queue.with_timeout(Duration::from_millis(50)).unwrap();
    let error = queue.enqueue(task()).await.unwrap_err();
    assert!(error.may_have_applied(), "{error}");
}

#[tokio::test]
async fn who_drops_a_call_ends_the_sending_again() {
    server();
    let proxy = Proxy::open(&url());
    let queue = over(proxy.url).queue("q").unwrap();
    proxy.losses.store(1000, Ordering::SeqCst);
    let call = timeout(Duration::from_millis(200), queue.enqueue(task()));
    assert!(call.await.is_err());
    let left = proxy.losses.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(proxy.losses.load(Ordering::SeqCst), left);
}

#[tokio::test]
async fn a_call_may_be_made_in_another_task() {
    server();
    let queue = adeq().queue("q").unwrap();
    let call = {
        let queue = queue.clone();
        tokio::spawn(async move { queue.enqueue(task()).await })
    };
    call.await.unwrap().unwrap();
    assert_eq!(ready(&queue).await, 1);
}

#[tokio::test]
async fn a_connection_that_goes_silent_is_replaced() {
    server();
    let proxy = Proxy::open(&url());
    let queue = over(proxy.url.clone()).queue("q").unwrap();
    assert_eq!(ready(&queue).await, 0);
    proxy.silence();
    let short = queue.with_timeout(Duration::from_millis(500)).unwrap();
    let error = short.enqueue(task()).await.unwrap_err();
    assert!(error.may_have_applied(), "{error}");
    let answered = timeout(Duration::from_secs(5), ready(&queue)).await;
    assert_eq!(answered.unwrap(), 1);
}
