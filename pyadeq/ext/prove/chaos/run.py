"""A chaos run: a scratch queue, lock domain and so on, the clients on them, and in the end what is judged."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep
from types import TracebackType
from typing import Any, Self

from pyadeq import Adeq, Backoff
from pyadeq import asyncio as aio
from pyadeq.errors import AdeqError, TransportError
from pyadeq.ext.prove.chaos.cast import CAST, FREEZABLE
from pyadeq.ext.prove.chaos.crowd import Agent, Crowd
from pyadeq.ext.prove.chaos.history import History, gather
from pyadeq.ext.prove.chaos.parts import PARTS
from pyadeq.ext.prove.chaos.recorder import Recorder, load_recorded
from pyadeq.ext.prove.chaos.watch import OUT_OF_REACH, Watch
from pyadeq.ext.prove.chaos.workload import Scene
from pyadeq.ext.shared.finding import nouns_with_events

POLL = 0.05  # seconds
DRAIN = 60.0  # seconds in which all that is left has to come to its end
EVENTS = 10_000_000  # none is to be trimmed
CONFIRMED = 10.0  # seconds in which the server has to show that it can confirm a write
PATIENT = 30.0  # seconds in which a call of the run itself is sent again


class Run:
    """One run in its scene; a context manager ends its clients, whatever happens.

    durability: of the clients, in turn, as they are started. clocks: by how many seconds the clocks of clients are
    wrong, in turn. After `begin`, `maintain` is to be called every so often, and then `end`.
    """

    def __init__(
        self,
        scene: Scene,
        cast: Mapping[str, int] = CAST,
        *,
        durability: tuple[str, ...] = ("memory",),
        clocks: tuple[float, ...] = (0.0,),
    ) -> None:
        self.scene = scene
        self.recorder = Recorder()
        self._cast = cast
        self._durability = durability
        self._clocks = clocks
        self._folder = Path(tempfile.mkdtemp(prefix="adeq-chaos-"))
        self.crowd = Crowd(scene, self._folder)
        self.adeq = Adeq.from_url(scene.url, **scene.places(), source="adeq chaos", retry_for=PATIENT)
        self.queue = self.adeq.queue(scene.queue)
        self.locks = self.adeq.locks(scene.domain)
        self.bases = (
            self.queue.base,
            self.locks.base,
            *(base for part in PARTS.values() for base in part.bases(self.adeq, scene.domain)),
        )
        self._started: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.crowd.close()
        self.recorder.close()
        self.adeq.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def begin(self) -> None:
        """Make the queue and the domain, and start all clients.

        Raises ConfigError or DurabilityError if the servers cannot confirm what is wanted, and AdeqError for a client
        that fails.
        """
        for durability in dict.fromkeys(self._durability):
            options = {**self.scene.places(), "durability_timeout": CONFIRMED, "replicas": self.scene.replicas}
            with Adeq.from_url(self.scene.url, durability=durability, **options) as adeq:
                adeq.queue(self.scene.queue).configure()
        self.queue.configure(
            lease=self.scene.lease,
            max_crashes=20,
            backoff=Backoff(base=0.1, cap=0.5),
            events_max=EVENTS,
        )
        self.locks.configure(lease=self.scene.ttl, poll=0.5, claim=2.0, waiter=3.0, events_max=EVENTS)
        for part in PARTS.values():
            part.set_up(self.adeq, self.scene)
        for role, count in self._cast.items():
            for _ in range(count):
                self._start(role)
        self.crowd.await_work()
        for failure in self.crowd.failures():
            raise AdeqError(failure)

    def maintain(self) -> None:
        """Put others in the place of those that were killed, and let those go on that stood still for long enough."""
        self.crowd.maintain()
        for role, count in self._cast.items():
            for _ in range(count - sum(agent.role == role and not agent.killed for agent in self.crowd.agents)):
                self._start(role)

    def harm(self, random: Random, *, freeze: bool) -> None:
        """Kill a client that holds leases or locks, or another, or let it stand still for longer than a lease."""
        victims = self.crowd.of(*FREEZABLE, *(() if freeze else ("producer", "proposer")))
        if not victims:
            return
        victim: Agent = random.choice(victims)
        if freeze:
            longest = max(self.scene.lease, self.scene.ttl)
            self.crowd.freeze(victim, longest * random.uniform(1.1, 1.8))
        else:
            self.crowd.kill(victim)

    def end(self, look: Callable[[], object] = lambda: None) -> History:
        """Let all that is left come to its end, for 60 seconds at most, and gather what happened."""
        crowd = self.crowd
        problems: list[str] = []
        crowd.maintain(everybody=True)
        crowd.stop(*(role for role in self._cast if role != "worker"))
        until = monotonic() + DRAIN
        with suppress(TransportError):
            self.queue.admin.resume()
        left = "nobody answered"
        while left and monotonic() < until:
            look()
            self.maintain_workers()
            left = self._left()
            sleep(POLL)
        if left:
            problems.append(f"not all came to an end within {DRAIN:g} s: {left}")
        crowd.stop()
        problems += crowd.failures()
        told = load_recorded(agent.journal for agent in crowd.agents if agent.journal.exists())
        self.recorder.ops = told.ops
        history = asyncio.run(self._gather())
        history.problems += problems
        return history

    def maintain_workers(self) -> None:
        """See to it that there is somebody who works."""
        self.crowd.maintain()
        if not self.crowd.of("worker"):
            self._start("worker")

    def remove(self) -> None:
        """Delete what the run has made."""
        client: Any = self.adeq.client
        bases = tuple(f"{base}:".encode() for base in self.bases)
        for name in {self.scene.queue, self.scene.domain}:  # which all of them have in their names
            keys: Iterable[bytes] = client.scan_iter(f"{self.scene.prefix}:*{name}*", count=1000)
            for key in keys:
                if key.startswith(bases):
                    client.delete(key)
        for noun in nouns_with_events():
            registry = self.adeq.registry(noun)
            scratch = (self.scene.queue, self.scene.domain)  # which all of them have in their names
            registry.remove([name for name in registry.list() if any(one in name for one in scratch)])

    def _start(self, role: str) -> None:
        number = self._started[role]
        self._started[role] += 1
        self.crowd.start(
            role,
            durability=self._durability[number % len(self._durability)],
            clock_off=self._clocks[number % len(self._clocks)],
        )

    def _left(self) -> str:
        """What has not come to its end; nothing if all has."""
        try:
            self.locks.admin.reap()
            # First, because it may enqueue tasks.
            more = {what: n for part in PARTS.values() for what, n in part.left(self.adeq, self.scene).items()}
            stats, locks = self.queue.stats(), self.locks.stats()
        except AdeqError as error:
            return str(error)
        counts = {
            "tasks that wait": stats.pending,
            "tasks that run": stats.running,
            "locks that are held": locks.held,
            "requests that wait": locks.waiting,
            **more,
        }
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)

    async def _gather(self) -> History:
        scene = self.scene
        async with aio.Adeq.from_url(scene.url, **scene.places(), retry_for=PATIENT) as adeq:
            client: Any = adeq.client
            try:
                history = await gather(self.recorder, client, adeq.queue(scene.queue), adeq.locks(scene.domain))
                for word, part in PARTS.items():
                    if part.read:
                        history.nouns[word] = await part.read(adeq, client, scene.domain, history)
                return history
            except (AdeqError, *OUT_OF_REACH) as error:
                return History.unread(self.recorder, f"the server could not be asked in the end: {error}")


def watch(run: Run) -> Watch:
    """A look at the servers of a run that notes in its history what becomes of them."""
    keys = run.bases if run.scene.cluster else run.bases[:1]
    return Watch(run.adeq, keys, run.recorder.mark)
