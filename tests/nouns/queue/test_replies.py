"""How a task ended, for those who wait for it: left for a time, told on a channel, answered by outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from pyadeq.models.worker import Outcome
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench
from tests.waiting import DEADLINE

HOUR = 3_600_000
End = Callable[[Workbench, str], Any]


def outcome(bench: Workbench, id: str) -> Outcome:
    (found,) = bench.run(bench.calls.outcome([id]))
    return found


def only(bench: Workbench) -> Lease:
    (lease,) = bench.claim(1)
    return lease


def cancelled_while_it_runs(bench: Workbench, way: str) -> None:
    lease = only(bench)
    bench.run(bench.calls.cancel([lease.id]))
    match way:
        case "release":
            bench.run(bench.calls.release([lease]))
        case "fail":
            bench.run(bench.calls.fail([Failure(lease, b"e")], [0]))
        case "crash":
            bench.pass_time(15_000)
            bench.run(bench.calls.reap())
        case "deregister":
            bench.run(bench.calls.deregister("w", "i", leases=[lease]))


def result_dropped(bench: Workbench, _: str) -> None:
    lease = only(bench)
    bench.full()
    assert bench.run(bench.calls.ack([(lease, b"x" * 4097)])) == ["result_dropped"]
    bench.full(False)


def crash_loop(bench: Workbench, _: str) -> None:
    bench.real(bench.calls.configure(max_crashes=1))
    only(bench)
    bench.pass_time(15_000)
    bench.run(bench.calls.reap())


def overdue(bench: Workbench, _: str) -> None:
    bench.pass_time(60_000)
    bench.run(bench.calls.expire())


TIMED = {"fallback": "fail", "fallback_after": 60}
DEAD = {"status": "dead"}
# how it ends: the task, what is done to it, how that is told
ENDS: dict[str, tuple[dict[str, Any], End, dict[str, Any]]] = {
    "ack": (
        {},
        lambda bench, id: bench.run(bench.calls.ack([(only(bench), b"value\n")])),
        {"status": "completed", "data": b"value\n"},
    ),
    "ack without a result": (
        {},
        lambda bench, id: bench.run(bench.calls.ack([(only(bench), None)])),
        {"status": "completed", "data": b""},
    ),
    "ack of a result that is not kept": (
        {"result_ttl": 0},
        lambda bench, id: bench.run(bench.calls.ack([(only(bench), b"value")])),
        {"status": "completed", "data": b"value"},
    ),
    "settle": (
        {},
        lambda bench, id: bench.run(bench.calls.settle("w", "i", 9, 1, acks=[(only(bench), b"value")])),
        {"status": "completed", "data": b"value"},
    ),
    "ack of a result that is dropped": ({}, result_dropped, {"status": "result_dropped"}),
    "fail": (
        {},
        lambda bench, id: bench.run(bench.calls.fail([Failure(only(bench), b"e\ne", "broken", False)], [0])),
        DEAD | {"reason": "broken", "error": "e\ne"},
    ),
    "crash loop": ({}, crash_loop, DEAD | {"reason": "crash_loop", "error": ""}),
    "expiry": ({"expires_at": START / 1000 + 60}, overdue, DEAD | {"reason": "expired", "error": ""}),
    "nobody came": (TIMED, overdue, DEAD | {"reason": "nobody_came", "error": ""}),
    "cancel": ({}, lambda bench, id: bench.run(bench.calls.cancel([id])), {"status": "cancelled"}),
    "cancel, release": ({}, lambda bench, id: cancelled_while_it_runs(bench, "release"), {"status": "cancelled"}),
    "cancel, fail": ({}, lambda bench, id: cancelled_while_it_runs(bench, "fail"), {"status": "cancelled"}),
    "cancel, crash": ({}, lambda bench, id: cancelled_while_it_runs(bench, "crash"), {"status": "cancelled"}),
    "cancel, deregister": ({}, lambda bench, id: cancelled_while_it_runs(bench, "deregister"), {"status": "cancelled"}),
    "purge": ({}, lambda bench, id: bench.run(bench.calls.purge()), {"status": "removed"}),
}
ways_to_end = pytest.mark.parametrize("how", ENDS)


@ways_to_end
def test_who_waits_is_told_once_and_finds_the_answer_for_an_hour(bench: Workbench, how: str) -> None:
    task, end, told = ENDS[how]
    (id,) = bench.fill(1, reply=True, **task)
    with bench.client.pubsub() as messages:  # type: ignore[no-untyped-call]
        messages.ssubscribe(bench.key(f"channel:{id}"))
        while messages.get_sharded_message(timeout=DEADLINE) is None:
            pass
        assert outcome(bench, id) == Outcome(status="waiting", state="ready", told=True)
        end(bench, id)
        bench.run(bench.calls.expire())
        heard = messages.get_sharded_message(timeout=DEADLINE)
        assert heard
        assert heard["data"].decode().split(" ") == [told[name] for name in ("status", "reason") if name in told]
        assert messages.get_sharded_message(timeout=0) is None
    assert outcome(bench, id) == Outcome(**told)
    check_queue(bench)
    at = bench.now
    # It is there without its record, too, until its time is over, though the server deletes it later.
    bench.run(bench.calls.purge(all=True))
    bench.now = at + HOUR - 1
    assert outcome(bench, id) == Outcome(**told)
    bench.pass_time(1)
    assert outcome(bench, id) == Outcome(status="not_found")
    assert HOUR < bench.ask("PTTL", f":reply:{id}") <= 2 * HOUR


def test_who_waited_for_an_older_task_is_not_told_of_a_newer_one(bench: Workbench) -> None:
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x", reply=True))], "one"))
    bench.run(bench.calls.ack([(only(bench), b"first")]))
    bench.run(bench.calls.purge(all=True))
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x"))], "two"))
    bench.run(bench.calls.ack([(only(bench), b"second")]))
    assert outcome(bench, "a").data == b"second"
    bench.run(bench.calls.purge(all=True))
    assert outcome(bench, "a") == Outcome(status="not_found")
