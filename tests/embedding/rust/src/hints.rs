//! What others say to a worker that waits. It blocks on a connection of its own, which sends nothing
//! again by itself.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult, cmd};
use tokio::time::timeout;

/// Longer than anybody waits.
const LOST_AFTER: Duration = Duration::from_secs(20);

/// A connection that blocks, its id, and another that can end the wait.
type Blocking = (MultiplexedConnection, i64, MultiplexedConnection);

pub struct Hints {
    client: Client,
    blocking: Option<Blocking>,
}

impl Hints {
    pub fn new(client: Client) -> Self {
        let blocking = None;
        Self { client, blocking }
    }

    /// The key that something was said by; none if nothing was, or something has changed.
    pub async fn next(
        &mut self,
        names: &[String],
        most: Duration,
        changed: impl Future,
    ) -> RedisResult<Option<String>> {
        let mut blocking = match self.blocking.take() {
            Some(blocking) => blocking,
            None => self.connect().await?,
        };
        let hint = self.pop(&mut blocking, names, most, changed).await?;
        self.blocking = Some(blocking); // unless it was lost
        Ok(hint)
    }

    async fn connect(&self) -> RedisResult<Blocking> {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(LOST_AFTER));
        let client = &self.client;
        let open = || client.get_multiplexed_async_connection_with_config(&config);
        let (mut connection, other) = (open().await?, open().await?);
        let id = cmd("CLIENT").arg("ID").query_async(&mut connection).await?;
        Ok((connection, id, other))
    }

    async fn pop(
        &self,
        (connection, id, other): &mut Blocking,
        names: &[String],
        most: Duration,
        changed: impl Future,
    ) -> RedisResult<Option<String>> {
        let popped = async {
            let mut command = cmd("BLPOP");
            command.arg(names).arg(most.as_secs_f64());
            let popped: Option<(String, Vec<u8>)> = command.query_async(connection).await?;
            Ok(popped.map(|(name, _)| name))
        };
        tokio::pin!(popped);
        tokio::select! {
            hint = &mut popped => return hint,
            _ = changed => {}
        }
        loop {
            let mut unblock = cmd("CLIENT");
            unblock.arg("UNBLOCK").arg(*id); // which may come too early
            unblock.exec_async(other).await?;
            if let Ok(hint) = timeout(Duration::from_millis(10), &mut popped).await {
                return hint;
            }
        }
    }
}
