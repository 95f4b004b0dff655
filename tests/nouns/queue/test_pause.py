"""Pause, resume and drain: what a queue takes in and gives out."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import MakeBench, Workbench
from tests.nouns.watched import Refused


def mode(bench: Workbench) -> str:
    return bench.run(bench.calls.stats()).mode


def pause(bench: Workbench) -> None:
    assert bench.run(bench.calls.pause()) == "ok"


def resume(bench: Workbench) -> None:
    assert bench.run(bench.calls.resume()) == "ok"


def drain(bench: Workbench) -> None:
    assert bench.run(bench.calls.drain()) == "ok"


@pytest.mark.parametrize(("verb", "shown", "event"), [
    (pause, "paused", "queue.paused"), (drain, "draining", "queue.draining"),
])  # fmt: skip
def test_the_mode_is_shown_and_told_once(bench: Workbench, verb: object, shown: str, event: str) -> None:
    assert callable(verb)
    for _ in range(2):
        verb(bench)
        assert mode(bench) == shown
    for _ in range(2):
        resume(bench)
        assert mode(bench) == "running"
    assert [one["event"].decode() for one in bench.events()] == [event, "queue.resumed"]


def test_the_modes_replace_each_other(bench: Workbench) -> None:
    pause(bench)
    drain(bench)
    assert mode(bench) == "draining"
    pause(bench)
    assert mode(bench) == "paused"
    bench.fill(1)


@pytest.mark.parametrize("verb", ["pause", "resume", "drain"])
def test_a_queue_that_does_not_exist_is_created(make_bench: MakeBench, verb: str) -> None:
    bench = make_bench("server")
    bench.run(getattr(bench.calls, verb)())
    config = bench.dump()[":config"][1]
    assert (config["layout"], config["layout_min"], config["clock"]) == (b"2", b"2", b"server")


# pause


def test_a_paused_queue_gives_no_task_out_and_takes_new_ones_in(bench: Workbench) -> None:
    line = bench.fill(2)
    pause(bench)
    assert bench.claim(10) == []
    line += bench.fill(1)
    assert bench.ready() == line
    resume(bench)
    assert [lease.id for lease in bench.claim(10)] == line


def test_a_settle_of_a_paused_queue_settles_and_claims_nothing(bench: Workbench) -> None:
    leases = bench.lease(2)
    bench.fill(1)
    pause(bench)
    settled = bench.run(
        bench.calls.settle("w", "i", 0, 99, acks=[(leases[0], None)], fails=[Failure(leases[1])], jitters=[0], limit=5)
    )
    assert (settled.acks, [one.status for one in settled.fails]) == (["completed"], ["retried"])
    assert settled.claimed.leases == []


def test_a_claim_sent_again_after_the_pause_answers_its_leases(bench: Workbench) -> None:
    bench.worker()
    bench.fill(1)
    call = bench.calls.claim("w", "i", 0, 1)
    first = bench.run(call)
    pause(bench)
    assert bench.run(call).leases == first.leases


def test_a_paused_queue_wakes_nobody_and_moves_what_is_due(bench: Workbench) -> None:
    pause(bench)
    bench.fill(1)
    bench.fill(1, delay=5)
    bench.fill(1, lane="group/g", fallback="any", fallback_after=1)
    bench.ask("DEL", ":wake:any")
    bench.pass_time(5_000)
    bench.claim(1)
    assert (len(bench.ready()), bench.tokens(), bench.tokens("group/g")) == (3, 0, 0)
    check_queue(bench)


@pytest.mark.parametrize("task", [{"delay": 5}, {"lane": "group/g", "fallback": "any", "fallback_after": 5}])
def test_but_tells_of_a_due_time_that_outlasts_the_pause(bench: Workbench, task: dict[str, Any]) -> None:
    pause(bench)
    bench.fill(1, **task)
    assert bench.tokens() == 1
    assert 0 < bench.ask("PTTL", ":wake:any") <= 60_000


@pytest.mark.parametrize("verb", ["pause", "resume", "drain"])
def test_a_late_one_that_is_sent_again_does_not_undo_what_came_after_it(bench: Workbench, verb: str) -> None:
    call = getattr(bench.calls, verb)("r")
    bench.run(call)
    other = bench.calls.drain("2") if verb == "resume" else bench.calls.resume("2")
    bench.run(other)
    events = bench.events()
    bench.run(call)
    assert mode(bench) == ("draining" if verb == "resume" else "running")
    assert bench.events() == events
    bench.pass_time(60_000)
    bench.run(getattr(bench.calls, verb)("r"))
    assert mode(bench) == {"pause": "paused", "resume": "running", "drain": "draining"}[verb]


def test_released_and_crashed_tasks_come_back_and_wake_nobody(bench: Workbench) -> None:
    one, _ = bench.lease(2)
    pause(bench)
    bench.run(bench.calls.release([one]))
    bench.pass_time(15_000)
    bench.run(bench.calls.reap())
    assert (len(bench.ready()), bench.tokens()) == (2, 0)


def test_heartbeats_go_on_while_it_is_paused(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    pause(bench)
    bench.pass_time(5_000)
    assert bench.run(bench.calls.heartbeat([lease])).renewals[0].status == "renewed"


def test_resume_keeps_the_token_of_a_lane_with_tasks(bench: Workbench) -> None:
    pause(bench)
    bench.fill(1, delay=5)
    bench.fill(1)
    resume(bench)
    assert (bench.tokens(), bench.ask("PTTL", ":wake:any")) == (1, -1)


@pytest.mark.parametrize("lanes", [1, 20])
def test_resume_wakes_a_worker_of_each_lane_that_holds_tasks(bench: Workbench, lanes: int) -> None:
    pause(bench)
    for at in range(lanes):
        bench.fill(2, lane=f"group/g{at}")
    for _ in range(2):
        resume(bench)
        assert [bench.tokens(f"group/g{at}") for at in range(lanes)] == [1] * lanes
    assert bench.tokens() == 0


# drain


def test_a_draining_queue_refuses_new_tasks_and_writes_nothing(bench: Workbench) -> None:
    bench.fill(1)
    drain(bench)
    before = bench.dump()
    for tasks in ([("new", Task(payload=b"x"))], [("t000001", Task(payload=b"x")), ("new", Task(payload=b"x"))]):
        with pytest.raises(Refused, match=r"^ADEQ_DRAINING .* resume it, or use another"):
            bench.run(bench.calls.enqueue(tasks, "r"))
    assert bench.dump() == before


def test_a_draining_queue_gives_out_what_it_has(bench: Workbench) -> None:
    line = bench.fill(2)
    bench.fill(1, delay=5)
    drain(bench)
    assert [lease.id for lease in bench.claim(10)] == line
    bench.pass_time(5_000)
    assert len(bench.claim(10)) == 1


def test_drain_ends_a_pause_and_wakes(bench: Workbench) -> None:
    pause(bench)
    bench.fill(1)
    drain(bench)
    assert bench.tokens() == 1
    assert len(bench.claim(1)) == 1


def test_failed_tasks_are_retried_while_it_drains(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    drain(bench)
    bench.real(bench.calls.fail([Failure(lease)], [0]))
    bench.pass_time(5_000)
    assert len(bench.claim(1)) == 1


@pytest.mark.parametrize("ended", [False, True])
def test_an_enqueue_sent_again_is_answered_as_before(bench: Workbench, ended: bool) -> None:
    (other,) = bench.fill(1, unique="u", scope="s", idempotency_key="i")
    items = [
        ("new", Task(payload=b"x")),
        ("new", Task(payload=b"x")),
        (other, Task(payload=b"x")),
        ("u", Task(payload=b"x", unique="u")),
        ("s", Task(payload=b"x", scope="s", coalesce="last")),
        ("i", Task(payload=b"x", idempotency_key="i")),
    ]
    call = bench.calls.enqueue(items, "r")
    first = bench.run(call)
    assert [one.status for one in first] == ["created", "exists", "exists"] + ["deduplicated"] * 3
    if ended:
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(10)]))
    drain(bench)
    assert bench.run(call) == first


def test_after_resume_new_tasks_are_taken_in_again(bench: Workbench) -> None:
    drain(bench)
    resume(bench)
    assert bench.fill(1)


def test_a_call_with_an_unknown_item_is_answered_again_while_the_queue_drains(bench: Workbench) -> None:
    """That item makes no task, so nothing of the call is new."""
    items: list[Any] = [
        ("a", b"x", {"after": ["nobody"]}),
        ("b", b"x", {}),
        ("c", b"x", {"parent": "nobody", "needs_parent": True}),
    ]
    call = bench.calls.enqueue_items(items, "r")
    first = bench.send(call)
    drain(bench)
    assert bench.send(call)[2] == first[2] == [[b"unknown", b"nobody"], [b"created"], [b"unknown", b"nobody"]]
    with pytest.raises(Refused, match=r"^ADEQ_DRAINING "):
        bench.run(bench.calls.enqueue([("d", Task(payload=b"x", after=["b"]))], "another"))
