"""The server's CPU for each task: putting in, taking out and settling, in batches of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pyadeq import Queue, QueueStats, Task
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench import floor
from pyadeq.ext.prove.bench.figures import Figure
from pyadeq.ext.prove.bench.scene import PAYLOAD, Scene
from pyadeq.ids import new_incarnation, new_ulid

BATCHES = (1, 10, 100, 500)
UNIT = "µs of the server's CPU per task"
Step = Callable[[], object]


def cost(scene: Scene) -> Iterator[Figure]:
    """Enqueue alone, and all of a task's life, beside a bare stream and beside plain commands."""
    floors: dict[str, list[tuple[float, float]]] = {"stream": [], "plain": []}
    found: dict[int, list[tuple[float, float]]] = {batch: [] for batch in BATCHES}
    for number in range(scene.rounds):
        scene.tell(f"round {number + 1} of {scene.rounds}")
        for name, make in (("stream", floor.stream), ("plain", floor.plain)):
            key = f"ade:{{queue:bench-{new_ulid()}}}"
            floors[name].append(_measured(scene, *make(scene, key, scene.tasks)))
            scene.remove(key)
        for batch in BATCHES:
            tasks = min(scene.tasks, 200 * batch)
            with scene.queue() as queue:
                found[batch].append(_measured(scene, *steps(scene, queue, tasks, batch), tasks=tasks))
    lowest = tuple(put + take for put, take in floors["stream"])
    for name, runs in floors.items():
        values = tuple(put + take for put, take in runs)
        yield Figure(subject="cost", what=f"floor: {name} commands, in and out", unit=UNIT, values=values)
    for batch, runs in found.items():
        by: dict[str, int] = {"batch": batch}
        put, whole = tuple(one for one, _ in runs), tuple(put + take for put, take in runs)
        put_floor = tuple(one for one, _ in floors["stream"])
        yield Figure(subject="cost", what="enqueue", by=by, unit=UNIT, values=put, floor=put_floor)
        yield Figure(subject="cost", what="enqueue, claim, settle", by=by, unit=UNIT, values=whole, floor=lowest)


def steps(scene: Scene, queue: Queue, tasks: int, batch: int, payload: bytes = PAYLOAD) -> tuple[Step, Step]:
    """Enqueue all; then settle and claim until nothing is left. Every call is a round trip of its own."""
    calls, incarnation, worker = queue.calls, new_incarnation(), "bench"
    task = Task(payload=payload)
    batches = [[new_ulid() for _ in range(min(batch, tasks - start))] for start in range(0, tasks, batch)]
    enqueue = scene.calls([calls.enqueue([(id, task) for id in ids], new_ulid()) for ids in batches])
    # The worker is alone, so call n gets the n-th batch, under tokens that its number makes.
    tokens = [[(id, f"{incarnation}.0.{n}/{i}") for i, id in enumerate(ids, 1)] for n, ids in enumerate(batches, 1)]
    settle = scene.calls(
        [
            calls.settle(
                worker,
                incarnation,
                0,
                n,
                acks=[(lease, None) for lease in leases],
                limit=batch if n <= len(batches) else 0,
            )
            for n, leases in enumerate([[], *tokens], 1)
        ]
    )
    scene.calls([calls.register(worker, incarnation)])()
    before = queue.stats()

    def take() -> None:
        settle()
        after = queue.stats()
        done = completed(after) - completed(before)
        if (done, after.running) != (tasks, before.running):
            raise AdeqError(f"{done:,} of {tasks:,} tasks were completed, so the figures would mean nothing")

    return enqueue, take


def completed(stats: QueueStats) -> int:
    """How many tasks were completed since the queue began."""
    return stats.counters.get("completed", 0)


def _measured(scene: Scene, put: Step, take: Step, tasks: int | None = None) -> tuple[float, float]:
    each = 1e6 / (tasks or scene.tasks)
    return scene.cpu(put) * each, scene.cpu(take) * each
