//! Replays the conformance vectors: replay sync|tokio URL FOLDER [--cluster]

use std::env;
use std::error::Error as StdError;
use std::fs;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use embedding::calls::{AsyncNouns, Nouns, call, call_async};
use embedding::state::{dump, restore, text};
use pyadeq::sync::Connect;
use pyadeq::{Cluster, Error, aio, sync};
use redis::aio::ConnectionLike as AsyncConnectionLike;
use redis::cluster::ClusterClient;
use redis::{Arg, Cmd, ConnectionLike, Pipeline, RedisFuture, RedisResult, cmd};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn StdError>>;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [library, url, folder, flags @ ..] = args.as_slice() else {
        return Err("usage: replay sync|tokio URL FOLDER [--cluster]".into());
    };
    let client = Client::open(library, url, !flags.is_empty())?;
    let mut server = redis::Client::open(url.as_str())?.get_connection()?;
    let manifest = json_of(&format!("{folder}/../manifest.json"))?;
    let scripts = array(&manifest["scripts"]);
    let mut passed = 0;
    let mut failed = 0;
    for script in scripts {
        let id = word(&script["id"]);
        let file = json_of(&format!("{folder}/{id}.json"))?;
        assert_eq!(file["script"], script["id"]);
        for vector in array(&file["vectors"]) {
            match replay(&client, &mut server, script, vector) {
                Ok(()) => passed += 1,
                Err(error) => {
                    failed += 1;
                    println!("{library}: {id}: {}: {error}", vector["name"]);
                }
            }
        }
    }
    for entry in fs::read_dir(format!("{folder}/stories"))? {
        let path = entry?.path().display().to_string();
        match tell(&client, &mut server, scripts, &json_of(&path)?) {
            Ok(()) => passed += 1,
            Err(error) => {
                failed += 1;
                println!("{library}: {path}: {error}");
            }
        }
    }
    let files = fs::read_dir(folder)?.count() - 1; // but the folder of stories
    println!("{library}: {passed} passed, {failed} failed");
    let all = failed == 0 && files == scripts.len();
    Ok(ExitCode::from(u8::from(!all)))
}

fn replay(
    client: &Client,
    server: &mut redis::Connection,
    script: &Value,
    vector: &Value,
) -> Result<()> {
    let base = base_of(word(&script["noun"]));
    let before = object(&vector["before"]);
    cmd("FLUSHALL").exec(server)?;
    restore(server, &base, before)?;
    if vector["memory"] == "full" {
        fill(server, 1)?;
    }
    let outcome = client.call(word(&script["id"]), &vector["call"]);
    fill(server, 0)?;
    check(client, &base, script, vector, outcome)?;
    check_state(server, &base, vector)
}

/// Events have the base of the noun whose events they are.
fn base_of(noun: &str) -> String {
    let noun = if noun == "events" { "queue" } else { noun };
    format!("ade:{{{noun}:conformance}}")
}

/// Calls that follow each other on one state.
fn tell(
    client: &Client,
    server: &mut redis::Connection,
    scripts: &[Value],
    story: &Value,
) -> Result<()> {
    let base = base_of(word(&story["noun"]));
    cmd("FLUSHALL").exec(server)?;
    restore(server, &base, object(&story["before"]))?;
    for step in array(&story["steps"]) {
        let mut known = scripts.iter();
        let script = known
            .find(|script| script["id"] == step["script"])
            .ok_or("no such script")?;
        let outcome = client.call(word(&script["id"]), &step["call"]);
        check(client, &base, script, step, outcome)?;
    }
    check_state(server, &base, story)
}

