"""`adeq worker run --processes N`: a parent that starts N worker processes, and again those that crash.

Each child writes its state to a pipe twice a second: health and grace, as a line of JSON. The parent reads it, and
reports the health of all together. A child that cannot write has lost its parent, and stops.

As PID 1 of a container, the parent also takes the exit status of orphaned processes.
"""

from __future__ import annotations

import json
import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from math import inf
from time import monotonic

from pyadeq.asyncio import Health, HealthServer
from pyadeq.ext.cli.shared.common import FAILED, USAGE
from pyadeq.ext.cli.shared.ending import ending_signals

CHILD = "ADEQ_WORKER_PROCESS"
"""The environment variable of a child: its number, from 1, and the file descriptor to which it writes its state."""
SAY = 0.5  # seconds between two lines
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # before a crashed process is started again
LASTING = 60.0  # seconds after which a process counts as well, so that the next pause is the first again
LONGEST_WAIT = 1.0
CLEAN_UP = 15.0  # seconds, after the grace time, in which a process ends. Then it is killed
STARTING = Health(0.0, inf, 0, 0, "run", 0, 0)

log = logging.getLogger("pyadeq.worker")


@dataclass(frozen=True)
class HealthAt:
    """The address where the process reports its health, and the seconds of silence after which it is not well."""

    port: int
    host: str
    after: float


class Child:
    """A place for a process: one after the other, if it crashes. Times are by the monotonic clock."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.pid = 0
        self.pipe: int | None = None
        self.up = False
        self.due = inf
        """When it is to be started."""
        self.grace = 0.0
        self._began = self._heard = 0.0
        self._pause = FIRST_PAUSE
        self._unread = b""
        self._health = self._before = STARTING
        self._ended = False

    def start(self) -> None:
        """Start a process, in a group of its own: the signals of a terminal are for the parent."""
        self.due, self._began = inf, monotonic()
        self.pipe, theirs = os.pipe()
        os.set_blocking(self.pipe, False)
        os.set_inheritable(theirs, True)
        try:
            env = {**os.environ, CHILD: f"{self.number}:{theirs}"}
            command = [sys.executable, *sys.orig_argv[1:]]
            self.pid = os.posix_spawn(sys.executable, command, env, setpgroup=0)
        except OSError as error:  # for instance, there are too many processes now
            log.error("a process cannot be started: %s", error, extra={"fields": {"process": self.number}})
        finally:
            os.close(theirs)
        if not self.pid:
            self.end(again=True)

    def read(self) -> None:
        """Read what the process has said of itself."""
        assert self.pipe is not None
        with suppress(BlockingIOError):
            while data := os.read(self.pipe, 65536):
                self._unread += data
            os.close(self.pipe)
            self.pipe = None
        *lines, self._unread = self._unread.split(b"\n")
        if lines:
            said = json.loads(lines[-1])
            self._health, self.grace = Health(**said["health"]), said["grace"]
            self._heard, self.up = monotonic(), True

    def end(self, *, again: bool) -> float:
        """Note that the process has ended. Returns the seconds until it is started again."""
        now = monotonic()
        if self.pipe is not None:
            self.read()
        if self.pipe is not None:  # a process that it started has it still
            os.close(self.pipe)
        sums = Health.together([self._before, self._health])
        self._before = replace(sums, loop_age=0.0, server_age=0.0, running=0, concurrency=0, mode="run")
        self.pid, self.pipe, self.up, self._unread, self._health = 0, None, False, b"", STARTING
        self._ended = not again
        if now - self._began > LASTING:
            self._pause = FIRST_PAUSE
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        self.due = now + pause if again else inf
        return pause

    def health(self) -> Health:
        """Return the health now, with the sums of the processes before this one. Any thread may call it."""
        health = self._health
        if self._ended:
            health = replace(STARTING, server_age=0.0, mode="stop")
        elif self.up:
            silent = monotonic() - self._heard
            health = replace(health, loop_age=health.loop_age + silent, server_age=health.server_age + silent)
        return Health.together([health, replace(self._before, server_age=0.0)])

    def signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


class Processes:
    """N worker processes with the arguments of this one, until a signal or until all have been stopped."""

    def __init__(self, count: int, health: HealthAt | None) -> None:
        self._children = [Child(number) for number in range(1, count + 1)]
        self._health = health
        self._signals: list[int] = []
        self._stops = 0
        self._kill_at = inf
        self._status = 0

    def run(self) -> int:
        """Supervise them. Returns the exit status. Raises ConfigError."""
        with ExitStack() as stack:
            about: dict[str, object] = {"processes": len(self._children), "pid": os.getpid()}
            if at := self._health:
                about["health"] = stack.enter_context(
                    HealthServer(self._state, at.port, host=at.host, after=at.after)
                ).address
            woken = stack.enter_context(_wakings(self._signals))
            _say("supervisor started", **about)
            first, *others = self._children
            first.start()
            while any(child.pid or child.due < inf for child in self._children):
                self._wait(woken)
                while self._signals:
                    self._on_signal(self._signals.pop(0))
                self._reap()
                if others and first.up and not self._stops:  # not before: what is wrong with all is said once
                    for child in others:
                        child.start()
                    others = []
                for child in self._children:
                    if child.due <= monotonic():
                        child.start()
                if monotonic() >= self._kill_at:
                    self._kill()
            _say("supervisor stopped")
        return self._status

    def _state(self) -> Health:
        return Health.together([child.health() for child in self._children])

    def _wait(self, woken: int) -> None:
        """Wait until a process says something, ends, or is due, or until a signal comes."""
        pipes = {child.pipe: child for child in self._children if child.pipe is not None}
        until = min(self._kill_at, *(child.due for child in self._children), monotonic() + LONGEST_WAIT)
        for ready in select.select([woken, *pipes], [], [], max(0.0, until - monotonic()))[0]:
            if ready == woken:
                os.read(woken, 4096)
            else:
                pipes[ready].read()

    def _on_signal(self, number: int) -> None:
        self._stops += 1
        name = signal.Signals(number).name
        if self._stops == 1:
            grace = max(child.grace for child in self._children)
            _say("stopping: running tasks may finish", signal=name, grace=f"{grace:g}s")
            self._stop(grace)
        elif self._stops == 2:
            _say("stopping at once", signal=name)
            self._stop(0)
        else:
            self._kill()

    def _stop(self, grace: float) -> None:
        self._kill_at = monotonic() + grace + CLEAN_UP
        for child in self._children:
            child.due = inf
            child.signal(signal.SIGTERM)

    def _kill(self) -> None:
        self._kill_at = inf
        for child in self._children:
            if child.pid:
                log.warning("a process does not end: it is killed", extra={"fields": {"process": child.number}})
                child.signal(signal.SIGKILL)

    def _reap(self) -> None:
        """Take the exit status of each process that has ended; as PID 1, also of those of others."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for child in self._children:
                    if child.pid == ended[0]:
                        self._on_end(child, os.waitstatus_to_exitcode(ended[1]))

    def _on_end(self, child: Child, status: int) -> None:
        fields = {"process": child.number, "pid": child.pid, "status": status}
        known = any(other.up for other in self._children)
        again = not self._stops and status != 0 and (status != USAGE or known)
        pause = child.end(again=again)
        if again:
            log.warning("a process has ended: starting it again", extra={"fields": {**fields, "in": f"{pause:g}s"}})
            return
        _say("a process has ended", **fields)
        if self._stops and status == -signal.SIGTERM:  # it was starting, and had nothing to end
            return
        if status:
            self._status = status if status > 0 else FAILED


