"""A fork of this process that does one thing and tells of it in lines."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable

Write = Callable[[str], None]


class Child:
    """do: called in the fork with what writes a line; the fork ends with it."""

    def __init__(self, do: Callable[[Write], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reading)
                with os.fdopen(writing, "w", buffering=1) as out:
                    do(lambda line: print(line, file=out))
                code = 0
            except BaseException as error:
                print(f"in a child: {error!r}", file=sys.stderr)
            finally:
                os._exit(code)
        os.close(writing)
        self._pipe = os.fdopen(reading, "rb", buffering=0)
        self._read = b""

    def line(self, patience: float, given_up: Callable[[], bool]) -> str | None:
        """The next one; '' at the end; None if nothing comes for so many seconds, or there is no hope.

        given_up: asked each second.
        """
        deadline = time.monotonic() + patience
        while b"\n" not in self._read:
            if not select.select([self._pipe], [], [], 1.0)[0]:
                if time.monotonic() > deadline or given_up():
                    return None
                continue
            if not (data := os.read(self._pipe.fileno(), 1 << 16)):
                return ""
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        return line.decode()

    def all(self) -> str:
        """What it tells until it ends, which may take as long as it likes."""
        told = self._pipe.readall() or b""
        assert self.end() == 0, "a child has failed"
        return told.decode()

    def end(self) -> int:
        """Wait until it ends; how: as subprocess says it, minus a signal's number if that ended it."""
        self._pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.end()
