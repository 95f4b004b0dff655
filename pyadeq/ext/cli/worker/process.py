"""Workers as a process: their signals, log, health, end and restart."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pyadeq import Queue
from pyadeq.asyncio import Adeq, Health, HealthServer, Worker, client_for
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.errors import TransportError
from pyadeq.ext.cli.shared.common import PLACE, shown_url, unreachable
from pyadeq.ext.cli.shared.ending import ending_signals
from pyadeq.ext.cli.shared.tree import close_output
from pyadeq.ext.cli.worker.again import Times, start_again, watching_source
from pyadeq.ext.cli.worker.maintain import maintaining
from pyadeq.ext.cli.worker.processes import HealthAt, Parent

if TYPE_CHECKING:
    from pyadeq.ext.operate.archive import Archive

SOURCE = "adeq worker run"
STOPPING = ("stop", "restart")
AnyQueue = Queue | AsyncQueue

log = logging.getLogger("pyadeq.worker")


@dataclass(frozen=True)
class MaintainAt:
    """How often the process takes care of the installation, in seconds, and where it archives. It does so as home
    connects, or to url.
    """

    every: float
    archive: Archive | None
    url: str
    home: AnyQueue | None


@dataclass(frozen=True)
class Options:
    """How a worker is run; times are seconds. handler: whatever a Worker takes. about: more of it for the log. home: a
    queue whose client says where to connect and how, in the place of the options of the command line.
    """

    handler: Any
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
    blocked_after: float | None
    about: Mapping[str, str]
    traces: bool = False
    home: AnyQueue | None = None


class Process:
    """Workers on one event loop. They stop together, unless an operator stops one of them.

    parent: of several such processes. source: the times of the source files; if they change, the process starts again.
    """

    def __init__(
        self,
        workers: Sequence[Worker | Options],
        health: HealthAt | None = None,
        maintain: MaintainAt | None = None,
        parent: Parent | None = None,
        source: Times | None = None,
    ) -> None:
        self._wanted = workers
        self._health = health
        self._maintain = maintain
        self._parent = parent
        self._source = source
        self._again = False
        self._workers: list[Worker] = []

    def run(self) -> None:
        """Work until a signal, or until the workers are to be stopped or restarted.

        Raises TransportError for a server that refuses us, WorkerReplaced, ConfigError.
        """
        with asyncio.Runner() as runner:
            runner.run(self._work())
            if self._again or any(worker.restart_wanted for worker in self._workers):
                if self._parent:
                    self._parent.keep()
                start_again()
            if any(worker.cut_short for worker in self._workers):
                logging.shutdown()
                close_output()
                # The thread of a handler that was cut short cannot be ended, and Python would wait for it.
                os._exit(0)

    async def _work(self) -> None:
        async with AsyncExitStack() as stack:
            self._workers = [await self._worker(wanted, stack) for wanted in self._wanted]
            self._install_signals()
            common: dict[str, Any] = {"pid": os.getpid()}
            if health_at := self._health:
                health = HealthServer(self._state, health_at.port, host=health_at.host, after=health_at.after)
                common["health"] = stack.enter_context(health).address
            loop = asyncio.get_running_loop()
            if self._parent:
                told = self._parent.told(self._state, self._grace, lambda: loop.call_soon_threadsafe(self._lost))
                stack.enter_context(told)
            if self._source is not None:
                stack.enter_context(watching_source(self._source, lambda: loop.call_soon_threadsafe(self._reload)))
            if maintain := self._maintain:
                stack.enter_context(maintaining(maintain.every, maintain.url, maintain.home, maintain.archive))
            running = [
                asyncio.create_task(self._run(*pair, common)) for pair in zip(self._workers, self._wanted, strict=True)
            ]
            await asyncio.wait(running)
            for task in running:
                task.result()

    async def _run(self, worker: Worker, wanted: Worker | Options, common: Mapping[str, Any]) -> None:
        """Run one of the workers. If it fails, or is to be restarted, the process ends, and so do the others."""
        url = wanted.adeq.address if isinstance(wanted, Worker) else shown_url(wanted.url)
        names = {"queue": worker.queue.name, "worker": worker.name}
        about = {} if isinstance(wanted, Worker) else {name: word for name, word in wanted.about.items() if word}

        def started() -> None:
            _say("worker started", **names, concurrency=worker.concurrency, **{"url": url, **about, **common})

        try:
            await worker.run(on_connect=started)
        except TransportError as error:
            self._stop()
            raise unreachable(url, error) from error
        except BaseException:
            self._stop()
            raise
        if worker.restart_wanted:
            self._stop()
        _say("worker restarts" if worker.restart_wanted else "worker stopped", **names, done=worker.done)

    async def _worker(self, wanted: Worker | Options, stack: AsyncExitStack) -> Worker:
        if isinstance(wanted, Worker):
            stack.push_async_callback(wanted.adeq.aclose)
            return wanted
        adeq = await stack.enter_async_context(_client(wanted))
        return Worker(
            adeq.queue(wanted.queue) if adeq.slot else adeq.partitioned(wanted.queue),
            wanted.handler,
            name=wanted.name,
            group=wanted.group,
            instance=wanted.instance,
            default_group=wanted.default_group,
            capabilities=wanted.capabilities,
            concurrency=wanted.concurrency,
            lanes=wanted.lanes,
            lane_first=wanted.lane_first,
            lease=wanted.lease,
            timeout=wanted.timeout,
            unknown_for=wanted.unknown_for,
            grace=wanted.grace,
            renew=wanted.renew,
            blocked_after=wanted.blocked_after,
        )

    def _state(self) -> Health:
        return Health.together([worker.health() for worker in self._workers])

    def _stop(self, *, at_once: bool = False) -> None:
        for worker in self._workers:
            if at_once or worker.health().mode not in STOPPING:
                worker.stop()

    @property
    def _grace(self) -> float:
        return max(worker.grace for worker in self._workers)

    def _lost(self) -> None:
        log.warning("the supervisor has ended: stopping, running tasks may finish")
        self._stop()

    def _reload(self) -> None:
        self._again = True
        self._stop()

    def _install_signals(self) -> None:
        signals = 0

        def on_signal(name: str) -> None:
            nonlocal signals
            signals += 1
            self._again = False
            self._stop(at_once=signals > 1)
            if signals == 1:
                _say("stopping: running tasks may finish", signal=name, grace=f"{self._grace:g}s")
            elif signals == 2:
                _say("stopping at once", signal=name)

        for number in ending_signals(signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, on_signal, number.name)


def _client(options: Options) -> Adeq:
    if options.home is not None:
        return client_for(options.home, SOURCE)
    trace = None
    if options.traces:
        from pyadeq.ext.connect.otel import Traces

        trace = Traces()
    return Adeq.from_url(options.url, **PLACE.options(), source=SOURCE, trace=trace)


def _say(message: str, **fields: Any) -> None:
    log.info(message, extra={"fields": fields})
