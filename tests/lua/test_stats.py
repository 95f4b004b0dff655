from __future__ import annotations

import pytest

from pyadeq._core.kernel.call import parse_reply
from pyadeq.models import QueueStats, Task
from tests.lua.test_cancel import put
from tests.lua.workbench import Workbench


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
