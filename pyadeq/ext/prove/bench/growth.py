"""Whether a task costs more where there are many: waiting, running, delayed, ended; and a lock with many waiters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyadeq import Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench.cost import UNIT, steps
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import HOUR, Scene, fill, take
from pyadeq.ids import new_ulid

BACKLOGS = (0, 10_000, 100_000, 1_000_000, 2_000_000, 10_000_000)
DELAYED = (0, 10_000, 100_000, 1_000_000)
RUNNING = (10, 100, 1_000, 10_000)
KEPT = (1_000, 10_000, 100_000)
WAITING = (1, 10, 100, 1_000)
BATCH, TASKS = 100, 10_000
HANDED = 200  # how often a lock is handed over
LAST = 9  # the priority of tasks that are never claimed
BYTES = 1_200  # of a task, at most: in memory, in tables that grow, and in an append-only file that may be in memory
UNKNOWN = 1_000_000  # as many tasks as any machine has room for
MEMORY = Path("/proc/meminfo")


def growth(scene: Scene) -> Iterator[Figure]:
    """A backlog of `--most` tasks at most, and of as many as half of the free memory has room for."""
    for count in fitting(scene, "backlog", BACKLOGS):
        with scene.anew() as own:
            yield _with(own, "with so many in line besides", "backlog", count, priority=LAST)
    for count in fitting(scene, "delayed", DELAYED):
        with scene.anew() as own:
            yield _with(own, "with so many delayed besides", "delayed", count, delay=HOUR)
    for count in RUNNING:
        with scene.anew() as own:
            yield _running(own, count)
    for count in KEPT:
        if count <= scene.plan.most:
            with scene.anew() as own:
                yield _kept(own, count)
    for count in WAITING:
        with scene.anew() as own:
            yield _waiting(own, count)


def fitting(scene: Scene, name: str, counts: tuple[int, ...], each: int = BYTES) -> Iterator[int]:
    """Yield the counts up to `--most` that fit into memory; note the others as left out. each: bytes of one."""
    for count in counts:
        if count > scene.plan.most:
            continue
        free = free_memory() if scene.own else None
        if count <= (UNKNOWN if free is None else free // 2 // each):
            yield count
            continue
        has = (
            "how much is free is not known"
            if free is None
            else f"half of the {free / 1e9:.1f} GB that are free is less"
        )
        scene.left_out.append(f"{name} {count:,}: it may take {count * each / 1e9:.1f} GB of memory, and {has}")


def free_memory() -> int | None:
    """Bytes that can be had without swapping, where the system says so."""
    try:
        lines = MEMORY.read_text().splitlines()
    except OSError:
        return None
    kilobytes = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(kilobytes[0]) * 1024 if kilobytes else None


def _with(scene: Scene, what: str, name: str, count: int, **options: Any) -> Figure:
    scene.tell(f"{name} {count:,}")
    with scene.queue() as queue:
        fill(queue, count, tell=lambda words: scene.tell(f"{name} {count:,}: {words}"), **options)
        return _lives(scene, queue, what, name, count)


def _running(scene: Scene, count: int) -> Figure:
    scene.tell(f"running {count:,}")
    with scene.queue() as queue:
        fill(queue, count)
        take(queue, count)
        return _lives(scene, queue, "with so many running besides", "running", count)


def _kept(scene: Scene, count: int) -> Figure:
    """Once the queue keeps its most, as many ended tasks are deleted as end."""
    scene.tell(f"kept {count:,}")
    with scene.queue() as queue:
        queue.configure(finished_max=count)
        for _ in range(1 + count // TASKS):
            _life(scene, queue)
        return _lives(scene, queue, "where as many are deleted, and so many kept", "kept", count)


def _lives(scene: Scene, queue: Queue, what: str, name: str, count: int) -> Figure:
    values = tuple(_life(scene, queue) for _ in range(scene.rounds))
    return Figure(subject="growth", what=f"a task's life {what}", by={name: count}, unit=UNIT, values=values)


def _life(scene: Scene, queue: Queue) -> float:
    put, take = steps(scene, queue, TASKS, BATCH)
    return scene.cpu(lambda: (put(), take())) / TASKS * 1e6


def _waiting(scene: Scene, count: int) -> Figure:
    """The server's CPU for giving a lock to the next waiter, and for another one to join the queue."""
    values = []
    for number in range(scene.rounds):
        scene.tell(f"{count:,} wait for a lock, round {number + 1} of {scene.rounds}")
        with scene.locks() as locks:
            issued_ms = round(locks.stats().now * 1000)
            rids = [new_ulid() for _ in range(1 + count + HANDED)]
            joins = [
                locks.calls.acquire(rid, "lock", f"owner-{n}", issued_ms=issued_ms, wait=HOUR)
                for n, rid in enumerate(rids)
            ]
            scene.calls(joins[: 1 + count])()
            turns = [call for n in range(HANDED) for call in (locks.calls.release([rids[n]]), joins[1 + count + n])]
            values.append(scene.cpu(scene.calls(turns)) / HANDED * 1e6)
            if (stats := locks.stats()).held != 1 or stats.waiting != count:
                raise AdeqError(f"{stats.held} hold the lock and {stats.waiting} wait: the figures would mean nothing")
    by: dict[str, int] = {"waiting": count}
    what = "one hand-over of a lock that so many wait for"
    return Figure(subject="growth", what=what, by=by, unit="µs of the server's CPU", values=tuple(values))
