"""The watch itself: each breach of a contract, in a script of a few lines, is found."""

from __future__ import annotations

import re

import pytest

from pyadeq._core.kernel.manifest import Script, library
from tests.nouns.queue.workbench import Workbench
from tests.nouns.sources import paths, text_of
from tests.nouns.watched import COMMANDS, Refused, WatchError, check_reply, table

ACK = library()["queue.ack.v1"]  # writes; KEYS: config, running, leases, task (a prefix), result, …
GET = library()["queue.get.v1"]  # only reads
EVENTS, LOG = (f"KEYS[{1 + [key.name for key in ACK.data].index(name)}]" for name in ("events", "log"))
STATS = library()["queue.stats.v1"]  # only reads; KEYS: config, leases, ready (a prefix), lanes, …
OK = "return { 'ok', 1, {} }"


def run(bench: Workbench, text: str, script: Script = ACK, *args: bytes) -> object:
    keys = [key.template.replace("{base}", bench.base).encode() for key in script.data]
    return bench.watched.run_text(script, text, keys, list(args))


def test_the_commands_that_are_allowed_are_those_in_use() -> None:
    texts = "".join(text_of(path) for path in paths())
    assert set(re.findall(r"redis\.p?call\('(\w+)'", texts)) == set(COMMANDS)


def test_what_keeps_to_the_contract_passes(bench: Workbench) -> None:
    assert run(bench, OK) == [b"ok", 1, []]
    assert run(bench, "redis.call('HSET', KEYS[4] .. 'a', 'f', 1) return { 'ok', 1, { { 'completed' } } }") == [
        b"ok", 1, [[b"completed"]],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("redis.call('MGET', 'other')", "undeclared key other"),
        ("redis.call('HGET', KEYS[1] .. 'x', 'f')", "undeclared key .*:configx"),
        ("redis.call('HGETALL', KEYS[4])", "undeclared key .*:task:"),
        ("redis.call('HGETALL', KEYS[4] .. 'a b')", "undeclared key .*:task:a b"),
        ("redis.call('DEL', KEYS[1], 'other')", "undeclared key other"),
        ("redis.call('MSET', KEYS[5] .. 'a', 'other', 'other', 1)", "undeclared key other"),
        ("redis.call('ZADD', KEYS[1], 1, 'a')", "ZADD on .*:config, which is a hash"),
        ("redis.call('KEYS', '*')", "KEYS is no command"),
        ("redis.call('FLUSHALL')", "FLUSHALL is no command"),
        (f"redis.call('XADD', {EVENTS}, '*', 'event', 'task.other')", "undeclared event task.other"),
        (f"redis.call('XADD', {EVENTS}, '*', 'event', 'task.completed', 'x', 1)", "has the fields"),
        ("redis.call('HSET', KEYS[1], 'f')", "HSET .*wrong number of arguments"),
        ("redis.call('HINCRBY', KEYS[1], 'clock', 1)", "not an integer"),
        ("redis.call('ZRANGE', KEYS[3], 0, -1)", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], 0, 10000)", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '-inf', 1, 'BYSCORE')", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '-inf', 1, 'BYSCORE', 'LIMIT', 0, 10001)", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '-inf', 1, 'BYSCORE', 'LIMIT', 0, -1)", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '-', '+', 'BYLEX')", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '-', '+', 'BYLEX', 'LIMIT', 1, 100001)", "ZRANGE without a bound"),
        ("redis.call('ZRANGE', KEYS[3], '+', '-', 'BYLEX', 'REV')", "ZRANGE without a bound"),
        (f"redis.call('LRANGE', {LOG} .. 'a', 0, -1)", "LRANGE without a bound"),
        (f"redis.call('LRANGE', {LOG} .. 'a', 0, 10000)", "LRANGE without a bound"),
        ("redis.call('ZSCAN', KEYS[3], 0)", "ZSCAN without a bound"),
        ("redis.call('ZSCAN', KEYS[3], 0, 'COUNT', 10001)", "ZSCAN without a bound"),
        ("redis.call('SPUBLISH', KEYS[4] .. 'a', 'm')", "SPUBLISH on .*:task:a, which is a hash"),
        ("redis.call('SPUBLISH', 'other', 'm')", "undeclared key other"),
        ("redis.call('SRANDMEMBER', KEYS[2], 1)", "SRANDMEMBER on .*:running, which is a hash"),
        ("redis.call('INFO')", "INFO without a bound"),
        ("redis.call('HSET', KEYS[1], 'f', {})", "as an argument of a command"),
        ("redis.call('HSET', KEYS[1], 'f', true)", "as an argument of a command"),
        ("redis.call('HSET', KEYS[1], 'f', 0/0)", "nan as an argument"),
        ("redis.call('HSET', KEYS[1], 'f', 0.5)", "0.5 as an argument"),
        ("redis.call('HSET', KEYS[1], 'f', 2^53 + 2)", "9007199254740994 as an argument"),
        ("redis.call('HSET', KEYS[1], 'f', 1/0)", "inf as an argument"),
        ("local x = undefined", "undeclared global undefined"),
        ("defined = 1", "undeclared global defined"),
        ("local function f() leak = 1 end f()", "undeclared global leak"),
        ("os.exit()", "undeclared global os"),
        ("error('broken')", "broken"),
        ("local x = nil .. 'x'", "attempt to concatenate"),
        ("while true do end", "more than .* lines"),
        ("for i = 1, 1e9 do redis.call('TIME') end", "more than .* lines"),
        ("redis.call('HSET', KEYS[1], 'f', 1) return redis.error_reply('ADEQ_LAYOUT x')", "1 writes before the error"),
        ("return redis.error_reply('ADEQ_CONFLICT x')", "undeclared error ADEQ_CONFLICT"),
        ("return redis.error_reply('ERR x')", "undeclared error ERR"),
        ("return redis.status_reply('ok')", "the keys of a table"),
        ("return { 'other' }", "not what the manifest declares"),
        ("return { 'ok', 1 }", "not what the manifest declares"),
        ("return { 'ok', 1, {}, 1 }", "not what the manifest declares"),
        ("return { 'ok', 1, { { 'other' } } }", "not what the manifest declares"),
        ("return { 'ok', '1', {} }", "now_ms in the reply is no int"),
        ("return { 'ok', 1.5, {} }", "1.5 in the reply"),
        ("return { 'ok', true, {} }", "True in the reply"),
        ("return { 'ok', nil, {} }", "the keys of a table in the reply"),
        ("return { 'ok', 1, { [2] = { 'completed' } } }", "the keys of a table in the reply"),
        ("return { 'ok', 1, {}, extra = 1 }", "the keys of a table in the reply"),
        ("return 'ok'", "not a table"),
        ("return", "not a table"),
        ("return 1 +", "unexpected symbol"),
    ],
)  # fmt: skip
def test_a_breach_is_found(bench: Workbench, text: str, found: str) -> None:
    text = text if "return" in text else f"{text} {OK}"
    with pytest.raises(WatchError, match=found):
        run(bench, text)


