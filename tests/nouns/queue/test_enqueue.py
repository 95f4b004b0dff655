from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff, Task
from tests.nouns.queue.workbench import BAND, START, MakeBench, Workbench
from tests.nouns.watched import Refused


def enqueue(bench: Workbench, *ids: str, rid: str = "r", **task: object) -> list[str]:
    task.setdefault("payload", b"x")
    call = bench.calls.enqueue([(id, Task(**task)) for id in ids], rid)  # type: ignore[arg-type]
    return [receipt.status for receipt in bench.run(call)]


def test_a_new_task_is_created_in_line(bench: Workbench) -> None:
    assert enqueue(bench, "a") == ["created"]
    assert bench.dump(stamps=False) == {
        ":config": ("hash", {"layout": b"2", "layout_min": b"2", "clock": b"test", "place": b"1"}),
        ":counters": ("hash", {"enqueued": b"1"}),
        ":events": (
            "stream",
            [[b"event", b"task.enqueued", b"timestamp", b"%d" % START, b"id", b"a"]],
        ),
        ":lanes": ("set", [b"any"]),
        ":payload:a": ("string", b"x"),
        ":ready:any": ("zset", [b"a", b"%d" % (5 * BAND + 1)]),
        ":task:a": ("hash", {"rid": b"r/1", "created_ms": b"%d" % START}),
        ":wake:any": ("list", [b"1"]),
    }


