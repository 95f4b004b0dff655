"""A command that runs while something is held, and ends if it is lost."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Self

from pyadeq.errors import ConfigError

LOOK = 0.1  # seconds between two looks while the command runs
FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
PR_SET_PDEATHSIG = 1


def run_command(command: list[str], env: dict[str, str], lost: threading.Event, kill_after: float) -> int:
    """Run a command, at most until `lost` is set. Returns its exit status; 128 + n if signal n ended it.

    kill_after: seconds from SIGTERM to SIGKILL for a command that must end.
    """
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        early.append(number) if child is None else child.send_signal(number)

    # A signal that is ignored stays ignored, here and in the command: nohup, and `&` in a script, rely on it.
    before = {one: signal.signal(one, forward) for one in FORWARDED if signal.getsignal(one) != signal.SIG_IGN}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the command, too
    try:
        # If this process is killed, nothing renews the lock: the command must not go on without it.
        child = subprocess.Popen(command, env=env, preexec_fn=_child(before[signal.SIGINT]))  # noqa: PLW1509
        for number in early:
            child.send_signal(number)
        while (status := _status(child)) is None:
            if lost.is_set():
                status = _end(child, kill_after)
                break
    except OSError as error:
        raise ConfigError(f"COMMAND: {command[0]!r} cannot be run: {error.strerror}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _child(ctrl_c: Any) -> Callable[[], None]:
    """What the command does before it begins: it ends with us (on Linux), and ignores Ctrl-C only if we did before.

    ctrl_c: what we did before.
    """
    handler = signal.SIG_IGN if ctrl_c == signal.SIG_IGN else signal.SIG_DFL
    prctl = ctypes.CDLL(None).prctl if sys.platform.startswith("linux") else None

    def begin() -> None:  # nothing is imported or loaded here: other threads may hold locks
        signal.signal(signal.SIGINT, handler)
        if prctl:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

    return begin


def _status(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(LOOK)
    except subprocess.TimeoutExpired:
        return None


def _end(child: subprocess.Popen[bytes], kill_after: float) -> int:
    """End a command and all that it has started: a shell that ends leaves its programs behind."""
    with ExitStack() as stack:
        family = [stack.enter_context(one) for one in _family(child.pid)]
        child.terminate()  # first: a shell whose program ends would start the next one
        for one in family:
            one.signal(signal.SIGTERM)
        until = monotonic() + kill_after
        while monotonic() < until and not (child.poll() is not None and all(one.ended() for one in family)):
            sleep(LOOK)
        if child.poll() is None:
            family += [stack.enter_context(one) for one in _family(child.pid)]
            child.kill()
        for one in family:
            one.signal(signal.SIGKILL)
        return child.wait()


class _Descendant:
    """A process below the command. A number alone could be that of another process soon."""

    def __init__(self, pid: int) -> None:
        self._file = os.pidfd_open(pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._file, number)

    def ended(self) -> bool:
        return bool(select.select([self._file], [], [], 0)[0])


def _family(pid: int) -> Iterator[_Descendant]:
    """Yield the processes that a process has started, and theirs. Only Linux tells; elsewhere, none."""
    pids = [pid]
    for one in pids:  # it grows meanwhile
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):
                pids += map(int, path.read_text().split())
    for one in pids[1:]:
        with suppress(OSError, AttributeError):
            yield _Descendant(one)
