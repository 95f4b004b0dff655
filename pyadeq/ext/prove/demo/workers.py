"""The demo's worker processes: each runs the real command line, and one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pyadeq import Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.demo.child import Child, start_child
from pyadeq.ext.prove.demo.job import STARTS

CONCURRENCY = 4
PATIENCE = 5.0  # seconds between SIGTERM and SIGKILL when the demo is over


@dataclass(frozen=True)
class Kill:
    """What happened to the victim. at: seconds since the epoch, on the server's clock."""

    worker: str
    pid: int
    done: int
    held: int
    at: float


class Workers:
    """Some workers on a queue; a context manager ends those that are left. starts: where they note what they start."""

    def __init__(self, url: str, queue: str, count: int, starts: Path | None = None) -> None:
        environment = {"ADEQ_URL": url} | ({} if starts is None else {STARTS: str(starts)})
        self._children: list[Child] = []
        try:
            for number in range(1, count + 1):
                self._children.append(_start(queue, f"worker-{number}", environment))
        except BaseException:
            self.stop()
            raise

    @property
    def alive(self) -> int:
        """How many run."""
        return sum(child.process.poll() is None for child in self._children)

    def check(self) -> None:
        """Raise AdeqError, with the end of its log, if one has ended that the demo did not kill."""
        for child in self._children:
            if child.process.poll() not in (None, -signal.SIGKILL):
                raise AdeqError(child.told())

    def kill_last(self, queue: Queue, done: int) -> Kill | None:
        """End the last worker with SIGKILL if it surely holds leases; None if it has none just now."""
        child = self._children[-1]
        pid = child.process.pid
        os.kill(pid, signal.SIGSTOP)  # so that what it holds now it still holds when it dies
        now = queue.stats().now  # and the server has seen all that it sent
        held = sum(task.worker == child.name for task in queue.iterate("running"))
        if not held:
            os.kill(pid, signal.SIGCONT)
            return None
        child.process.kill()
        child.process.wait()
        return Kill(child.name, pid, done, held, now)

    def stop(self) -> None:
        """Ask those that run to stop; kill what has not stopped after 5 seconds."""
        for child in self._children:
            child.process.terminate()
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(PATIENCE)
            child.close()
        self._children = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _start(queue: str, name: str, environment: Mapping[str, str]) -> Child:
    command = ["-m", "pyadeq.ext.cli", "worker", "run", "pyadeq.ext.prove.demo.job:parse"]
    command += ["--queue", queue, "--name", name, "--concurrency", str(CONCURRENCY)]
    return start_child(name, command, environment)
