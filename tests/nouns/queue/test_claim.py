from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.kernel.call import Answer, parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq._core.queue.items import Failure
from pyadeq.models import Claimed, Task
from tests.nouns.queue.workbench import BAND, START, Workbench

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


def test_a_lease_says_all_that_a_run_needs(bench: Workbench) -> None:
    bench.fill(1, payload=b"data", kind="mail", tags=["t"], headers={"h": 1})
    claimed = claim(bench, 7, slot=3)
    (lease,) = claimed.leases
    assert (lease.id, lease.token, lease.fence) == ("t000001", "i.3.7/1", 1)
    assert (lease.attempt, lease.delivery, lease.deadline) == (1, 1, (START + 15_000) / 1000)
    assert (lease.data, lease.kind, lease.tags, lease.headers) == (b"data", "mail", ("t",), {"h": 1})
    assert claimed.now == START / 1000


def test_the_trace_of_an_enqueue_is_in_the_events_of_its_lease(bench: Workbench) -> None:
    bench.raw_run("queue.enqueue.v1", "r", "00-trace", "", bench.now, "", "", 1, "a", "x", 0)
    (lease,) = bench.run(bench.calls.claim("w", "i", 0, 1, limit=1, lanes=["any"])).leases
    assert bench.run(bench.calls.ack([(lease, None)])) == ["completed"]
    assert [event.get("trace") for event in bench.events()[-2:]] == [b"00-trace", b"00-trace"]


@pytest.mark.parametrize("trace", ["00-1|x", "00 1", "00-\xe9"])
def test_a_trace_that_a_lease_cannot_hold_is_in_no_event_of_it(bench: Workbench, trace: str) -> None:
    bench.raw_run("queue.enqueue.v1", "r", trace, "", bench.now, "", "", 1, "a", "x", 0)
    (lease,) = claim(bench).leases
    assert bench.real(bench.calls.ack([(lease, None)])) == ["completed"]
    assert [event.get("trace") for event in bench.events()[-2:]] == [None, None]


def test_a_claimed_task_is_in_leases_and_nowhere_else(bench: Workbench) -> None:
    bench.fill(1)
    claim(bench, 7, slot=3)
    found = bench.dump(stamps=False)
    assert found[":leases"] == ("zset", [b"t000001", b"%d" % (START + 15_000)])
    running = f"i.3.7/1 {5 * BAND + 1} any|{START} 1 1 0 1 w".encode()
    assert found[":running"] == ("hash", {"t000001": running})
    assert found[":task:t000001"] == ("hash", {"rid": b"fill/t000001/1", "created_ms": b"%d" % START})
    assert found[":worker:w"][1]["slot:3"] == b"7 %d t000001" % START
    assert found.keys() & {":ready:any", ":lanes", ":wake:any", ":delayed"} == set()
    assert found[":events"][1][-1] == [
        b"event", b"task.claimed", b"timestamp", b"%d" % START, b"id", b"t000001",
        b"payload", b"worker=w fence=1 deadline_ms=%d" % (START + 15_000),
    ]  # fmt: skip


def test_tasks_come_in_line_up_to_the_limit(bench: Workbench) -> None:
    line = bench.fill(5)
    assert ids(claim(bench, 1, limit=2)) == line[:2]
    assert bench.ready() == line[2:]
    assert ids(claim(bench, 2)) == line[2:]
    assert ids(claim(bench, 3)) == []


def test_fences_rise_over_all_tasks_and_leases(bench: Workbench) -> None:
    bench.fill(3)
    fences = []
    for n in range(1, 4):
        leases = claim(bench, n).leases
        fences += [lease.fence for lease in leases]
        bench.real(bench.calls.release(leases))
    assert fences == list(range(1, 10))


def test_waiting_times_are_counted_from_when_a_task_became_ready(bench: Workbench) -> None:
    bench.fill(1)
    bench.fill(1, delay=5)
    bench.pass_time(10_000)
    claim(bench)
    counters = bench.counters()
    assert {name: n for name, n in counters.items() if name.startswith("wait_ms")} == {
        "wait_ms:16384": 1,
        "wait_ms:1": 1,
        "wait_ms_sum": 10_000,
    }
    assert counters["claimed"] == 2


@pytest.mark.parametrize(("own", "queues", "holds"), [(0, 15, 15_000), (0, 60, 60_000), (2, 60, 2_000)])
def test_a_lease_lasts_as_the_call_or_else_the_queue_says(
    bench: Workbench, own: float, queues: float, holds: int
) -> None:
    bench.real(bench.calls.configure(lease=queues))
    bench.fill(1)
    assert claim(bench, lease=own).leases[0].deadline == (START + holds) / 1000
    assert int(bench.ask("ZSCORE", ":leases", "t000001")) == START + holds


