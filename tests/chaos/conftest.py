"""Crowds of client processes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import DEADLINE, wait_until
from tests.worker_processes import workers

__all__ = ["workers"]  # a fixture

ROOT = Path(__file__).parents[2]
SCALE = float(os.environ.get("ADEQ_CHAOS", "1"))


class Crowd:
    """Processes that play a role of clients.py. A crowd of one is one process, which may be stopped or killed."""

    def __init__(self, role: str, count: int, options: dict[str, Any]) -> None:
        self._told = tempfile.TemporaryFile()  # noqa: SIM115
        self._failures = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", "tests.chaos.clients", role, str(count), json.dumps(options)]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._leader = subprocess.Popen(
            command, cwd=ROOT, env=env, stdout=self._told, stderr=self._failures, start_new_session=True
        )

    def signal(self, number: signal.Signals) -> None:
        self._leader.send_signal(number)

    def kill(self) -> None:
        self._leader.kill()
        self._leader.wait()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition holds, unless the crowd fails before."""
        wait_until(lambda: self._leader.poll() or condition())
        self._check()

    def results(self) -> list[dict[str, Any]]:
        """What they saw, when all have ended well."""
        self._leader.wait(DEADLINE * max(SCALE, 1))
        self._check()
        return [json.loads(line) for line in _text(self._told).splitlines()]

    def _check(self) -> None:
        failed = self._leader.poll()
        assert not failed, f"{failed} failed:\n{_text(self._failures)}"

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._leader.pid, signal.SIGKILL)
        self._leader.wait()
        self._told.close()
        self._failures.close()


def _text(file: Any) -> str:
    file.seek(0)
    text: str = file.read().decode()
    return text


Start = Callable[..., Crowd]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start so many processes in a role, with its options."""
    with ExitStack() as stack:

        def start(role: str, count: int = 1, **options: Any) -> Crowd:
            crowd = Crowd(role, count, options)
            stack.callback(crowd.close)
            return crowd

        yield start
