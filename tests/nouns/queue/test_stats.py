from __future__ import annotations

from collections import Counter

import pytest

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.queue.items import Failure
from pyadeq.models import QueueStats, Task
from tests.nouns.queue.test_cancel import put
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused


def stats(bench: Workbench) -> QueueStats:
    return bench.run(bench.calls.stats())


def test_an_empty_queue_has_nothing(bench: Workbench) -> None:
    found = stats(bench)
    assert found.model_dump(exclude={"now"}) == {
        "mode": "running",
        "ready": 0, "delayed": 0, "blocked": 0, "running": 0, "stalled": 0, "finished": 0, "dead": 0, "workers": 0,
        "lanes": {}, "more_lanes": 0, "counters": {},
    }  # fmt: skip
    assert found.now == bench.now / 1000


def test_every_task_is_counted_in_its_state(bench: Workbench) -> None:
    for state in ("completed", "cancelled", "dead", "dead", "blocked", "delayed"):
        put(bench, state)
    bench.fill(2)
    assert len(bench.claim(2, lease=60)) == 2
    put(bench, "stalled")
    bench.fill(3)
    bench.fill(2, lane="group/g")
    found = stats(bench)
    counted = found.ready, found.delayed, found.blocked, found.running, found.stalled, found.finished, found.dead
    assert counted == (5, 1, 1, 3, 1, 2, 2)
    assert (found.lanes, found.pending) == ({"any": 3, "group/g": 2}, 7)


def test_the_totals_since_the_queue_began(bench: Workbench) -> None:
    put(bench, "completed")
    put(bench, "dead")
    assert stats(bench).counters == {
        "enqueued": 2, "claimed": 2, "completed": 1, "dead": 1, "wait_ms:1": 2, "run_ms:1": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("ms", "alive"), [(0, 1), (29_999, 1), (30_000, 0)])
def test_a_worker_is_alive_for_30_seconds_after_a_sign_of_life(bench: Workbench, ms: int, alive: int) -> None:
    bench.worker()
    bench.pass_time(ms)
    assert stats(bench).workers == alive


def test_a_thousand_lanes_are_listed_and_the_others_counted(bench: Workbench) -> None:
    for start in (0, 1000):
        tasks = [(f"a{at}", Task(payload=b"", lane=f"group/g{at}")) for at in range(start, min(start + 1000, 1007))]
        bench.real(bench.calls.enqueue(tasks, f"r{start}"))
    call = bench.calls.stats()
    answer = parse_reply(call.script, bench.watched.call(call))
    assert (len(answer["lanes"]), answer["more_lanes"]) == (1000, 7)
    assert set(answer["lanes"].values()) == {b"1"}


def test_the_overview_has_all_of_the_statistics(bench: Workbench) -> None:
    for state in ("completed", "cancelled", "dead", "blocked", "delayed"):
        put(bench, state)
    bench.lease(2)
    bench.fill(3)
    bench.fill(2, lane="group/g")
    overview = bench.run(bench.calls.overview())
    assert overview.model_dump(exclude={"oldest"}) == stats(bench).model_dump()
    assert overview.oldest == {"any": bench.now / 1000, "group/g": bench.now / 1000}


def test_a_lane_is_as_old_as_the_next_task_of_one_of_its_priorities(bench: Workbench) -> None:
    ages = {}
    for lane, priorities in {"any": (5,), "group/g": (9, 0, 4), "group/h": (3, 8)}.items():
        ages[lane] = bench.now / 1000
        for priority in priorities:
            bench.fill(2, lane=lane, priority=priority)
            bench.pass_time(1000)
    bench.fill(1, lane="any", priority=0)
    overview = bench.run(bench.calls.overview())
    assert overview.oldest == ages
    assert overview.waited == bench.now / 1000 - ages["any"]


def test_a_delayed_task_waits_from_when_it_became_due(bench: Workbench) -> None:
    bench.fill(1, delay=5)
    assert bench.run(bench.calls.overview()).oldest == {}
    bench.pass_time(7000)
    bench.sweep()
    assert bench.run(bench.calls.overview()).oldest == {"any": bench.now / 1000}


def test_the_overview_lists_the_50_lanes_that_wait_longest(bench: Workbench) -> None:
    lanes = [f"group/g{at}" for at in range(60)]
    for lane in lanes:
        bench.fill(1, lane=lane)
        bench.pass_time(10)
    bench.ask("DEL", ":lanes")
    bench.ask("SADD", ":lanes", *reversed(lanes))  # the server answers them in this order
    assert list(bench.run(bench.calls.overview()).oldest) == lanes[:50]


def die(bench: Workbench, number: int, kind: str | None, reason: str) -> None:
    bench.fill(number, kind=kind)
    failures = [Failure(one, retryable=False, reason=reason) for one in bench.claim(number)]
    bench.real(bench.calls.fail(failures, [0] * number))


def test_dead_tasks_are_counted_by_kind_and_reason(bench: Workbench) -> None:
    died = bench.now / 1000
    die(bench, 2, "mail", "refused")
    bench.pass_time(5000)
    die(bench, 1, None, "refused")
    die(bench, 1, "mail", "refused")
    die(bench, 1, "mail", "timeout")
    groups, counted, cursor = bench.run(bench.calls.count_dead())
    found = {(one.kind, one.reason): (one.count, one.first, one.last) for one in groups}
    now = bench.now / 1000
    assert found == {
        ("mail", "refused"): (3, died, now), (None, "refused"): (1, now, now), ("mail", "timeout"): (1, now, now),
    }  # fmt: skip
    assert (counted, cursor) == (5, "")


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
def test_parts_count_each_dead_task_once_while_others_die_or_are_deleted(
    bench: Workbench, limit: int, removed: bool
) -> None:
    die(bench, 3, "old", "error")
    bench.pass_time(1)
    die(bench, 3, "new", "error")
    seen, cursor, calls = Counter[str](), "", 0
    while cursor or not calls:
        groups, counted, cursor = bench.run(bench.calls.count_dead(cursor=cursor, limit=limit))
        assert counted == sum(one.count for one in groups) <= limit
        seen.update({one.kind or "": one.count for one in groups})
        calls += 1
        bench.pass_time(1)
        die(bench, 1, "later", "error")  # newer than the cursor, so it is not seen
        if cursor and removed:
            gone = cursor.split()[1]  # the last one that was counted
            bench.real(bench.calls.abandon([gone], f"r{calls}"))
    assert seen == {"old": 3, "new": 3}
    assert calls == -(-6 // limit)


def test_a_part_whose_tasks_were_deleted_meanwhile_is_empty(bench: Workbench) -> None:
    die(bench, 2, "k", "error")
    oldest = bench.ask("ZRANGE", ":dead", 0, 0)[0].decode()
    _, _, cursor = bench.run(bench.calls.count_dead(limit=1))
    bench.real(bench.calls.abandon([oldest, cursor.split()[1]], "r"))
    assert bench.run(bench.calls.count_dead(cursor=cursor)) == ([], 0, "")


@pytest.mark.parametrize("cursor", ["x", "1", "1 ", " a", "-1 a", "1 a b"])
def test_a_cursor_that_no_call_has_answered_is_refused(bench: Workbench, cursor: str) -> None:
    with pytest.raises(Refused, match="cursor"):
        bench.run(bench.calls.count_dead(cursor=cursor))
