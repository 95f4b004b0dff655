"""Clients of a lock domain, many processes of them at once.

    python -m tests.chaos.clients ROLE COUNT OPTIONS

Each of COUNT processes plays a role with its number, and prints what it saw as one line of JSON. OPTIONS is JSON: `url`
of the domain's server and its name `domain`, and the arguments of the role. The first process only waits for the
others; a single one is that process itself. What fails is told on the standard error, and by the exit status.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Callable
from random import Random
from typing import Any

import redis

import pyadeq
from pyadeq import DeadlockError
from pyadeq.asyncio import Adeq, Locks
from pyadeq.models.lock import LockMode

WAIT = 600.0
Seen = dict[str, Any]


def contend(number: int, url: str, domain: str, times: int, register: str, direct: str = "") -> Seen:
    """Take one lock many times, and see each time that nobody else has it."""
    with pyadeq.Adeq.from_url(url) as adeq, redis.Redis.from_url(direct or url) as witness:
        locks = adeq.locks(domain)
        fences = []
        for _ in range(times):
            with locks.acquire("lock", owner=f"client-{number}", wait=WAIT) as grant:
                inside, last = witness.hincrby(register, "inside", 1), witness.hget(register, "fence")
                assert inside == 1, f"{inside} clients have the lock"
                assert int(last or 0) < grant.fence, f"fence {grant.fence} comes after {last!r}"
                witness.hset(register, "fence", grant.fence)
                witness.hincrby(register, "inside", -1)
                grant.check()
            fences.append(grant.fence)
    return {"fences": fences}


def dine(number: int, url: str, domain: str, owners: int, meals: int, forks: int, shared: float) -> Seen:
    """So many philosophers in one process, who take two forks one after the other, and put both down in a deadlock."""

    seen = {"grants": 0, "deadlocks": 0}

    async def philosopher(locks: Locks, owner: str) -> None:
        random, eaten = Random(owner), 0
        while eaten < meals:
            left, right = random.sample(range(forks), 2)
            modes: list[LockMode] = ["shared" if random.random() < shared else "exclusive" for _ in range(2)]
            try:
                async with locks.acquire(f"fork:{left}", owner=owner, mode=modes[0], wait=WAIT):
                    seen["grants"] += 1
                    await asyncio.sleep(random.random() / 100)
                    async with locks.acquire(f"fork:{right}", owner=owner, mode=modes[1], wait=WAIT):
                        seen["grants"] += 1
                        eaten += 1
            except DeadlockError:
                seen["deadlocks"] += 1

    async def table() -> Seen:
        async with Adeq.from_url(url) as adeq:
            names = [f"philosopher-{number}-{seat}" for seat in range(owners)]
            await asyncio.gather(*(philosopher(adeq.locks(domain), name) for name in names))
        return seen

    return asyncio.run(table())


def hold(number: int, url: str, domain: str, resources: list[str]) -> Seen:
    """Take locks, and keep them until something ends this process."""

    async def keep() -> Seen:
        async with Adeq.from_url(url) as adeq:
            locks = adeq.locks(domain)
            await asyncio.gather(
                *(locks.take(resource, owner=f"holder-{os.getpid()}-{resource}", wait=WAIT) for resource in resources)
            )
            await asyncio.Event().wait()
            raise AssertionError

    return asyncio.run(keep())


def take(number: int, url: str, domain: str, resources: list[str]) -> Seen:
    """Take locks, each for a moment."""

    async def once(locks: Locks, resource: str) -> None:
        async with locks.acquire(resource, owner=f"taker-{os.getpid()}-{resource}", wait=WAIT):
            pass

    async def all_of_them() -> Seen:
        async with Adeq.from_url(url) as adeq:
            await asyncio.gather(*(once(adeq.locks(domain), resource) for resource in resources))
        return {}

    return asyncio.run(all_of_them())


ROLES: dict[str, Callable[..., Seen]] = {"contend": contend, "dine": dine, "hold": hold, "take": take}


def main(role: str, count: int, options: dict[str, Any]) -> int:
    """The number of clients that failed."""
    if count == 1:
        return play(role, 0, options)
    children = []
    for number in range(count):
        pid = os.fork()
        if pid == 0:
            os._exit(play(role, number, options))
        children.append(pid)
    return sum(os.waitpid(pid, 0)[1] != 0 for pid in children)


def play(role: str, number: int, options: dict[str, Any]) -> int:
    try:
        seen = ROLES[role](number, **options)
    except BaseException:
        os.write(2, f"{role} {number}: {traceback.format_exc()}".encode())
        return 1
    os.write(1, f"{json.dumps(seen)}\n".encode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])))
