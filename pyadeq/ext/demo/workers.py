"""The demo's worker processes: each runs the real command line, and one of them is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Self

from pyadeq import Queue
from pyadeq.errors import AdeqError
from pyadeq.ext.demo.job import CHILD_OF_DEMO

CONCURRENCY = 4
PATIENCE = 5.0  # seconds between SIGTERM and SIGKILL when the demo is over
LOG_LINES = 8  # of a worker's log, in an error


@dataclass(frozen=True)
class Kill:
    """What happened to the victim. at: seconds since the epoch, on the server's clock."""

    worker: str
    pid: int
    done: int
    held: int
    at: float


@dataclass(frozen=True)
class _Process:
    name: str
    child: subprocess.Popen[bytes]
    log: IO[bytes]


class Workers:
    """Some workers on a queue; a context manager ends those that are left."""

    def __init__(self, url: str, queue: str, count: int) -> None:
        self._processes: list[_Process] = []
        try:
            for number in range(1, count + 1):
                self._processes.append(_start(url, queue, f"worker-{number}"))
        except BaseException:
            self.stop()
            raise

    @property
    def alive(self) -> int:
        """How many run."""
        return sum(process.child.poll() is None for process in self._processes)

    def check(self) -> None:
        """Raise AdeqError, with the end of its log, if one has ended that the demo did not kill."""
        for process in self._processes:
            if process.child.poll() not in (None, -signal.SIGKILL):
                process.log.seek(0)
                lines = process.log.read().decode(errors="replace").splitlines()[-LOG_LINES:]
                text = "\n".join([f"{process.name} ended with {process.child.returncode}; its last lines:", *lines])
                raise AdeqError(text)

    def kill_last(self, queue: Queue, done: int) -> Kill | None:
        """End the last worker with SIGKILL if it surely holds leases; None if it has none just now."""
        process = self._processes[-1]
        pid = process.child.pid
        os.kill(pid, signal.SIGSTOP)  # so that what it holds now it still holds when it dies
        now = queue.stats().now  # and the server has seen all that it sent
        held = sum(task.worker == process.name for task in queue.iterate("running"))
        if not held:
            os.kill(pid, signal.SIGCONT)
            return None
        process.child.kill()
        process.child.wait()
        return Kill(process.name, pid, done, held, now)

    def stop(self) -> None:
        """Ask those that run to stop; kill what has not stopped after 5 seconds."""
        for process in self._processes:
            process.child.terminate()
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.child.wait(PATIENCE)
            process.child.kill()
            process.child.wait()
            assert process.child.stdin
            process.child.stdin.close()
            process.log.close()
        self._processes = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _start(url: str, queue: str, name: str) -> _Process:
    command = [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "pyadeq.ext.demo.job:parse"]
    command += ["--queue", queue, "--name", name, "--concurrency", str(CONCURRENCY)]
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
    child = subprocess.Popen(
        command,
        env={**os.environ, CHILD_OF_DEMO: "1", "ADEQ_URL": url},
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,  # Ctrl-C is for the demo, which stops its workers
    )
    return _Process(name, child, log)
