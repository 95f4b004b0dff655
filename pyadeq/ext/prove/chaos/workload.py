"""What the clients of a chaos run do: a role each, played until somebody says stop.

Every choice is drawn from the seed and the client's name. What goes wrong on the way is part of the play: a role goes
on after each error that a careful program expects, and sends again what may be sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from random import Random
from typing import Any, TypeVar

from pyadeq.asyncio import Adeq, Grant, Queue
from pyadeq.errors import DeadlockError, DurabilityError, LeaseLost, TransportError, WaitTimeout
from pyadeq.ext.prove.chaos.recorder import RecordedLocks, RecordedQueue, Recorder
from pyadeq.ids import new_ulid
from pyadeq.models.lock import LockMode
from pyadeq.models.queue import Lease

T = TypeVar("T")
AT_A_TIME = 8  # tasks of one worker
OWNERS = 3  # flows that take locks in one process
RESOURCES = 4
MOST_PENDING = 400  # a producer waits where more tasks than that are there
TRIES = 4  # of a call whose outcome is not known
PAUSE = 0.1  # seconds after an error
WAIT = 2.0  # seconds for a lock
ANSWERS = (LeaseLost, WaitTimeout, DeadlockError)  # which a careful program expects


@dataclass(frozen=True)
class Scene:
    """The place of a run, and how its clients behave; each process gets it as JSON.

    lease, ttl: seconds. pace: tasks a second of each producer. flush: the operator flushes the script cache.
    """

    url: str
    queue: str
    domain: str
    seed: int
    prefix: str = "ade"
    slot: str | None = None
    cluster: bool = False
    replicas: int = 1
    lease: float = 2.0
    ttl: float = 1.5
    pace: float = 25.0
    flush: bool = False

    def places(self) -> dict[str, Any]:
        """What a client needs besides the URL to find the keys."""
        return {"prefix": self.prefix, "slot": self.slot, "cluster": self.cluster}


@dataclass(frozen=True)
class Client:
    """One process in its role.

    queue, locks: recorded, and so is what `noun` returns. plain: the queue itself, for what no rule is about.
    """

    name: str
    scene: Scene
    random: Random
    adeq: Adeq
    recorder: Recorder
    durability: str
    stopped: asyncio.Event
    _nouns: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def queue(self) -> RecordedQueue:
        """The queue."""
        return self.recorder.queue(self.plain, self.name, self.durability)

    @cached_property
    def locks(self) -> RecordedLocks:
        """The lock domain."""
        return self.recorder.locks(self.adeq.locks(self.scene.domain), self.name, self.durability)

    def noun(self, kind: Callable[[Recorder, Adeq, str, str, str], T]) -> T:
        """The object of another noun, such as RecordedRates; the same each time."""
        if kind not in self._nouns:
            self._nouns[kind] = kind(self.recorder, self.adeq, self.scene.domain, self.name, self.durability)
        found: T = self._nouns[kind]
        return found

    async def aclose(self) -> None:
        """End what works in the background."""
        for noun in self._nouns.values():
            if hasattr(noun, "aclose"):
                await noun.aclose()

    @property
    def plain(self) -> Queue:
        """The queue itself."""
        return self.adeq.queue(self.scene.queue)

    def chance(self, probability: float) -> bool:
        """Whether something happens that is so likely."""
        return self.random.random() < probability

    async def idle(self, seconds: float) -> None:
        """Do nothing for so long, or until somebody says stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)

    async def attempt(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Make a call; again, if it is not known what has become of it. None if no answer came at all."""
        for _ in range(TRIES):
            try:
                return await call()
            except DurabilityError as error:
                answer = error.answer
                if self.chance(0.5):
                    return answer
            except TransportError:
                if self.chance(0.3):
                    return None
            except ANSWERS:
                return None
            await asyncio.sleep(PAUSE * self.random.random())
        return None


async def tried(call: Awaitable[Any], *, but: tuple[type[Exception], ...] = ()) -> Any:
    """Make a call; None if it has no answer, or one that is not confirmed. but: refusals that count as no answer."""
    with suppress(TransportError, DurabilityError, *but):
        return await call
    await asyncio.sleep(PAUSE)
    return None


# Producers


async def produce(client: Client) -> None:
    """Put tasks in line, many of them under keys, ids and unique keys that other producers use at the same time."""
    number = 0
    while not client.stopped.is_set():
        number += 1
        enqueue = partial(client.queue.enqueue, number, rid=new_ulid(), **_task(client, number))
        await client.attempt(enqueue)
        if client.chance(0.05):
            await client.attempt(enqueue)  # as somebody does who has not seen the answer
        if number % 20 == 0:
            await _await_room(client)
        await client.idle(client.random.expovariate(client.scene.pace))


def _task(client: Client, number: int) -> dict[str, Any]:
    random = client.random
    task: dict[str, Any] = {"id": f"{client.name}.{number}", "priority": random.choice((2, 5, 5, 5, 8))}
    kind = random.random()
    if kind < 0.12:
        task["idempotency_key"] = f"key-{number // 3}"
    elif kind < 0.24:
        task["unique"] = f"unique-{random.randrange(20)}"
    elif kind < 0.32:
        task["id"] = f"shared.{number // 3}"
    elif kind < 0.38:
        task["scope"] = f"scope-{random.randrange(5)}"
    if client.chance(0.1):
        task["delay"] = round(random.uniform(0.1, 1.5), 3)
    return task


async def _await_room(client: Client) -> None:
    while not client.stopped.is_set():
        stats = None
        with suppress(TransportError):
            stats = await client.plain.stats()
        if stats is not None and stats.pending < MOST_PENDING:
            return
        await client.idle(PAUSE)


# Workers


async def work(client: Client) -> None:
    """Claim tasks, and do with each of them whatever a worker may do with one, rightly or wrongly."""
    running: set[asyncio.Task[None]] = set()
    while not client.stopped.is_set():
        free = AT_A_TIME - len(running)
        leases: list[Lease] | None = None
        if free:
            limit = client.random.randint(1, free)
            claimed = await client.attempt(partial(client.queue.claim_once, client.name, limit))
            leases = claimed and claimed.leases
        for lease in leases or ():
            running.add(asyncio.ensure_future(_handle(client, lease)))
        if not leases:
            await client.idle(0.05 + 0.1 * client.random.random())
        elif len(running) >= AT_A_TIME:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in [one for one in running if one.done()]:
            running.discard(task)
            task.result()
    if running:
        await asyncio.gather(*running)


async def _handle(client: Client, lease: Lease) -> None:
    queue, random, chance = client.queue, client.random, client.random.random()
    await asyncio.sleep(random.random() * 0.06)
    if chance < 0.08:
        await client.attempt(partial(queue.heartbeat, lease))
        await asyncio.sleep(random.random() * 0.2)
    elif chance < 0.16:
        await client.attempt(partial(queue.fail, lease, "it went wrong"))
        return
    elif chance < 0.19:
        await client.attempt(partial(queue.fail, lease, "it is hopeless", retryable=False))
        return
    elif chance < 0.25:
        await client.attempt(partial(queue.release, lease))
        if client.chance(0.5):
            await client.attempt(partial(queue.ack, lease))  # with a token that is none any more
        return
    elif chance < 0.29:
        await client.attempt(partial(queue.snooze, lease, random.uniform(0.1, 1.0)))
        return
    elif chance < 0.32:
        await asyncio.sleep(client.scene.lease * random.uniform(1.0, 1.5))  # too long: somebody else may have it now
    elif chance < 0.35:
        stranger = (lease.id, f"{lease.token[:-1]}{'0' if lease.token[-1] != '0' else '1'}")
        calls = (queue.ack, queue.fail, queue.release, queue.heartbeat, partial(queue.snooze, delay=0.1))
        await client.attempt(partial(random.choice(calls), stranger))
    elif chance < 0.38:
        await asyncio.gather(*(client.attempt(partial(queue.ack, lease, {"by": client.name})) for _ in range(2)))
    await client.attempt(partial(queue.ack, lease, {"by": client.name}))
    if client.chance(0.03):
        await client.attempt(partial(queue.fail, lease, "too late"))


# Owners of locks


async def own(client: Client) -> None:
    """Take locks and give them back, several flows at a time; sometimes two locks at once, which may be a deadlock."""
    await asyncio.gather(*(_flow(client, f"{client.name}.{number}") for number in range(OWNERS)))


async def _flow(client: Client, owner: str) -> None:
    random = client.random
    while not client.stopped.is_set():
        names = [f"resource-{number}" for number in random.sample(range(RESOURCES), 2)]
        held: list[Grant] = []
        for name in names[: 1 + client.chance(0.15)]:
            mode: LockMode = "shared" if client.chance(0.3) else "exclusive"
            try:
                held.append(
                    await client.locks.take(name, owner=owner, mode=mode, ttl=client.scene.ttl, wait=WAIT),
                )
            except (TransportError, DurabilityError, *ANSWERS):
                await client.idle(PAUSE * random.random())
                break
            # Renewed in the background, where it is longer than the lease.
            await client.idle(client.scene.ttl * 1.3 if client.chance(0.03) else random.random() * 0.15)
        for grant in reversed(held):
            if not client.chance(0.03):  # else it is forgotten, and ends with its lease
                with suppress(TransportError, DurabilityError, *ANSWERS):
                    await client.locks.release(grant)  # once: it is tried again in the background
        await client.idle(random.random() * 0.1)


# Operators


async def operate(client: Client) -> None:
    """Cancel tasks, retry dead ones, run delayed ones now, and pause the queue for a moment now and then."""
    while not client.stopped.is_set():
        with suppress(TransportError, DurabilityError):
            await _maintain(client)
        await client.idle(client.random.random() * 0.4)


async def _maintain(client: Client) -> None:
    random, chance = client.random, client.random.random()
    if chance < 0.45:
        state = random.choice(("ready", "delayed", "running", "running"))
        page = await client.plain.list(state, limit=20)  # type: ignore[arg-type]
        for task in random.sample(page.tasks, min(len(page.tasks), 2)):
            await client.attempt(partial(client.queue.cancel, task.id))
    elif chance < 0.55:
        page = await client.plain.list("delayed", limit=20)
        for task in random.sample(page.tasks, min(len(page.tasks), 2)):
            await client.attempt(partial(client.queue.run_now, task.id))
    elif chance < 0.9:
        page = await client.plain.list("dead", limit=20)
        for task in random.sample(page.tasks, min(len(page.tasks), 3)):
            await client.attempt(partial(client.queue.retry, task.id))
    elif chance < 0.95:
        await client.plain.admin.pause()
        await client.idle(random.random() * 0.5)
        await client.plain.admin.resume()
    elif client.scene.flush:
        await client.adeq.client.script_flush()


ROLES: dict[str, Callable[[Client], Awaitable[None]]] = {
    "producer": produce,
    "worker": work,
    "owner": own,
    "operator": operate,
}
