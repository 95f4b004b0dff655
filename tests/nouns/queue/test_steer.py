"""What is wanted of workers, how they hear it, and what is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models.worker import Heartbeat
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def register(bench: Workbench, name: str = "w", incarnation: str = "i", **about: Any) -> None:
    bench.real(bench.calls.register(name, incarnation, about))


def steer(bench: Workbench, *names: str, **wanted: Any) -> list[str]:
    return list(bench.run(bench.calls.steer(names or ["w"], **wanted)))


def beat(bench: Workbench, name: str = "w", busy: int | None = None) -> Heartbeat:
    return bench.run(bench.calls.heartbeat([], worker=name, busy=busy))


def control(bench: Workbench, name: str = "w") -> int:
    return int(bench.ask("LLEN", f":control:{name}"))


# steer and heartbeat


def test_a_worker_whose_heartbeat_hangs_does_not_claim_in_a_circle(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="quiet")
    left = 0
    for n in range(1, 21):  # a token ends its wait at once, and then it claims
        left += control(bench)
        bench.ask("DEL", ":control:w")
        bench.run(bench.calls.claim("w", "i", 0, n))
        bench.pass_time(100)
    assert left == 3  # the first one, and one a second
    check_queue(bench)


def test_a_worker_that_ends_by_itself_leaves_no_request(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="stop")
    bench.run(bench.calls.deregister("w", "i"))
    register(bench, incarnation="new")
    assert beat(bench).mode == "run"


# workers


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({}, "abc"), ({"group": "g"}, "ab"), ({"capability": "gpu"}, "ac"), ({"group": "g", "capability": "gpu"}, "a"),
        ({"name": "b"}, "b"), ({"name": "b", "group": "g"}, "b"), ({"name": "b", "capability": "gpu"}, ""),
        ({"name": "d"}, ""), ({"group": "gg"}, ""), ({"capability": "gp"}, ""), ({"capability": "gpu/8"}, "c"),
        ({"capability": "x.y"}, ""), ({"name": "lost"}, ""), ({"name": "gone"}, ""),
    ],
)  # fmt: skip
def test_workers_are_found_by_name_and_group_and_capability(
    bench: Workbench, named: dict[str, Any], found: str
) -> None:
    register(bench, "lost", group="g", capabilities=["gpu"])
    bench.pass_time(30_000)
    register(bench, "gone", group="g", capabilities=["gpu"])
    bench.run(bench.calls.deregister("gone", "i"))
    register(bench, "a", group="g", capabilities=["cpu", "gpu"])
    register(bench, "b", group="g", capabilities=["gpus", "xgpu"])
    register(bench, "c", capabilities=["gpu/8", "gpu"])
    workers, cursor = bench.run(bench.calls.workers(**named))
    assert (sorted(worker.name for worker in workers), cursor) == (sorted(found), "")


@pytest.mark.parametrize("number", [1, 128, 129, 350])
def test_pages_hold_every_worker_that_is_there_all_the_while(bench: Workbench, number: int) -> None:
    names = [f"worker-{at}" for at in range(number)]
    for name in names:
        register(bench, name)
    found: set[str] = set()
    cursor, pages = "", 0
    while True:
        workers, cursor = bench.run(bench.calls.workers(cursor=cursor, limit=50))
        found |= {worker.name for worker in workers}
        pages += 1
        assert pages <= number
        if pages == 1 and number > 300:  # others come and go between the pages
            for at in range(100):
                register(bench, f"late-{at}")
                bench.real(bench.calls.deregister(f"late-{at}", "i"))
        if not cursor:
            break
    assert found >= set(names)
    assert found <= set(names) | {f"late-{at}" for at in range(100)}
