"""Renewal from a process of its own: for handlers that keep the GIL."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from pyadeq._core.queue.items import Held
from pyadeq._worker.connections import client_of, describe
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import Heard, Interruption
from pyadeq._worker.renewal.thread import ThreadRenewal
from pyadeq.errors import ConfigError

PATIENCE = 300.0
"""Seconds without a sign of life from the worker's loop after which the helper renews no more."""

# Seconds: the time to start or end a helper; the pause between two helpers; the run time after which a failure no
# longer counts as repeated.
LONGEST_START, LONGEST_STOP = 30.0, 2.0
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
LASTING = 60.0
# Seconds between pings to the helper, and how many may be unanswered. Then a thread takes over, before a lease ends.
SHORTEST_BEAT, LONGEST_BEAT = 0.25, 5.0
MOST_UNANSWERED = 3
LONGEST_LINE = 1024 * 1024
log = logging.getLogger("pyadeq.worker")


class ProcessRenewal:
    """Renews from a helper process, which hears of leases through a pipe and ends with this process.

    It stops renewing if this process is stopped, or if the worker's loop sends no ping for `patience` seconds. When the
    helper fails, a thread renews until there is another.
    """

    def __init__(
        self,
        queue: WorkerQueue,
        worker: str,
        lease: float,
        busy: Callable[[], int],
        heard: Callable[[Heard], None],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._settings: dict[str, Any] = {
            "client": describe(client_of(queue)),
            "queue": queue.name,
            "base": queue.base,
            "worker": worker,
            "lease": lease,
            "patience": patience,
        }
        self._busy = busy
        self._heard = heard
        self._make_substitute = partial(ThreadRenewal, queue, worker, lease, busy, heard)
        self._lease = 0.0  # until the first claim returns it
        self._held: dict[str, str] = {}  # token -> id
        self._holding = asyncio.Event()
        self._dropped: list[str] = []  # what the helper has not been told yet
        self._helper: Process | None = None
        self._unanswered = 0
        self._substitute: ThreadRenewal | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the helper; returns when it is ready. ConfigError if it cannot be started."""
        await self._launch()
        self._tasks = [asyncio.create_task(self._maintain()), asyncio.create_task(self._beat())]

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these too; the helper's pipe has them when this returns. lease: seconds."""
        self._lease = lease
        pairs = [one if isinstance(one, tuple) else (one.id, one.token) for one in leases]
        if not pairs:
            return
        for id, token in pairs:
            self._held[token] = id
        self._holding.set()
        self._tell_held(pairs)
        if self._substitute:
            self._substitute.hold(pairs, lease)

    def drop(self, tokens: Iterable[str]) -> None:
        """Renew these no more. The helper hears of it with the next leases, or the next sign of life."""
        dropped = [token for token in tokens if self._held.pop(token, None)]
        self._dropped += dropped
        if self._substitute:
            self._substitute.drop(dropped)

    def ask(self) -> None:
        """Renew now, and hear what is wanted."""
        self._tell("?")
        if self._substitute:
            self._substitute.ask()

    async def stop(self) -> None:
        """End the helper."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._substitute:
            await self._substitute.stop()
        if self._helper:
            await _end(self._helper)
            self._helper = None

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return [(id, token) for token, id in self._held.items()]

    # What the helper hears: one line each

    def _tell(self, what: str, *words: str) -> None:
        if self._helper is None:
            return
        busy = self._busy()
        line = f"{what} {busy} {' '.join(words)}\n"
        if self._dropped:
            line = f"- {busy} {' '.join(self._dropped)}\n{line}"
            self._dropped.clear()
        assert self._helper.stdin
        self._helper.stdin.write(line.encode())  # no drain: a helper that does not read is ended soon

    def _tell_held(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._tell("+", str(self._lease), *[f"{id} {token}" for id, token in pairs])

    async def _beat(self) -> None:
        while True:
            await self._holding.wait()
            pause = max(self._lease / 12, SHORTEST_BEAT)
            await asyncio.sleep(min(pause, LONGEST_BEAT, self._settings["patience"] / 4))
            if self._helper:
                self._tell(".")
                self._unanswered += 1
                if self._unanswered > MOST_UNANSWERED:
                    with suppress(ProcessLookupError):
                        self._helper.kill()  # its end is handled elsewhere
            if not self._held:
                self._holding.clear()

    # The helper's life

    async def _launch(self) -> None:
        try:
            helper = await asyncio.create_subprocess_exec(
                # It finds modules where this process does, and never by chance in the current folder.
                *(sys.executable, "-P", "-m", "pyadeq._renewer"),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdin=PIPE,
                stdout=PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # the terminal's signals are for the worker
            )
        except OSError as error:
            raise _not_started(str(error)) from None
        try:
            assert helper.stdin
            assert helper.stdout
            helper.stdin.write(json.dumps({**self._settings, "parent": os.getpid()}).encode() + b"\n")
            async with asyncio.timeout(LONGEST_START):
                ready = await helper.stdout.readline()
        except BaseException as error:
            await _end(helper)
            if isinstance(error, TimeoutError):
                raise _not_started(f"it was not ready within {LONGEST_START:g} s") from None
            raise
        if not ready:
            raise _not_started(f"it ended with {await helper.wait()}")
        self._helper = helper
        self._unanswered = 0
        self._dropped.clear()
        if self._held:
            self._tell_held(self._pairs)

    async def _maintain(self) -> None:
        """Listen to the helper; when it ends, let a thread do its work until there is another."""
        pause = SHORTEST_PAUSE
        while helper := self._helper:
            started = monotonic()
            await self._listen(helper)
            self._helper = None
            ended = await helper.wait()
            log.warning("the process that renews leases ended with %d; a thread renews until there is another", ended)
            self._substitute = substitute = self._make_substitute()
            await substitute.start()
            substitute.hold(self._pairs, self._lease)
            substitute.ask()
            if monotonic() - started > LASTING:
                pause = SHORTEST_PAUSE
            while not self._helper:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                try:
                    await self._launch()
                except ConfigError as error:
                    log.warning("trying again: %s", error)
            self._substitute = None
            await substitute.stop()

    async def _listen(self, helper: Process) -> None:
        assert helper.stdout
        async for line in helper.stdout:
            self._unanswered = 0
            match json.loads(line):
                case ["heard", interrupted, mode, capacity]:
                    self._pass_on(interrupted, mode, capacity)
                case ["log", level, text]:
                    log.log(level, "%s", text)

    def _pass_on(self, interrupted: list[tuple[str, Interruption]], mode: str, capacity: int) -> None:
        # Ignore leases that were settled meanwhile: the helper heard of it too late.
        ours = [(token, status) for token, status in interrupted if token in self._held]
        try:
            self._heard(Heard(ours, mode, capacity))
        except Exception:
            log.exception("what a renewal told was not understood")


async def _end(helper: Process) -> None:
    """Close its input, so that it exits; if it does not, kill it."""
    assert helper.stdin
    helper.stdin.close()
    try:
        async with asyncio.timeout(LONGEST_STOP):
            await helper.wait()
    except TimeoutError:
        helper.kill()
        await helper.wait()


def _not_started(why: str) -> ConfigError:
    return ConfigError(
        f"renew: 'process' does not work here: {sys.executable} -m pyadeq._renewer: {why}; allowed: 'thread' or 'loop'"
    )
