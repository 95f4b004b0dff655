"""Running the command line: in this process, which is quick; as a process of its own; at a terminal."""

import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from types import TracebackType
from typing import Any, NamedTuple, Self
from unittest import mock

import typer.main

from pyadeq import Adeq, Queue
from pyadeq.ext.cli.app import run
from tests.waiting import DEADLINE

COMMAND = [sys.executable, "-m", "pyadeq.ext.cli"]
# Control-C goes to those whose terminal it is.
AT_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
# Typer puts its commands together anew at each run, which takes ten times as long as a command.
put_together = cache(typer.main.get_command)


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    stdout: str
    stderr: str


class Place(NamedTuple):
    """A queue, and what the commands need to find it."""

    client: Adeq
    queue: Queue
    url: str

    @property
    def there(self) -> tuple[str, ...]:
        return "--queue", self.queue.name, "--url", self.url


def environment(**changes: Any) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ADEQ_")}
    return {**kept, "ADEQ_CONFIG": os.devnull, **changes}


def adeq(*arguments: str, stdin: bytes = b"", **changes: Any) -> Ended:
    """Run a command in this process. There is no terminal."""
    status: Any = 0
    with (
        mock.patch.object(typer.main, "get_command", put_together),
        mock.patch.object(sys, "argv", ["adeq", *arguments]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        mock.patch.dict(os.environ, environment(**changes), clear=True),
        redirect_stdout(io.StringIO()) as out,
        redirect_stderr(io.StringIO()) as err,
    ):
        try:
            run()
        except SystemExit as exit:
            status = exit.code
    return Ended(int(status or 0), out.getvalue(), err.getvalue())


def answer(*arguments: str, status: int = 0, **changes: Any) -> Any:
    """What a command answers as JSON."""
    ended = adeq(*arguments, "-o", "json", **changes)
    assert (ended.status, ended.stderr) == (status, ""), ended
    return json.loads(ended.stdout)


def lines(*arguments: str, **changes: Any) -> list[list[str]]:
    """The words of each line of a command's table."""
    ended = adeq(*arguments, **changes)
    assert (ended.status, ended.stderr) == (0, ""), ended
    return [line.split() for line in ended.stdout.splitlines()]


def error(status: int, *arguments: str, **changes: Any) -> str:
    """The only line on stderr of a command that fails."""
    ended = adeq(*arguments, **changes)
    assert ended.status == status, ended
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    return line


def complete(line: str, **environment: str) -> list[str]:
    """What bash would offer after this line."""
    words: dict[str, Any] = {"_ADEQ_COMPLETE": "complete_bash", "COMP_WORDS": line, **environment}
    ended = adeq(**words, COMP_CWORD=str(len(line.split(" ")) - 1))
    assert ended.stderr == ""
    return ended.stdout.split()


def process(*arguments: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    env = environment(**changes)
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=DEADLINE, check=False, env=env
    )


class Terminal:
    """A command at a terminal of 100 columns; a context manager."""

    def __init__(self, *arguments: str, **changes: Any) -> None:
        self._ours, theirs = pty.openpty()
        env = environment(**{"TERM": "xterm", "COLUMNS": "100", "LINES": "40", **changes})
        command = [sys.executable, "-c", AT_TERMINAL, *COMMAND, *arguments]
        self.child = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True
        )
        os.close(theirs)
        self.seen = ""

    def enter(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def read_until(self, text: str) -> None:
        """Read what the command shows until this text is in it."""
        deadline = time.monotonic() + DEADLINE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert self._read(), self.seen

    def wait(self) -> int:
        """Read on until the command ends; its exit status."""
        deadline = time.monotonic() + DEADLINE
        while self._read():
            assert time.monotonic() < deadline, self.seen
        return self.child.wait(DEADLINE)

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], DEADLINE)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says so that the other end is closed
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.child.kill()
        self.child.wait()
        os.close(self._ours)