/// What was sent, and what came back.
fn check(
    client: &Client,
    base: &str,
    script: &Value,
    vector: &Value,
    outcome: std::result::Result<Value, Error>,
) -> Result<()> {
    let sent = client.wire.lock().unwrap().take();
    let sent = sent.ok_or("nothing was sent")?;
    let keys = array(&script["keys"]).iter();
    let keys = keys.map(|key| {
        let other = format!("{{{}}}", key["noun"].as_str().unwrap_or("base"));
        let template = word(&key["template"]).replace("{base}", base);
        template.replace(&other, &format!("{base}!none"))
    });
    same("keys", &json!(sent.keys), &keys.collect())?;
    same("argv", &json!(sent.argv), &vector["argv"])?;
    match outcome {
        Ok(answer) => {
            let in_order = |answer| ordered(script, &script["returns"], answer);
            let expected = in_order(&vector["answer"]);
            let reply = shown(&sent.reply.ok_or("no reply")?);
            same("reply", &in_order(&reply), &expected)?;
            same("answer", &in_order(&answer), &expected)?;
        }
        Err(Error::Script { code, text, .. }) => {
            same("error", &json!(format!("{code} {text}")), &vector["error"])?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn check_state(server: &mut redis::Connection, base: &str, vector: &Value) -> Result<()> {
    let mut expected = object(&vector["before"]).clone();
    expected.extend(object(&vector["after"]).clone());
    expected.retain(|_, held| !held.is_null());
    let held = dump(server, base)?;
    same("state", &Value::Object(held), &Value::Object(expected))
}

fn same(what: &str, found: &Value, expected: &Value) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{what}: {found} is not {expected}").into())
}

fn fill(server: &mut redis::Connection, most: u8) -> RedisResult<()> {
    let mut command = cmd("CONFIG");
    command.arg("SET").arg("maxmemory-policy").arg("noeviction");
    command.arg("maxmemory").arg(most).exec(server)
}

/// The same answer with its pairs by name: their order is another on each engine.
fn ordered(script: &Value, statuses: &Value, answer: &Value) -> Value {
    let [status, values @ ..] = array(answer) else {
        panic!("{answer} has no status");
    };
    let mut declared = array(statuses).iter();
    let declared = declared
        .find(|one| one["status"] == *status)
        .expect("a known status");
    let fields = array(&declared["fields"]).iter();
    let values = values
        .iter()
        .zip(fields)
        .map(|(value, field)| match word(&field["type"]) {
            "list" => {
                let entries = array(value).iter();
                let shape = &script["shapes"][word(&field["of"])];
                entries.map(|entry| ordered(script, shape, entry)).collect()
            }
            "pairs" => {
                let pairs = array(value).chunks(2);
                let named = pairs.map(|pair| (word(&pair[0]).to_owned(), pair[1].clone()));
                Value::Object(named.collect())
            }
            _ => value.clone(),
        });
    [status.clone()].into_iter().chain(values).collect()
}

/// A reply as a vector writes it.
fn shown(reply: &redis::Value) -> Value {
    match reply {
        redis::Value::Int(number) => json!(number),
        redis::Value::BulkString(bytes) => text(bytes),
        redis::Value::Array(values) => values.iter().map(shown).collect(),
        other => panic!("{other:?} is in no reply"),
    }
}

fn json_of(path: &str) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(path)?)?)
}

