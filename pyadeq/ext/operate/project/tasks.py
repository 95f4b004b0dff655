"""The queue and its tasks. Programs that enqueue import them from here."""

import asyncio
import os

from pyadeq.asyncio import Adeq

adeq = Adeq.from_url(os.environ.get("ADEQ_URL", "redis://127.0.0.1:6379"))
queue = adeq.queue("default")


@queue.task(timeout=60, max_attempts=3)
async def count_words(text: str) -> int:
    """Count the words of a text. A task may run twice, so it has to be safe to run twice."""
    return len(text.split())


async def main() -> None:
    """Enqueue a task, and print its result."""
    async with adeq:
        print(await count_words.run("Hello from the queue"))


if __name__ == "__main__":
    asyncio.run(main())
