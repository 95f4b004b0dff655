"""Whether a task costs more where there are many: in line, running, put off; and a lock that many wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyadeq import Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.bench.cost import UNIT, steps
from pyadeq.ext.bench.figures import Figure
from pyadeq.ext.bench.scene import Scene, fill
from pyadeq.ids import new_ulid

BACKLOGS = (0, 10_000, 100_000, 1_000_000)
RUNNING = (10, 1_000, 10_000)
DELAYED = (0, 10_000, 1_000_000)
WAITING = (1, 10, 100, 1_000)
BATCH, TASKS = 100, 10_000
HANDED = 200  # how often a lock is handed over
HOUR = 3600.0
LAST = 9  # the priority of what nobody reaches


def growth(scene: Scene) -> Iterator[Figure]:
    """A backlog of fifty times `--tasks` at most."""
    most = scene.tasks * 50
    for count in BACKLOGS:
        if count <= most:
            with scene.anew() as own:
                yield _with(own, "with so many in line besides", "backlog", count, priority=LAST)
    for count in DELAYED:
        if count <= most:
            with scene.anew() as own:
                yield _with(own, "with so many delayed besides", "delayed", count, delay=HOUR)
    for count in RUNNING:
        with scene.anew() as own:
            yield _running(own, count)
    for count in WAITING:
        with scene.anew() as own:
            yield _waiting(own, count)


def _with(scene: Scene, what: str, name: str, count: int, **options: Any) -> Figure:
    values = []
    with scene.queue() as queue:
        scene.tell(f"{name} {count:,}")
        fill(queue, count, **options)
        for _ in range(scene.rounds):
            values.append(_life(scene, queue))
    by: dict[str, int] = {name: count}
    return Figure(subject="growth", what=f"a task's life {what}", by=by, unit=UNIT, values=tuple(values))


def _running(scene: Scene, count: int) -> Figure:
    values = []
    with scene.queue() as queue:
        scene.tell(f"running {count:,}")
        fill(queue, count)
        taken = 0
        while taken < count:
            taken += len(queue.claim("others", min(1000, count - taken), lease=HOUR))
        for _ in range(scene.rounds):
            values.append(_life(scene, queue))
    by: dict[str, int] = {"running": count}
    return Figure(
        subject="growth", what="a task's life with so many running besides", by=by, unit=UNIT, values=tuple(values)
    )


def _life(scene: Scene, queue: Queue) -> float:
    put, take = steps(scene, queue, TASKS, BATCH)
    return scene.cpu(lambda: (put(), take())) / TASKS * 1e6


def _waiting(scene: Scene, count: int) -> Figure:
    """The server's CPU for giving a lock to the next in line, and for somebody else to join the line."""
    values = []
    for number in range(scene.rounds):
        scene.tell(f"{count:,} wait for a lock, round {number + 1} of {scene.rounds}")
        locks = scene.adeq.locks(f"bench-{new_ulid()}")
        issued_ms = round(locks.stats().now * 1000)
        rids = [new_ulid() for _ in range(1 + count + HANDED)]
        joins = [
            locks.calls.acquire(rid, "lock", f"owner-{n}", issued_ms=issued_ms, wait=HOUR) for n, rid in enumerate(rids)
        ]
        scene.calls(joins[: 1 + count])()
        turns = [call for n in range(HANDED) for call in (locks.calls.release([rids[n]]), joins[1 + count + n])]
        values.append(scene.cpu(scene.calls(turns)) / HANDED * 1e6)
        if (stats := locks.stats()).held != 1 or stats.waiting != count:
            raise AdeqError(f"{stats.held} hold the lock and {stats.waiting} wait: the figures would mean nothing")
        scene.remove(locks.base)
    by: dict[str, int] = {"waiting": count}
    what = "one hand-over of a lock that so many wait for"
    return Figure(subject="growth", what=what, by=by, unit="µs of the server's CPU", values=tuple(values))
