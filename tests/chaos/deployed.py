"""A client of a queue, as a process of whichever build is on its path.

    python deployed.py ROLE URL QUEUE NAME FOLDER

ROLE: `work` or `produce` until it is asked to end (SIGTERM); `hold` tasks and settle them when it is told to; `judge`.
It says on its output what it does, and notes its calls in a journal in FOLDER. Old scripts that the queue refuses end
it with status 3.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import redis.asyncio

from pyadeq._version import __version__
from pyadeq.asyncio import Adeq, Failure, Task
from pyadeq.errors import LayoutError, LeaseLost
from pyadeq.ext.prove.chaos import RecordedQueue, Recorder, gather, judge, load_recorded

HELD, DEAD = 150, 250  # more than a step of the migration
LANE = "group/held"
REFUSED = 3


def say(**words: object) -> None:
    print(json.dumps(words), flush=True)


async def work(queue: RecordedQueue, name: str, end: asyncio.Event) -> None:
    """Take tasks and end them, each third time one by failing first, and some for good."""
    while not end.is_set():
        for lease in await queue.claim(name, 5, wait=0.5, lease=5):
            try:
                await queue.queue.progress(lease, 0.5, f"begun by {__version__}")
                await asyncio.sleep(0.01)
                if lease.payload % 5 == 0:
                    await queue.fail(lease, "never", retryable=False)
                elif lease.payload % 3 == 0 and lease.attempt == 1:
                    await queue.fail(lease, "not yet")
                else:
                    await queue.ack(lease, __version__)
            except LeaseLost:
                continue
            say(ended=lease.id)


async def produce(queue: RecordedQueue, name: str, end: asyncio.Event) -> None:
    number = 0
    while not end.is_set():
        number += 1
        receipt = await queue.enqueue(number, rid=f"{name}/{number}", priority=number % 3)
        say(put=receipt.id)
        await asyncio.sleep(0.01)


async def hold(queue: RecordedQueue, name: str) -> None:
    """Put in tasks of its own and lease them; let some die, and end the others when it is told to."""
    await queue.enqueue_many([Task(payload=n, lane=LANE) for n in range(HELD + DEAD)], rid=name)
    leases = await queue.claim(name, HELD + DEAD, lanes=[LANE], lease=3600)
    await queue.settle(name, fails=[Failure(lease, "never", retryable=False) for lease in leases[HELD:]])
    say(held=len(leases) - DEAD)
    await asyncio.to_thread(sys.stdin.readline)
    say(acked=await queue.ack_many([(lease, "late") for lease in leases[:HELD]]))


async def tell_all(queue: RecordedQueue, url: str, folder: Path) -> None:
    """What the history is worth, and how everything stands."""
    async with redis.asyncio.Redis.from_url(url) as client:
        verdict = judge(await gather(load_recorded(folder.glob("*.journal")), client, queue.queue))
    stats = await queue.queue.stats()
    say(
        violations=[str(one) for one in verdict.violations],
        problems=verdict.problems,
        checks=sum(verdict.checks.values()),
        stats=stats.model_dump(),
    )


async def main(role: str, url: str, queue: str, name: str, folder: str) -> int:
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    with Recorder(journal=Path(folder) / f"{name}.journal") as recorder:
        async with Adeq.from_url(url) as adeq:
            recorded = recorder.queue(adeq.queue(queue), name)
            say(version=__version__)
            try:
                match role:
                    case "work":
                        await work(recorded, name, end)
                    case "produce":
                        await produce(recorded, name, end)
                    case "hold":
                        await hold(recorded, name)
                    case "judge":
                        await tell_all(recorded, url, Path(folder))
            except LayoutError as error:
                say(refused=str(error))
                return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
