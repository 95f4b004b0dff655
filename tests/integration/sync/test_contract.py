# Generated from tests/integration/aio/test_contract.py by pyadeq/_unasync.py; do not edit.
"""The client keeps the call protocol of lua/README.md on a real server, whatever the network does."""

from typing import Any

import pytest
from redis import Redis as Observer
from redis import Redis

from pyadeq._core.kernel.call import Answer, Call, build_call, parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq import Adeq
from pyadeq.errors import AdeqError, BadArgument, ClockError, ConfigError, TransportError
from pyadeq.keys import queue_base
from tests.waiting import LONGEST_RETRY

PAYLOAD = b"\xff\x00 not text"


@pytest.fixture
def base(base_name: str) -> str:
    return queue_base(base_name)


def call(base: str, verb: str, scalars: dict[str, Any], *items: Any) -> Call[Answer]:
    script = library()[f"queue.{verb}.v1"]
    groups = {"item": items} if items else {}
    return build_call(script.id, base, scalars, groups, decode=lambda reply: parse_reply(script, reply))


def enqueue(base: str, *ids: str) -> Call[Answer]:
    return call(base, "enqueue", {"rid": f"rid-{ids[0]}"}, *[(id, PAYLOAD, {"priority": 3}) for id in ids])


def stats(base: str) -> Call[Answer]:
    return call(base, "stats", {})


def statuses(answer: Answer) -> list[str]:
    return [item.status for item in answer["items"]]


def calls_of(client: Observer, command: str) -> int:
    counts: Any = client.info("commandstats")
    return int(counts.get(f"cmdstat_{command}", {}).get("calls", 0))


# Scripts


def test_load_scripts_loads_them_all(adeq: Adeq, client: Observer) -> None:
    client.script_flush()
    assert adeq.load_scripts() == list(library())
    assert all(client.script_exists(*(library()[id].sha1 for id in library())))


def test_load_scripts_loads_those_that_are_named(adeq: Adeq, client: Observer) -> None:
    client.script_flush()
    assert adeq.load_scripts(["queue.ack.v1"]) == ["queue.ack.v1"]
    present = client.script_exists(*(library()[id].sha1 for id in library()))
    assert [id for id, there in zip(library(), present, strict=True) if there] == ["queue.ack.v1"]
    with pytest.raises(ConfigError, match=r"queue\.ack\.v1"):
        adeq.load_scripts(["queue.nothing.v1"])


def test_a_call_loads_a_missing_script_and_never_uses_eval(adeq: Adeq, client: Observer, base: str) -> None:
    evals = calls_of(client, "eval")
    for id in ("a", "b"):
        client.script_flush()
        assert statuses(adeq.send(enqueue(base, id))) == ["created"]
    assert calls_of(client, "eval") == evals


def test_a_pipeline_loads_missing_scripts_and_keeps_the_order(adeq: Adeq, client: Observer, base: str) -> None:
    client.script_flush()
    with adeq.pipeline() as pipe:
        added = [pipe.add(enqueue(base, f"task-{n}")) for n in range(150)]
        read = pipe.add(stats(base))
        found = [pipe.add(call(base, "get", {}, (f"task-{n}",))) for n in range(110)]
    assert all(statuses(one.value) == ["created"] for one in added)
    assert read.value.status == "ok"
    with adeq.pipeline() as pipe:
        client.script_flush()
        found = [pipe.add(call(base, "get", {}, (f"task-{n}",))) for n in range(110)]
    assert [one.value["items"][0]["id"] for one in found] == [f"task-{n}" for n in range(110)]


def test_what_only_reads_is_sent_as_such(adeq: Adeq, client: Observer, base: str) -> None:
    reads = calls_of(client, "evalsha_ro")
    adeq.send(stats(base))
    assert calls_of(client, "evalsha_ro") > reads


# Replies


@pytest.mark.parametrize("options", [{}, {"decode_responses": True}, {"protocol": 2}, {"protocol": 3}], ids=str)
def test_every_kind_of_client_reads_the_same_bytes(url: str, base: str, options: dict[str, Any]) -> None:
    with Redis.from_url(url, **options) as redis, Adeq(redis) as adeq:
        adeq.send(enqueue(base, "task"))
        with adeq.pipeline() as pipe:
            found = pipe.add(call(base, "get", {}, ("task",)))
        for answer in (found.value, adeq.send(call(base, "get", {}, ("task",)))):
            task = answer["items"][0]
            assert (task.status, task["state"], task["payload"]) == ("found", "ready", PAYLOAD)
            assert task["record"]["priority"] == b"3"


def test_refusals_of_a_script_are_errors_with_its_code(adeq: Adeq, base: str) -> None:
    adeq.send(enqueue(base, "task"))
    with pytest.raises(ClockError) as clock:
        adeq.send(call(base, "stats", {"now_ms": 1}))
    assert (clock.value.code, clock.value.script) == ("ADEQ_CLOCK", "queue.stats.v1")
    good = stats(base)
    with pytest.raises(BadArgument) as argument:
        adeq.send(Call(good.script, good.keys, ("soon",), good.decode))
    assert argument.value.code == "ADEQ_ARG"
    assert "now_ms" in str(argument.value)


