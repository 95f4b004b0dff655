"""An installation at work, with something of everything that metrics tell of, until a signal ends it.

python -m tests.installation URL    prints a line when all of it is there
"""

from __future__ import annotations

import asyncio
import math
import signal
import sys
from contextlib import suppress
from random import Random
from time import monotonic

from pyadeq import Backoff, Task
from pyadeq.asyncio import Adeq, Lease, Queue, TaskFailed, Worker
from pyadeq.errors import AdeqError

PACE = 0.05  # seconds between two looks of the producer
DAY = 900.0  # seconds from one peak of the load to the next
DEPLOYED = 0.6  # of a day, when the release with a fault comes
KINDS = ("mail", "report", "thumbnail")
random = Random(1)


class Release:
    """The deployed program. faulty: some reports fail."""

    faulty = False


async def handle(lease: Lease) -> None:
    """What each task does."""
    await asyncio.sleep(random.expovariate(20))
    if lease.kind == "report" and random.random() < (0.8 if Release.faulty else 0.2):
        raise TaskFailed("no such column: total", reason="bad_query")
    if random.random() < 0.02:
        raise TaskFailed("host does not answer", reason="network")


async def set_up(adeq: Adeq) -> None:
    """Make all that is only there."""
    mail = adeq.queue("mail")
    await mail.configure(backoff=Backoff(base=0.5, cap=1.0), max_attempts=2, lease=2, events_max=500)
    await adeq.queue("imports").enqueue_many([Task(lane=f"group/{group}") for group in "abc" for _ in range(20)])
    exports = adeq.queue("exports")
    await exports.enqueue(b"", kind="report")
    await exports.fail((await exports.claim(worker="w1"))[0], "disk full", reason="io", retryable=False)
    await exports.admin.pause()
    for group in ("audit", "search"):
        await adeq.events("queue", "mail").add(group)
    await adeq.events("queue", "mail").read("search", limit=5)
    for number in range(5):
        await adeq.changes("infra").put(f"c{number}", type="deploy", description=str(number), actor="ann")
        await adeq.sessions("web").create(f"user-{number}")
    await adeq.rates("api").set("fast", algorithm="gcra", limit=5, period=1)
    await adeq.rates("api").set("slow", algorithm="log", limit=50, period=60, shadow=True)
    await adeq.client.set(f"{adeq.locks('damaged').base}:config", "of another program")
    await adeq.annotate("v1.1")


async def produce(adeq: Adeq, queue: Queue) -> None:
    """Enqueue more and fewer tasks in turn; cancel some, and let a worker die now and then."""
    began, imports = monotonic(), adeq.queue("imports")
    while True:
        await asyncio.sleep(PACE)
        day = (monotonic() - began) / DAY
        if day > DEPLOYED and not Release.faulty:
            Release.faulty = True
            await adeq.annotate("v1.2")
        load = 1.2 + math.sin(2 * math.pi * day)
        for _ in range(random.choice((0, 1, 2)) if random.random() < load / 2 else 0):
            receipt = await queue.enqueue(b"", kind=random.choice(KINDS), delay=random.choice((0, 0, 5)))
            if random.random() < 0.02:
                await queue.cancel(receipt.id)
        if random.random() < 0.01:
            await imports.enqueue(b"", lane="group/a")
            await imports.claim(worker=f"gone-{random.random()}", lanes=["group/a"], lease=1)


async def lock(adeq: Adeq, owner: str) -> None:
    """Work on one of few resources."""
    while True:
        async with adeq.locks("repos").acquire(f"repo:{random.randrange(3)}", owner=owner):
            await asyncio.sleep(random.expovariate(3))
        await asyncio.sleep(random.expovariate(3))


async def follow(adeq: Adeq) -> None:
    """Read as an audit log does."""
    async for _ in adeq.events("queue", "mail").follow("audit"):
        await asyncio.sleep(0.1)


async def main(url: str) -> None:
    """Work."""
    async with Adeq.from_url(url) as adeq:
        await set_up(adeq)
        queue = adeq.queue("mail")
        worker = Worker(queue, handle, concurrency=4, name="w1")
        jobs = [worker.run(), produce(adeq, queue), follow(adeq), *(lock(adeq, f"run-{n}") for n in range(4))]
        work = asyncio.gather(*jobs)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
        print("at work", flush=True)
        with suppress(asyncio.CancelledError):
            await work


if __name__ == "__main__":
    with suppress(AdeqError):
        asyncio.run(main(sys.argv[1]))
