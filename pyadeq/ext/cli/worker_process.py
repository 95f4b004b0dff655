"""A worker as a process: its signals, its log, its health, its end, and its restart."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyadeq import Lease, Queue
from pyadeq.asyncio import Adeq, HealthServer, Worker, client_for
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.errors import TransportError
from pyadeq.ext.cli.common import PLACE, shown_url, unreachable
from pyadeq.ext.cli.worker_tend import tending

if TYPE_CHECKING:
    from pyadeq.ext.archive import Archive

SOURCE = "adeq worker run"
AnyQueue = Queue | AsyncQueue

log = logging.getLogger("pyadeq.worker")


@dataclass(frozen=True)
class HealthAt:
    """Where the worker says how it is, and after how many seconds of silence it is not well."""

    port: int
    host: str
    after: float


@dataclass(frozen=True)
class TendAt:
    """How often the worker takes care of the installation, in seconds, and where it archives."""

    every: float
    archive: Archive | None


@dataclass(frozen=True)
class Options:
    """How a worker is run; times are seconds. about: more of it for the log. home: a queue whose client says
    where to connect and how, in the place of the options of the command line.
    """

    url: str
    queue: str
    concurrency: int
    name: str | None
    group: str | None
    instance: str | None
    default_group: bool
    capabilities: tuple[str, ...]
    lanes: tuple[str, ...] | None
    lane_first: bool
    lease: float
    timeout: float
    unknown_for: float
    grace: float
    renew: Literal["process", "thread", "loop"]
    health: HealthAt | None
    about: Mapping[str, str]
    traces: bool = False
    home: AnyQueue | None = None
    tend: TendAt | None = None


class Process:
    """One worker; handler is whatever a Worker takes."""

    def __init__(self, options: Options, handler: Any) -> None:
        self._options = options
        self._handler = handler
        self._folder = os.getcwd()
        self._cut_short = False
        self._restart = False

    def run(self) -> None:
        """Work until a signal, or until the worker is to be stopped or restarted.

        Raises TransportError for a server that refuses us, WorkerReplaced, ConfigError.
        """
        with asyncio.Runner() as runner:
            runner.run(self._work())
            logging.shutdown()
            sys.stdout.flush()
            if self._restart:
                os.chdir(self._folder)
                os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
            if self._cut_short:
                # The thread of a handler that was cut short cannot be ended, and Python would wait for it.
                os._exit(0)

    async def _work(self) -> None:
        options = self._options
        async with self._client() as adeq:
            worker = Worker(
                adeq.queue(options.queue) if adeq.slot else adeq.partitioned(options.queue),
                self._handler,
                name=options.name,
                group=options.group,
                instance=options.instance,
                default_group=options.default_group,
                capabilities=options.capabilities,
                concurrency=options.concurrency,
                lanes=options.lanes,
                lane_first=options.lane_first,
                lease=options.lease,
                timeout=options.timeout,
                unknown_for=options.unknown_for,
                grace=options.grace,
                renew=options.renew,
                middleware=[self._watch],
            )
            self._install_signals(worker)
            with ExitStack() as stack:
                about = {"queue": options.queue, "worker": worker.name, "concurrency": options.concurrency}
                about |= {"pid": os.getpid(), "url": shown_url(options.url)}
                about |= {name: word for name, word in options.about.items() if word}
                if health_at := options.health:
                    health = HealthServer(worker.health, health_at.port, host=health_at.host, after=health_at.after)
                    about["health"] = stack.enter_context(health).address
                if tend := options.tend:
                    stack.enter_context(tending(tend.every, options.url, options.home, tend.archive))
                _say("worker started", **about)
                try:
                    await worker.run()
                except TransportError as error:
                    raise unreachable(options.url, error) from error
            self._restart = worker.restart_wanted
            word = "worker restarts" if self._restart else "worker stopped"
            _say(word, queue=options.queue, worker=worker.name, done=worker.done)

    def _client(self) -> Adeq:
        if self._options.home is not None:
            return client_for(self._options.home, SOURCE)
        trace = None
        if self._options.traces:
            from pyadeq.ext.otel import Traces

            trace = Traces()
        return Adeq.from_url(self._options.url, **PLACE.options(), source=SOURCE, trace=trace)

    def _install_signals(self, worker: Worker) -> None:
        signals = 0

        def on_signal(name: str) -> None:
            nonlocal signals
            signals += 1
            worker.stop()
            if signals == 1:
                _say("stopping: running tasks may finish", signal=name, grace=f"{self._options.grace:g}s")
            elif signals == 2:
                _say("stopping at once", signal=name)

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number.name)

    async def _watch(self, lease: Lease, call_next: Callable[[Lease], Awaitable[Any]]) -> Any:
        """See whether a handler is cut short."""
        try:
            return await call_next(lease)
        except asyncio.CancelledError:
            self._cut_short = True
            raise


def _say(message: str, **fields: Any) -> None:
    log.info(message, extra={"fields": fields})
