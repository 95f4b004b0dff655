"""The process between a worker and a program that it runs for a task: it ends the program and all its child processes.

Run by path as `python -I -S process_group.py PARENT KILL_AFTER FOLDER MAX RESULT ERROR PAYLOAD PROGRAM [ARGUMENT]...`:
KILL_AFTER: seconds from SIGTERM to SIGKILL; FOLDER: where the output is kept, or empty; MAX: bytes in each file;
RESULT, ERROR: bytes of standard output and standard error in the answer; PAYLOAD: its length in bytes. It runs once per
task, so it imports little.

    standard input    the payload; then EOF, or any byte: end the program now
    standard output   g PID                             it runs, in a process group of this number
                      p TEXT                            a line that it wrote to descriptor 3
                      x STATUS MEMORY PRINTED RESULT ERROR FILES
                          it and all its processes ended; MEMORY: 1 if the kernel's out-of-memory killer ended it;
                          PRINTED: bytes on its standard output; FILES: 0 if they are not whole; then RESULT bytes, the
                          end of its standard output, and ERROR bytes, of its standard error
    standard error    what went wrong here
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
PROGRESS = 3  # the descriptor
LONGEST_LINE = 1000  # bytes of progress
MOST_LINES = 100  # of what is read at a time; the newest count
CHUNK = 65536
POLL = 0.5  # seconds between looks at the parent: a fork of it may keep our standard input open
GIVE_UP = 5.0  # seconds after SIGKILL: an unkillable process must not block the worker
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CANNOT_RUN = 126  # as shells say it


class Output:
    """One stream of the program: its end is kept here, and its beginning in a file."""

    def __init__(self, keep: int, path: str | None, limit: int) -> None:
        self.fd, self.theirs = os.pipe()
        self.keep = keep
        self.total = 0
        self.end = bytearray()
        self.whole = True
        self._room = limit
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._file = None if path is None else os.open(path, flags, 0o600)

    def read(self) -> bool:
        """Take what is there; False at the end."""
        data = os.read(self.fd, CHUNK)
        self.total += len(data)
        self.end += data
        if len(self.end) > 2 * self.keep:
            del self.end[: -self.keep]
        if self._file is not None:
            self._write(data)
        return bool(data)

    def last(self) -> bytes:
        return bytes(self.end[-self.keep :]) if self.keep else b""

    def _write(self, data: bytes) -> None:
        assert self._file is not None
        self.whole &= len(data) <= self._room
        rest = data[: self._room]
        self._room -= len(rest)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:  # a full disk is no reason to end the program
            print(f"the output of a program cannot be kept: {error}", file=sys.stderr)
            self.whole, self._room = False, 0


class Progress:
    """The lines that the program writes to its descriptor 3. A line that is not read at once is dropped."""

    keep = 0

    def __init__(self) -> None:
        self.fd, self.theirs = os.pipe()
        self._rest = b""

    def read(self) -> bool:
        """Pass on the lines that are there; False at the end."""
        data = os.read(self.fd, CHUNK)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[: LONGEST_LINE + 1]
        for line in lines[-MOST_LINES:]:
            if select.select([], [1], [], 0)[1]:  # a pipe that is ready takes a line of this length whole
                say(b"p " + line[:LONGEST_LINE])
        return bool(data)


class Group:
    """The program, and all that it starts."""

    def __init__(self, parent: int, kill_after: float, payload: bytes, outputs: tuple[Output, Output]) -> None:
        from pyadeq._supervisor import death_signal, prctl, watch_children

        self.parent = parent
        self.kill_after = kill_after
        self.payload = memoryview(payload)
        self.outputs = outputs
        self.progress = Progress()
        self.reading: dict[int, Output | Progress] = {one.fd: one for one in (*outputs, self.progress)}
        # If the system supports it, orphans of the program become our children, in any process group.
        self.adopts = prctl(PR_SET_CHILD_SUBREAPER, 1)() == 0
        self.die_with_us = death_signal()
        self.child_ended = watch_children()
        self.status: int | None = None  # of the program, once it has ended
        self.told: set[int] = set()
        self.ending = 0.0  # since when; 0: not yet
        self.stdin = self.pid = 0

    def run(self, command: list[str]) -> None:
        """Start the program, and return when nothing of it is left."""
        self._start(command)
        say(b"g %d" % self.pid)
        try:
            self._watch()
        except BaseException:
            self._signal(signal.SIGKILL, set())
            raise
        for stream in self.reading.values():  # what is still in the pipes
            while select.select([stream.fd], [], [], 0)[0] and stream.read():
                pass

    def _watch(self) -> None:
        heard = [0]
        while True:
            left = self._reap()
            if not left:
                break
            if self.status is not None or not heard or os.getppid() != self.parent:
                self.ending = self.ending or time.monotonic()
                if time.monotonic() > self.ending + self.kill_after + GIVE_UP:
                    print("a program's processes do not end, not even by SIGKILL", file=sys.stderr)
                    break
                self._end()
            waiting = [self.stdin] if self.stdin else []
            # While the program ends, orphans become our children at any time without a notification, so poll.
            pause = 0.05 if self.ending else POLL
            readable, writable, _ = select.select([*heard, self.child_ended, *self.reading], waiting, [], pause)
            if 0 in readable:
                heard = []
            if self.child_ended in readable:
                os.read(self.child_ended, 512)
            self._read(readable)
            if writable:
                self._feed()

    def _start(self, command: list[str]) -> None:
        theirs, self.stdin = os.pipe()
        os.set_blocking(self.stdin, False)
        out, err = self.outputs
        group = os.getpid()
        # Block the signals until the child runs the program: before that, it would ignore them as this process does.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            for fd in (theirs, out.theirs, err.theirs, self.progress.theirs):
                os.close(fd)
            return
        try:
            os.setsid()
            self.die_with_us()
            if os.getppid() != group:
                os._exit(1)
            for number in (*ENDING, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            for fd, there in ((theirs, 0), (out.theirs, 1), (err.theirs, 2)):
                os.dup2(fd, there)
            if self.progress.theirs == PROGRESS:
                os.set_inheritable(PROGRESS, True)
            else:
                os.dup2(self.progress.theirs, PROGRESS)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"cannot run {command[0]!r}: {error.strerror}\n".encode(errors="backslashreplace"))
        finally:
            os._exit(CANNOT_RUN)

    def _read(self, readable: list[int]) -> None:
        for fd in [fd for fd in self.reading if fd in readable]:
            if not self.reading[fd].read():
                del self.reading[fd]

    def _feed(self) -> None:
        try:
            self.payload = self.payload[os.write(self.stdin, self.payload[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want all of it
            self.payload = self.payload[:0]
        if not self.payload:
            os.close(self.stdin)
            self.stdin = 0

    def _reap(self) -> bool:
        """Reap ended processes. Returns False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return not self.adopts and self._in_group()
            if not pid:
                return True
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
            else:
                self.told.discard(pid)

    def _in_group(self) -> bool:
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):  # the latter is what macOS says of processes that have ended
            return False
        return True

    def _end(self) -> None:
        """Signal all processes: by SIGTERM once, and after `kill_after` by SIGKILL repeatedly."""
        if time.monotonic() >= self.ending + self.kill_after:
            self._signal(signal.SIGKILL, set())
        else:
            self._signal(signal.SIGTERM, self.told)

    def _signal(self, number: signal.Signals, told: set[int]) -> None:
        """Signal the group, and our children outside of it. When they have ended, their children become ours."""
        children = {pid: os.getpgid(pid) for pid in self._children()}
        # After the program was reaped, the group's number may be reused as soon as the group is empty.
        if self.pid not in told and (not self.adopts or self.status is None or self.pid in children.values()):
            _send(os.killpg, self.pid, number, told)
        for pid, group in children.items():
            if pid not in told and group != self.pid:
                _send(os.kill, pid, number, told)

    def _children(self) -> list[int]:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children") as file:
                return [int(pid) for pid in file.read().split()]
        except OSError:
            return []


