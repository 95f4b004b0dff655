//! What a server holds, as the conformance vectors write it down.

use base64::prelude::{BASE64_STANDARD, Engine};
use redis::{Cmd, Connection, RedisResult, cmd};
use serde_json::{Map, Value, json};

/// Bytes as a vector writes them.
pub fn text(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"base64": BASE64_STANDARD.encode(bytes)}),
    }
}

/// What a vector writes, as it is sent.
pub fn bytes(value: &Value) -> Vec<u8> {
    match &value["base64"] {
        Value::String(text) => BASE64_STANDARD.decode(text).expect("base64"),
        _ => value.as_str().expect("a string").into(),
    }
}

/// Write the keys of a base.
pub fn restore(server: &mut Connection, base: &str, state: &Map<String, Value>) -> RedisResult<()> {
    for (suffix, held) in state {
        let key = format!("{base}{suffix}");
        for command in writes(&key, held) {
            command.exec(server)?;
        }
        if held["expires"] == true {
            cmd("EXPIRE").arg(&key).arg(3600).exec(server)?;
        }
    }
    Ok(())
}

fn writes(key: &str, held: &Value) -> Vec<Cmd> {
    let (kind, value) = only(held);
    let list = || value.as_array().expect("an array").iter();
    let write = |verb: &str, words: Vec<Vec<u8>>| {
        let mut command = cmd(verb);
        command.arg(key).arg(words);
        command
    };
    match kind {
        "hash" => {
            let fields = value.as_object().expect("an object").iter();
            let words = fields.flat_map(|(name, value)| [name.clone().into(), bytes(value)]);
            vec![write("HSET", words.collect())]
        }
        "zset" => {
            let words = list().flat_map(|member| [bytes(&member[1]), bytes(&member[0])]);
            vec![write("ZADD", words.collect())]
        }
        "set" => vec![write("SADD", list().map(bytes).collect())],
        "list" => vec![write("RPUSH", list().map(bytes).collect())],
        "string" => vec![write("SET", vec![bytes(value)])],
        "stream" => list()
            .map(|entry| {
                let pairs = entry.as_array().expect("pairs");
                let has_id = pairs[0][0] == "*";
                let id = if has_id {
                    bytes(&pairs[0][1])
                } else {
                    b"*".to_vec()
                };
                let words = pairs.iter().skip(has_id.into());
                let words = words.flat_map(|pair| [bytes(&pair[0]), bytes(&pair[1])]);
                write("XADD", [id].into_iter().chain(words).collect())
            })
            .collect(),
        _ => panic!("no test writes a {kind}"),
    }
}

/// The type and the value, beside `expires`.
fn only(held: &Value) -> (&str, &Value) {
    let held = held.as_object().expect("a key");
    let mut types = held.iter().filter(|(name, _)| *name != "expires");
    let (kind, value) = types.next().expect("a type");
    (kind, value)
}

/// All keys by what follows the base.
pub fn dump(server: &mut Connection, base: &str) -> RedisResult<Map<String, Value>> {
    let mut state = Map::new();
    for key in cmd("KEYS").arg("*").query::<Vec<String>>(server)? {
        let kind: String = cmd("TYPE").arg(&key).query(server)?;
        let value = read(server, &kind, &key)?;
        let mut held = Map::from_iter([(kind, value)]);
        if cmd("PTTL").arg(&key).query::<i64>(server)? >= 0 {
            held.insert("expires".to_owned(), json!(true));
        }
        let suffix = key.strip_prefix(base).expect("a key of the base");
        state.insert(suffix.to_owned(), Value::Object(held));
    }
    Ok(state)
}

type Words = Vec<Vec<u8>>;

fn read(server: &mut Connection, kind: &str, key: &str) -> RedisResult<Value> {
    Ok(match kind {
        "hash" => {
            let words: Words = cmd("HGETALL").arg(key).query(server)?;
            let name = |word: &[u8]| String::from_utf8(word.into()).expect("a name");
            let pairs = words.chunks(2).map(|pair| (name(&pair[0]), text(&pair[1])));
            Value::Object(pairs.collect())
        }
        "zset" => {
            let range = [key, "0", "-1", "WITHSCORES"];
            pairs(&cmd("ZRANGE").arg(&range).query::<Words>(server)?)
        }
        "set" => {
            let mut words: Words = cmd("SMEMBERS").arg(key).query(server)?;
            words.sort();
            words.iter().map(|word| text(word)).collect()
        }
        "list" => {
            let words: Words = cmd("LRANGE").arg(&[key, "0", "-1"]).query(server)?;
            words.iter().map(|word| text(word)).collect()
        }
        "string" => text(&cmd("GET").arg(key).query::<Vec<u8>>(server)?),
        "stream" => {
            let entries: Vec<(String, Words)> =
                cmd("XRANGE").arg(&[key, "-", "+"]).query(server)?;
            entries.iter().map(|(id, words)| entry(id, words)).collect()
        }
        _ => panic!("no test reads a {kind}"),
    })
}

/// Milliseconds: from then on a vector has the ids of a stream, as the pair `*`.
const LATER: u64 = 4_000_000_000_000;

fn entry(id: &str, words: &[Vec<u8>]) -> Value {
    let ms = id.split('-').next().and_then(|ms| ms.parse::<u64>().ok());
    let mut entry = pairs(words);
    if ms >= Some(LATER) {
        entry
            .as_array_mut()
            .expect("pairs")
            .insert(0, json!(["*", id]));
    }
    entry
}

fn pairs(words: &[Vec<u8>]) -> Value {
    let pairs = words
        .chunks(2)
        .map(|pair| json!([text(&pair[0]), text(&pair[1])]));
    pairs.collect()
}
