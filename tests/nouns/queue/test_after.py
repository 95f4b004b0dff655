"""Tasks that wait for the ends of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.workbench import BAND, START, Workbench
from tests.nouns.scenario import AnyCall
from tests.nouns.watched import Refused

NOW = START / 1000


def enqueueing(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> AnyCall:
    return bench.calls.enqueue([(id, Task(**{"payload": b"x", **fields})) for id, fields in items], rid)


def answers(bench: Workbench, call: AnyCall) -> list[str]:
    """To each item in a word or two, as the script says it."""
    return [b" ".join(item).decode() for item in bench.watched.call(call)[2]]


def enqueue(bench: Workbench, *items: tuple[str, dict[str, Any]], rid: str = "r") -> list[str]:
    return answers(bench, enqueueing(bench, *items, rid=rid))


def complete(bench: Workbench, *leases: Lease) -> None:
    assert bench.run(bench.calls.ack([(lease, None) for lease in leases])) == ["completed"] * len(leases)


def fail(bench: Workbench, *leases: Lease) -> None:
    failed = bench.run(bench.calls.fail([Failure(lease, retryable=False) for lease in leases], [0] * len(leases)))
    assert [one.status for one in failed] == ["dead"] * len(leases)


def cancel(bench: Workbench, *leases: Lease) -> None:
    bench.run(bench.calls.cancel([lease.id for lease in leases]))
    assert bench.run(bench.calls.release(leases)) == ["cancelled"] * len(leases)


def awaits(bench: Workbench, id: str) -> int:
    return int(bench.record(id)["awaits"])


def unblocked(bench: Workbench) -> list[bytes]:
    return [event["id"] for event in bench.events("task.unblocked")]


def place(bench: Workbench, id: str, lane: str = "any") -> int:
    return int(bench.ask("ZSCORE", f":ready:{lane}", id))


def due(bench: Workbench, id: str, name: str = ":deadlines") -> int | None:
    score = bench.ask("ZSCORE", name, id)
    return None if score is None else int(score) - START


ENTRIES = {"dead": [b"reason=after_failed"], "cancelled": [None]}
END: dict[str, Callable[..., None]] = {"completed": complete, "dead": fail, "cancelled": cancel}


# waiting


def test_a_task_waits_until_the_other_has_completed(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("DEL", ":wake:any")
    assert enqueue(bench, ("b", {"after": [lease.id], "priority": 2})) == ["created"]
    assert bench.state("b") == "blocked"
    assert bench.ask("ZRANGE", ":blocked", 0, -1, "WITHSCORES") == [b"b", b"%d" % (2 * BAND + 2)]
    assert bench.ask("ZRANGE", f":dependents:{lease.id}", 0, -1, "WITHSCORES") == [b"b", b"2"]
    record = bench.record("b")
    assert (record["after"], record["awaits"]) == (lease.id.encode(), b"1")
    assert "ties" not in record
    assert bench.record(lease.id)["awaited"] == b"1"
    assert bench.tokens() == 0
    check_queue(bench)
    bench.fill(1, priority=2)  # came later
    bench.pass_time(5_000)
    bench.ask("DEL", ":wake:any")
    complete(bench, lease)
    assert bench.ready()[0] == "b"
    assert place(bench, "b") == 2 * BAND + 2
    assert bench.tokens() == 1
    assert bench.record("b")["ready_ms"] == b"%d" % bench.now
    assert "awaited" not in bench.record(lease.id)
    assert unblocked(bench) == [b"b"]
    assert bench.ask("EXISTS", ":blocked", ":ends", f":dependents:{lease.id}") == 0
    check_queue(bench)


def test_the_time_in_line_counts_from_then(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.fill(1, after=[lease.id])
    bench.pass_time(10_000)
    complete(bench, lease)
    bench.pass_time(100)
    before = bench.counters()
    (other,) = bench.claim(1)
    assert other.attempt == 1
    assert bench.counters()["wait_ms:128"] == before.get("wait_ms:128", 0) + 1


def test_all_that_one_call_frees_are_one_event_and_wake_each_lane_once(bench: Workbench) -> None:
    first, second = bench.lease(2)
    bench.ask("DEL", ":wake:any")
    links = {"a": first, "b": second, "c": first}
    lanes = {"a": "any", "b": "any", "c": "group/c"}
    enqueue(bench, *[(id, {"after": [lease.id], "lane": lanes[id]}) for id, lease in links.items()])
    assert [bench.tokens(lane) for lane in ("any", "group/c")] == [0, 0]
    complete(bench, first, second)
    assert unblocked(bench) == [b"a c b"]
    assert [bench.tokens(lane) for lane in ("any", "group/c")] == [1, 1]
    assert (bench.ready(), bench.ready("group/c")) == (["a", "b"], ["c"])
    check_queue(bench)


def test_it_waits_for_all_of_them(bench: Workbench) -> None:
    first, second, third = bench.lease(3)
    (id,) = bench.fill(1, after=[lease.id for lease in (first, second, third)])
    for lease, left in ((third, 2), (first, 1)):
        complete(bench, lease)
        assert (bench.state(id), awaits(bench, id)) == ("blocked", left)
        check_queue(bench)
    complete(bench, second)
    assert bench.state(id) == "ready"
    assert awaits(bench, id) == 0


def test_all_of_them_may_end_in_one_call(bench: Workbench) -> None:
    leases = bench.lease(64)
    (id,) = bench.fill(1, after=[lease.id for lease in leases])
    assert awaits(bench, id) == 64
    complete(bench, *leases)
    assert bench.state(id) == "ready"
    assert unblocked(bench) == [id.encode()]


def test_the_same_task_twice_is_waited_for_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id, lease.id])
    assert awaits(bench, id) == 1
    check_queue(bench)
    complete(bench, lease)
    assert bench.state(id) == "ready"


@pytest.mark.parametrize("when", ["completed", "failed", "ended"])
@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("ended", [False, True])
def test_how_the_other_must_end(bench: Workbench, when: str, end: str, ended: bool) -> None:
    """The same whether it ends later or has ended before."""
    good = when == "ended" or (end == "completed") == (when == "completed")
    (lease,) = bench.lease(1)
    if ended:
        END[end](bench, lease)
        enqueue(bench, ("b", {"after": [lease.id], "after_when": when}))
    else:
        (id,) = bench.fill(1, after=[lease.id])
        enqueue(bench, ("b", {"after": [lease.id], "after_when": when}))
        assert bench.state(id) == "blocked"
        END[end](bench, lease)
    expected = "ready" if good else "cancelled" if when == "failed" else "dead"
    assert bench.state("b") == expected
    assert (b"b" in b" ".join(unblocked(bench)).split()) == good
    name = f"task.{expected}"
    assert [event.get("payload") for event in bench.events(name) if event["id"] == b"b"] == ENTRIES.get(expected, [])
    if expected == "dead":
        assert bench.record("b")["reason"] == b"after_failed"
    assert bench.ask("EXISTS", ":blocked", ":ends") == 0
    check_queue(bench)


@pytest.mark.parametrize(
    ("when", "ends", "state"),
    [
        ("completed", ["dead", "completed"], "ready"),
        ("completed", ["dead", "cancelled", "dead"], "dead"),
        ("failed", ["completed", "cancelled"], "ready"),
        ("failed", ["completed", "completed", "completed"], "cancelled"),
        ("ended", ["dead"], "ready"),
        ("ended", ["completed"], "ready"),
    ],
)
def test_any_of_them_may_do(bench: Workbench, when: str, ends: list[str], state: str) -> None:
    leases = bench.lease(3)
    (id,) = bench.fill(1, after=[lease.id for lease in leases], after_any=True, after_when=when)
    for at, (lease, end) in enumerate(zip(leases, ends, strict=False)):
        assert (bench.state(id), awaits(bench, id)) == ("blocked", 3 - at)
        END[end](bench, lease)
        check_queue(bench)
    assert bench.state(id) == state
    # What the others do is nothing to it any more.
    for lease in leases[len(ends) :]:
        fail(bench, lease)
    assert bench.state(id) == state
    check_queue(bench)


def test_the_first_bad_end_decides_where_all_must_be_good(bench: Workbench) -> None:
    first, second = bench.lease(2)
    (id,) = bench.fill(1, after=[first.id, second.id])
    fail(bench, second)
    assert bench.state(id) == "dead"
    complete(bench, first)
    assert bench.state(id) == "dead"
    check_queue(bench)


@pytest.mark.parametrize("end", ["fail", "release", "snooze"])
def test_what_goes_on_has_not_ended(bench: Workbench, end: str) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id])
    match end:
        case "fail":
            bench.run(bench.calls.fail([Failure(lease, delay=0)], [0]))
        case "release":
            bench.run(bench.calls.release([lease]))
        case "snooze":
            bench.run(bench.calls.snooze([(lease, 0)]))
    bench.run(bench.calls.promote())
    assert bench.state(id) == "blocked"
    check_queue(bench)
    complete(bench, *bench.claim(1))
    assert bench.state(id) == "ready"


Way = Callable[[Workbench, Any], object]
EXPIRES: dict[str, Any] = {"expires_at": NOW + 1}
ENDS_OF_WAITING: dict[str, tuple[dict[str, Any], Way]] = {
    "cancel": ({}, lambda bench, id: bench.run(bench.calls.cancel([id]))),
    "expire": (EXPIRES, lambda bench, id: bench.run(bench.calls.expire())),
    "nobody came": ({"fallback": "fail", "fallback_after": 1}, lambda bench, id: bench.run(bench.calls.expire())),
    "claim": (EXPIRES, lambda bench, id: bench.claim(1)),
    "purge": ({}, lambda bench, id: bench.run(bench.calls.purge(limit=1))),
    "evicted: claim": ({}, lambda bench, id: bench.claim(1)),
    "evicted: promote": ({"delay": 1}, lambda bench, id: bench.run(bench.calls.promote())),
    "evicted: expire": (EXPIRES, lambda bench, id: bench.run(bench.calls.expire())),
}
ENDS_OF_RUNNING: dict[str, Way] = {
    "fail": lambda bench, lease: bench.run(bench.calls.fail([Failure(lease, retryable=False)], [0])),
    "settle": lambda bench, lease: bench.run(
        bench.calls.settle("w", "i", 0, 1_000, fails=[Failure(lease, retryable=False)], jitters=[0])
    ),
    "stalled: reap": lambda bench, lease: bench.run(bench.calls.reap()),
    "stalled: claim": lambda bench, lease: bench.claim(1),
    "cancelled: fail": lambda bench, lease: bench.run(bench.calls.fail([Failure(lease)], [0])),
    "cancelled: release": lambda bench, lease: bench.run(bench.calls.release([lease])),
    "cancelled: snooze": lambda bench, lease: bench.run(bench.calls.snooze([(lease, 1)])),
    "cancelled: deregister": lambda bench, lease: bench.run(bench.calls.deregister("w", "i", leases=[lease])),
    "cancelled, stalled: reap": lambda bench, lease: bench.run(bench.calls.reap()),
}


def check_that_a_failure_was_heard_of(bench: Workbench, follower: str, cleanup: str, parent: str) -> None:
    assert [bench.state(id) for id in (follower, cleanup, parent)] == ["dead", "ready", "dead"]
    assert bench.ready("group/cleanup") == [cleanup]
    assert bench.tokens("group/cleanup") == 1
    assert bench.ask("EXISTS", ":ends", ":blocked") == 0
    check_queue(bench)


@pytest.mark.parametrize("end", ENDS_OF_WAITING)
def test_whatever_ends_a_waiting_task_tells_those_who_wait_for_it(bench: Workbench, end: str) -> None:
    task, way = ENDS_OF_WAITING[end]
    (parent,) = bench.fill(1, gather=1)
    (id,) = bench.fill(1, parent=parent, **task)
    (follower,) = bench.fill(1, after=[id])
    (cleanup,) = bench.fill(1, after=[id], after_when="failed", lane="group/cleanup")
    bench.pass_time(1_000)
    if "evicted" in end:
        bench.ask("DEL", f":task:{id}")
    way(bench, id)
    bench.sweep()
    if "evicted" in end:  # which parent it had is gone with its record
        assert [bench.state(one) for one in (follower, cleanup)] == ["dead", "ready"]
    else:
        check_that_a_failure_was_heard_of(bench, follower, cleanup, parent)


@pytest.mark.parametrize("end", ENDS_OF_RUNNING)
def test_whatever_ends_a_running_task_tells_those_who_wait_for_it(bench: Workbench, end: str) -> None:
    bench.run(bench.calls.configure(max_crashes=1))
    (parent,) = bench.fill(1, gather=1)
    (lease,) = bench.lease(1, parent=parent)
    (follower,) = bench.fill(1, after=[lease.id])
    (cleanup,) = bench.fill(1, after=[lease.id], after_when="failed", lane="group/cleanup")
    if "cancelled" in end:
        bench.run(bench.calls.cancel([lease.id]))
    if "stalled" in end:
        bench.pass_time(15_000)
    ENDS_OF_RUNNING[end](bench, lease)
    check_that_a_failure_was_heard_of(bench, follower, cleanup, parent)


# the times of a task


def test_a_delay_counts_from_when_it_is_free(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], delay=20)
    bench.pass_time(10_000)
    complete(bench, lease)
    assert (bench.state(id), due(bench, id, ":delayed")) == ("delayed", 30_000)
    assert unblocked(bench) == [id.encode()]
    assert bench.tokens() == 0
    check_queue(bench)
    bench.pass_time(20_000)
    bench.run(bench.calls.promote())
    assert bench.ready() == [id]


def test_a_short_delay_leaves_a_token(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], delay=9.999, lane="group/a")
    complete(bench, lease)
    assert (bench.tokens("group/a"), bench.ask("PTTL", ":wake:group/a") > 0) == (1, True)
    assert bench.state(id) == "delayed"


@pytest.mark.parametrize(("at", "state"), [(5_000, "ready"), (10_000, "ready"), (10_001, "delayed")])
def test_run_after_is_a_moment(bench: Workbench, at: int, state: str) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], run_after=NOW + at / 1000)
    assert bench.state(id) == "blocked"
    bench.pass_time(10_000)
    bench.run(bench.calls.promote())
    assert bench.state(id) == "blocked"
    complete(bench, lease)
    assert bench.state(id) == state
    if state == "delayed":
        assert due(bench, id, ":delayed") == at
    check_queue(bench)


def test_the_later_of_a_delay_and_a_moment_counts(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    one, other = bench.fill(2, after=[lease.id], run_after=NOW + 12, delay=1)
    complete(bench, lease)
    assert [due(bench, id, ":delayed") for id in (one, other)] == [12_000, 12_000]


def test_the_time_for_a_fallback_counts_from_when_it_is_free(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], lane="group/a", fallback=["any"], fallback_after=5)
    assert (due(bench, id), bench.tokens("any")) == (None, 0)
    bench.pass_time(10_000)
    assert bench.run(bench.calls.expire()) == 0
    check_queue(bench)
    complete(bench, lease)
    assert (bench.ready("group/a"), due(bench, id)) == ([id], 15_000)
    assert (bench.tokens("group/a"), bench.tokens("any")) == (1, 1)
    check_queue(bench)
    bench.pass_time(5_000)
    assert bench.run(bench.calls.expire()) == 1
    assert bench.ready("any") == [id]


def test_the_time_for_a_fallback_of_a_delayed_one_counts_from_its_time(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], delay=60, fallback="fail", fallback_after=30)
    bench.pass_time(10_000)
    complete(bench, lease)
    assert (due(bench, id, ":delayed"), due(bench, id)) == (70_000, 100_000)
    check_queue(bench)


def test_it_expires_while_it_waits(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], expires_at=NOW + 10, fallback=["group/a"], fallback_after=1)
    (of_it,) = bench.fill(1, after=[id])
    assert due(bench, id) == 10_000
    bench.pass_time(9_999)
    assert bench.run(bench.calls.expire()) == 0
    bench.pass_time(1)
    assert bench.run(bench.calls.expire()) == 1
    assert [(bench.state(one), bench.record(one)["reason"]) for one in (id, of_it)] == [
        ("dead", b"expired"),
        ("dead", b"after_failed"),
    ]
    assert [event["id"] for event in bench.events("task.expired")] == [id.encode()]
    assert bench.ask("EXISTS", ":blocked", ":deadlines") == 0
    check_queue(bench)
    complete(bench, lease)
    assert bench.state(id) == "dead"
    assert unblocked(bench) == []
    assert bench.ask("EXISTS", ":ends", f":dependents:{lease.id}") == 0
    check_queue(bench)


def test_it_still_expires_once_it_is_free(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], expires_at=NOW + 10)
    complete(bench, lease)
    assert due(bench, id) == 10_000
    check_queue(bench)
    bench.pass_time(10_000)
    bench.run(bench.calls.expire())
    assert bench.record(id)["reason"] == b"expired"


def test_it_is_known_when_the_next_one_expires_while_it_waits(bench: Workbench) -> None:
    bench.fill(1, after=bench.fill(1, lane="group/a"), expires_at=NOW + 3)
    bench.worker()
    assert bench.run(bench.calls.claim("w", "i", 0, 1)).next_due == (START + 3_000) / 1000


# enqueue


def test_a_task_that_there_is_not_is_named_and_nothing_is_created(bench: Workbench) -> None:
    (known,) = bench.fill(1)
    before = bench.dump()
    assert enqueue(bench, ("b", {"after": [known, "x", "y"]})) == ["unknown x"]
    after = bench.dump()
    assert after[":config"][1].pop("place") == b"2"
    assert before[":config"][1].pop("place") == b"1"
    assert after == before
    assert bench.view("b") is None


def test_an_unknown_one_stops_only_its_own_item(bench: Workbench) -> None:
    (known,) = bench.fill(1)
    answers = enqueue(bench, ("a", {"after": [known]}), ("b", {"after": ["x"]}), ("c", {"after": ["b"]}), ("d", {}))
    assert answers == ["created", "unknown x", "unknown b", "created"]
    assert bench.ready() == [known, "d"]
    assert [event["id"] for event in bench.events("task.enqueued")][-1] == b"a d"
    check_queue(bench)


def test_a_task_does_not_wait_for_itself(bench: Workbench) -> None:
    assert enqueue(bench, ("a", {"after": ["a"]})) == ["unknown a"]


def test_the_call_that_was_answered_unknown_is_answered_again_by_what_there_is_now(bench: Workbench) -> None:
    call = enqueueing(bench, ("b", {"after": ["a"]}))
    assert answers(bench, call) == ["unknown a"]
    enqueue(bench, ("a", {}), rid="other")
    assert answers(bench, call) == ["created"]
    assert bench.state("b") == "blocked"
    assert answers(bench, call) == ["created"]
    check_queue(bench)


def test_earlier_items_of_the_call_count_and_later_ones_do_not(bench: Workbench) -> None:
    call = enqueueing(bench, ("a", {}), ("b", {"after": ["a", "d"]}), ("c", {"after": ["a"]}), ("d", {}))
    expected = ["created", "unknown d", "created", "created"]
    assert answers(bench, call) == expected
    before = bench.dump()
    assert answers(bench, call) == expected, "sent again"
    after = bench.dump()
    for found in (before, after):
        found[":config"][1].pop("place")
    assert after == before
    check_queue(bench)


def test_an_id_is_free_for_a_later_item_where_the_first_was_unknown(bench: Workbench) -> None:
    call = enqueueing(bench, ("b", {"after": ["x"]}), ("b", {}))
    assert answers(bench, call) == ["unknown x", "created"]
    assert answers(bench, call)[1] == "created", "sent again"
    assert bench.ready() == ["b"]


@pytest.mark.parametrize("key", [{"scope": "s", "coalesce": "last"}, {"unique": "s"}, {"idempotency_key": "s"}, {}])
def test_what_was_unknown_is_unknown_again_though_a_later_item_has_its_key(
    bench: Workbench, key: dict[str, str]
) -> None:
    call = enqueueing(bench, ("a", {"after": ["x"], **key}), ("b" if key else "a", {"payload": b"good", **key}))
    expected = ["unknown x", "created"]
    assert answers(bench, call) == expected
    before = bench.dump()
    assert answers(bench, call) == expected, "sent again"
    after = bench.dump()
    for found in (before, after):
        found[":config"][1].pop("place")
    assert after == before
    check_queue(bench)


@pytest.mark.parametrize("key", [{"scope": "s", "coalesce": "last"}, {"unique": "s"}, {"idempotency_key": "s"}])
def test_the_later_item_stands_for_one_that_is_unknown_no_more(bench: Workbench, key: dict[str, str]) -> None:
    call = enqueueing(bench, ("a", {"after": ["x"], **key}), ("b", {"payload": b"good", **key}))
    assert answers(bench, call) == ["unknown x", "created"]
    bench.fill(1)
    enqueue(bench, ("x", {}), rid="other")
    for _ in range(2):
        assert answers(bench, call) == ["deduplicated b", "created"]
        check_queue(bench)
    assert bench.ask("GET", ":payload:b") == b"good"


def test_a_later_item_that_was_merged_elsewhere_does_not_count(bench: Workbench) -> None:
    """Sent again, the first one is answered by what it was merged with before."""
    enqueue(bench, ("z", {"unique": "u"}), rid="other")
    call = enqueueing(bench, ("a", {"unique": "u", "after": ["z"]}), ("a", {}))
    for _ in range(2):
        assert answers(bench, call) == ["deduplicated z", "created"]


def test_a_whole_chain_in_one_call(bench: Workbench) -> None:
    chain = [f"e{at}" for at in range(5)]
    enqueue(bench, *[(id, {"after": chain[at - 1 : at]} if at else {}) for at, id in enumerate(chain)])
    for id in chain:
        assert bench.ready() == [id]
        check_queue(bench)
        complete(bench, *bench.claim(10))
    assert bench.ask("EXISTS", ":blocked", ":ends") == 0


def test_sent_again_it_changes_nothing(bench: Workbench) -> None:
    first, second = bench.lease(2)
    complete(bench, first)
    call = enqueueing(bench, ("b", {"after": [first.id]}), ("c", {"after": [first.id, second.id]}))
    assert answers(bench, call) == ["created", "created"]
    for _ in range(2):
        assert answers(bench, call) == ["created", "created"]
        assert (bench.ready(), awaits(bench, "c")) == (["b"], 1)
        check_queue(bench)


@pytest.mark.parametrize("gone", ["trimmed", "purged"])
def test_sent_again_it_is_created_though_the_other_has_gone(bench: Workbench, gone: str) -> None:
    (other,) = bench.fill(1)
    call = enqueueing(bench, ("b", {"after": [other]}))
    assert answers(bench, call) == ["created"]
    if gone == "trimmed":
        bench.run(bench.calls.configure(finished_max=0))
        complete(bench, *bench.claim(1))
        assert bench.state("b") == "ready"
    else:
        assert bench.run(bench.calls.purge(limit=1))[0] == 1
        bench.sweep()
    assert bench.view(other) is None
    assert answers(bench, call) == ["created"]
    assert enqueue(bench, ("c", {"after": [other]}), rid="another") == [f"unknown {other}"]


def test_its_own_id_under_another_rid_exists_whatever_it_waits_for(bench: Workbench) -> None:
    enqueue(bench, ("b", {}), rid="first")
    assert enqueue(bench, ("b", {"after": ["x"]}), rid="second") == ["exists"]


def test_one_that_is_deduplicated_waits_for_nobody(bench: Workbench) -> None:
    (known,) = bench.fill(1, unique="k")
    assert enqueue(bench, ("b", {"after": ["x"], "unique": "k"})) == [f"deduplicated {known}"]
    assert bench.ask("EXISTS", ":blocked") == 0


def test_a_unique_key_and_a_scope_are_held_while_it_waits(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    enqueue(bench, ("b", {"after": [lease.id], "unique": "k", "scope": "s"}))
    assert enqueue(bench, ("c", {"unique": "k"}), ("d", {"scope": "s"}), rid="other") == [
        "deduplicated b",
        "deduplicated b",
    ]
    check_queue(bench)
    fail(bench, lease)
    assert bench.state("b") == "dead"
    assert enqueue(bench, ("e", {"unique": "k"}), rid="another") == ["created"]
    check_queue(bench)


def test_a_draining_queue_frees_what_waits_and_takes_nothing_new(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    call = enqueueing(bench, ("b", {"after": [lease.id]}))
    bench.run(call)
    bench.run(bench.calls.drain())
    assert answers(bench, call) == ["created"]
    complete(bench, lease)
    assert bench.ready() == ["b"]


def test_in_a_pause_it_is_freed_and_wakes_nobody(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id], lane="group/a")
    bench.run(bench.calls.pause())
    complete(bench, lease)
    assert (bench.ready("group/a"), bench.tokens("group/a")) == ([id], 0)
    bench.run(bench.calls.resume())
    assert bench.tokens("group/a") == 1
    check_queue(bench)


@pytest.mark.parametrize("cancelling", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_a_running_task_is_told_that_it_is_waited_for(bench: Workbench, cancelling: bool, tied: bool) -> None:
    (lease,) = bench.lease(1, **({"unique": "k"} if tied else {}))
    if cancelling:
        bench.run(bench.calls.cancel([lease.id]))
    for _ in range(2):
        bench.fill(1, after=[lease.id])
        held = bench.ask("HGET", ":running", lease.id).decode()
        before, _, ran = held.partition("|")
        assert before.split(" ")[2:] == ["any", "ties", *["cancel"] * cancelling]
        assert ran.endswith(" w")
    check_queue(bench)
    bench.run(bench.calls.heartbeat([lease]))
    if cancelling:
        assert bench.run(bench.calls.release([lease])) == ["cancelled"]
        assert bench.ask("ZCARD", ":dead") == 2
    else:
        complete(bench, lease)
        assert len(bench.ready()) == 2
    check_queue(bench)


def test_a_lease_that_comes_back_is_waited_for_still(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id])
    bench.run(bench.calls.release([lease]))
    (again,) = bench.claim(1)
    assert b" ties|" in bench.ask("HGET", ":running", again.id)
    complete(bench, again)
    assert bench.ready() == [id]


# many


def test_a_call_tells_a_hundred_and_the_others_hear_it_from_the_sweeps(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    ids = bench.fill(250, after=[lease.id])
    bench.ask("DEL", ":wake:any")
    complete(bench, lease)
    assert bench.ready() == ids[:100]
    assert bench.tokens() == 1
    check_queue(bench)
    bench.worker("other")
    claimed = bench.run(bench.calls.claim("other", "i", 0, 1, limit=1, lanes=["group/of-nobody"]))
    assert claimed.next_due == bench.now / 1000
    assert bench.ready() == ids[:200]
    check_queue(bench)
    claimed = bench.run(bench.calls.claim("other", "i", 0, 2, limit=1, lanes=["group/of-nobody"]))
    assert claimed.next_due != bench.now / 1000
    assert bench.ready() == ids
    assert [len(event.split()) for event in unblocked(bench)] == [100, 100, 50]
    assert bench.ask("EXISTS", ":ends", ":blocked", f":dependents:{lease.id}") == 0
    check_queue(bench)


def test_what_a_claim_itself_ends_is_gone_on_with_at_once(bench: Workbench) -> None:
    """One more has expired than a claim sweeps: it is found when it is to be leased, after the sweep."""
    ids = bench.fill(39, expires_at=NOW + 1)
    bench.fill(250, after=[ids[-1]])
    bench.pass_time(1_000)
    bench.worker()
    left = []
    for n in range(1, 4):
        claimed = bench.run(bench.calls.claim("w", "i", 0, n))
        left.append(bench.ask("ZCARD", ":blocked"))
        assert claimed.next_due == (bench.now / 1000 if left[-1] else None)
    assert left == [150, 50, 0]
    check_queue(bench)


def test_one_that_has_ended_frees_a_hundred_of_a_call(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    complete(bench, lease)
    ids = bench.fill(250, after=[lease.id])
    assert bench.ready() == ids[:100]
    assert len(bench.ask("ZRANGE", ":ends", 0, -1)) == 1
    check_queue(bench)
    for _ in range(2):
        bench.sweep()
    assert bench.ready() == ids
    assert bench.ask("EXISTS", ":ends") == 0


def test_what_a_settle_frees_it_leases(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id])
    settled = bench.run(bench.calls.settle("w", "i", 0, 1_000, acks=[(lease, None)], limit=1))
    assert [one.id for one in settled.claimed.leases] == [id]
    check_queue(bench)


def test_those_who_come_while_others_have_not_heard_of_an_end_hear_of_it_too(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    ids = bench.fill(150, after=[lease.id])
    complete(bench, lease)
    enqueue(bench, ("late", {"after": [lease.id]}))
    for _ in range(3):
        bench.sweep()
    assert bench.ready() == [*ids, "late"]
    check_queue(bench)


def test_a_failure_goes_down_a_chain_of_any_length(bench: Workbench) -> None:
    chain = [f"e{at:03}" for at in range(251)]
    enqueue(bench, *[(id, {"after": chain[at - 1 : at]} if at else {}) for at, id in enumerate(chain)])
    fail(bench, *bench.claim(1))
    dead = [bench.ask("ZCARD", ":dead")]
    while bench.ask("EXISTS", ":ends"):
        check_queue(bench)
        bench.sweep()
        dead.append(bench.ask("ZCARD", ":dead"))
    assert dead == [101, 200, 251]  # to look again whether somebody is left counts, too
    assert {bench.record(id)["reason"] for id in chain[1:]} == {b"after_failed"}
    assert bench.counters()["dead"] == 251
    assert bench.ask("EXISTS", ":blocked") == 0
    check_queue(bench)


def test_a_failure_turns_into_what_those_down_the_chain_make_of_it(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    enqueue(
        bench,
        ("dead", {"after": [lease.id]}),
        ("cleanup", {"after": ["dead"], "after_when": "failed"}),
        ("at-last", {"after": ["dead", lease.id], "after_when": "ended"}),
        ("no-cleanup", {"after": ["cleanup"], "after_when": "failed"}),
    )
    fail(bench, lease)
    states = {id: bench.state(id) for id in ("dead", "cleanup", "at-last", "no-cleanup")}
    assert states == {"dead": "dead", "cleanup": "ready", "at-last": "ready", "no-cleanup": "blocked"}
    complete(bench, *[one for one in bench.claim(2) if one.id == "cleanup"])
    assert bench.state("no-cleanup") == "cancelled"
    check_queue(bench)


def test_what_has_ended_is_kept_within_its_number_though_it_ends_by_another(bench: Workbench) -> None:
    bench.run(bench.calls.configure(dead_max=3, finished_max=3))
    (lease,) = bench.lease(1)
    bench.fill(10, after=[lease.id])
    bench.fill(10, after=[lease.id], after_when="ended")
    bench.fill(10, after=[lease.id], after_when="failed")
    fail(bench, lease)
    assert (bench.ask("ZCARD", ":dead"), len(bench.ready())) == (3, 20)
    check_queue(bench)


# the first end counts


def test_a_dead_one_that_is_retried_tells_nobody_twice(bench: Workbench) -> None:
    first, second = bench.lease(2)
    (id,) = bench.fill(1, after=[first.id, second.id], after_when="ended")
    fail(bench, first)
    assert awaits(bench, id) == 1
    bench.run(bench.calls.retry([first.id]))
    check_queue(bench)
    complete(bench, *bench.claim(1))
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 1)
    assert bench.ask("EXISTS", ":ends") == 0
    check_queue(bench)
    complete(bench, second)
    assert bench.state(id) == "ready"


def test_who_comes_after_the_retry_waits_for_the_next_end(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    fail(bench, lease)
    bench.run(bench.calls.retry([lease.id]))
    (id,) = bench.fill(1, after=[lease.id])
    assert bench.state(id) == "blocked"
    check_queue(bench)
    complete(bench, *bench.claim(1))
    assert bench.state(id) == "ready"


def test_a_task_that_waited_in_vain_is_ready_at_once_when_it_is_retried(bench: Workbench) -> None:
    first, second = bench.lease(2)
    (id,) = bench.fill(1, after=[first.id, second.id], delay=3600)
    fail(bench, first)
    assert bench.run(bench.calls.retry([id]))[0].status == "retried"
    assert bench.ready() == [id]
    assert "reason" not in bench.record(id)
    check_queue(bench)
    complete(bench, second)
    assert bench.ready() == [id]
    check_queue(bench)
    complete(bench, *bench.claim(1))
    check_queue(bench)


# ids that are taken again


def test_what_another_task_of_that_id_waited_for_is_nothing_to_it(bench: Workbench) -> None:
    """Of one that was purged while it waited a place among the dependents is left."""
    first, second = bench.lease(2)
    enqueue(bench, ("b", {"after": [first.id]}), rid="first")
    bench.run(bench.calls.purge())
    enqueue(bench, ("b", {"after": [second.id]}), rid="second")
    check_queue(bench)
    complete(bench, first)
    assert (bench.state("b"), awaits(bench, "b")) == ("blocked", 1)
    check_queue(bench)
    fail(bench, second)
    assert bench.state("b") == "dead"


def test_the_end_of_another_task_of_that_id_is_nothing_to_those_who_wait_for_this_one(bench: Workbench) -> None:
    """The purge has noted an end of which nobody has heard yet."""
    enqueue(bench, ("a", {}), ("b", {"after": ["a"]}), rid="first")
    bench.run(bench.calls.purge())
    enqueue(bench, ("a", {}), ("b", {"after": ["a"]}), rid="second")
    check_queue(bench)
    bench.sweep()
    assert (bench.state("b"), bench.ready()) == ("blocked", ["a"])
    check_queue(bench)
    complete(bench, *bench.claim(1))
    assert bench.ready() == ["b"]


def test_those_who_wait_for_a_task_that_is_purged_have_waited_in_vain(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/a")
    (lease,) = bench.lease(1)
    (both,) = bench.fill(1, after=[id, lease.id])
    (cleanup,) = bench.fill(1, after=[id], after_when="failed")
    assert bench.run(bench.calls.purge(limit=1))[0] == 1
    assert bench.view(id) is None
    assert bench.ask("EXISTS", ":ends") == 1
    check_queue(bench)
    bench.sweep()
    assert [bench.state(one) for one in (both, cleanup)] == ["dead", "ready"]
    check_queue(bench)


def test_nothing_is_left_of_tasks_that_were_purged_together(bench: Workbench) -> None:
    (first,) = bench.fill(1)
    ids = bench.fill(5, after=[first])
    bench.fill(5, after=ids)
    assert bench.run(bench.calls.purge()) == (11, False)
    check_queue(bench)
    bench.sweep()
    assert [key for key in bench.dump() if key.startswith((":ends", ":dependents", ":blocked"))] == []
    let_all_pass(bench)
    assert left_over(bench) == {}


def test_a_cancelled_one_leaves_its_place_only_as_long_as_the_other_goes_on(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id])
    assert bench.run(bench.calls.cancel([id])) == ["cancelled"]
    check_queue(bench)
    complete(bench, lease)
    assert bench.state(id) == "cancelled"
    assert bench.ask("EXISTS", f":dependents:{lease.id}", ":ends") == 0


# damage


def test_those_who_wait_for_a_task_whose_record_was_evicted_hear_that_it_failed(bench: Workbench) -> None:
    (first,) = bench.fill(1)
    (id,) = bench.fill(1, after=[first])
    bench.ask("DEL", f":task:{first}", f":payload:{first}")
    assert bench.claim(1) == []
    assert (bench.state(id), bench.record(id)["reason"]) == ("dead", b"after_failed")
    check_queue(bench)


def test_a_full_server_takes_no_links_and_passes_on_what_ends(bench: Workbench) -> None:
    bench.full(False)
    (lease,) = bench.lease(1)
    (id,) = bench.fill(1, after=[lease.id])
    (delayed,) = bench.fill(1, after=[lease.id], delay=3600, fallback="fail", fallback_after=3600)
    (cleanup,) = bench.fill(1, after=[lease.id], after_when="failed")
    bench.full()
    with pytest.raises(AssertionError, match=r"OOM|maxmemory"):
        bench.run(enqueueing(bench, ("c", {"after": [lease.id]})))
    complete(bench, lease)
    assert [bench.state(one) for one in (id, delayed, cleanup)] == ["ready", "delayed", "cancelled"]
    bench.full(False)
    check_queue(bench)


def test_a_damaged_note_means_nothing_and_goes(bench: Workbench) -> None:
    (first,) = bench.fill(1)
    (id,) = bench.fill(1, after=[first])
    bench.ask("ZADD", ":ends", 1, "nonsense", 1, "c", 1, "c a b", 1, f"c {first} - 0 x")
    assert [lease.id for lease in bench.claim(2)] == [first]
    assert (bench.ask("EXISTS", ":ends"), bench.state(id)) == (0, "blocked")
    check_queue(bench)


@pytest.mark.parametrize("what", ["after", "limits", "tags"])
def test_a_call_notes_8000_at_most(bench: Workbench, what: str) -> None:
    some = [f"{n}" for n in range(9)]
    items: list[tuple[str, dict[str, Any]]] = [(f"t-{n}", {what: some[:8]}) for n in range(999)]
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_ARG the tags, limits and after of a call must be at most 8000 in all"):
        enqueue(bench, *items, ("one", {"tags": some}))
    assert bench.dump() == before
    assert len(enqueue(bench, *items, ("one", {"tags": some[:8]}))) == 1000
