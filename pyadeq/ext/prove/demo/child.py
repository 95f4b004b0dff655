"""A process of the demo: it ends with the demo, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

CHILD_OF_DEMO = "ADEQ_DEMO_WORKER"  # environment: set in the processes that the demo starts
LOG_LINES = 8  # of a log, in an error


@dataclass(frozen=True)
class Child:
    """A process that the demo has started, and what it writes."""

    name: str
    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def told(self) -> str:
        """How it has ended, and its last lines."""
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"{self.name} ended with {self.process.returncode}; its last lines:", *lines])

    def close(self) -> None:
        """Kill it if it still runs, and close its files."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin
        self.process.stdin.close()
        self.log.close()


def start_child(name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Child:
    """Run Python with these arguments, as a child of the demo."""
    log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, CHILD_OF_DEMO: "1", **environment},
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,  # Ctrl-C is for the demo, which stops its processes
    )
    return Child(name, process, log)


def end_with_demo() -> None:
    """Exit when the demo ends; a child calls it. The demo holds the other end of our stdin and never writes."""
    if CHILD_OF_DEMO in os.environ:
        threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)
