from __future__ import annotations

import pytest

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.queue.items import Held
from pyadeq.models import ReleaseStatus
from tests.nouns.queue.workbench import BAND, START, Workbench


def release(bench: Workbench, *leases: Held) -> list[ReleaseStatus]:
    return bench.run(bench.calls.release(list(leases)))


def test_a_released_task_stands_where_it_stood(bench: Workbench) -> None:
    line = bench.fill(4)
    leases = bench.claim(3)
    bench.fill(1, priority=4)
    assert release(bench, leases[2], leases[0]) == ["released", "released"]
    assert bench.ready() == ["t000006", line[0], line[2], line[3]]
    assert int(bench.ask("ZSCORE", ":ready:any", line[2])) == 5 * BAND + 3
    assert bench.state(line[1]) == "running"


def test_the_answer_says_the_place(bench: Workbench) -> None:
    bench.fill(6, priority=9)
    call = bench.calls.release(bench.claim(7)[5:])
    (answer,) = parse_reply(call.script, bench.watched.call(call))["items"]
    assert (answer.status, answer["place"]) == ("released", 6)


def test_a_release_costs_no_attempt_but_counts_as_a_delivery(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    for _ in range(10):
        bench.pass_time(5)
        release(bench, lease)
        (lease,) = bench.claim(1)
    assert (lease.attempt, lease.delivery) == (1, 11)
    assert bench.counters()["released"] == 10


def test_a_released_task_waits_anew_and_wakes_a_worker_of_its_lane(bench: Workbench) -> None:
    (lease,) = bench.lease(1, lane="group/g")
    assert bench.ask("EXISTS", ":lanes") == 0
    bench.pass_time(10_000)
    release(bench, lease)
    assert (bench.tokens("group/g"), bench.tokens()) == (1, 0)
    assert bench.ask("SMEMBERS", ":lanes") == [b"group/g"]
    assert bench.record(lease.id)["ready_ms"] == b"%d" % bench.now
    assert [event["id"] for event in bench.events("task.released")] == [lease.id.encode()]
    bench.claim(1, lanes=["group/g"])
    assert bench.counters()["wait_ms:1"] == 2


def test_tasks_of_several_lanes_return_each_to_its_own(bench: Workbench) -> None:
    leases = bench.lease(2) + bench.lease(2, lane="group/g")
    release(bench, *leases)
    assert (bench.ready(), bench.ready("group/g")) == (["t000001", "t000002"], ["t000004", "t000005"])


def test_a_task_that_is_being_cancelled_ends_as_cancelled(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    bench.pass_time(10)
    assert release(bench, lease) == ["cancelled"]
    assert bench.state(lease.id) == "cancelled"
    assert bench.ready() == []
    assert bench.ask("ZSCORE", ":finished", lease.id) == b"%d" % (START + 10)
    assert "released" not in bench.counters()


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_replay_answers_the_same_even_after_the_next_lease(bench: Workbench, cancelled: bool) -> None:
    (lease,) = bench.lease(1)
    if cancelled:
        bench.real(bench.calls.cancel([lease.id]))
    first = release(bench, lease)
    bench.claim(1)
    before = bench.dump()
    assert release(bench, lease) == first
    assert bench.dump() == before


def test_the_same_lease_twice_in_a_call_is_released_once(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    assert release(bench, lease, lease, (lease.id, "other")) == ["released", "released", "lease_lost"]
    assert bench.counters()["released"] == 1


def test_wrong_tokens_unknown_ids_and_settled_tasks_are_lost(bench: Workbench) -> None:
    one, two = bench.lease(2)
    bench.real(bench.calls.ack([(two, None)]))
    before = bench.dump()
    assert release(bench, (one.id, "other"), ("unknown", "x"), two) == ["lease_lost"] * 3
    assert bench.dump() == before


def test_a_lease_that_was_taken_back_is_lost(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    before = bench.dump()
    assert release(bench, lease) == ["lease_lost"]
    assert bench.dump() == before


def test_a_lease_past_its_deadline_is_lost_though_nobody_took_it_back(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(15_000)
    assert release(bench, lease) == ["lease_lost"]
    assert bench.state(lease.id) == "stalled"
