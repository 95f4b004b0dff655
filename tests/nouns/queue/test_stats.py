from __future__ import annotations

from collections import Counter

import pytest

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench


def test_a_thousand_lanes_are_listed_and_the_others_counted(bench: Workbench) -> None:
    for start in (0, 1000):
        tasks = [(f"a{at}", Task(payload=b"", lane=f"group/g{at}")) for at in range(start, min(start + 1000, 1007))]
        bench.real(bench.calls.enqueue(tasks, f"r{start}"))
    call = bench.calls.stats()
    answer = parse_reply(call.script, bench.watched.call(call))
    assert (len(answer["lanes"]), answer["more_lanes"]) == (1000, 7)
    assert set(answer["lanes"].values()) == {b"1"}


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
