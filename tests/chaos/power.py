"""The power goes off: the server dies, and of its append-only file there is only what the disk is known to have.

A SIGKILL alone loses nothing that was written, for the page cache survives it. A power cut takes what came after the
last fsync. Neither the clients under test nor WAITAOF may say which that was: they are what is to be tested. So we
watch the thread of the server that calls fsync, every 10 ms: when it has moved, the disk has at most what was in the
file then. There the file is cut, a few bytes into the next command. What is lost is told too short by the length of an
fsync and 10 ms, and never too long.

What one fsync confirms is told to many clients, one after the other. So the server is frozen first, by a script that
does not end: when a script begins, all that was answered has been sent.
"""

from __future__ import annotations

import socket
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import redis

from pyadeq.embedded import EmbeddedServer
from tests.waiting import wait_until

EVERY = 0.01  # seconds
APART = 0.5  # seconds from the last move of one fsync to the first of the next, at least: they come once a second
TORN = b"*3\r\n$3\r\nS"  # shorter than any command in the file
FREEZE = "redis.log(redis.LOG_WARNING, ARGV[1]) while true do end"
# What is answered is held back from the file while an fsync is on its way.
FREEZE_IF_WRITTEN = f"""
local info = redis.call("INFO", "persistence")
if not (info:find("aof_buffer_length:0", 1, true) and info:find("aof_pending_bio_fsync:0", 1, true)) then return 0 end
{FREEZE}
"""


class Lost(NamedTuple):
    """What a power cut took: so many bytes at the end of the append-only file, so many seconds of writes.

    since: all that was answered before is there, by the monotonic clock. That is the fsync before the last: what is
    answered while one is on its way comes into the file after it, and to the disk with the next.
    """

    bytes: int
    seconds: float
    since: float


class PowerCut:
    """Watches a server from here on, until the power goes off.

        with PowerCut(server) as power:
            ...  # load
            lost = power.cut()  # in a thread, where clients run on an event loop
        server.restart()

    It needs Linux, and a server with `appendonly yes`; with `appendfsync always` it keeps all that was answered. The
    append-only file is not rewritten meanwhile.
    """

    def __init__(self, server: EmbeddedServer) -> None:
        self._server = server
        with redis.Redis.from_url(server.url, decode_responses=True) as client:
            self._always = client.config_get("appendfsync")["appendfsync"] == "always"
            client.config_set("auto-aof-rewrite-percentage", 0)
            wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        self._file = _file(server.data_dir / "appendonlydir")
        self._fsyncs = _Fsyncs(server.pid, self._file)

    def __enter__(self) -> PowerCut:
        return self

    def __exit__(self, *_: object) -> None:
        self._fsyncs.end()

    @property
    def last_fsync(self) -> float:
        """When the last one was, by the monotonic clock; 0.01 s late at most."""
        return self._fsyncs.last.at

    @property
    def since(self) -> float:
        """All that was answered before is on the disk. The fsync before the last, if there were two; 0.01 s late."""
        return self._fsyncs.before

    def cut(self, keep: float = 0.0, old: float = 0.0) -> Lost:
        """Turn the power off. The server is dead then, and `restart()` finds what the disk had.

        keep: how much of what it need not have, the disk has nevertheless, from 0.0 for nothing to 1.0 for all.
        old: the last fsync is at least so many seconds ago, which has an end where they come every second.
        """
        if not self._always:
            wait_until(lambda: time.monotonic() - self.last_fsync >= old)
        freeze(self._server)
        frozen = time.monotonic()
        self._fsyncs.end()
        self._server.kill()
        synced, at = self._fsyncs.last
        size = self._file.stat().st_size
        if self._always or synced == size:
            with self._file.open("ab") as file:
                file.write(TORN)
            return Lost(0, 0.0, frozen if self._always else self.since)
        end = min(size, synced + max(len(TORN), round(keep * (size - synced))))
        with self._file.open("r+b") as file:
            file.truncate(end)
        return Lost(size - end, frozen - at, self.since)


class _Fsync(NamedTuple):
    """The size of the file when it was over, and a time when it was no larger."""

    size: int
    at: float


class _Fsyncs:
    """How much of a file the disk has at most, by what the thread does that calls fsync."""

    def __init__(self, pid: int, file: Path) -> None:
        self._file = file
        tasks = Path(f"/proc/{pid}/task").iterdir()
        (thread,) = (task for task in tasks if (task / "comm").read_text().startswith("bio_aof"))
        self._thread = thread / "status"
        self._moves = ""
        self.last = _Fsync(0, 0.0)
        self.before = 0.0
        self._look()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def end(self) -> None:
        """Watch no longer."""
        self._ended.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._ended.wait(EVERY):
            self._look()
        self._look()

    def _look(self) -> None:
        with suppress(ProcessLookupError, FileNotFoundError):  # the server has ended
            # It sleeps when it has nothing to do, and again at the end of each fsync.
            (moves,) = (line for line in self._thread.read_text().splitlines() if line.startswith("voluntary"))
            if moves != self._moves:
                self._moves, at = moves, time.monotonic()
                if at - self.last.at > APART:
                    self.before = self.last.at
                self.last = _Fsync(self._file.stat().st_size, at)


def freeze(server: EmbeddedServer, script: str = FREEZE) -> None:
    """Have a server begin a script that does not end, and wait until it has: nothing is answered from there on."""
    name = uuid.uuid4().hex
    command = ["EVAL", script, "0", name]
    asked = b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word.encode()) for word in command)
    log = server.socket_path.parent / "server.log"
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(server.socket_path))
        one.setblocking(False)
        one.sendall(asked)

        def frozen() -> bool:
            with suppress(BlockingIOError):
                assert one.recv(1024) == b":0\r\n"
                one.sendall(asked)
            return name in log.read_text(errors="replace")

        wait_until(frozen)


def kill_when_written(server: EmbeddedServer) -> None:
    """End a server with SIGKILL when all that it has answered is in its file, though not on its disk."""
    freeze(server, FREEZE_IF_WRITTEN)
    server.kill()


def _file(folder: Path) -> Path:
    """The file that is written now: the last of the manifest."""
    (manifest,) = folder.glob("*.manifest")
    names = [line.split()[1] for line in manifest.read_text().splitlines() if " type i" in line]
    return folder / names[-1]
