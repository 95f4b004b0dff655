"""What each role of a story does, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from pyadeq.asyncio import Adeq, Every, Failure, Grant, Lease, Worker
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.change.recorder import RecordedChanges
from pyadeq.ext.prove.chaos.recorder import RecordedLocks, RecordedQueue
from tests.simulation import change_actors
from tests.simulation.clients import LANES, POOL, QUEUE, Clients
from tests.simulation.nouns import NOUNS
from tests.simulation.steps import Actor, Step

CHANGE_ROLES = ("proposer", "voter", "applier", "sweeper")


class Player:
    """Plays an actor's steps from the first that is left; one that a crash interrupted is not played again."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        self.left = list(actor.steps)

    async def play(self, to: Clients) -> None:
        while self.left:
            verb, options = self.left.pop(0)
            with suppress(AdeqError):  # the history has what came of it
                if verb == "sleep":
                    await asyncio.sleep(options["seconds"])
                elif self.actor.role in CHANGE_ROLES:
                    await change_actors.play(to.noun(RecordedChanges), self.actor.name, (verb, options))
                elif self.actor.role in NOUNS:
                    await NOUNS[self.actor.role].play(to, (verb, options))
                else:
                    await ROLES[self.actor.role](self, to.adeq, to.queue, to.locks, (verb, options))

    async def produce(self, adeq: Adeq, queue: RecordedQueue, locks: RecordedLocks, step: Step) -> None:
        verb, options = step
        if verb == "gather":
            await gather(adeq, options)
        else:
            await queue.enqueue(None, **options)

    async def work(self, adeq: Adeq, queue: RecordedQueue, locks: RecordedLocks, step: Step) -> None:
        options = step[1]
        leases = await queue.claim(self.actor.name, options["limit"], options["wait"], lanes=LANES)
        await asyncio.sleep(options["takes"])
        while leases:
            leases = await _finish(queue, self.actor.name, leases, options["does"])

    async def run(self, adeq: Adeq, queue: RecordedQueue, locks: RecordedLocks, step: Step) -> None:
        options, runs = step[1], 0

        async def handle(lease: Lease) -> None:
            nonlocal runs
            runs += 1
            await asyncio.sleep(options["takes"])
            if options["fails"] and runs % options["fails"] == 0:
                raise ValueError("now and then")

        worker = Worker(
            adeq.queue(QUEUE), handle, name=self.actor.name, lanes=LANES, concurrency=options["concurrency"],
            renew="loop", grace=1,
        )  # fmt: skip
        asyncio.get_running_loop().call_later(options["seconds"], worker.stop)
        await worker.run()

    async def hold(self, adeq: Adeq, queue: RecordedQueue, locks: RecordedLocks, step: Step) -> None:
        verb, options = step
        owner = {"owner": self.actor.name, "wait": options["wait"], "ttl": options["ttl"]}
        grant = await _take(locks, verb, options, owner)
        try:
            await asyncio.sleep(options["for"])
            if "then" in options:
                second = await locks.take(options["then"], mode=options["then_mode"], **owner)
                await asyncio.sleep(options["for"])
                await locks.release(second)
            if options.get("then_shared"):
                await locks.downgrade(grant)
                await asyncio.sleep(options["for"])
        finally:
            if not options.get("forgets"):
                await locks.release(grant)

    async def operate(self, adeq: Adeq, queue: RecordedQueue, locks: RecordedLocks, step: Step) -> None:
        verb, options = step
        real = adeq.queue(QUEUE)
        match verb:
            case "cancel":
                await queue.cancel(options["id"])
            case "run now":
                await queue.run_now(options["id"])
            case "pause":
                await real.admin.pause()
            case "resume":
                await real.admin.resume()
            case "retry":
                await real.dead.retry_all()
            case "limit":
                await real.limits.set("key:l", concurrency=1)
            case "purge":
                await real.admin.purge()
            case "trim":
                await real.admin.trim()
            case "plan":
                await real.schedules.set("s", Every(options["every"]), overlap=options["overlap"])
            case "look":
                await real.stats()
                async for _ in real.iterate():
                    pass


Play = Callable[[Player, Adeq, RecordedQueue, RecordedLocks, Step], Awaitable[None]]
ROLES: dict[str, Play] = {
    "producer": Player.produce,
    "worker": Player.work,
    "program": Player.run,
    "owner": Player.hold,
    "operator": Player.operate,
}


async def gather(adeq: Adeq, options: dict[str, Any]) -> None:
    """Enqueue children and who waits for them; made again, it makes what is missing."""
    await adeq.queue(QUEUE).gather([None] * options["children"], {"all": "done"}, rid=options["rid"])


async def _take(locks: RecordedLocks, verb: str, options: dict[str, Any], owner: dict[str, Any]) -> Grant:
    match verb:
        case "hold both":
            return await locks.take_many([(one, options["mode"]) for one in ("red", "blue")], **owner)
        case "use":
            return await locks.take(POOL, mode="permit", **owner)
    return await locks.take(options["resource"], mode=options["mode"], **owner)


async def _finish(queue: RecordedQueue, worker: str, leases: list[Lease], does: str) -> list[Lease]:
    """Settle leases in one way or another; what was claimed on the way."""
    if does == "settle":
        acks: list[tuple[Any, Any]] = [(lease, {"by": worker}) for lease in leases[::2]]
        fails = [Failure(lease, "odd") for lease in leases[1::2]]
        settled = await queue.settle(worker, acks=acks, fails=fails, claim=1, lanes=LANES)
        return settled.claimed.leases
    for lease in leases:
        with suppress(AdeqError):
            await _settle(queue, lease, does)
    return []


async def _settle(queue: RecordedQueue, lease: Lease, does: str) -> None:
    match does:
        case "ack":
            await queue.ack(lease, {"by": lease.token})
        case "ack twice":
            await queue.ack(lease, 1)
            await queue.ack(lease, 2)
        case "ack late":
            await asyncio.sleep(6)
            await queue.ack(lease, "late")
        case "fail":
            await queue.fail(lease, "it failed")
        case "fail for good":
            await queue.fail(lease, "for good", retryable=False)
        case "release":
            await queue.release(lease)
        case "snooze":
            await queue.heartbeat(lease)
            await queue.snooze(lease, 0.5)
        case "forget":
            pass
