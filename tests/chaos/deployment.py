"""Clients of several builds on one queue, each a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.chaos.newer import ROOT
from tests.waiting import DEADLINE, wait_until


class Build(NamedTuple):
    """path: where its package is. tests: the folder with its programs. version: how its version begins."""

    path: Path
    version: str
    tests: Path = ROOT / "tests/chaos"


class Program:
    """One client process, and what it has said."""

    def __init__(self, build: Build, program: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, program, *arguments],
            env={**os.environ, "PYTHONPATH": str(build.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said: list[dict[str, Any]] = []
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.said.append(json.loads(line))

    def all(self, word: str) -> list[Any]:
        return [one[word] for one in list(self.said) if word in one]

    def until(self, word: str, count: int = 1) -> Any:
        """The last thing of a kind that it has said, as soon as there are so many."""
        wait_until(lambda: len(self.all(word)) >= count)
        return self.all(word)[-1]

    def go_on(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self, how: signal.Signals | None = signal.SIGTERM) -> int:
        """Its exit status. how: None lets it come to its end by itself."""
        if how:
            self._process.send_signal(how)
        status = self._process.wait(DEADLINE)
        self._listening.join(DEADLINE)
        return status

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Deployment:
    """Workers and producers of two builds on one queue."""

    def __init__(self, url: str, builds: dict[str, Build], folder: Path) -> None:
        self.url, self.builds, self.folder = url, builds, folder
        self._stack = ExitStack()
        self._count = 0

    def start(self, build: str, role: str) -> Program:
        self._count += 1
        of, name = self.builds[build], f"{role}-{self._count}-{build}"
        program = self.run(build, of.tests / "deployed.py", role, self.url, "q", name, str(self.folder))
        assert program.until("version").startswith(of.version)
        return program

    def run(self, build: str, program: Path, *arguments: str) -> Program:
        started = Program(self.builds[build], program, *arguments)
        self._stack.callback(started.close)
        return started

    def replace(self, programs: list[tuple[str, Program]], build: str) -> list[tuple[str, Program]]:
        """One after the other, the first one killed; each new one must have done something before the next goes."""
        new = []
        for number, (role, program) in enumerate(programs):
            killed = number == 0
            assert program.end(signal.SIGKILL if killed else signal.SIGTERM) == (-signal.SIGKILL if killed else 0)
            new.append((role, self.start(build, role)))
            new[-1][1].until("ended" if role == "work" else "put", 5)
        return new

    def command_line(self, build: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            [sys.executable, "-m", "pyadeq.ext.cli", "scripts", "migrate", "-o", "json", "--url", self.url, *arguments],
            env={**os.environ, "PYTHONPATH": str(self.builds[build].path)},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
