//! A worker beside those of other languages. Which one, says the environment; it stops on SIGTERM.

use std::env;
use std::error::Error as StdError;
use std::sync::Arc;
use std::time::Duration;

use embedding::lock::LockClient;
use embedding::worker::{Lease, Options, Outcome, Worker};
use pyadeq::aio::Adeq;
use redis::aio::ConnectionManager;
use redis::{AsyncCommands, Client};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn StdError>> {
    let name = env::var("ADEQ_WORKER")?;
    let client = Client::open(env::var("ADEQ_URL")?)?;
    let connection = client.get_connection_manager().await?;
    let adeq = Adeq::new(client.clone());
    let queue = env::var("ADEQ_QUEUE")?;
    let job = Job {
        worker: name.clone(),
        connection,
        locks: LockClient::new(adeq.locks(&queue)?),
    };
    let options = Options {
        name,
        group: Some(env::var("ADEQ_GROUP")?),
        lanes: env::var("ADEQ_LANES")?
            .split(',')
            .map(String::from)
            .collect(),
        capacity: env::var("ADEQ_CAPACITY")?.parse()?,
        grace: Duration::from_secs(30),
    };
    let handler = move |lease| job.clone().handle(lease);
    let worker = Worker::new(adeq.queue(&queue)?, client, handler, options);
    let worker = Arc::new(worker);

    let mut terminated = signal(SignalKind::terminate())?;
    let stopping = worker.clone();
    tokio::spawn(async move {
        terminated.recv().await;
        stopping.stop();
    });
    let starting = worker.clone();
    tokio::spawn(async move {
        starting.registered().await;
        println!("ready");
    });
    Ok(worker.run().await?)
}

#[derive(Clone)]
struct Job {
    worker: String,
    connection: ConnectionManager,
    locks: LockClient,
}

impl Job {
    async fn handle(self, lease: Lease) -> Outcome {
        let task: Value = serde_json::from_slice(&lease.payload)?;
        if task["fail_first"] == true && lease.attempt == 1 {
            return Err("the first attempt fails".into());
        }
        let time = Duration::from_millis(task["ms"].as_u64().unwrap_or_default());
        match task["lock"].as_str() {
            None => sleep(time).await,
            Some(resource) => self.alone(resource, time).await?,
        }
        let result = json!({"by": self.worker, "language": "rust"});
        Ok(result.to_string().into())
    }

    async fn alone(
        &self,
        resource: &str,
        time: Duration,
    ) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let grant = self.locks.take(resource, Duration::from_secs(30)).await?;
        let mut connection = self.connection.clone();
        let list = format!("mixed:{resource}");
        let fence = grant.fence();
        let _: () = connection.rpush(&list, format!("enter {fence}")).await?;
        sleep(time).await;
        let _: () = connection.rpush(&list, format!("leave {fence}")).await?;
        grant.release().await?;
        Ok(())
    }
}
