from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.kernel.call import Answer, parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq._core.queue.items import Failure
from pyadeq.models import Claimed
from tests.nouns.queue.workbench import START, Workbench

MIB = 2**20
(MOST,) = [argument.max for argument in library()["queue.claim.v1"].args if argument.name == "n"]


def claim(bench: Workbench, n: int = 1, slot: int = 0, worker: str = "w", **fields: Any) -> Claimed:
    return bench.run(bench.calls.claim(worker, "i", slot, n, **fields))


def ids(claimed: Claimed) -> list[str]:
    return [lease.id for lease in claimed.leases]


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """A queue with a worker."""
    bench.worker()
    return bench


# wake-up tokens


def test_a_lane_that_a_claim_named_but_did_not_reach_keeps_a_token(bench: Workbench) -> None:
    bench.fill(1)
    bench.fill(1, lane="group/g")
    bench.ask("LPOP", ":wake:group/g")
    claim(bench, 1, limit=1, lanes=["any", "group/g"])
    assert (bench.tokens(), bench.tokens("group/g")) == (0, 1)


# replays and standing


def test_another_incarnation_is_stale_and_an_unknown_worker_unregistered(bench: Workbench) -> None:
    bench.fill(1)
    bench.worker(incarnation="new")
    before = bench.dump()
    assert claim(bench).status == "stale"
    assert claim(bench, worker="nobody").status == "unregistered"
    assert bench.dump() == before


@pytest.mark.parametrize("ended", ["ack", "fail", "release", "reap", "reap and claim"])
def test_a_replay_returns_what_is_still_under_the_same_token(bench: Workbench, ended: str) -> None:
    line = bench.fill(3)
    leases = claim(bench, 1).leases
    match ended:
        case "ack":
            bench.real(bench.calls.ack([(leases[1], None)]))
        case "fail":
            bench.real(bench.calls.fail([Failure(leases[1])], [0]))
        case "release":
            bench.real(bench.calls.release([leases[1]]))
        case _:
            bench.real(bench.calls.heartbeat([leases[0], leases[2]], lease=60))
            bench.pass_time(15_000)
            bench.real(bench.calls.reap())
    if ended == "reap and claim":
        assert [lease.id for lease in bench.claim(1, slot=1)] == line[1:2]
    again = claim(bench, 1).leases
    assert [(lease.id, lease.token, lease.fence) for lease in again] == [
        (lease.id, lease.token, lease.fence) for lease in (leases[0], leases[2])
    ]


# what a claim does besides


def test_the_next_due_time_is_the_earliest_of_delayed_tasks_and_leases(bench: Workbench) -> None:
    assert claim(bench, 1).next_due is None
    bench.fill(1, delay=20)
    assert claim(bench, 2).next_due == (START + 20_000) / 1000
    bench.fill(1)
    claim(bench, 3)
    assert claim(bench, 4).next_due == (START + 15_000) / 1000
    bench.fill(1, delay=5)
    assert claim(bench, 5).next_due == (START + 5_000) / 1000


def test_each_slot_forgets_silent_workers_once_a_second(bench: Workbench) -> None:
    bench.worker("other")
    bench.pass_time(29_500)
    claim(bench, 1)
    bench.pass_time(999)
    claim(bench, 2)
    assert bench.ask("ZCARD", ":workers") == 2
    bench.pass_time(1)
    claim(bench, 3)
    assert bench.ask("ZRANGE", ":workers", 0, -1) == [b"w"]
    assert [event["id"] for event in bench.events("worker.lost")] == [b"other"]
    assert bench.counters()["workers_lost"] == 1


# bounds and damage


def test_a_claim_stops_before_4_MiB_and_leaves_the_rest_in_line(bench: Workbench) -> None:
    line = [bench.fill(1, payload=b"x" * MIB)[0] for _ in range(5)]
    bench.ask("DEL", ":wake:any")
    first = claim(bench, 1)
    assert ids(first) == line[:3]
    assert bench.ready() == line[3:]
    assert bench.tokens() == 1
    assert ids(claim(bench, 2)) == line[3:]


def size(answer: Any) -> int:
    if isinstance(answer, Answer):
        return size([answer.status, answer.fields])
    if isinstance(answer, dict):
        return size(list(answer.items()))
    if isinstance(answer, list | tuple):
        return sum(map(size, answer))
    return len(answer) if isinstance(answer, bytes | str) else 8


@pytest.mark.parametrize("payload", [0, 1024])
def test_the_bound_counts_records_too(bench: Workbench, payload: int) -> None:
    for _ in range(10):
        bench.fill(100, payload=b"x" * payload, headers={"h": "x" * 4000})
    call = bench.calls.claim("w", "i", 0, 1, limit=1000)
    answer = parse_reply(call.script, bench.watched.call(call))
    assert 2 * MIB < size(answer) < 4 * MIB


def test_an_alert_has_the_trace_of_its_call_and_not_that_of_the_leases(bench: Workbench) -> None:
    bench.raw_run("queue.enqueue.v1", "r", "00-trace", "", bench.now, "", "", 1, "a", "x", 0)
    bench.ask("DEL", ":payload:a")
    claim(bench, 1)
    claimed, alert = bench.events()[-2:]
    assert (claimed["trace"], alert["event"], alert.get("trace")) == (b"00-trace", b"task.alert", None)
