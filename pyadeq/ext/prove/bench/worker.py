"""A worker process that does nothing: `python -m pyadeq.ext.prove.bench.worker URL QUEUE CONCURRENCY`."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyadeq import Lease
from pyadeq.asyncio import Adeq, Worker
from pyadeq.errors import AdeqError

ENDS_WITHIN = 30.0  # seconds


async def handle(lease: Lease) -> int:
    """When it began, in nanoseconds by the clock that all processes of a machine share."""
    return time.monotonic_ns()


async def work(url: str, queue: str, concurrency: int) -> None:
    """Run a worker until SIGTERM."""
    async with Adeq.from_url(url) as adeq:
        worker = Worker(adeq.queue(queue), handle, concurrency=concurrency)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        await worker.run()


@contextmanager
def working(url: str, queue: str, concurrency: int, module: str = __name__) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process, that ends with the block. module: what it runs."""
    command = [sys.executable, "-m", module, url, queue, str(concurrency)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                _, said = process.communicate(timeout=ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                said = b""
    if process.returncode > 0:
        raise AdeqError(f"the worker ended with {process.returncode}: {said.decode(errors='replace')[-500:]}")


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], sys.argv[2], int(sys.argv[3])))
