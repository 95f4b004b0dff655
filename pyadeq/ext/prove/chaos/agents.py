"""The client processes of a chaos run, forked by one that has all modules loaded.

    python -m pyadeq.ext.prove.chaos.agents

takes requests on its standard input, one JSON object a line: `start`, the name of a process, with its `role`, the file
`log` for what it prints, and `options`; or `signal`, the name of one, with the `number`. A process that has ended is
told on the standard output: `ended`, its name, and `status`, negative for a signal. It ends with its standard input,
and all processes with it.

options: `scene`, the fields of Scene; `journal`, the file in which each call is noted before it is made; `durability`;
`clock_off`, by how many seconds the clock of the process is wrong. SIGTERM asks it to stop.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import threading
import time
import traceback
from contextlib import suppress
from random import Random
from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.cast import ROLES
from pyadeq.ext.prove.chaos.recorder import Recorder
from pyadeq.ext.prove.chaos.workload import Client, Scene

PATIENCE = (0.3, 2.0, 5.0)  # seconds in which a client sends a call again before it gives up


class Nursery:
    """Forks processes, signals them, and tells how they ended."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._life = os.pipe()  # nobody writes to it: it ends with this process
        self._woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def run(self) -> None:
        """Serve until the standard input ends."""
        text = b""
        while True:
            ready, _, _ = select.select([0, self._woken], [], [])
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if 0 in ready:
                data = os.read(0, 65536)
                if not data:
                    break
                *lines, text = (text + data).split(b"\n")
                for line in lines:
                    self._serve(json.loads(line))
        for pid in self._names:
            os.kill(pid, signal.SIGKILL)
        for pid in self._names:
            os.waitpid(pid, 0)

    def _serve(self, request: dict[str, Any]) -> None:
        if "start" in request:
            pid = os.fork()
            if pid == 0:
                self._be(request)
            self._names[pid] = request["start"]
        for pid, name in self._names.items():
            if name == request.get("signal"):
                os.kill(pid, request["number"])

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                told = {"ended": self._names.pop(pid), "status": os.waitstatus_to_exitcode(status)}
                os.write(1, json.dumps(told).encode() + b"\n")

    def _be(self, request: dict[str, Any]) -> None:
        """Be the process, to its end."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for number in (1, 2):
                os.dup2(log, number)
            os.close(self._life[1])
            threading.Thread(target=_end_with, args=(self._life[0],), daemon=True).start()
            act(request["role"], request["start"], request["options"])
            status = 0
        except AdeqError as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(status)


def act(role: str, name: str, options: dict[str, Any]) -> None:
    """Play a role until SIGTERM comes."""
    if off := options["clock_off"]:
        _shift_clock(off)
    asyncio.run(_play(role, name, options))


async def _play(role: str, name: str, options: dict[str, Any]) -> None:
    scene = Scene(**options["scene"])
    durability = options["durability"]
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    random = Random(f"{scene.seed} {name}")
    connected = Adeq.from_url(
        scene.url,
        **scene.places(),
        source=name,
        retry_for=random.choice(PATIENCE),
        durability=durability,
        replicas=scene.replicas,
    )
    with Recorder(journal=options["journal"]) as recorder:
        async with connected as adeq:
            client = Client(name, scene, random, adeq, recorder, durability, stopped)
            await ROLES[role](client)
            await client.aclose()


def _shift_clock(seconds: float) -> None:
    """Let this process believe that it is later, or earlier; what passes of time passes all the same."""
    true, true_ns = time.time, time.time_ns
    time.time = lambda: true() + seconds
    time.time_ns = lambda: true_ns() + round(seconds * 1e9)


def _end_with(life: int) -> None:
    os.read(life, 1)
    os._exit(1)


if __name__ == "__main__":
    Nursery().run()
