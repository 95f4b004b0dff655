"""Renewal on the event loop of the worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from time import monotonic

from pyadeq._core.queue.items import Held
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import SHORTEST_LEASE, Heard, Interruption
from pyadeq.errors import AdeqError, DurabilityError

LONGEST_SILENCE = 10.0  # seconds; a worker without a heartbeat for 30 s counts as gone
log = logging.getLogger("pyadeq.worker")


class LoopRenewal:
    """Renews on the event loop that it is started on: a handler that holds up the loop holds up its renewals.

    lease: seconds that renewals ask for, 0 for the queue's setting. busy: how many tasks the worker runs.
    heard: takes what each heartbeat answered.
    """

    def __init__(
        self, queue: WorkerQueue, worker: str, lease: float, busy: Callable[[], int], heard: Callable[[Heard], None]
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
        """Begin to renew leases."""
        self._rounds = asyncio.create_task(self._go_on())

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these, too. It only changes a dict, as `drop` does, so other threads may call it."""
        self._given = lease
        self.held.update((one[1] if isinstance(one, tuple) else one.token, one) for one in leases)

    def drop(self, tokens: Iterable[str]) -> None:
        """Stop renewing the leases with these tokens."""
        for token in tokens:
            self.held.pop(token, None)

    def ask(self) -> None:
        """Begin the next round of renewals now."""
        self._asked.set()

    async def stop(self) -> None:
        """Stop renewing leases."""
        if self._rounds:
            self._rounds.cancel()
            await asyncio.gather(self._rounds, return_exceptions=True)

    async def _go_on(self) -> None:
        well, wanted = True, False
        while True:
            # After a failure, try again soon.
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
        """Renew all leases. Returns whether there was an answer."""
        began, held = monotonic(), self.held.copy()
        try:
            heard = await self._queue.workers.beat(
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
