"""A group of workers as processes of the real command line, by their names."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.workers import ROOT, Started
from tests.waiting import DEADLINE


class Workers:
    """Workers that run `handle` of a module."""

    def __init__(self, folder: Path, url: str, queue: str, module: str) -> None:
        (folder / "jobs.py").write_text(module)
        self._folder = folder
        self._env = {**os.environ, "PYTHONPATH": str(ROOT), "ADEQ_URL": url, "ADEQ_QUEUE": queue}
        self._all: list[Started] = []
        self.named: dict[str, Started] = {}

    def start(self, name: str, *options: str) -> Started:
        """Another one; where a name is used again, the one before goes on until it is replaced."""
        self.named[name] = Started(self._folder, ("jobs:handle", "--name", name, *options), self._env)
        self._all.append(self.named[name])
        return self.named[name]

    def signal(self, name: str, number: signal.Signals) -> None:
        self.named[name].child.send_signal(number)

    def wait(self, name: str) -> int:
        """Its exit status, once it has ended."""
        return self.named[name].child.wait(DEADLINE)

    def end(self) -> None:
        """Kill those that are left."""
        for worker in self._all:
            worker.close()


@pytest.fixture
def workers(tmp_path: Path, url: str, base_name: str, request: pytest.FixtureRequest) -> Iterator[Workers]:
    """They run HANDLER of the test's module."""
    workers = Workers(tmp_path, url, base_name, request.module.HANDLER)
    yield workers
    workers.end()
