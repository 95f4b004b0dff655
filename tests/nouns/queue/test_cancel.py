from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.kernel.call import Call
from pyadeq._core.queue.items import Failure
from pyadeq.models import CancelStatus, Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES


def cancel(bench: Workbench, *ids: str) -> list[CancelStatus]:
    return bench.run(bench.calls.cancel(list(ids)))


def put(bench: Workbench, state: str, **task: Any) -> str:
    """A task in that state."""
    if state == "ready":
        return bench.fill(1, **task)[0]
    if state == "delayed":
        return bench.fill(1, delay=600, **task)[0]
    if state == "blocked":
        return bench.fill(1, gather=1, **task)[0]
    (lease,) = bench.lease(1, **task)
    match state:
        case "stalled":
            bench.pass_time(15_000)
        case "completed":
            bench.real(bench.calls.ack([(lease, None)]))
        case "dead":
            bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
        case "cancelled":
            bench.real(bench.calls.cancel([lease.id]))
            bench.real(bench.calls.release([lease]))
    return lease.id


@pytest.mark.parametrize("state", ["ready", "delayed", "blocked"])
def test_a_waiting_task_ends_at_once(bench: Workbench, state: str) -> None:
    id = put(bench, state)
    bench.pass_time(10)
    assert cancel(bench, id) == ["cancelled"]
    assert bench.state(id) == "cancelled"
    assert bench.ask("ZRANGE", ":finished", 0, -1, "WITHSCORES") == [id.encode(), b"%d" % (START + 10)]
    assert bench.ask("EXISTS", ":ready:any", ":delayed", ":blocked") == 0
    assert bench.counters()["cancelled"] == 1
    assert [event["id"] for event in bench.events("task.cancelled")] == [id.encode()]


@pytest.mark.parametrize("state", ["running", "stalled"])
def test_a_running_task_is_marked_once(bench: Workbench, state: str) -> None:
    id = put(bench, state)
    assert cancel(bench, id, id) == ["cancelling", "cancelling"]
    assert cancel(bench, id) == ["cancelling"]
    assert bench.state(id) == state
    assert bench.ask("HGET", ":running", id).count(b"cancel") == 1
    assert bench.events("task.cancelled") == []


def test_a_waiting_task_was_not_dead(bench: Workbench) -> None:
    assert cancel(bench, *bench.fill(1)) == ["cancelled"]
    assert [event.get("payload") for event in bench.events("task.cancelled")] == [None]


@pytest.mark.parametrize(("state", "answer"), [("completed", "finished"), ("cancelled", "cancelled")])
def test_an_ended_task_stays_as_it_is(bench: Workbench, state: str, answer: str) -> None:
    id = put(bench, state)
    before = bench.dump()
    assert cancel(bench, id) == [answer]
    assert bench.dump() == before


@pytest.mark.parametrize("task", [{}, TIES])
def test_a_dead_task_leaves_the_dead_set(bench: Workbench, task: dict[str, Any]) -> None:
    (id,) = bench.die(1, **{**task, "lane": "any"})
    bench.pass_time(10)
    assert cancel(bench, id, id) == ["cancelled", "cancelled"]
    view = bench.view(id)
    assert view
    assert (view.state, view.reason, view.ended) == ("cancelled", "error", (START + 10) / 1000)
    assert bench.ask("EXISTS", ":dead") == 0
    assert bench.run(bench.calls.outcome([id]))[0].status == "cancelled"
    assert [event["payload"] for event in bench.events("task.cancelled")] == [b"from=dead"]
    assert [one.status for one in bench.run(bench.calls.retry([id], "r"))] == ["not_dead"]
    counters = bench.counters()
    assert (counters["dead"], counters["cancelled"]) == (1, 1)
    check_queue(bench)


def test_an_unknown_task_is_not_found(bench: Workbench) -> None:
    before = bench.dump()
    assert cancel(bench, "unknown") == ["not_found"]
    assert bench.dump() == before


def test_each_item_of_a_call_has_its_own_answer(bench: Workbench) -> None:
    running, done, waiting = put(bench, "running"), put(bench, "completed"), put(bench, "ready")
    answers = cancel(bench, "unknown", waiting, running, done, waiting)
    assert answers == ["not_found", "cancelled", "cancelling", "finished", "cancelled"]
    assert bench.counters()["cancelled"] == 1


def test_a_mark_ends_with_the_lease(bench: Workbench) -> None:
    """Every way out but ack ends in cancelled; the ways are tested with their verbs."""
    id = put(bench, "running")
    cancel(bench, id)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    assert bench.state(id) == "cancelled"
    assert cancel(bench, id) == ["cancelled"]


def test_a_lane_that_is_emptied_has_no_token_left(bench: Workbench) -> None:
    one, two = bench.fill(2, lane="group/g")
    cancel(bench, one)
    assert (bench.tokens("group/g"), bench.ask("SMEMBERS", ":lanes")) == (1, [b"group/g"])
    cancel(bench, two)
    assert (bench.tokens("group/g"), bench.ask("SMEMBERS", ":lanes")) == (0, [])


def test_a_task_in_a_lane_of_its_own_is_found_there(bench: Workbench) -> None:
    (id,) = bench.fill(1, lane="group/g/inst/i", priority=9)
    assert cancel(bench, id) == ["cancelled"]
    assert bench.ready("group/g/inst/i") == []


def test_a_late_one_does_not_cancel_a_new_task_of_the_same_id(bench: Workbench) -> None:
    (id,) = bench.fill(1)
    call = bench.calls.cancel([id, "unknown"], "r")
    assert bench.run(call) == ["cancelled", "not_found"]
    bench.real(bench.calls.purge(all=True))
    bench.real(bench.calls.enqueue([(id, Task(payload=b"y")), ("unknown", Task(payload=b"z"))], "new"))
    assert bench.run(call) == ["cancelled", "not_found"]
    assert (bench.state(id), bench.state("unknown")) == ("ready", "ready")


@pytest.mark.parametrize("end", ["ack", "fail", "release", "snooze"])
def test_a_task_with_ties_ends_as_another(bench: Workbench, end: str) -> None:
    (lease,) = bench.lease(1, **TIES)
    cancel(bench, lease.id)
    calls: dict[str, Call[Any]] = {
        "ack": bench.calls.ack([(lease, b"r")]),
        "fail": bench.calls.fail([Failure(lease)], [0]),
        "release": bench.calls.release([lease]),
        "snooze": bench.calls.snooze([(lease, 5)]),
    }
    bench.run(calls[end])
    assert bench.state(lease.id) == ("completed" if end == "ack" else "cancelled")
    check_queue(bench)
