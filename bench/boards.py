"""What open boards cost a queue at work: the server's CPU for a task, without and with 200 pages that stay current.

    python -m bench.boards [--boards 200] [--rounds 5] [--seconds 10]

A page asks again every two seconds, as the board's script does: half of them show all queues, half the queue at work.
The rounds alternate, so that a change of the machine meets both. The service has a core of its own, but it still
disturbs the server where there are two. So the last line has what the boards alone cost the server.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median

from bench.service import Connection, Service, serving
from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer

QUEUE = "work"
OTHERS = 10  # queues besides, with some tasks each
BATCH = 10
KEPT = 1000  # ended tasks, and events
AGAIN = 2.0  # seconds
FRAGMENT = "X-Fragment: 1\r\n"


async def work(adeq: Adeq, seconds: float) -> tuple[int, float]:
    """Enqueue, claim and settle in batches. Returns how many tasks, and the server's CPU seconds for one.

    Its retention is full, so that a task costs the same in all rounds.
    """
    queue = adeq.queue(QUEUE)
    before, until, count = await cpu(adeq), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        await queue.enqueue_many([{"payload": "x" * 200}] * BATCH)
        leases = await queue.claim(limit=BATCH)
        await queue.leases.settle(acks=[(lease, None) for lease in leases])
        count += len(leases)
    return count, (await cpu(adeq) - before) / count


async def cpu(adeq: Adeq) -> float:
    """Seconds of the server so far."""
    info = await adeq.client.info("cpu")
    return float(info["used_cpu_user"]) + float(info["used_cpu_sys"])


async def look(service: Service, number: int, boards: int, answers: list[float]) -> None:
    """One open page, until it is cancelled."""
    path = f"/queues/{QUEUE}" if number % 2 else "/"
    connection = await Connection.open(service.at)
    try:
        await asyncio.sleep(AGAIN * number / boards)
        while True:
            began = time.monotonic()
            await connection.ask("GET", path, more=FRAGMENT)
            answers.append(time.monotonic() - began)
            await asyncio.sleep(AGAIN)
    finally:
        connection.close()


@asynccontextmanager
async def open_boards(service: Service, boards: int, answers: list[float]) -> AsyncIterator[None]:
    """Pages that are open in the block."""
    async with asyncio.TaskGroup() as group:
        pages = [group.create_task(look(service, number, boards, answers)) for number in range(boards)]
        await asyncio.sleep(AGAIN)
        yield
        for page in pages:
            page.cancel()


async def measure(service: Service, url: str, boards: int, rounds: int, seconds: float) -> None:
    """Print both, round by round, and what is more with the boards."""
    alone, watched, load = list[float](), list[float](), list[float]()
    async with Adeq.from_url(url) as adeq:
        for number in range(OTHERS):
            await adeq.queue(f"other-{number}").enqueue_many([{"payload": 1}] * BATCH)
        await adeq.queue(QUEUE).configure(finished_max=KEPT, events_max=KEPT)
        await work(adeq, seconds)
        for number in range(rounds):
            count, one = await work(adeq, seconds)
            answers: list[float] = []
            async with open_boards(service, boards, answers):
                before = service.cpu
                with_boards, other = await work(adeq, seconds)
                of_service = (service.cpu - before) / seconds
            alone.append(one)
            watched.append(other)
            load.append(one * count / seconds)
            print(
                f"round {number + 1}: {one * 1e6:.2f} µs a task alone, {count:,} tasks; "
                f"{other * 1e6:.2f} µs with {boards} boards, {with_boards:,} tasks; "
                f"{len(answers):,} answers, median {median(answers) * 1000:.0f} ms; "
                f"{of_service:.0%} of a core for the service",
                flush=True,
            )
        for name, pick in (("minima", min), ("medians", median)):
            without, together = pick(alone), pick(watched)
            print(f"{name}: {without * 1e6:.2f} and {together * 1e6:.2f} µs, {together / without - 1:+.1%}")
        async with open_boards(service, boards, []):
            before = await cpu(adeq)
            await asyncio.sleep(seconds)
            own = (await cpu(adeq) - before) / seconds
    print(
        f"the boards alone: {own * 1000:.1f} ms of the server's CPU a second, "
        f"{own / median(load):.1%} of what the queue needs"
    )


def main() -> None:
    """Measure by the arguments of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--boards", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    with EmbeddedServer() as server, serving(server.url, 1) as service:
        asyncio.run(measure(service, server.url, given.boards, given.rounds, given.seconds))


if __name__ == "__main__":
    main()