def test_the_lowest_priority_comes_first_whatever_its_lane(bench: Workbench) -> None:
    lanes = ["group/g/inst/i", "group/g", "any"]
    for priority in (7, 5):
        for lane in reversed(lanes):
            bench.fill(2, lane=lane, priority=priority)
    bench.fill(1, lane="any", priority=0)
    order = ["13", "11", "12", "09", "10", "07", "08", "05", "06", "03", "04", "01", "02"]
    assert ids(claim(bench, 1, limit=4, lanes=lanes)) == [f"t0000{at}" for at in order[:4]]
    assert ids(claim(bench, 2, limit=20, lanes=lanes)) == [f"t0000{at}" for at in order[4:]]


def test_only_the_lanes_that_were_named_are_claimed(bench: Workbench) -> None:
    (other,) = bench.fill(1, lane="group/g")
    (any_,) = bench.fill(1)
    assert ids(claim(bench, 1, lanes=["group/h", "any"])) == [any_]
    assert ids(claim(bench, 2, lanes=["group/g"])) == [other]


def test_a_lane_named_twice_gives_its_tasks_once(bench: Workbench) -> None:
    line = bench.fill(3)
    assert ids(claim(bench, 1, limit=10, lanes=["any", "group/g", "any"])) == line
    assert len(bench.ask("ZRANGE", ":leases", 0, -1)) == 3


# wake-up tokens


def test_a_claim_that_leaves_tasks_behind_wakes_the_next_worker(bench: Workbench) -> None:
    bench.fill(3)
    for n, tokens in [(1, 1), (2, 1), (3, 0)]:
        bench.ask("LPOP", ":wake:any")
        claim(bench, n, limit=1)
        assert bench.tokens() == tokens


def test_a_claim_that_empties_a_lane_leaves_no_token_and_no_lane(bench: Workbench) -> None:
    bench.fill(1)
    bench.fill(1, lane="group/g")
    claim(bench, 1, lanes=["any"])
    assert (bench.tokens(), bench.tokens("group/g")) == (0, 1)
    assert bench.ask("SMEMBERS", ":lanes") == [b"group/g"]


def test_the_token_of_an_emptied_lane_stays_while_tasks_are_delayed(bench: Workbench) -> None:
    bench.fill(1)
    bench.fill(1, delay=5)
    claim(bench, 1)
    assert (bench.tokens(), bench.ask("EXISTS", ":lanes")) == (1, 0)


def test_a_lane_that_a_claim_named_but_did_not_reach_keeps_a_token(bench: Workbench) -> None:
    bench.fill(1)
    bench.fill(1, lane="group/g")
    bench.ask("LPOP", ":wake:group/g")
    claim(bench, 1, limit=1, lanes=["any", "group/g"])
    assert (bench.tokens(), bench.tokens("group/g")) == (0, 1)


# replays and standing


def test_a_lower_number_is_stale_and_writes_nothing(bench: Workbench) -> None:
    bench.fill(2)
    claim(bench, 5, limit=1)
    before = bench.dump()
    stale = claim(bench, 4)
    assert (stale.status, stale.leases) == ("stale", [])
    assert bench.dump() == before


def test_slots_count_for_themselves(bench: Workbench) -> None:
    line = bench.fill(2)
    assert ids(claim(bench, 5, slot=0, limit=1)) == line[:1]
    assert ids(claim(bench, 1, slot=255, limit=1)) == line[1:]
    assert ids(claim(bench, 5, slot=0, limit=1)) == line[:1]


def test_another_incarnation_is_stale_and_an_unknown_worker_unregistered(bench: Workbench) -> None:
    bench.fill(1)
    bench.worker(incarnation="new")
    before = bench.dump()
    assert claim(bench).status == "stale"
    assert claim(bench, worker="nobody").status == "unregistered"
    assert bench.dump() == before


@pytest.mark.parametrize("n", [1, 2**32, MOST - 1])
def test_a_replay_is_known_however_large_its_number(bench: Workbench, n: int) -> None:
    line = bench.fill(3)
    first = claim(bench, n, limit=1)
    assert first.leases[0].token == f"i.0.{n}/1"
    assert claim(bench, n, limit=1).leases == first.leases
    assert ids(claim(bench, n + 1, limit=1)) == line[1:2]
    assert claim(bench, n, limit=1).status == "stale"


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


def test_a_replay_claims_nothing_new(bench: Workbench) -> None:
    bench.fill(1)
    claim(bench, 1)
    bench.fill(1)
    assert ids(claim(bench, 1)) == ["t000001"]
    assert bench.ready() == ["t000002"]


def test_a_replay_of_an_empty_claim_is_empty(bench: Workbench) -> None:
    claim(bench, 1)
    bench.fill(1)
    assert ids(claim(bench, 1)) == []


def test_a_later_lease_of_a_task_counts_its_deliveries_and_attempts(bench: Workbench) -> None:
    bench.fill(1)
    found = []
    for n, after in enumerate(["release", "fail", "reap", "reap", "fail", ""], 1):
        (lease,) = claim(bench, n).leases
        found.append((after, lease.attempt, lease.delivery))
        if after == "release":
            bench.real(bench.calls.release([lease]))
        elif after == "fail":
            bench.real(bench.calls.fail([Failure(lease)], [500_000]))
        bench.pass_time(15_000)
        bench.real(bench.calls.reap())
        bench.pass_time(1_000)
    assert found == [
        ("release", 1, 1),
        ("fail", 1, 2),
        ("reap", 2, 3),
        ("reap", 2, 4),
        ("fail", 2, 5),
        ("", 3, 6),
    ]


