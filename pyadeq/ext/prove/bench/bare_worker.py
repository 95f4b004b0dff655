"""A process that moves the same data by bare commands: `python -m pyadeq.ext.prove.bench.bare_worker URL KEY COUNT`.

With a COUNT of 0 it takes what is pushed onto a list, and notes when it had it; else it reads a stream, COUNT entries
at a time.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import Any

from pyadeq.asyncio import Adeq

GROUP = "group"


async def drain(client: Any, key: str, count: int) -> None:
    """Read entries, acknowledge and delete them: what a queue does that keeps nothing."""
    while True:
        for _, entries in await client.xreadgroup(GROUP, "consumer", {key: ">"}, count=count, block=1000) or ():
            ids = [id for id, _ in entries]
            async with client.pipeline(transaction=False) as pipe:
                await pipe.xack(key, GROUP, *ids).xdel(key, *ids).execute()


async def listen(client: Any, key: str) -> None:
    """Note when each element came, in nanoseconds by the clock that all processes of a machine share."""
    while True:
        await client.brpop([key])
        await client.rpush(f"{key}:seen", time.monotonic_ns())


async def main(url: str, key: str, count: int) -> None:
    """Read a list or a stream until SIGTERM."""
    async with Adeq.from_url(url, socket_timeout=None) as adeq:
        client: Any = adeq.client
        task = asyncio.ensure_future(drain(client, key, count) if count else listen(client, key))
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            return


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
