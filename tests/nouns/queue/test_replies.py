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


@ways_to_end
def test_past_its_time_the_record_answers(bench: Workbench, how: str) -> None:
    task, end, told = ENDS[how]
    (id,) = bench.fill(1, reply=True, **task)
    end(bench, id)
    bench.pass_time(HOUR)
    if told["status"] == "removed":
        told = {"status": "not_found"}
    elif task.get("result_ttl") == 0:
        told = told | {"data": b""}
    assert outcome(bench, id) == Outcome(**told)


@ways_to_end
def test_nobody_is_told_of_a_task_that_nobody_waits_for(bench: Workbench, how: str) -> None:
    task, end, told = ENDS[how]
    (id,) = bench.fill(1, **task)
    assert outcome(bench, id) == Outcome(status="waiting", state="ready", told=False)
    end(bench, id)
    assert not any(command[0] == b"SPUBLISH" for command in bench.watched.last.commands)
    assert bench.ask("EXISTS", f":reply:{id}") == 0
    if told["status"] == "removed":
        told = {"status": "not_found"}
    elif task.get("result_ttl") == 0:
        told = told | {"data": b""}
    assert outcome(bench, id) == Outcome(**told)


def test_replies_are_kept_as_the_queue_says(bench: Workbench) -> None:
    bench.real(bench.calls.configure(reply_ttl=5, finished_max=0))
    (lease,) = bench.lease(1, reply=True)
    bench.run(bench.calls.ack([(lease, b"r")]))
    bench.pass_time(4_999)
    assert outcome(bench, lease.id).data == b"r"
    bench.pass_time(1)
    assert outcome(bench, lease.id).status == "not_found"
    assert 5_000 < bench.ask("PTTL", f":reply:{lease.id}") <= 60_000


def test_a_replay_tells_nobody_again(bench: Workbench) -> None:
    (lease,) = bench.lease(1, reply=True)
    call = bench.calls.ack([(lease, b"r")])
    bench.run(call)
    before = bench.dump()
    bench.run(call)
    assert not any(command[0] == b"SPUBLISH" for command in bench.watched.last.commands)
    assert bench.dump() == before


@pytest.mark.parametrize("way", ["abandon", "trim", "retention"])
def test_that_an_ended_task_goes_is_no_news(bench: Workbench, way: str) -> None:
    (id,) = bench.die(1, reply=True)
    match way:
        case "abandon":
            bench.run(bench.calls.abandon([id]))
        case "trim":
            bench.real(bench.calls.configure(dead_max=0))
            bench.run(bench.calls.trim())
        case "retention":
            bench.real(bench.calls.configure(dead_max=0))
            bench.run(bench.calls.fail([Failure(bench.lease(1)[0], retryable=False)], [0]))
    assert not any(command[0] == b"SPUBLISH" for command in bench.watched.last.commands)
    assert bench.view(id) is None
    assert outcome(bench, id) == Outcome(status="dead", reason="error", error="e")


def test_a_dead_task_that_was_retried_is_waited_for_again(bench: Workbench) -> None:
    (id,) = bench.die(1, reply=True)
    bench.run(bench.calls.retry([id]))
    assert outcome(bench, id) == Outcome(status="waiting", state="ready", told=True)
    bench.run(bench.calls.ack([(only(bench), b"r")]))
    assert outcome(bench, id) == Outcome(status="completed", data=b"r")
    check_queue(bench)


@pytest.mark.parametrize("reply", [True, False])
def test_an_id_that_is_used_again_has_its_own_end(bench: Workbench, reply: bool) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    for rid, result in (("one", b"first"), ("two", b"second")):
        waited = reply or rid == "one"
        bench.real(bench.calls.enqueue([("a", Task(payload=b"x", reply=waited))], rid))
        assert outcome(bench, "a") == Outcome(status="waiting", state="ready", told=waited)
        bench.run(bench.calls.ack([(only(bench), result)]))
        assert outcome(bench, "a").data == (result if waited else None)
        bench.pass_time(61_000)
        bench.ask("DEL", ":task:a")  # the stub, which the server deletes by its own clock
    assert outcome(bench, "a").data == (b"second" if reply else None)


def test_who_waited_for_an_older_task_is_not_told_of_a_newer_one(bench: Workbench) -> None:
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x", reply=True))], "one"))
    bench.run(bench.calls.ack([(only(bench), b"first")]))
    bench.run(bench.calls.purge(all=True))
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x"))], "two"))
    bench.run(bench.calls.ack([(only(bench), b"second")]))
    assert outcome(bench, "a").data == b"second"
    bench.run(bench.calls.purge(all=True))
    assert outcome(bench, "a") == Outcome(status="not_found")


@pytest.mark.parametrize("end", ["crash_loop", "nobody_came"])
def test_the_end_that_is_told_has_no_error_of_an_earlier_run(bench: Workbench, end: str) -> None:
    bench.real(bench.calls.configure(max_crashes=1))
    (lease,) = bench.lease(1, reply=True, **TIMED)
    bench.run(bench.calls.fail([Failure(lease, b"e", "broken", delay=0, exit_code=75)], [0]))
    if end == "crash_loop":
        only(bench)
    bench.pass_time(60_000)
    bench.run(bench.calls.reap() if end == "crash_loop" else bench.calls.expire())
    for key in (":unknown", f":reply:{lease.id}"):
        bench.ask("DEL", key)
        assert outcome(bench, lease.id) == Outcome(status="dead", reason=end, error="")
    assert {"error", "exit_code"} & bench.record(lease.id).keys() == set()


def test_every_state_of_a_waiting_task_is_told(bench: Workbench) -> None:
    (delayed,) = bench.fill(1, delay=5)
    (lease,) = bench.lease(1)
    assert (outcome(bench, delayed).state, outcome(bench, lease.id).state) == ("delayed", "running")
    bench.pass_time(15_000)
    assert outcome(bench, lease.id).state == "stalled"


def test_an_answer_stops_before_4_MiB_but_for_one(bench: Workbench) -> None:
    leases = bench.lease(6, reply=True)
    for lease in leases:
        bench.real(bench.calls.ack([(lease, b"x" * 2**20)]))
    ids = [lease.id for lease in leases]
    call = bench.calls.outcome(ids)
    found = bench.run(call)
    assert [len(one.data or b"") for one in found] == [2**20] * 3
    assert bench.send(call)[2] == 3
    assert len(bench.run(bench.calls.outcome(ids[3:]))) == 3


def test_the_reply_of_a_task_of_any_bytes(bench: Workbench) -> None:
    (lease,) = bench.lease(1, reply=True)
    value = bytes(range(256)) * 2
    bench.run(bench.calls.ack([(lease, value)]))
    bench.ask("DEL", f":result:{lease.id}")
    assert outcome(bench, lease.id).data == value
