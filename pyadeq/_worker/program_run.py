"""One run of a program: what is said to the process that looks after it (process_group.py), and what it answers."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_RESULT = 1024 * 1024
MAX_ERROR = 8000  # bytes: 8 KiB are kept of a failure, with a line that says how the program ended
GIVE_UP = 6.0  # seconds after SIGKILL; the process that looks after the program gives up a second earlier
GROUP = str(Path(__file__).with_name("process_group.py"))


@dataclass(frozen=True)
class Ended:
    """How a program ended.

    signal: which one ended it, 0: none. printed: the number of bytes on standard output. result, error: the ends of
    standard output and standard error. whole: whether the files contain everything.
    """

    status: int
    signal: int
    out_of_memory: bool
    printed: int
    result: bytes
    error: bytes
    whole: bool


class Lost(Exception):
    """The process that looked after the program was killed."""


class ProgramRun:
    """A program that is about to run. heard: called with each line of progress.

    folder: where its output is kept, at most `output_max` bytes of each stream. kill_after: as of Program.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None,
        folder: str | None,
        output_max: int,
        kill_after: float,
        heard: Callable[[str], object],
    ) -> None:
        self._command = command
        self._env = env
        self._cwd = cwd
        self._arguments = [str(os.getpid()), str(kill_after), folder or "", str(output_max)]
        self._patience = kill_after + GIVE_UP
        self._heard = heard
        self._group = 0

    async def __call__(self, payload: bytes) -> Ended:
        """Run it until nothing of it is left. Cancelled, end it with all that it started. Raises Lost, OSError."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", GROUP, *self._arguments, str(MAX_RESULT), str(MAX_ERROR), str(len(payload))),
            *self._command,
            stdin=PIPE,
            stdout=PIPE,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,  # Ctrl-C is for the worker
        )
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(payload)
            ended = await self._listen(process.stdout)
            if ended is None:
                self._kill()
                raise Lost
            return ended
        finally:
            if not process.stdin.is_closing():
                process.stdin.transport.abort()  # without its input, the helper ends the program
            await _to_the_end(self._wait(process, process.stdout))

    async def _listen(self, answers: asyncio.StreamReader) -> Ended | None:
        while line := await answers.readline():
            word, _, rest = line.rstrip(b"\n").partition(b" ")
            if word == b"g":
                self._group = int(rest)
            elif word == b"p":
                self._heard(rest.decode(errors="replace"))
            elif word == b"x":
                status, memory, printed, result, error, whole = map(int, rest.split())
                return Ended(
                    status if status >= 0 else 128 - status,
                    max(-status, 0),
                    bool(memory),
                    printed,
                    await answers.readexactly(result),
                    await answers.readexactly(error),
                    bool(whole),
                )
        return None

    async def _wait(self, process: asyncio.subprocess.Process, answers: asyncio.StreamReader) -> None:
        """Wait until the helper has ended. If it does not end in time, kill the helper and the program."""
        try:
            async with asyncio.timeout(self._patience):
                while await answers.read(65536):
                    pass
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            self._kill()
            await process.wait()

    def _kill(self) -> None:
        if self._group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._group, signal.SIGKILL)


async def _to_the_end(waiting: Coroutine[Any, Any, None]) -> None:
    """Await it to the end, even if we are cancelled: until then, processes of the program may still run."""
    task = asyncio.create_task(waiting)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    await task
