"""Bytes of the server for each task, by its state; of 200 bytes of payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyadeq import Failure, Queue
from pyadeq.ext.prove.bench import floor
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import HOUR, Scene, fill, take
from pyadeq.ids import new_ulid

BATCH = 500


def memory(scene: Scene) -> Iterator[Figure]:
    """Measure the bytes of a task in each state. The floor is a bare stream that holds the same payloads."""
    base = _of_the_floor(scene)
    yield Figure(subject="memory", what="floor: an entry of a stream", unit="bytes", values=(base,))
    states: dict[str, Callable[[Queue, int], None]] = {
        "ready": _put,
        "with a user": lambda queue, n: _put(queue, n, user="ann"),
        "with a user and 3 tags": lambda queue, n: _put(queue, n, user="ann", tags=["a", "b", "c"]),
        "delayed": lambda queue, n: _put(queue, n, delay=HOUR),
        "running": _run,
        "completed": _complete,
        "dead": _die,
    }
    for state, bring in states.items():
        scene.tell(state)
        with scene.anew() as own, own.queue() as queue:
            _put(queue, 1)
            queue.admin.purge()
            before = own.memory(queue.base)
            bring(queue, own.tasks)
            each = (own.memory(queue.base) - before) / own.tasks
        yield Figure(subject="memory", what=state, unit="bytes", values=(each,), floor=(base,))


def _of_the_floor(scene: Scene) -> float:
    key = f"ade:{{queue:bench-{new_ulid()}}}"
    put, _ = floor.stream(scene, key, scene.tasks)
    before = int(scene.client.info("memory")["used_memory"])
    put()
    after = int(scene.client.info("memory")["used_memory"])
    scene.remove(key)
    return (after - before) / scene.tasks


def _put(queue: Queue, count: int, **options: Any) -> None:
    fill(queue, count, **options)


def _run(queue: Queue, count: int) -> None:
    _put(queue, count)
    take(queue, count)


def _complete(queue: Queue, count: int) -> None:
    _put(queue, count)
    leases = queue.claim("bench", BATCH)
    while leases:
        leases = queue.leases.settle("bench", acks=[(lease, None) for lease in leases], claim=BATCH).claimed.leases


def _die(queue: Queue, count: int) -> None:
    _put(queue, count)
    leases = queue.claim("bench", BATCH)
    while leases:
        fails = [Failure(lease, "error", retryable=False) for lease in leases]
        leases = queue.leases.settle("bench", fails=fails, claim=BATCH).claimed.leases