def test_a_queue_is_created_by_its_first_task(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    enqueue(bench, "a")
    assert bench.dump()[":config"][1] == {"layout": b"2", "layout_min": b"2", "clock": b"server", "place": b"1"}


def test_the_record_keeps_what_is_not_at_its_default(bench: Workbench) -> None:
    enqueue(
        bench,
        "a",
        kind="mail",
        priority=0,
        lane="group/g/inst/i",
        user="u",
        tags=["s", "t"],
        max_attempts=7,
        backoff=Backoff(base=0.5, multiplier=1.5, cap=9, jitter=0.2),
        headers={"h": 1},
    )
    assert bench.record("a") == {
        "rid": b"r/1",
        "created_ms": b"%d" % START,
        "kind": b"mail",
        "priority": b"0",
        "lane": b"group/g/inst/i",
        "user": b"u",
        "tags": b"s,t",
        "max_attempts": b"7",
        "backoff_base_ms": b"500",
        "backoff_multiplier_pct": b"150",
        "backoff_cap_ms": b"9000",
        "jitter_pct": b"20",
        "headers": b'{"h":1}',
    }
    assert bench.ready("group/g/inst/i") == ["a"]


@pytest.mark.parametrize(("name", "default"), [("priority", "5"), ("lane", "any"), ("delay_ms", "0")])
@pytest.mark.parametrize("empty", [True, False])
def test_a_pair_at_its_default_is_not_stored(bench: Workbench, name: str, default: str, empty: bool) -> None:
    bench.raw_run("queue.enqueue.v1", "r", "", "", bench.now, "", "", 1, "a", "x", 1, name, "" if empty else default)
    assert bench.record("a").keys() == {"rid", "created_ms"}
    assert bench.ready() == ["a"]


@pytest.mark.parametrize(("size", "stored"), [(0, None), (1024, None), (1025, b"1025"), (2**20, b"1048576")])
def test_the_record_knows_the_size_of_a_large_payload(bench: Workbench, size: int, stored: bytes | None) -> None:
    enqueue(bench, "a", payload=b"x" * size)
    assert bench.record("a").get("size") == stored
    assert bench.ask("STRLEN", ":payload:a") == size


def test_a_payload_is_any_bytes(bench: Workbench) -> None:
    data = bytes(range(256)) * 3 + b"\r\n\x00"
    enqueue(bench, "a", payload=data)
    assert bench.ask("GET", ":payload:a") == data


def test_items_stand_in_line_in_their_order_and_calls_after_each_other(bench: Workbench) -> None:
    enqueue(bench, "z", "y", "x", rid="1")
    enqueue(bench, "c", "b", rid="2")
    assert bench.ready() == ["z", "y", "x", "c", "b"]


def test_a_lower_priority_stands_before_all_of_a_higher_one(bench: Workbench) -> None:
    for priority in (9, 0, 5):
        enqueue(bench, f"p{priority}", rid=f"r{priority}", priority=priority)
    assert bench.ready() == ["p0", "p5", "p9"]
    assert int(bench.ask("ZSCORE", ":ready:any", "p9")) == 9 * BAND + 1


def test_another_rid_finds_that_the_id_exists_and_changes_nothing(bench: Workbench) -> None:
    enqueue(bench, "a")
    before = bench.dump()
    assert enqueue(bench, "a", rid="other", payload=b"other", priority=0) == ["exists"]
    before[":config"][1]["place"] = b"2"
    assert bench.dump() == before


def test_the_same_rid_at_another_index_is_another_use_of_the_id(bench: Workbench) -> None:
    enqueue(bench, "a", "b")
    assert enqueue(bench, "b", "a") == ["exists", "exists"]


def test_of_two_equal_ids_in_a_call_the_second_exists(bench: Workbench) -> None:
    assert enqueue(bench, "a", "a") == ["created", "exists"]
    assert enqueue(bench, "a", "a") == ["created", "exists"]
    assert bench.ready() == ["a"]


def test_known_and_new_ids_of_one_call_are_told_apart(bench: Workbench) -> None:
    enqueue(bench, "b", rid="first")
    assert enqueue(bench, "a", "b", "c") == ["created", "exists", "created"]
    assert bench.ready() == ["b", "a", "c"]
    assert bench.counters()["enqueued"] == 3


@pytest.mark.parametrize("then", ["claimed", "completed", "dead", "cancelled"])
def test_a_replay_answers_created_whatever_became_of_the_task(bench: Workbench, then: str) -> None:
    enqueue(bench, "a")
    if then == "cancelled":
        bench.real(bench.calls.cancel(["a"]))
    else:
        leases = bench.claim(1)
        if then == "completed":
            bench.real(bench.calls.ack([(leases[0], None)]))
        if then == "dead":
            bench.real(bench.calls.fail([Failure(leases[0], retryable=False)], [0]))
    before = bench.state("a")
    assert enqueue(bench, "a") == ["created"]
    assert bench.state("a") == before
    assert bench.ready() == []


def test_a_delayed_task_waits_for_its_time(bench: Workbench) -> None:
    enqueue(bench, "a", delay=2.5)
    assert bench.ask("ZRANGE", ":delayed", 0, -1, "WITHSCORES") == [b"a", b"%d" % (START + 2500)]
    assert bench.ready() == []
    assert bench.ask("EXISTS", ":lanes") == 0


def test_a_wake_up_token_is_there_once(bench: Workbench) -> None:
    for rid in "12":
        enqueue(bench, f"a{rid}", rid=rid)
        enqueue(bench, f"g{rid}", rid=rid, lane="group/g")
    assert (bench.tokens(), bench.tokens("group/g"), bench.tokens("group/other")) == (1, 1, 0)


@pytest.mark.parametrize(("delay", "tokens"), [(0.001, 1), (9.999, 1), (10, 0), (600, 0)])
def test_a_due_time_within_the_longest_block_wakes_a_worker(bench: Workbench, delay: float, tokens: int) -> None:
    enqueue(bench, "a", delay=delay, lane="group/g")
    assert (bench.tokens("group/g"), bench.tokens()) == (tokens, 0)


@pytest.mark.parametrize("lane", ["any", "group/g"])
def test_the_token_of_a_lane_with_tasks_does_not_expire(bench: Workbench, lane: str) -> None:
    enqueue(bench, "late", delay=5, lane=lane)
    assert 0 < bench.ask("PTTL", f":wake:{lane}") <= 60_000
    for id, delay in (("now", 0), ("later", 5)):
        enqueue(bench, id, rid=id, delay=delay, lane=lane)
        assert (bench.tokens(lane), bench.ask("PTTL", f":wake:{lane}")) == (1, -1)


def test_one_event_tells_of_all_tasks_of_a_call_in_order(bench: Workbench) -> None:
    enqueue(bench, "b", "a", "b")
    bench.raw_run("queue.enqueue.v1", "r2", "00-trace", "me", bench.now, "", "", 1, "c", "x", 0)
    first, second = bench.events()
    assert first == {"event": b"task.enqueued", "timestamp": b"%d" % START, "id": b"b a"}
    assert second == first | {"id": b"c", "source": b"me", "trace": b"00-trace"}


def test_a_call_that_creates_nothing_tells_nothing(bench: Workbench) -> None:
    enqueue(bench, "a")
    enqueue(bench, "a", rid="other")
    assert len(bench.events()) == 1


def test_the_stream_is_bounded(bench: Workbench) -> None:
    bench.real(bench.calls.configure(events_max=100))
    for rid in range(400):
        bench.real(bench.calls.enqueue([(f"a{rid}", Task(payload=b"x"))], "r"))
    assert 100 <= int(bench.ask("XLEN", ":events")) < 300


def test_a_queue_may_be_without_events(bench: Workbench) -> None:
    bench.real(bench.calls.configure(events_max=0))
    before = bench.events()
    bench.run(bench.calls.enqueue([("a", Task(payload=b"x"))], "r"))
    assert bench.events() == before
    bench.real(bench.calls.configure("on", events_max=100))
    bench.real(bench.calls.enqueue([("b", Task(payload=b"x"))], "r"))
    assert [one["event"] for one in bench.events()[len(before) :]] == [b"task.enqueued"]


def test_a_thousand_tasks_in_a_thousand_lanes_fit_in_one_call(bench: Workbench) -> None:
    call = bench.calls.enqueue([(f"a{at}", Task(payload=b"x", lane=f"group/g{at}")) for at in range(1000)], "r")
    assert {receipt.status for receipt in bench.run(call)} == {"created"}
    assert bench.ask("SCARD", ":lanes") == 1000


def test_an_unknown_pair_is_refused_and_the_known_ones_listed(bench: Workbench) -> None:
    with pytest.raises(Refused, match=r"^ADEQ_ARG item\[1\]\.pairs must be names from kind, priority, .*got 'paylod'$"):
        bench.raw_run("queue.enqueue.v1", "r", "", "", bench.now, "", "", 1, "a", "x", 1, "paylod", "x")
