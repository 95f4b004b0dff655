"""Does a slow receiver of webhooks delay the others? Their p99 beside a slow one, a fast one, and none.

    python -m bench.webhooks [--rounds 13] [--messages 150] [-o json]

Endpoints get an event every 20 ms, from one process that forwards and sends. The time is from the event to its
request at one of three receivers. The fourth answers after two seconds or at once, or there is none. Each round
measures all three, one after the other, and every second round in the opposite order. A first measurement does not
count. 13 rounds take about 4 minutes.

A fast receiver gets more messages than a slow one, which costs the process time. So the bar compares the slow one with
the better of the others. Events, service and receivers share one process, and the server runs on the same machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import datetime

from pyadeq.asyncio import Adeq, Queue
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.outgoing.webhooks import Allowed, AsyncWebhooks, new_secret, serve
from pyadeq.ext.prove.bench.figures import machine

BAR = 1.1
SECRET = "ADEQ_BENCH_WEBHOOK_SECRET"
OTHERS = 3
APART = 0.02  # seconds between two events
SLOW = 2.0  # seconds until the slow receiver answers
SETTLED = 1.0  # seconds until the service knows an endpoint
LONGEST = 30.0  # seconds until all have come


class Receiver:
    """Answers each request after `delay` seconds, and notes how old its event is."""

    def __init__(self) -> None:
        self.delay = 0.0
        self.ages: asyncio.Queue[float] = asyncio.Queue()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        with suppress(OSError, asyncio.IncompleteReadError):
            lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            (size,) = (int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
            body = json.loads(await reader.readexactly(size))
            self.ages.put_nowait(time.time() - datetime.fromisoformat(body["timestamp"]).timestamp())
            await asyncio.sleep(self.delay)
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def listening(receiver: Receiver) -> AsyncIterator[str]:
    """The URL of a receiver, which listens in the block."""
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def p99(queue: Queue, others: list[Receiver], messages: int) -> float:
    """Milliseconds from an event to its request, of all messages to the others."""
    for _ in range(messages):
        await queue.enqueue({})
        await asyncio.sleep(APART)
    async with asyncio.timeout(LONGEST):
        ages = [await one.ages.get() for one in others for _ in range(messages)]
    return statistics.quantiles(ages, n=100)[-1] * 1000


async def measure(url: str, rounds: int, messages: int) -> dict[str, list[float]]:
    """The p99 of each round, by how the fourth receiver answers."""
    runs: dict[str, list[float]] = {how: [] for how in ("slow", "fast", "none")}
    *others, fourth = receivers = [Receiver() for _ in range(OTHERS + 1)]
    async with AsyncExitStack() as open:
        urls = [await open.enter_async_context(listening(one)) for one in receivers]
        adeq = await open.enter_async_context(Adeq.from_url(url))
        allowed = Allowed.of(["127.0.0.1"], http=True, ports=[int(one.rpartition(":")[2]) for one in urls])
        hooks = AsyncWebhooks(adeq, allowed=allowed)
        queue = adeq.queue("mail")
        await queue.configure()
        for number in range(OTHERS):
            await hooks.add(f"other-{number}", urls[number], secret=f"env:{SECRET}", events=["task.enqueued"])
        service = asyncio.create_task(serve(adeq, allowed=allowed, find=SETTLED, signals=False))
        await asyncio.sleep(2 * SETTLED)
        await p99(queue, others, messages)
        for number in range(rounds):
            for how in runs if number % 2 else reversed(runs):
                fourth.delay = SLOW if how == "slow" else 0.0
                id = f"fourth-{number}-{how}"
                if how != "none":
                    await hooks.add(id, urls[-1], secret=f"env:{SECRET}", events=["task.enqueued"])
                await asyncio.sleep(2 * SETTLED)
                runs[how].append(round(await p99(queue, others, messages), 1))
                if how != "none":
                    await hooks.remove(id)
                await asyncio.sleep(fourth.delay)
        service.cancel()
        with suppress(asyncio.CancelledError):
            await service
    return runs


def main() -> None:
    """Measure, and print both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=13)
    parser.add_argument("--messages", type=int, default=150)
    parser.add_argument("-o", "--output", choices=["text", "json"], default="text")
    given = parser.parse_args()
    os.environ[SECRET] = new_secret()
    logging.getLogger("pyadeq").setLevel(logging.CRITICAL)  # messages to endpoints that are removed die
    with EmbeddedServer() as server:
        engine = server.engine
        runs = asyncio.run(measure(server.url, given.rounds, given.messages))
    medians = {how: round(statistics.median(values), 1) for how, values in runs.items()}
    ratio = round(medians["slow"] / min(medians["fast"], medians["none"]), 2)
    if given.output == "json":
        figures = {"engine": engine, "machine": machine(), "rounds": given.rounds, "messages": given.messages}
        figures |= {"unit": "ms from an event to its request, p99", "runs": runs, "medians": medians}
        print(json.dumps({**figures, "ratio": ratio, "bar": BAR}, indent=2))
        return
    slow, fast, none = (medians[how] for how in runs)
    print(f"p99 {slow} ms beside a slow receiver, {fast} ms a fast one, {none} ms none: {ratio} (at most {BAR})")


if __name__ == "__main__":
    main()
