"""The latency of a task: from just before it is enqueued until its handler begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyadeq import Queue, Task
from pyadeq.ext.prove.bench import bare_worker
from pyadeq.ext.prove.bench.drain import PATIENCE, reach
from pyadeq.ext.prove.bench.figures import Figure, quantile
from pyadeq.ext.prove.bench.scene import PAYLOAD, Scene
from pyadeq.ext.prove.bench.worker import working
from pyadeq.ids import new_ulid

CONCURRENCY = 100
WARM_UP = 20
APART = 0.02  # seconds between two samples
LOADS = (0, 1000, 5000)  # other tasks a second
SAMPLES = 200
QUANTILES = {"p50": 0.5, "p99": 0.99}


def latency(scene: Scene) -> Iterator[Figure]:
    """Measure the latency in ms of a worker that has nothing else to do, and of one that has other tasks meanwhile."""
    for load in LOADS:
        runs: list[list[float]] = []
        floors: list[list[float]] = []
        for number in range(scene.rounds):
            scene.tell(f"{load:,} tasks a second besides, round {number + 1} of {scene.rounds}")
            runs.append(_samples(scene, load))
            floors.append(_bare(scene))
        for name, share in QUANTILES.items():
            by: dict[str, int] = {"load": load}
            values, floor = (tuple(quantile(one, share) for one in some) for some in (runs, floors))
            what = f"{name} from enqueue to handler"
            yield Figure(subject="latency", what=what, by=by, unit="ms", values=values, floor=floor)


def _samples(scene: Scene, load: int) -> list[float]:
    """Return the milliseconds from enqueue to handler of each sample."""
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
        outcomes = [queue.inspect.ended(id, 60) for id in sent]
    return [(outcome.result - at) / 1e6 for outcome, at in zip(outcomes, sent.values(), strict=True)]


def _bare(scene: Scene) -> list[float]:
    """Milliseconds from before an LPUSH until a process that waits in BRPOP has it; no load."""
    key, sent, client = f"bench-{new_ulid()}", [], scene.client
    with working(scene.url, key, 0, bare_worker.__name__):
        for _ in range(WARM_UP + SAMPLES):
            sent.append(time.monotonic_ns())
            client.lpush(key, PAYLOAD)
            time.sleep(APART)
        deadline = time.monotonic() + PATIENCE
        while client.llen(f"{key}:seen") < len(sent) and time.monotonic() < deadline:
            time.sleep(APART)
    seen = [int(at) for at in client.lrange(f"{key}:seen", 0, -1)]
    scene.remove(key)
    return [(had - at) / 1e6 for had, at in zip(seen, sent, strict=True)][WARM_UP:]


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