def _send(send: Callable[[int, int], None], pid: int, number: int, told: set[int]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        send(pid, number)
        told.add(pid)
        send(pid, signal.SIGCONT)  # a stopped process handles other signals only after SIGCONT


def say(line: bytes) -> None:
    with suppress(BrokenPipeError):  # the parent is gone: EOF on standard input will show it
        os.write(1, line + b"\n")


def memory_kills() -> int:
    """Return how many processes of our control group the out-of-memory killer has ended; 0 if this cannot be read."""
    count = 0
    with suppress(OSError, ValueError):
        with open("/proc/self/cgroup") as groups:
            lines = groups.read().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                file = f"/sys/fs/cgroup{path}/memory.events"
            elif controllers == "memory":
                file = f"/sys/fs/cgroup/memory{path}/memory.oom_control"
            else:
                continue
            with suppress(OSError), open(file) as events:
                count += sum(int(event.split()[1]) for event in events if event.startswith("oom_kill "))
    return count


def main(
    parent: str, kill_after: str, folder: str, limit: str, result: str, error: str, payload: str, *command: str
) -> None:
    # Import `pyadeq` as a mere folder: its __init__ would load much more.
    sys.modules["pyadeq"] = package = type(sys)("pyadeq")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    # Only the worker ends us. What it blocked or ignored must not reach the program.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    data = b"".join(_read_exactly(int(payload)))
    if len(data) < int(payload):
        return  # the worker is gone
    paths = [os.path.join(folder, name) if folder else None for name in ("stdout", "stderr")]
    out, err = Output(int(result), paths[0], int(limit)), Output(int(error), paths[1], int(limit))
    group, before = Group(int(parent), float(kill_after), data, (out, err)), memory_kills()
    group.run(list(command))
    status = group.status if group.status is not None else -signal.SIGKILL
    memory = status in (-signal.SIGKILL, 128 + signal.SIGKILL) and memory_kills() > before
    facts = (status, memory, out.total, len(out.last()), len(err.last()), out.whole and err.whole)
    head = f"x {' '.join(str(int(fact)) for fact in facts)}\n".encode()
    with suppress(BrokenPipeError), open(1, "wb", closefd=False) as answer:
        answer.write(head + out.last() + err.last())


def _read_exactly(count: int) -> list[bytes]:
    parts = []
    while count > 0 and (part := os.read(0, min(count, CHUNK))):
        parts.append(part)
        count -= len(part)
    return parts


if __name__ == "__main__":
    main(*sys.argv[1:])