def test_a_write_of_a_script_that_only_reads_is_found(bench: Workbench) -> None:
    before = bench.dump()
    with pytest.raises(WatchError, match="DEL in a script that only reads"):
        run(bench, "redis.call('DEL', KEYS[1])", GET)
    assert bench.dump() == before


@pytest.mark.parametrize("most", ["-5", "0", "10001"])
def test_a_look_at_members_that_is_not_bounded_is_found(bench: Workbench, most: str) -> None:
    with pytest.raises(WatchError, match="SRANDMEMBER without a bound"):
        run(bench, f"redis.call('SRANDMEMBER', KEYS[4], {most}) {OK}", STATS)


def test_a_full_server_takes_the_writes_of_a_script_that_may_write_then(bench: Workbench) -> None:
    write = f"redis.call('HSET', KEYS[1], 'f', 1) {OK}"
    bench.full()
    with pytest.raises(WatchError, match=r"OOM|maxmemory"):
        run(bench, write)
    run(bench, "#!lua flags=allow-oom\n" + write)
    assert bench.ask("HGET", ":config", "f") == b"1"


def test_a_protected_call_is_told_what_the_server_refused_and_is_held_to_the_contract(bench: Workbench) -> None:
    run(bench, f"local e = redis.pcall('HINCRBY', KEYS[1], 'clock', 1).err assert(string.find(e, 'integer')) {OK}")
    with pytest.raises(WatchError, match="undeclared key other"):
        run(bench, f"redis.pcall('HGET', 'other', 'f') {OK}")


def test_an_error_before_any_write_is_the_answer(bench: Workbench) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG x") as caught:
        run(bench, "redis.call('HGET', KEYS[1], 'f') return redis.error_reply('ADEQ_ARG x')")
    assert caught.value.code == "ADEQ_ARG"


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("7", b"7"),
        ("-7", b"-7"),
        ("2^53 - 1", b"9007199254740991"),
        ("2^53", b"9007199254740992"),
        ("1700000123457", b"1700000123457"),
        ("1e15", b"1000000000000000"),
        ("'1.50'", b"1.50"),
    ],
)
def test_numbers_are_sent_as_the_server_does(bench: Workbench, value: str, sent: bytes) -> None:
    run(bench, f"redis.call('HSET', KEYS[1], 'f', {value}) {OK}")
    assert bench.ask("HGET", ":config", "f") == sent
    script = f"return redis.call('HSET', KEYS[1], 'f', {value})"
    bench.ask("EVAL", script, 1, ":config")
    assert bench.ask("HGET", ":config", "f") == sent


def test_the_lines_that_ran_are_known(bench: Workbench) -> None:
    run(bench, "local x = ARGV[1]\nif x then\n  x = 1\nelse\n  x = 2\nend\n" + OK)
    assert bench.watched.last.lines & set(range(2, 8)) == {2, 5, 7}


def test_a_failed_run_does_not_disturb_the_next(bench: Workbench) -> None:
    for text in ("while true do end", "error('x')", "undefined()"):
        with pytest.raises(WatchError):
            run(bench, text)
        assert run(bench, OK) == [b"ok", 1, []]


@pytest.mark.parametrize(
    ("of", "name", "value", "fits"),
    [
        ("counters", b"enqueued", b"1", True),
        ("counters", b"enqueued", b"one", False),
        ("counters", b"wait_ms:4", b"1", True),
        ("counters", b"strange", b"1", False),
        ("lanes", b"group/g", b"1", True),
        ("lanes", b"no lane", b"1", False),
        ("settings", b"clock", b"test", True),
        ("settings", b"clock", b"sun", False),
    ],
)
def test_pairs_have_the_names_and_types_of_their_table(of: str, name: bytes, value: bytes, fits: bool) -> None:
    assert table(library()["queue.stats.v1"], of).fits(name, value) is fits


def test_a_text_has_one_of_its_words() -> None:
    script = library()["queue.heartbeat.v1"]
    check_reply(script, [b"ok", 1, b"quiet", 0, []])
    with pytest.raises(WatchError, match="mode in the reply is no text"):
        check_reply(script, [b"ok", 1, b"fast", 0, []])
