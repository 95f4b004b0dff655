from __future__ import annotations

import pytest

from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import BAND, Workbench
from tests.nouns.scenario import TIES

WAITING = ["ready", "delayed", "blocked"]
ENDED = ["completed", "cancelled", "dead"]
RUNNING = ["running", "stalled"]


def purge(bench: Workbench, all: bool = False, limit: int = 1000) -> tuple[int, bool]:
    return bench.run(bench.calls.purge(all=all, limit=limit))


@pytest.mark.parametrize("state", WAITING + ENDED + RUNNING)
@pytest.mark.parametrize("all", [False, True])
def test_what_is_purged(bench: Workbench, state: str, all: bool) -> None:
    id = put(bench, state)
    goes = state in WAITING or (all and state in ENDED)
    before = bench.dump()
    assert purge(bench, all) == (int(goes), False)
    if goes:
        assert bench.view(id) is None
        assert bench.counters()["purged"] == 1
        (event,) = bench.events("task.removed")
        assert (event["id"], event["payload"]) == (id.encode(), b"reason=purged")
    else:
        assert bench.dump() == before
    check_queue(bench)


def test_a_running_task_ends_as_ever_after_a_purge(bench: Workbench) -> None:
    (lease,) = bench.lease(1, **TIES)
    bench.fill(5, **TIES)
    assert purge(bench, all=True) == (5, False)
    assert bench.run(bench.calls.ack([(lease, b"result")])) == ["completed"]
    check_queue(bench)


def test_all_lanes_are_purged_and_hold_no_token(bench: Workbench) -> None:
    for at in range(150):
        bench.fill(1, lane=f"group/g{at}")
    found = [purge(bench)]
    while found[-1][1]:
        found.append(purge(bench))
    assert sum(count for count, _ in found) == 150
    assert 1 < len(found) < 10
    assert [key for key in bench.dump() if key.startswith((":wake", ":ready", ":lanes"))] == []


@pytest.mark.parametrize("limit", [1, 3, 7, 10])
def test_purge_takes_its_limit_and_says_whether_there_may_be_more(bench: Workbench, limit: int) -> None:
    bench.fill(5)
    bench.fill(5, delay=5)
    counts = []
    for _ in range(20):
        count, more = purge(bench, limit=limit)
        assert count <= limit
        counts.append(count)
        if not more:
            break
    assert sum(counts) == 10
    assert not more
    assert bench.ask("EXISTS", ":ready:any", ":delayed", ":lanes") == 0


def test_what_is_left_of_a_lane_stays_in_line(bench: Workbench) -> None:
    line = bench.fill(5)
    purge(bench, limit=2)
    assert (bench.ready(), bench.tokens()) == (line[2:], 1)
    check_queue(bench)


def test_a_lane_whose_line_was_lost_is_forgotten(bench: Workbench) -> None:
    bench.fill(1)
    bench.ask("DEL", ":ready:any")
    assert purge(bench) == (0, False)
    assert bench.ask("EXISTS", ":lanes", ":wake:any") == 0


# only once


@pytest.mark.parametrize("all", [False, True])
def test_the_keys_of_purged_tasks_are_free_again(bench: Workbench, all: bool) -> None:
    own = {"unique": "u", "scope": "s", "idempotency_key": "i"}
    bench.fill(1, **own)
    purge(bench, all)
    assert bench.ask("EXISTS", ":once", ":once:due", ":deadlines") == 0
    (id,) = bench.fill(1, **own)
    assert bench.ready() == [id]


def test_an_idempotency_key_of_a_task_that_ended_stays_unless_it_is_purged_too(bench: Workbench) -> None:
    (lease,) = bench.lease(1, idempotency_key="i")
    bench.real(bench.calls.ack([(lease, None)]))
    purge(bench)
    assert bench.ask("HEXISTS", ":once", "key:i") == 1
    purge(bench, all=True)
    assert bench.ask("EXISTS", ":once", ":once:due") == 0


def test_a_key_that_another_task_has_now_stays(bench: Workbench) -> None:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(1, idempotency_key="i", delay=1)
    bench.pass_time(1_000)
    (lease,) = bench.lease(1, idempotency_key="i")
    bench.real(bench.calls.promote())
    assert purge(bench) == (1, False)
    assert bench.ask("HGET", ":once", "key:i").startswith(lease.id.encode())


# the replay window


@pytest.mark.parametrize("limit", [2, 1000])
def test_a_late_one_that_is_sent_again_deletes_nothing_more(bench: Workbench, limit: int) -> None:
    bench.fill(2)
    call = bench.calls.purge("r", limit=limit)
    first = bench.run(call)
    later = bench.fill(3)
    assert bench.run(call) == first
    assert bench.ready() == later
    bench.pass_time(60_000)
    assert bench.run(bench.calls.purge("r", limit=limit))[0] == min(limit, 3)


def test_an_enqueue_that_is_sent_again_makes_no_task(bench: Workbench) -> None:
    call = bench.calls.enqueue([("a", Task(payload=b"x", user="u"))], "r")
    bench.run(call)
    purge(bench)
    before = bench.dump()
    before[":config"][1]["place"] = b"2"
    assert [one.status for one in bench.run(call)] == ["created"]
    assert bench.dump() == before


@pytest.mark.parametrize("verb", ["release", "snooze"])
def test_a_settlement_that_is_sent_again_is_answered_as_before(bench: Workbench, verb: str) -> None:
    (lease,) = bench.lease(1)
    call = bench.calls.release([lease]) if verb == "release" else bench.calls.snooze([(lease, 60)])
    first = bench.run(call)
    purge(bench)
    before = bench.dump()
    assert bench.run(call) == first
    assert bench.dump() == before


def test_the_id_of_a_purged_task_is_free_for_another_call(bench: Workbench) -> None:
    bench.run(bench.calls.enqueue([("a", Task(payload=b"x", user="u", tags=["t"]))], "r"))
    purge(bench)
    bench.run(bench.calls.enqueue([("a", Task(payload=b"y"))], "other"))
    assert (bench.state("a"), bench.ask("GET", ":payload:a")) == ("ready", b"y")
    assert bench.ask("PTTL", ":task:a") == -1
    assert "gone" not in bench.record("a")
    check_queue(bench)


def test_a_purged_queue_leaves_nothing_that_stays(bench: Workbench) -> None:
    for state in WAITING + ENDED + RUNNING:
        put(bench, state)
    bench.fill(20, **TIES)
    bench.fill(20, lane="group/g", delay=60, **{**TIES, "scope": "s"})
    let_all_pass(bench)
    assert left_over(bench) == {}


def test_a_damaged_member_is_purged_too(bench: Workbench) -> None:
    bench.ask("ZADD", ":delayed", 5 * BAND, "nobody")
    assert purge(bench) == (1, False)
