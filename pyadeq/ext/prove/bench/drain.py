"""How many tasks a second one worker process completes, by how many it does at a time, and by their size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from pyadeq import Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench import bare_worker, floor
from pyadeq.ext.prove.bench.cost import completed
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import PAYLOAD, Scene, fill
from pyadeq.ext.prove.bench.worker import working
from pyadeq.ids import new_ulid

CONCURRENCY = (1, 10, 100)
SIZES = (200, 10_000, 100_000)
SHARE = {1: 20, 10: 4, 100: 1}  # the part of the tasks that each is measured with: one in that many
MOST_BYTES = 200_000_000  # waiting at a time
POLL = 0.01
PATIENCE = 60.0  # seconds without one more


def drain(scene: Scene) -> Iterator[Figure]:
    """All tasks are enqueued before the worker starts; counted from a tenth of them on."""
    points = [(at_a_time, len(PAYLOAD)) for at_a_time in CONCURRENCY]
    points += [(CONCURRENCY[-1], size) for size in SIZES if size != len(PAYLOAD)]
    for at_a_time, size in points:
        rates, floors = [], []
        tasks = max(1000, min(scene.tasks // SHARE[at_a_time], MOST_BYTES // size))
        for number in range(scene.rounds):
            scene.tell(f"{at_a_time} at a time, {size:,} bytes, round {number + 1} of {scene.rounds}")
            rates.append(_rate(scene, tasks, at_a_time, size))
            floors.append(_floor(scene, tasks, at_a_time, size))
        by: dict[str, int] = {"concurrency": at_a_time, "bytes": size}
        what = "one worker process"
        yield Figure(subject="drain", what=what, by=by, unit="tasks/s", values=tuple(rates), floor=tuple(floors))


def _rate(scene: Scene, tasks: int, concurrency: int, size: int) -> float:
    with scene.queue() as queue:
        fill(queue, tasks, payload=b"x" * size)
        with working(scene.url, queue.name, concurrency):
            return _speed(tasks, lambda: completed(queue.stats()))


def _floor(scene: Scene, tasks: int, concurrency: int, size: int) -> float:
    """Return the tasks per second of a bare process that reads as many entries of a stream at a time."""
    key = f"bench-{new_ulid()}"
    put, _ = floor.stream(scene, key, tasks, b"x" * size)
    put()
    try:
        with working(scene.url, key, concurrency, bare_worker.__name__):
            return _speed(tasks, lambda: tasks - int(scene.client.xlen(key)), POLL / 10)
    finally:
        scene.remove(key)


def _speed(tasks: int, done: Callable[[], int], poll: float = POLL) -> float:
    """Tasks a second, from when a tenth of them is done."""
    first, began = _reach(done, tasks // 10, poll)
    last, ended = _reach(done, tasks, poll)
    if last == first:
        raise AdeqError(f"{tasks:,} tasks are too few: all were done between two looks; --tasks N")
    return (last - first) / (ended - began)


def reach(queue: Queue, goal: int) -> tuple[int, float]:
    """How many are done as soon as there are that many, and when that was seen."""
    return _reach(lambda: completed(queue.stats()), goal)


def _reach(done: Callable[[], int], goal: int, poll: float = POLL) -> tuple[int, float]:
    count, since = 0, time.monotonic()
    while True:
        now = done()
        if now != count:
            count, since = now, time.monotonic()
        if count >= goal:
            return count, time.monotonic()
        if time.monotonic() - since > PATIENCE:
            raise AdeqError(f"the worker has done {count:,} of {goal:,} tasks, and none for {PATIENCE:g} s")
        time.sleep(poll)
