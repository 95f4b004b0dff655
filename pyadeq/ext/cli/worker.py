"""`adeq worker run`: a process that runs a handler for the tasks of a queue."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from pyadeq import Lease
from pyadeq.asyncio import Adeq, Worker
from pyadeq.errors import TransportError
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    PLACE,
    Format,
    Output,
    Url,
    check_url,
    shown_url,
    unreachable,
)
from pyadeq.ext.cli.handlers import Handler, load_handler
from pyadeq.ext.cli.logs import log_to_stderr
from pyadeq.keys import check_name

log = logging.getLogger("pyadeq.worker")
app = typer.Typer(help="Workers: processes that run the tasks of a queue.", no_args_is_help=True)


@dataclass(frozen=True)
class Options:
    """How a worker is run; lease and grace are seconds."""

    url: str
    queue: str
    concurrency: int
    name: str | None
    lanes: tuple[str, ...]
    lease: float
    grace: float


@app.callback()
def noun() -> None:
    """Workers: processes that run the tasks of a queue."""


@app.command()
def run(
    handler: Annotated[str, typer.Argument(metavar="MODULE:FUNCTION", help="An async function of one lease.")],
    queue: Annotated[str, typer.Option(envvar="ADEQ_QUEUE", help="The queue to work on.")] = "default",
    concurrency: Annotated[int, typer.Option(min=1, max=1000, help="Tasks at a time.")] = 10,
    name: Annotated[str | None, typer.Option(help="The worker's name. [default: host, pid and a random word]")] = None,
    lane: Annotated[
        list[str] | None, typer.Option(help="A lane to take tasks from; repeat it for more. [default: any]")
    ] = None,
    lease: Annotated[
        float, typer.Option(min=0, help="Seconds until a silent worker loses a task; 0: the queue's setting.")
    ] = 0.0,
    grace: Annotated[float, typer.Option(min=0, help="Seconds that running tasks have after the first signal.")] = 30.0,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Run MODULE:FUNCTION for the tasks of a queue.

    It runs until SIGTERM or SIGINT. The first signal stops claiming, lets running tasks end within the grace time and
    gives the others back. The second gives all back at once. While the server is away the worker waits for it. The log
    goes to stderr.
    """
    check_url(url)
    options = Options(
        url=url,
        queue=check_name("--queue", queue),
        concurrency=concurrency,
        name=None if name is None else check_name("--name", name),
        lanes=tuple(check_name("--lane", one, "lane") for one in lane or ["any"]),
        lease=lease,
        grace=grace,
    )
    log_to_stderr(output)
    Process(options, load_handler(handler)).run()


class Process:
    """One worker, its signals and its log."""

    def __init__(self, options: Options, handler: Handler) -> None:
        self._options = options
        self._handler = handler
        self._cut_short = False

    def run(self) -> None:
        """Work until a signal. Raises TransportError for a server that refuses us, WorkerReplaced."""
        with asyncio.Runner() as runner:
            runner.run(self._work())
            if self._cut_short:
                # The thread of a handler that was cut short cannot be ended, and Python would wait for it.
                logging.shutdown()
                sys.stdout.flush()
                os._exit(0)

    async def _work(self) -> None:
        options = self._options
        async with Adeq.from_url(options.url, **asdict(PLACE), source="adeq worker run") as adeq:
            worker = Worker(
                adeq.queue(options.queue),
                self._handle,
                name=options.name,
                concurrency=options.concurrency,
                lanes=options.lanes,
                lease=options.lease,
                grace=options.grace,
            )
            self._install_signals(worker)
            about = {"queue": options.queue, "worker": worker.name, "concurrency": options.concurrency}
            _say("worker started", **about, pid=os.getpid(), url=shown_url(options.url))
            try:
                await worker.run()
            except TransportError as error:
                raise unreachable(options.url, error) from error
            _say("worker stopped", queue=options.queue, worker=worker.name, done=worker.done)

    def _install_signals(self, worker: Worker) -> None:
        signals = 0

        def on_signal(name: str) -> None:
            nonlocal signals
            signals += 1
            worker.stop()
            if signals == 1:
                _say("stopping: running tasks may end", signal=name, grace=f"{self._options.grace:g}s")
            elif signals == 2:
                _say("stopping at once", signal=name)

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number.name)

    async def _handle(self, lease: Lease) -> Any:
        try:
            return await self._handler(lease)
        except asyncio.CancelledError:
            self._cut_short = True
            raise


def _say(message: str, **fields: Any) -> None:
    log.info(message, extra={"fields": fields})