def test_each_call_of_a_pipeline_has_its_own_error(adeq: Adeq, base: str) -> None:
    pipe = adeq.pipeline()
    first, bad, last = (
        pipe.add(one) for one in (enqueue(base, "a"), call(base, "stats", {"now_ms": 1}), enqueue(base, "b"))
    )
    with pytest.raises(AdeqError, match="execute"):
        _ = first.value
    pipe.execute()
    assert [statuses(first.value), statuses(last.value)] == [["created"], ["created"]]
    with pytest.raises(ClockError):
        _ = bad.value


def test_a_pipeline_whose_block_fails_sends_nothing(adeq: Adeq, base: str) -> None:
    def fail() -> None:
        with adeq.pipeline() as pipe:
            pipe.add(enqueue(base, "a"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (adeq.send(stats(base)))["ready"] == 0


def test_a_full_memory_is_told_from_a_lost_connection(adeq: Adeq, client: Observer, base: str) -> None:
    client.config_set("maxmemory", 1)
    try:
        with pytest.raises(TransportError, match="memory is full") as full:
            adeq.send(enqueue(base, "a"))
    finally:
        client.config_set("maxmemory", 0)
    assert full.value.retryable
    assert not full.value.may_have_applied


# Losses


def test_a_call_whose_reply_is_lost_is_sent_again_with_the_same_effect(proxy: Any, base: str) -> None:
    with Adeq.from_url(proxy.url) as adeq:
        adeq.send(stats(base))
        proxy.lose = 1
        assert statuses(adeq.send(enqueue(base, "a", "b"))) == ["created", "created"]
        assert proxy.lost == 1
        assert (adeq.send(stats(base)))["ready"] == 2


def test_a_pipeline_sends_again_what_was_not_answered(proxy: Any, base: str) -> None:
    with Adeq.from_url(proxy.url) as adeq:
        adeq.load_scripts()
        pipe = adeq.pipeline()
        added = [pipe.add(enqueue(base, f"task-{n}")) for n in range(250)]
        proxy.lose = 1
        pipe.execute()
        assert proxy.lost == 1
        assert all(statuses(one.value) == ["created"] for one in added)
        assert (adeq.send(stats(base)))["ready"] == 250


def test_when_no_reply_ever_comes_the_call_may_have_been_applied(proxy: Any, base: str) -> None:
    with Adeq.from_url(proxy.url, retry_for=2) as adeq:
        adeq.send(stats(base))
        proxy.lose = 1_000_000
        with pytest.raises(TransportError, match=r"queue\.enqueue\.v1: .* may have been applied") as lost:
            adeq.send(enqueue(base, "a"))
        assert proxy.lost > 1
        assert lost.value.retryable
        assert lost.value.may_have_applied
        assert isinstance(lost.value.__cause__, Exception)
        proxy.lose = 0
        assert statuses(adeq.send(enqueue(base, "a"))) == ["created"]


def test_what_was_never_sent_was_not_applied(base: str) -> None:
    with Adeq.from_url("unix:///nowhere.sock", retry_for=0.1) as adeq:
        with pytest.raises(TransportError, match="was not applied") as lost:
            adeq.send(enqueue(base, "a"))
        assert lost.value.retryable
        assert not lost.value.may_have_applied
        pipe = adeq.pipeline()
        added = [pipe.add(enqueue(base, id)) for id in ("a", "b")]
        with pytest.raises(TransportError, match="was not applied"):
            pipe.execute()
        for one in added:
            with pytest.raises(TransportError):
                _ = one.value
        with pytest.raises(TransportError, match="SCRIPT LOAD"):
            adeq.load_scripts()


def test_a_wrong_password_is_not_tried_again(url: str, base: str) -> None:
    with Adeq.from_url(url, username="nobody", password="wrong", retry_for=LONGEST_RETRY) as adeq:
        with pytest.raises(TransportError) as refused:
            adeq.send(stats(base))
        assert not refused.value.retryable
        assert not refused.value.may_have_applied


# Blocking


def test_block_takes_a_hint_or_times_out(adeq: Adeq, client: Observer, base: str) -> None:
    key = f"{base}:wake:any"
    assert not adeq.block([key], 0.01)
    client.rpush(key, "1")
    assert adeq.block([f"{base}:wake:group/g", key], 5)
    assert not client.exists(key)
    client.set(key, "no list")
    with pytest.raises(TransportError, match="WRONGTYPE"):
        adeq.block([key], 5)
    client.delete(key)


def test_a_lost_block_is_a_block_without_a_hint(proxy: Any, base: str) -> None:
    with Adeq.from_url(proxy.url) as adeq:
        proxy.lose = 1
        assert not adeq.block([f"{base}:wake:any"], 0.01)
        assert proxy.lost == 1


def test_the_blocking_client_waits_longer_than_the_socket_timeout(url: str, base: str) -> None:
    with Redis.from_url(url, socket_timeout=0.05) as redis:
        client: Any = Adeq(redis).blocking_client()
        with client:
            assert client.blpop([f"{base}:nothing"], 0.2) is None


def test_the_embedded_server_runs_calls(base: str) -> None:
    with Adeq.embedded() as adeq:
        assert statuses(adeq.send(enqueue(base, "a"))) == ["created"]