# what a claim does besides


def test_a_claim_is_a_sign_of_life_once_a_second(bench: Workbench) -> None:
    seen = []
    for n, ms in enumerate([500, 999, 1, 29_999], 1):
        bench.pass_time(ms)
        claim(bench, n)
        seen.append(int(bench.ask("ZSCORE", ":workers", "w")) - START)
    assert seen == [500, 500, 1_500, 31_499]


def test_what_is_due_is_promoted_and_reaped_and_then_claimed(bench: Workbench) -> None:
    (late,) = bench.lease(1)
    (delayed,) = bench.fill(1, delay=15)
    bench.pass_time(15_000)
    claimed = claim(bench, 100)
    assert ids(claimed) == [late.id, delayed]
    assert claimed.next_due is None


def test_the_next_due_time_is_the_earliest_of_delayed_tasks_and_leases(bench: Workbench) -> None:
    assert claim(bench, 1).next_due is None
    bench.fill(1, delay=20)
    assert claim(bench, 2).next_due == (START + 20_000) / 1000
    bench.fill(1)
    claim(bench, 3)
    assert claim(bench, 4).next_due == (START + 15_000) / 1000
    bench.fill(1, delay=5)
    assert claim(bench, 5).next_due == (START + 5_000) / 1000


@pytest.mark.parametrize("due", ["delayed", "leases"])
def test_a_claim_moves_at_most_100_and_says_that_there_are_more(bench: Workbench, due: str) -> None:
    if due == "delayed":
        bench.fill(150, delay=15)
    else:
        bench.lease(150)
    bench.pass_time(15_000)
    first = claim(bench, 1000, limit=1000)
    assert len(first.leases) == 100
    assert first.next_due == first.now
    second = claim(bench, 1001, limit=1000)
    assert len(second.leases) == 50


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


def test_a_thousand_small_tasks_fit_in_one_claim(bench: Workbench) -> None:
    bench.fill(1000)
    assert len(claim(bench, 1, limit=1000).leases) == 1000


def test_a_task_whose_record_is_gone_is_dropped_with_an_alert(bench: Workbench) -> None:
    line = bench.fill(3)
    bench.ask("DEL", f":task:{line[1]}")
    claimed = claim(bench, 1)
    assert ids(claimed) == [line[0], line[2]]
    assert [lease.token for lease in claimed.leases] == ["i.0.1/1", "i.0.1/2"]
    (alert,) = bench.events("task.alert")
    assert (alert["id"], alert["payload"]) == (line[1].encode(), b"reason=record_missing")
    assert ids(claim(bench, 1)) == ids(claimed)
    assert line[1].encode() not in bench.ask("ZRANGE", ":leases", 0, -1)


def test_a_delayed_task_whose_record_is_gone_is_not_made_up_again(bench: Workbench) -> None:
    (gone,) = bench.fill(1, delay=5)
    bench.ask("DEL", f":task:{gone}", f":payload:{gone}")
    bench.pass_time(5_000)
    assert ids(claim(bench, 1)) == []
    assert len(bench.events("task.alert")) == 1
    assert bench.ask("EXISTS", f":task:{gone}") == 0


def test_a_running_task_whose_record_is_gone_is_not_made_up_again(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("DEL", f":task:{lease.id}", f":payload:{lease.id}")
    bench.pass_time(15_000)
    assert ids(claim(bench, 100)) == []
    assert len(bench.events("task.alert")) == 1
    assert bench.ask("EXISTS", f":task:{lease.id}") == 0


def test_a_task_whose_payload_is_gone_is_leased_without_and_with_an_alert(bench: Workbench) -> None:
    bench.fill(1, payload=b"")
    (id,) = bench.fill(1)
    bench.ask("DEL", f":payload:{id}")
    assert [lease.data for lease in claim(bench, 1).leases] == [b"", b""]
    (alert,) = bench.events("task.alert")
    assert (alert["id"], alert["payload"]) == (id.encode(), b"reason=payload_missing")


def test_an_alert_has_the_trace_of_its_call_and_not_that_of_the_leases(bench: Workbench) -> None:
    bench.raw_run("queue.enqueue.v1", "r", "00-trace", "", bench.now, "", "", 1, "a", "x", 0)
    bench.ask("DEL", ":payload:a")
    claim(bench, 1)
    claimed, alert = bench.events()[-2:]
    assert (claimed["trace"], alert["event"], alert.get("trace")) == (b"00-trace", b"task.alert", None)


def test_ids_of_200_characters_in_long_lanes_can_be_claimed_by_the_thousand(bench: Workbench) -> None:
    lane = "group/" + "g" * 100 + "/inst/" + "i" * 100
    names = [f"{at:0200}" for at in range(1000)]
    bench.real(bench.calls.enqueue([(id, Task(payload=b"", lane=lane)) for id in names], "r"))
    assert ids(claim(bench, 1, limit=1000, lanes=[lane])) == names
