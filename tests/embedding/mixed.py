"""Workers and producers in several languages on one queue, and what they are given to do."""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.waiting import DEADLINE

QUEUE = "mixed"
CAPACITY = 20
LEASE = 3.0
LONGER_MS = 4000
RESOURCES = 5


class Languages:
    """How a worker of each language is started: its command, and the folder where."""

    def __init__(self, url: str, commands: dict[str, tuple[Sequence[str], Path]]) -> None:
        self._url = url
        self._commands = commands
        self.workers: dict[str, subprocess.Popen[str]] = {}

    @property
    def names(self) -> list[str]:
        return list(self._commands)

    @property
    def lanes(self) -> list[str]:
        """One that all serve, and one of each language."""
        return ["any", *(f"group/{language}" for language in self._commands)]

    def start_workers(self, number: int) -> None:
        """So many of each language, which are all there when this returns."""
        for language, count in itertools.product(self._commands, range(number)):
            self.workers[f"{language}-{count}"] = self._start(language, f"{language}-{count}")
        for name, worker in self.workers.items():
            assert worker.stdout is not None
            assert select.select([worker.stdout], [], [], DEADLINE)[0], name
            assert worker.stdout.readline() == "ready\n", name

    def _start(self, language: str, name: str) -> subprocess.Popen[str]:
        command, folder = self._commands[language]
        env = {
            "ADEQ_URL": self._url,
            "ADEQ_QUEUE": QUEUE,
            "ADEQ_WORKER": name,
            "ADEQ_GROUP": language,
            "ADEQ_LANES": f"group/{language},any",
            "ADEQ_CAPACITY": str(CAPACITY),
        }
        return subprocess.Popen(command, cwd=folder, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)

    def kill(self, name: str) -> None:
        """In the midst of its work."""
        _end(self.workers.pop(name))

    def stop(self) -> dict[str, int]:
        """Ask all to end, and wait for them: their exit statuses."""
        for worker in self.workers.values():
            worker.terminate()
        return {name: _wait(worker) for name, worker in self.workers.items()}

    def end(self) -> None:
        """Kill those that are left."""
        for worker in self.workers.values():
            _end(worker)


def _end(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    _wait(worker)


def _wait(worker: subprocess.Popen[str]) -> int:
    try:
        return worker.wait(DEADLINE)
    except subprocess.TimeoutExpired:
        worker.kill()
        raise
    finally:
        if worker.stdout:
            worker.stdout.close()


def tasks(producer: str, number: int, lanes: Sequence[str]) -> Iterator[dict[str, Any]]:
    """In lanes by chance; one in 50 needs a lock, one in 100 fails at first, one in 10 takes a while.

    Some take longer than a lease, and some of these with a lock.
    Lanes in turn would give each kind of task to one language, since the kinds come in turn too.
    """
    chance = random.Random(producer)
    for at in range(number):
        payload: dict[str, Any] = {}
        if at % 50 == 7:
            payload = {"lock": f"r{at // 50 % RESOURCES}", "ms": LONGER_MS if at % 2500 == 57 else 2}
        elif at % 500 == 21:
            payload = {"ms": LONGER_MS}
        elif at % 100 == 13:
            payload = {"fail_first": True}
        elif at % 10 == 3:
            payload = {"ms": 20}
        yield {"id": f"{producer}-{at}", "lane": chance.choice(lanes), "payload": payload}


def lines(all_tasks: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(task) + "\n" for task in all_tasks)
