"""Renewal: leases are prolonged while their tasks run, and the server's answers say what is wanted of the worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, Protocol, TypeAlias

from pyadeq._async.queue import Queue
from pyadeq._core.queue.items import Held
from pyadeq.errors import AdeqError, ConfigError, DurabilityError

Interruption: TypeAlias = Literal["cancelling", "timed_out", "lease_lost"]

# Seconds. Until a claim has said how long leases are; and an entry that is silent for 30 s counts as gone.
SHORTEST_LEASE = 1.0
LONGEST_SILENCE = 10.0
log = logging.getLogger("pyadeq.worker")


@dataclass(frozen=True, slots=True)
class Heard:
    """What one heartbeat answered: the leases, by token, whose handlers are to end, and what is wanted of the worker.

    mode: `run`, `quiet`, `stop` or `restart`. capacity: how many tasks at a time; 0: as it is.
    """

    interrupted: list[tuple[str, Interruption]] = field(default_factory=list)
    mode: str = "run"
    capacity: int = 0


class Renewal(Protocol):
    """Renews what is held, and hears what the server wants. All is called on the worker's event loop."""

    async def start(self) -> None: ...

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these from now on; right after a claim. lease: seconds that the claim gave."""

    def drop(self, tokens: Iterable[str]) -> None:
        """No more of these: settled, given back or lost."""

    def ask(self) -> None:
        """Do it now: a control token came, or a connection was lost."""

    async def stop(self) -> None: ...


class LoopRenewal:
    """Renews on the event loop that it is started on: a handler that holds up the loop holds up its renewals.

    lease: seconds that renewals ask for, 0 for the queue's setting. busy: how many tasks the worker runs.
    heard: takes what each heartbeat answered.
    """

    def __init__(
        self, queue: Queue, worker: str, lease: float, busy: Callable[[], int], heard: Callable[[Heard], None]
    ) -> None:
        self.held: dict[str, Held] = {}
        self._queue = queue
        self._worker = worker
        self._lease = lease
        self._busy = busy
        self._heard = heard
        self._given = lease or SHORTEST_LEASE
        self._asked = asyncio.Event()
        self._rounds: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Renew from now on."""
        self._rounds = asyncio.create_task(self._go_on())

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these, too. Changes a dict and nothing else, as `drop` does."""
        self._given = lease
        self.held.update((one[1] if isinstance(one, tuple) else one.token, one) for one in leases)

    def drop(self, tokens: Iterable[str]) -> None:
        """Renew these no more."""
        for token in tokens:
            self.held.pop(token, None)

    def ask(self) -> None:
        """Have the next round begin now."""
        self._asked.set()

    async def stop(self) -> None:
        """Renew no more."""
        if self._rounds:
            self._rounds.cancel()
            await asyncio.gather(self._rounds, return_exceptions=True)

    async def _go_on(self) -> None:
        well, wanted = True, False
        while True:
            # After a failure every second counts.
            pause = min(self._given / 3, LONGEST_SILENCE) if well else min(self._given / 10, 1.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._asked.wait()
            wanted |= self._asked.is_set()
            self._asked.clear()
            if wanted or self.held:
                well = await self._round()
                wanted = wanted and not well

    async def _round(self) -> bool:
        """Renew all; whether there was an answer."""
        began, held = monotonic(), self.held.copy()
        try:
            heard = await self._queue.beat(
                list(held.values()), worker=self._worker, extend=self._lease, busy=self._busy()
            )
        except DurabilityError as error:
            heard = error.answer
        except AdeqError as error:
            log.warning("%d leases could not be renewed, trying again: %s", len(held), error)
            return False
        except Exception:
            log.exception("%d leases could not be renewed, trying again", len(held))
            return False
        interrupted: list[tuple[str, Interruption]] = [
            (token, answer.status)
            for token, answer in zip(held, heard.renewals, strict=True)
            if answer.status != "renewed" and token in self.held
        ]
        self.drop(token for token, status in interrupted if status == "lease_lost")
        self._heard(Heard(interrupted, heard.mode, heard.capacity))
        log.debug("%d leases renewed in %.3f s", len(held), monotonic() - began)
        return True


def renewal_class(renew: str) -> Callable[..., Renewal]:
    """Who renews: `thread`, `loop` or `process`. Imported when it is wanted."""
    match renew:
        case "thread":
            from pyadeq._worker.renewal.thread import ThreadRenewal

            return ThreadRenewal
        case "process":
            from pyadeq._worker.renewal.process import ProcessRenewal

            return ProcessRenewal
        case "loop":
            return LoopRenewal
    raise ConfigError(f"renew: {renew!r} is not accepted; allowed: thread, loop, process")