fn array(value: &Value) -> &[Value] {
    value.as_array().expect("an array")
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn word(value: &Value) -> &str {
    value.as_str().expect("a string")
}

/// A client of either kind, and what it sent last.
struct Client {
    kind: Kind,
    wire: Wire,
}

enum Kind {
    Sync(Nouns),
    Tokio(Runtime, AsyncNouns),
}

impl Client {
    fn open(library: &str, url: &str, cluster: bool) -> Result<Self> {
        let wire = Wire::default();
        let watching = Watching(wire.clone());
        let kind = match library {
            "sync" => {
                let adeq = match cluster {
                    true => sync::Adeq::new(watching.client(open_cluster(url)?)),
                    false => sync::Adeq::new(watching.client(redis::Client::open(url)?)),
                };
                Kind::Sync(Nouns::of(&adeq, "conformance")?)
            }
            "tokio" => {
                let runtime = Runtime::new()?;
                let adeq = match cluster {
                    true => aio::Adeq::new(watching.client(open_cluster(url)?)),
                    false => aio::Adeq::new(watching.client(redis::Client::open(url)?)),
                };
                Kind::Tokio(runtime, AsyncNouns::of(&adeq, "conformance")?)
            }
            _ => return Err(format!("{library} is neither sync nor tokio").into()),
        };
        Ok(Self { kind, wire })
    }

    fn call(&self, id: &str, vector: &Value) -> std::result::Result<Value, Error> {
        match &self.kind {
            Kind::Sync(nouns) => call(nouns, id, vector),
            Kind::Tokio(runtime, nouns) => runtime.block_on(call_async(nouns, id, vector)),
        }
    }
}

/// A call's words and its raw reply, as they were on the wire.
struct Sent {
    keys: Vec<Value>,
    argv: Vec<Value>,
    reply: Option<redis::Value>,
}

type Wire = Arc<Mutex<Option<Sent>>>;

struct Watching(Wire);

impl Watching {
    fn client<C>(self, inner: C) -> Watched<C> {
        Watched {
            inner,
            wire: self.0,
        }
    }
}

fn open_cluster(url: &str) -> RedisResult<Cluster> {
    Cluster::new(ClusterClient::builder([url]))
}

/// A client or a connection, and what goes over it.
#[derive(Clone)]
struct Watched<C> {
    inner: C,
    wire: Wire,
}

impl<C> Watched<C> {
    fn note(&self, command: &Cmd, reply: &RedisResult<redis::Value>) {
        let words = command.args_iter().map(|word| match word {
            Arg::Simple(bytes) => text(bytes),
            _ => panic!("no cursor is sent"),
        });
        let words: Vec<Value> = words.collect();
        if words[0] == "SCRIPT" {
            return;
        }
        let count: usize = word(&words[2]).parse().expect("a number of keys");
        let (keys, argv) = words[3..].split_at(count);
        let reply = reply.as_ref().ok().cloned();
        *self.wire.lock().unwrap() = Some(Sent {
            keys: keys.into(),
            argv: argv.into(),
            reply,
        });
    }
}

impl<C: Connect> Connect for Watched<C> {
    type Connection = Watched<C::Connection>;

    const RESENDS: bool = C::RESENDS;

    fn connect(&self, within: Duration) -> RedisResult<Self::Connection> {
        let inner = self.inner.connect(within)?;
        let wire = self.wire.clone();
        Ok(Watched { inner, wire })
    }

    fn set_timeout(connection: &Self::Connection, timeout: Duration) -> RedisResult<()> {
        C::set_timeout(&connection.inner, timeout)
    }
}

impl<C: ConnectionLike> ConnectionLike for Watched<C> {
    fn req_command(&mut self, command: &Cmd) -> RedisResult<redis::Value> {
        let reply = self.inner.req_command(command);
        self.note(command, &reply);
        reply
    }

    fn req_packed_command(&mut self, _: &[u8]) -> RedisResult<redis::Value> {
        unimplemented!("no call is sent packed")
    }

    fn req_packed_commands(
        &mut self,
        _: &[u8],
        _: usize,
        _: usize,
    ) -> RedisResult<Vec<redis::Value>> {
        unimplemented!("no calls are sent together")
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }

    fn check_connection(&mut self) -> bool {
        self.inner.check_connection()
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }
}

impl<C: aio::Connect> aio::Connect for Watched<C> {
    type Connection = Watched<C::Connection>;

    const RESENDS: bool = C::RESENDS;

    async fn connect(&self) -> RedisResult<Self::Connection> {
        let inner = self.inner.connect().await?;
        let wire = self.wire.clone();
        Ok(Watched { inner, wire })
    }
}

impl<C: AsyncConnectionLike + Send> AsyncConnectionLike for Watched<C> {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, redis::Value> {
        Box::pin(async move {
            let reply = self.inner.req_packed_command(command).await;
            self.note(command, &reply);
            reply
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        _: &'a Pipeline,
        _: usize,
        _: usize,
    ) -> RedisFuture<'a, Vec<redis::Value>> {
        unimplemented!("no calls are sent together")
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}
