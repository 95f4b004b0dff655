"""The process that renews the leases of a worker, run by it as `python -m pyadeq._renewer`.

    standard input    a line of JSON: where to connect and for whom; then a line for each change:
                      + BUSY LEASE ID TOKEN ID TOKEN …    renew these too; LEASE: seconds
                      - BUSY TOKEN …                      renew these no more
                      ? BUSY                              renew now
                      . BUSY                              the worker's loop moves
                      BUSY is how many tasks the worker holds. EOF: end
    standard output   lines of JSON:
                      ["ready"]
                      ["heard", [[token, status], …], mode, capacity]
                      ["log", level, text]
                      ["moving"], after a sign of life

While the worker does not read, what the log says is lost, and what was heard is said later.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

from pyadeq._worker.connections import Settings, connect
from pyadeq._worker.partitions import queue_by
from pyadeq._worker.renewal.base import Heard
from pyadeq._worker.renewal.loop import LoopRenewal

POLL = 0.5  # seconds between looks at the parent: a fork of it may keep our standard input open
REST = 0.02  # seconds after a read, so that many lines come at once
MOST_READ = 1024 * 1024
MOST_TOLD = 500
PROC = Path("/proc/self/stat")
log = logging.getLogger("pyadeq.worker")


class Renewer(LoopRenewal):
    """Renews only while the parent runs and its event loop has been heard of lately."""

    def __init__(self, settings: Settings, busy: Callable[[], int], heard: Callable[[Heard], None]) -> None:
        adeq = connect(settings["client"])
        queue = queue_by(adeq, settings["queue"], settings["base"])
        super().__init__(queue, settings["worker"], settings["lease"], busy, heard)
        self.moved = monotonic()  # when the parent's loop last did
        self._parent: int = settings["parent"]
        self._patience: float = settings["patience"]
        self._why = ""

    async def _round(self) -> bool:
        why = standing(self._parent)
        if not why and monotonic() - self.moved > self._patience:
            why = f"has given no sign of life for {self._patience:g} s"
        if why and not self._why:
            log.warning("leases are not renewed: the worker's process (%d) %s", self._parent, why)
        self._why = why
        return False if why else await super()._round()


class Pipe(logging.Handler):
    """Our standard output. It never waits for the parent: what finds it full is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._rest = b""
        os.set_blocking(1, False)

    def say(self, *words: Any) -> bool:
        """Whether it is said, or will be."""
        if not self._write():
            return False
        self._rest = json.dumps(words).encode() + b"\n"
        self._write()
        return True

    def emit(self, record: logging.LogRecord) -> None:
        self.say("log", record.levelno, self.format(record))

    def _write(self) -> bool:
        """Whether all of the last line is written."""
        try:
            while self._rest:
                self._rest = self._rest[os.write(1, self._rest) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:  # the parent is gone
            os._exit(0)
        return True


class Helper:
    """What the parent says, and what it hears."""

    def __init__(self, settings: Settings, unread: bytes) -> None:
        self.parent: int = settings["parent"]
        self.pipe = Pipe()
        log.addHandler(self.pipe)
        self._unread = unread
        self._busy = 0
        self._untold: dict[str, str] = {}
        self._ended = asyncio.Event()
        self._renewal = Renewer(settings, lambda: self._busy, self._tell)

    async def live(self) -> None:
        """Renew leases until the parent has exited or has closed the pipe to this process."""
        self._loop = asyncio.get_running_loop()
        await self._renewal.start()
        self._loop.add_reader(0, self._read)
        self.pipe.say("ready")
        while os.getppid() == self.parent and not self._ended.is_set():
            try:
                await asyncio.wait_for(self._ended.wait(), POLL)
            except TimeoutError:
                continue

    def _read(self) -> None:
        data = os.read(0, MOST_READ)
        if not data:
            self._loop.remove_reader(0)
            self._ended.set()
            return
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._do(*line.decode().split())
        self._renewal.moved = monotonic()
        self._loop.remove_reader(0)
        self._loop.call_later(REST, self._loop.add_reader, 0, self._read)

    def _do(self, what: str, busy: str, *words: str) -> None:
        self._busy = int(busy)
        match what:
            case "+":
                self._renewal.hold(list(zip(words[1::2], words[2::2], strict=True)), float(words[0]))
            case "-":
                self._renewal.drop(words)
            case "?":
                self._renewal.ask()
            case ".":
                self.pipe.say("moving")

    def _tell(self, heard: Heard) -> None:
        self._untold |= heard.interrupted
        while self.pipe.say("heard", list(self._untold.items())[:MOST_TOLD], heard.mode, heard.capacity):
            for token in list(self._untold)[:MOST_TOLD]:
                del self._untold[token]
            if not self._untold:
                return


def standing(pid: int) -> str:
    """Why a process does not run: it is stopped, or gone. Nothing if it runs."""
    state = state_in_proc(pid) if PROC.exists() else state_from_ps(pid)
    return {"T": "is stopped", "t": "is stopped", "": "is gone", "Z": "is gone", "X": "is gone"}.get(state, "")


def state_in_proc(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def state_from_ps(pid: int) -> str:
    command = ["ps", "-o", "state=", "-p", str(pid)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()[:1]


def main() -> None:
    # Only the end of the parent ends us.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    data = b""
    while b"\n" not in data:
        more = os.read(0, MOST_READ)
        if not more:
            return
        data += more
    settings, _, unread = data.partition(b"\n")
    asyncio.run(live(json.loads(settings), unread))


async def live(settings: Settings, unread: bytes) -> None:
    await Helper(settings, unread).live()
    os._exit(0)  # no caller waits for what is under way


if __name__ == "__main__":
    main()
