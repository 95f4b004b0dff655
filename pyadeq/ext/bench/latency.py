"""From just before a task is enqueued until its handler begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyadeq import Queue, Task
from pyadeq.ext.bench.drain import reach
from pyadeq.ext.bench.figures import Figure, quantile
from pyadeq.ext.bench.scene import PAYLOAD, Scene
from pyadeq.ext.bench.worker import working

CONCURRENCY = 100
WARM_UP = 20
APART = 0.02  # seconds between two samples
LOADS = (0, 1000, 5000)  # tasks a second besides
SAMPLES = 200


def latency(scene: Scene) -> Iterator[Figure]:
    """Of a worker that has nothing else to do, and of one that has other tasks meanwhile."""
    for load in LOADS:
        quantiles: dict[str, list[float]] = {"p50": [], "p99": []}
        for number in range(scene.rounds):
            scene.tell(f"{load:,} tasks a second besides, round {number + 1} of {scene.rounds}")
            samples = _samples(scene, load)
            quantiles["p50"].append(quantile(samples, 0.5))
            quantiles["p99"].append(quantile(samples, 0.99))
        for name, values in quantiles.items():
            by: dict[str, int] = {"load": load}
            what = f"{name} from enqueue to handler"
            yield Figure(subject="latency", what=what, by=by, unit="ms", values=tuple(values))


def _samples(scene: Scene, load: int) -> list[float]:
    """Milliseconds of each."""
    with scene.queue() as queue, working(scene.url, queue.name, CONCURRENCY), _loaded(queue, load):
        sent: dict[str, int] = {}
        for number in range(WARM_UP + SAMPLES):
            at = time.monotonic_ns()
            id = queue.enqueue(PAYLOAD).id
            if number >= WARM_UP:
                sent[id] = at
            if number == 0:
                reach(queue, 1)  # the worker is there
            time.sleep(APART)
        outcomes = [queue.ended(id, 60) for id in sent]
    return [(outcome.result - at) / 1e6 for outcome, at in zip(outcomes, sent.values(), strict=True)]


@contextmanager
def _loaded(queue: Queue, rate: int) -> Iterator[None]:
    """So many other tasks a second, in small bunches."""
    if not rate:
        yield
        return
    done = threading.Event()

    def produce() -> None:
        next_at = time.monotonic()
        while not done.is_set():
            queue.enqueue_many([Task(payload=PAYLOAD) for _ in range(rate // 100)])
            next_at += 0.01
            time.sleep(max(next_at - time.monotonic(), 0))

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
