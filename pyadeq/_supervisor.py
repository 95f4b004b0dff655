"""The process between an embedded server and its program: when the program is gone, it ends the server.

Run by path as `python -I -S _supervisor.py PARENT RUN_DIR DATA_DIR BINARY CONFIG`, so it imports only the
standard library, and little of it. One server runs at a time, in DATA_DIR as its working directory.

    standard input    r: stop the server if it runs, and start it again on the same data
                      EOF, or any other byte: stop the server, remove RUN_DIR, end
    standard output   one byte for each server that ended
    standard error    errors, and all that the server prints
"""

import fcntl
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

GRACE = 5.0  # seconds from SIGTERM to SIGKILL
POLL = 0.5  # seconds between looks at the parent: a fork of it may keep our standard input open
PR_SET_PDEATHSIG = 1


class Supervisor:
    def __init__(self, parent: int, data_dir: str, command: list[str]) -> None:
        self.parent = parent
        self.data_dir = data_dir
        self.command = command
        self.server = 0  # its pid, 0 when none runs
        self.child_ended = watch_children()

    def run(self) -> None:
        """Serve the parent until it is gone."""
        if self._lock_data():
            self._start()
        else:
            self._report_end()
        while os.getppid() == self.parent:
            readable, _, _ = select.select([0, self.child_ended], [], [], POLL)
            if self.child_ended in readable:
                os.read(self.child_ended, 512)
                self._reap()
            if 0 in readable:
                if os.read(0, 1) != b"r":
                    break
                self._stop()
                self._start()
        self._stop()

    def _lock_data(self) -> bool:
        """Take the data for one server. The server inherits the lock: it holds while either of us lives."""
        lock = os.open(os.path.join(self.data_dir, "adeq.lock"), os.O_CREAT | os.O_RDWR, 0o600)
        os.set_inheritable(lock, True)
        deadline = time.monotonic() + GRACE + 1  # the server of a parent that has just died may still stop
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    print(f"data_dir {self.data_dir!r} is in use by another embedded server", file=sys.stderr)
                    return False
                if select.select([0], [], [], 0.02)[0]:
                    return False  # the parent gave up

    def _start(self) -> None:
        die_with_us = death_signal()
        supervisor = os.getpid()
        self.server = os.fork()
        if self.server:
            return
        try:
            die_with_us()
            if os.getppid() != supervisor:
                os._exit(1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.dup2(os.open(os.devnull, os.O_RDWR), 0)
            os.dup2(2, 1)
            os.chdir(self.data_dir)
            os.execv(self.command[0], self.command)
        except OSError as error:
            print(f"cannot run {self.command[0]!r} in {self.data_dir!r}: {error}", file=sys.stderr)
        finally:
            os._exit(127)

    def _reap(self) -> None:
        if self.server and os.waitpid(self.server, os.WNOHANG)[0]:
            self.server = 0
            self._report_end()

    def _report_end(self) -> None:
        with suppress(BrokenPipeError):  # the parent is gone
            os.write(1, b".")

    def _stop(self) -> None:
        self._reap()
        if not self.server:
            return
        os.kill(self.server, signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while self.server and time.monotonic() < deadline:
            select.select([self.child_ended], [], [], 0.05)
            self._reap()
        if self.server:
            os.kill(self.server, signal.SIGKILL)
            os.waitpid(self.server, 0)
            self.server = 0
            self._report_end()


def watch_children() -> int:
    """Make a child's end readable, so that one select waits for it and for the parent."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return ended


def death_signal() -> Callable[[], object]:
    """What a child calls to die with this process even when this process is killed (Linux only)."""
    # SIGKILL loses nothing that a server answered: it has written it to its append-only file before
    return prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def prctl(option: int, value: int) -> Callable[[], int]:
    """A call that sets this process's option, 0 if it did; it loads nothing, so that a forked child may make it."""
    if not sys.platform.startswith("linux"):
        return lambda: -1
    import ctypes

    function = ctypes.CDLL(None).prctl
    return lambda: int(function(option, value, 0, 0, 0))


def main(parent: str, run_dir: str, data_dir: str, binary: str, config: str) -> None:
    # Only the parent ends us. What it blocked or ignored must reach neither us nor the server.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        Supervisor(int(parent), data_dir, [binary, config]).run()
    finally:
        import shutil

        shutil.rmtree(run_dir, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
