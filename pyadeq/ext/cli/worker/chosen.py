"""The choice of workers that `adeq worker run` runs in one process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import typer

from pyadeq import Queue
from pyadeq.asyncio import Program, Worker
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import PLACE
from pyadeq.ext.cli.worker.handlers import load_handler
from pyadeq.ext.cli.worker.home import check_home, check_worker_options
from pyadeq.ext.cli.worker.process import Options


class Chosen:
    """The workers of a process. Each has a queue of its own.

    common: the options of the command line. queues: those of a handler that says none. alone: there are no other such
    processes.
    """

    def __init__(self, context: typer.Context, common: Options, queues: Sequence[str], *, alone: bool) -> None:
        self._context, self._common, self._queues, self._alone = context, common, queues, alone
        self._workers: dict[tuple[str, ...], Worker | Options] = {}
        self._homes: list[Any] = []

    @property
    def workers(self) -> list[Worker | Options]:
        """The workers that were added, in order."""
        return list(self._workers.values())

    @property
    def home(self) -> Any:
        """The first queue that has a client of its own, if there is one."""
        return self._homes[0] if self._homes else None

    def add_program(self, program: Program) -> None:
        """Run a program for the tasks of each queue."""
        common = replace(self._common, about={**self._common.about, "program": program.command[0]})
        self._add([replace(common, handler=program, queue=name) for name in self._queues], "--queue")

    def add(self, path: str) -> None:
        """Run what MODULE:NAME names. Raises ConfigError if options contradict it."""
        match load_handler(path):
            case Queue() | AsyncQueue() as home:
                self._add([self._at_home(home, path)], path)
            case Worker() as worker:
                self._check_worker(worker, path)
                self._add([worker], path)
            case handler:
                self._add([replace(self._common, handler=handler, queue=name) for name in self._queues], path)

    def check_options(self, paths: Sequence[str] | None) -> None:
        """Raise ConfigError if options say how to work, and all workers have their own."""
        if paths and all(isinstance(one, Worker) for one in self.workers):
            check_worker_options(self._context, paths[0])

    def _at_home(self, home: Queue | AsyncQueue, path: str) -> Options:
        check_home(self._context, home.adeq, home.name, path, self._common.url)
        if self._common.traces:
            raise ConfigError(f"--traces: {path} has a client; write Adeq.from_url(…, trace=Traces()) there")
        self._homes.append(home)
        return replace(self._common, handler=home.tasks, url=home.adeq.address, queue=home.name, home=home)

    def _check_worker(self, worker: Worker, path: str) -> None:
        check_home(self._context, worker.adeq, worker.queue.name, path, self._common.url)
        if worker.named and not self._alone:
            raise ConfigError(f"--processes: {path} has a name, which only one process can have; leave the name out")
        self._homes.append(worker.queue)

    def _add(self, found: Sequence[Worker | Options], given_by: str) -> None:
        for one in found:
            if self._workers.setdefault(_place(one), one) is not one:
                raise ConfigError(f"{given_by}: another worker here has this queue; name each once")


def _place(worker: Worker | Options) -> tuple[str, ...]:
    """What tells the queues of two workers apart."""
    if isinstance(worker, Worker):
        return worker.adeq.address, worker.adeq.prefix, worker.queue.name
    prefix = PLACE.prefix if worker.home is None else worker.home.adeq.prefix
    return worker.url, prefix, worker.queue
