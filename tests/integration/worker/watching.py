"""A command that follows events, while a test makes them."""

import signal
import subprocess
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.integration.cli.run import COMMAND, environment
from tests.waiting import DEADLINE


class Watch:
    """A watch that runs while the test does something; a context manager. It has begun when the with block begins.

    begin: does what the watch shows, with `beginner` in it.
    """

    def __init__(self, begin: Callable[[], object], *arguments: str) -> None:
        command = [*COMMAND, *arguments, "--interval", "50ms"]
        self._child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        self._begin = begin
        self._lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read)

    def until(self, text: str) -> list[str]:
        """The lines but for those that told us that it has begun, when this is in one of them."""
        with self._changed:
            assert self._changed.wait_for(lambda: any(text in line for line in self._lines), DEADLINE), self._lines
            return [line for line in self._lines if "beginner" not in line]

    def interrupt(self) -> int:
        self._child.send_signal(signal.SIGINT)
        self._reader.join(DEADLINE)
        return self._child.wait(DEADLINE)

    def _read(self) -> None:
        assert self._child.stdout
        for line in self._child.stdout:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify()

    def __enter__(self) -> Self:
        self._reader.start()
        with self._changed:
            while not self._lines:
                self._begin()
                self._changed.wait(0.1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._child.kill()
        self._child.wait(DEADLINE)
        self._reader.join(DEADLINE)
        assert self._child.stdout
        self._child.stdout.close()
