"""What a worker that has nothing to do costs, and how soon another takes over from one that died."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyadeq.ext.prove.bench.drain import reach
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import PAYLOAD, Scene
from pyadeq.ext.prove.bench.worker import working

SECONDS = 10.0
CONCURRENCY = (1, 100)


def idle(scene: Scene) -> Iterator[Figure]:
    """Commands a second of one worker process."""
    for concurrency in CONCURRENCY:
        scene.tell(f"{concurrency} at a time, {SECONDS:g} s")
        with scene.queue() as queue, working(scene.url, queue.name, concurrency):
            queue.enqueue(PAYLOAD)
            reach(queue, 1)
            time.sleep(1)
            before, began = scene.commands(), time.monotonic()
            time.sleep(SECONDS)
            rate = (scene.commands() - before - 1) / (time.monotonic() - began)
        by: dict[str, int] = {"concurrency": concurrency}
        yield Figure(subject="idle", what="one worker without work", by=by, unit="commands/s", values=(rate,))


def recovery(scene: Scene, lease: float = 0) -> Iterator[Figure]:
    """Seconds from the death of a worker until another that waits begins its task again. lease: 0 for the default."""
    values = []
    for number in range(min(scene.rounds, 3)):
        scene.tell(f"round {number + 1}: as long as a lease, about 15 s")
        with scene.queue() as queue:
            receipt = queue.enqueue(PAYLOAD)
            (held,) = queue.claim("dies", lease=lease)
            died = time.monotonic_ns()
            with working(scene.url, queue.name, 1):
                outcome = queue.inspect.ended(receipt.id, held.deadline - queue.stats().now + 60)
        values.append((outcome.result - died) / 1e9)
    yield Figure(subject="recovery", what="from a worker's death to the next run", unit="s", values=tuple(values))