@contextmanager
def _wakings(numbers: list[int]) -> Iterator[int]:
    """Collect the signals that stop us. Yields what is readable after a signal, and after the end of a child."""
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    ending = ending_signals(signal.SIGTERM, signal.SIGINT)
    handlers = {number: signal.signal(number, lambda one, _: numbers.append(one)) for number in ending}
    handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        yield woken
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(wake)


class Parent:
    """What a child knows of its parent."""

    def __init__(self, said: str) -> None:
        self._said = said
        number, _, pipe = said.partition(":")
        self.number, self._pipe = int(number), int(pipe)
        os.set_inheritable(self._pipe, False)

    def name(self, name: str | None) -> str | None:
        """Make a name that was given for all processes one of this process."""
        return name and f"{name}-{self.number}"

    @contextmanager
    def told(self, state: Callable[[], Health], grace: float, gone: Callable[[], object]) -> Iterator[None]:
        """Tell it our state until the block ends. gone: called once, from another thread, if the parent is gone."""
        ended = threading.Event()

        def say() -> None:
            os.write(self._pipe, json.dumps({"health": asdict(state()), "grace": grace}).encode() + b"\n")

        def run() -> None:
            try:
                say()
                while not ended.wait(SAY):
                    say()
                say()
            except OSError:
                gone()

        thread = threading.Thread(target=run, name="adeq-parent", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(SAY)

    def keep(self) -> None:
        """Let the process that replaces this one be the same child."""
        os.set_inheritable(self._pipe, True)
        os.environ[CHILD] = self._said


def parent() -> Parent | None:
    """Return the parent of this process, if it is a child. Processes that it starts are none."""
    said = os.environ.pop(CHILD, "")
    return Parent(said) if said else None


def _say(message: str, **fields: object) -> None:
    log.info(message, extra={"fields": fields})
