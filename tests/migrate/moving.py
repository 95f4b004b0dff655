"""Tasks move while producers and workers of both sides are at work, and the mover is killed at each of its steps.

ADEQ_MIGRATE_TASKS, ADEQ_MIGRATE_KILLS: how many tasks, at least, and how many kills
ADEQ_MIGRATE_PAUSE: seconds that a task takes in an old worker, so that there is a backlog
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from time import monotonic
from typing import Any, Final, NamedTuple

from redis import Redis

from pyadeq import Adeq, Queue
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import Migration, Source, waiting
from pyadeq.ext.move.migrate.escrow import batches
from tests.migrate.killing import escrow_keys
from tests.migrate.sides import QUEUE, Side
from tests.waiting import wait_until

MOVE: Final = ("recalled", "taken", "sent", "enqueued", "marked", "given back")
BACK: Final = ("paused", "recalled", "rollback marked", "cancelled", "put back", "resumed")
CLEAN: Final = ("checked", "copies deleted", "place dropped", "places dropped", "about dropped")
STEPS: Final = tuple(
    (verb, step) for verb, steps in (("move", MOVE), ("rollback", BACK), ("cleanup", CLEAN)) for step in steps
)
CODE: Final = """
import sys
from redis import Redis
from pyadeq import Adeq
from pyadeq.ext.move.migrate import Migration, move
from tests.migrate.killing import kill_at
from tests.migrate.sides import SIDES
name, url, old, verb, step, nth = sys.argv[1:]
move.LEASE, at = 0.5, kill_at(step or "none", int(nth))
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    getattr(Migration(adeq, SIDES[name].source(client), to="here", at=at), verb)()
"""


TASKS: Final = int(os.environ.get("ADEQ_MIGRATE_TASKS", "2000"))
PATIENCE: Final = 300.0
"""Seconds for the old workers to run what is left to them, and for a step to come."""
KILLS: Final = int(os.environ.get("ADEQ_MIGRATE_KILLS", str(len(STEPS))))
KEPT: Final = 1_000_000
"""Completed tasks that pyadeq keeps, so that the judge finds all."""


class New(NamedTuple):
    """pyadeq, on a server of its own."""

    url: str
    queue: Queue


@dataclass
class Judged:
    """What came of the tasks. made: how many. kills: of each step, as `move: taken`, that there were.

    The others are numbers of tasks. in_old, in_new: of each run of a handler. claimed: of each lease in pyadeq.
    completed: of each answer that says so. lost, twice: which never ran, or more than once. unrecorded: which were
    claimed, and were not completed exactly once, or are not stored exactly once with their result.
    """

    made: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    in_old: list[int] = field(default_factory=list)
    in_new: list[int] = field(default_factory=list)
    claimed: list[int] = field(default_factory=list)
    completed: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    twice: dict[int, int] = field(default_factory=dict)
    unrecorded: list[int] = field(default_factory=list)

    def work(
        self,
        queue: Queue,
        limit: int,
        *,
        lanes: Sequence[str] = ("any",),
        number: Callable[[Any], int] = lambda payload: int(payload["number"]),
        begin: Callable[[Any], bool] = lambda _: True,
    ) -> int:
        """Run some tasks of pyadeq. The result of each is its number. begin: whether a handler runs it."""
        leases = queue.claim(limit=limit, lanes=lanes)
        numbers = [number(lease.payload) for lease in leases]
        self.claimed += numbers
        self.in_new += [one for one, lease in zip(numbers, leases, strict=True) if begin(lease.payload)]
        answers = queue.ack_many([*zip(leases, numbers, strict=True)])
        self.completed += [one for one, answer in zip(numbers, answers, strict=True) if answer == "completed"]
        return len(leases)

    def count(self, queue: Queue, old: Redis) -> None:
        """Find what is lost, what ran twice, and what pyadeq has not recorded once."""
        self.in_old = ran_in(old)
        counts = Counter(self.in_old + self.in_new)
        self.twice = {number: count for number, count in counts.items() if count > 1}
        self.lost = [number for number in range(self.made) if number not in counts]
        recorded = [Counter(self.claimed), Counter(self.completed), Counter(results_of(queue))]
        self.unrecorded = sorted({n for found in recorded for n in found if {one[n] for one in recorded} != {1}})
        assert queue.stats().completed == len(self.completed)


def run(side: Side, old: EmbeddedServer, new: New, verb: str = "move", step: str = "", nth: int = 1) -> int:
    """Run a command in a process, which is killed when it is at this step for the nth time."""
    call = [sys.executable, "-c", CODE, side.name, new.url, old.url, verb, step, str(nth)]
    return subprocess.run(call, check=False).returncode


def results_of(queue: Queue) -> list[Any]:
    """The results of all completed tasks that pyadeq has stored, -1 for a task without one."""
    ids = [view.id for view in queue.iterate("completed")]
    views = [view for some in batches(ids) for view in queue.get_many(some) if view]
    return [-1 if view.result is None else view.result for view in views]


def ran_in(old: Redis) -> list[int]:
    """The numbers of the tasks that the old workers have run."""
    found: Any = old.lrange("ran", 0, -1)
    return [int(one) for one in found]


def drain_all(queue: Queue, judged: Judged) -> None:
    """Run everything that is in pyadeq, also what is for later."""
    queue.admin.run_now_many([task.id for task in queue.iterate("delayed")])

    def is_empty() -> bool:
        while judged.work(queue, 100):
            pass
        return queue.stats().pending == 0

    wait_until(is_empty)


def is_busy(source: Source) -> bool:
    """Whether the old system has waiting tasks, or runs some: what it runs is the first of the other tasks."""
    client = source.client
    running = next(iter(source.others().values())) or client.llen(f"rq:queue:{QUEUE}:intermediate")
    return bool(running) or any(waiting.length(client, place) for place in source.places([]))


class BrokenOffError(Exception):
    """A move was broken off."""


class NewWorker(threading.Thread):
    """Runs some tasks of pyadeq until it is stopped: a context manager."""

    def __init__(self, url: str, judged: Judged) -> None:
        super().__init__()
        self._url, self._judged, self._end = url, judged, threading.Event()

    def run(self) -> None:
        """Run tasks."""
        with Adeq.from_url(self._url) as adeq:
            while not self._end.wait(0.02):
                self._judged.work(adeq.queue(QUEUE), 1)

    def __enter__(self) -> NewWorker:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        self.join()


def move_under_fire(
    side: Side,
    old: EmbeddedServer,
    new: New,
    made: int,
    more: int,
    kills: int,
    tell: Callable[[str], object] = lambda _: None,
) -> Judged:
    """Let both sides run tasks, and kill the mover so many times.

    A move is killed at each of its steps, then a rollback of what a move has moved, then a cleanup after a move, and so
    on. A step may not come, for instance if the workers have just run everything: then it is tried again.

    made: how many tasks wait already. more: so many are made for each kill.
    """
    judged = Judged()
    new.queue.configure(finished_max=KEPT)
    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        source = side.source(client)
        migration = Migration(adeq, source, to="here")
        with side.worker(old), NewWorker(new.url, judged):
            wait_until(lambda: client.llen("ran"))
            for number, (verb, step) in enumerate(islice(cycle(STEPS), kills)):
                nth = 1 if verb == "cleanup" else 1 + number // len(STEPS) % 4  # its steps come once for each place
                status, deadline = 0, monotonic() + PATIENCE
                while status != -signal.SIGKILL:
                    assert monotonic() < deadline, f"{verb} does not come to {step}"
                    producer = threading.Thread(target=side.produce, args=(old, range(made, made + more)))
                    producer.start()
                    made += more
                    if verb == "rollback":
                        producer.join()
                        move_some(adeq, source)
                    elif verb == "cleanup":  # of what is there: a fast worker may have run all that was made before
                        producer.join()
                        migration.move()
                    status, nth = run(side, old, new, verb, step, nth), 1
                    assert status in (0, -signal.SIGKILL), status
                    if verb == "rollback":
                        migration.rollback()
                    elif verb == "cleanup":
                        migration.cleanup()
                        assert not escrow_keys(client)
                    producer.join()
                judged.kills[f"{verb}: {step}"] += 1
                tell(f"{judged.kills.total()} kills")
        tell("moving the rest")
        migration.move()
        while is_busy(source):  # what cannot be moved is left to the old worker
            with side.worker(old):
                wait_until(lambda: not is_busy(source), PATIENCE)
        drain_all(new.queue, judged)
        judged.made = made
        judged.count(new.queue, client)
    return judged


def move_some(adeq: Adeq, source: Source) -> None:
    """Begin a move, and break it off after some batches."""
    left = 5

    def at(step: str) -> None:
        nonlocal left
        left -= step == "marked"
        if not left:
            raise BrokenOffError

    with suppress(BrokenOffError):
        Migration(adeq, source, to="here", at=at).move()
