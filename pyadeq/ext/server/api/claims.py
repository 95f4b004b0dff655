"""A claim by HTTP that may be repeated: which worker it is, and what it was given.

The server gives each claim a number in a slot of a run (an incarnation) of a worker, and remembers the last one of each
slot. All three come from the request: the body names the worker and the slot, and the `Idempotency-Key` is
`<run>.<number>`. So a repeated request finds its leases through any process of the service, also after a restart, and
nothing is stored for it. A made-up key would have to be stored with its claim, and forgotten at some time.

A request that waits makes several claims. Each has a number of its own, `number * TRIES + try`, and the next one is
made only if the last one of the request, which is read before, was given nothing. So two processes that serve the same
request end at the same leases. In a queue with partitions they may end at leases of different partitions; the next
repetition gets both.

Leases that could not be delivered are not released: the repeated request may have them already. It finds them. If it
never comes, they end at their time, as those of any worker that dies.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

from pyadeq import __version__
from pyadeq.asyncio import Adeq, Claimed, Lease, Queue, Waits
from pyadeq.errors import AdeqError
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.reads import BLOCK, ask
from pyadeq.ext.shared.layouts import newest_layouts
from pyadeq.keys import check_name

log = logging.getLogger("pyadeq.server")
TRIES: Final = 1000
"""Claims of one request, at most. After them it is answered without tasks."""
FIRE: Final = 1.0
"""Seconds between two looks at the due schedules of a queue, at least."""
LOOK: Final = 1.0
"""Seconds after which a waiting request is looked at: whether its client is still there."""
KEY: Final = r'^\s*"?([A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,63})\.([1-9][0-9]{0,8})"?\s*$'
MOST_WAITING: Final = 1000
"""Requests of one process that may wait at a time. Others are answered at once."""


@dataclass(frozen=True)
class Asked:
    """One request for tasks. run, number: of its key. The others are those of `queue.claim`."""

    worker: str
    run: str
    number: int
    slot: int
    limit: int
    wait: float
    lanes: Sequence[str]
    lane_first: bool
    lease: float


def run_and_number(principal: str, key: str) -> tuple[str, int]:
    """Read a key that matches `KEY`. The run of somebody else with the same key is another one."""
    run, _, number = key.strip().strip('"').rpartition(".")
    return hashlib.sha256(json.dumps([principal, run]).encode()).hexdigest()[:24], int(number)


@dataclass(frozen=True)
class Last:
    """The last claim of a slot, as the server has it. given: whether it has got tasks."""

    run: str = ""
    n: int = 0
    given: bool = False


class Claims:
    """The claims that one process serves. Requests that wait for tasks of the same lanes share a connection."""

    def __init__(self, adeq: Adeq) -> None:
        self._adeq = adeq
        self._waits = Waits(self._listen, self._give_back)
        self._queues: dict[str, Queue] = {}
        self._fire_at: dict[str, float] = {}
        self._waiting = 0

    async def claim(self, parts: Sequence[Queue], asked: Asked, is_there: Callable[[], Awaitable[bool]]) -> list[Lease]:
        """Lease tasks, or return those that the same request was given before. [] if there are none in time."""
        until = monotonic() + asked.wait
        if self._waiting >= MOST_WAITING:
            until = 0.0
        self._waiting += 1
        try:
            return await self._claim(parts, asked, is_there, until)
        finally:
            self._waiting -= 1

    async def _claim(
        self, parts: Sequence[Queue], asked: Asked, is_there: Callable[[], Awaitable[bool]], until: float
    ) -> list[Lease]:
        first = asked.number % len(parts)
        for _ in range(TRIES):
            last = [await self._last(part, asked) for part in parts]
            if any(self._is_answer(one, asked) for one in last):
                pairs = zip(parts, last, strict=True)
                found = [await self._call(part, asked, one.n) for part, one in pairs if self._is_answer(one, asked)]
                return [lease for claimed in found for lease in claimed.leases]
            due = BLOCK
            for at in [*range(first, len(parts)), *range(first)]:
                n = await self._next(parts[at], last[at], asked)
                if n is None:
                    return []
                claimed = await self._call(parts[at], asked, n)
                if claimed.status != "ok":  # another process serves the same request, or the worker has a newer run
                    due = 0.0
                    break
                fires = await self._fire(parts[at], claimed)
                if claimed.leases:
                    return claimed.leases
                due = min(due, fires, *([] if claimed.next_due is None else [claimed.next_due - claimed.now]))
            if due and not await self._wait(parts, asked, is_there, until, due):
                return []
        return []

    def _is_answer(self, last: Last, asked: Asked) -> bool:
        return last.given and last.run == asked.run and last.n // TRIES == asked.number

    async def _last(self, part: Queue, asked: Asked) -> Last:
        key = f"{part.base}:worker:{check_name('worker', asked.worker, 'id')}"
        run, row = await ask(self._adeq, "hmget", key, ["incarnation", f"slot:{asked.slot}"])
        n, _, given = (_text(row) or "0 0 ").split(" ", 2)
        return Last(_text(run), int(n), bool(given))

    async def _next(self, part: Queue, last: Last, asked: Asked) -> int | None:
        """The number of the next claim. None: the request has made all that it may."""
        if last.run != asked.run:
            about = {
                "version": __version__,
                "layout": newest_layouts()["queue"],
                "hostname": "http",
            }
            if await self._adeq.send(part.calls.register(asked.worker, asked.run, about)) != "registered":
                why = "has a newer run, or was silent for too long; begin a new run"
                raise Refused(409, "WORKER_REPLACED", f"worker {asked.worker!r} {why}: another text in the key")
            return asked.number * TRIES
        if last.n // TRIES > asked.number:
            why = f"slot {asked.slot} is already at number {last.n // TRIES}; send the next one, or begin a new run"
            raise Refused(409, "CLAIM_STALE", f"header Idempotency-Key: {why}")
        n = max(last.n + 1, asked.number * TRIES)
        return n if n // TRIES == asked.number else None

    async def _call(self, part: Queue, asked: Asked, n: int) -> Claimed:
        how: dict[str, Any] = {"lanes": asked.lanes, "lane_first": asked.lane_first, "lease": asked.lease}
        call = part.calls.claim(asked.worker, asked.run, asked.slot, n, limit=asked.limit, **how)
        claimed: Claimed = await self._adeq.send(call)
        return claimed

    async def _fire(self, part: Queue, claimed: Claimed) -> float:
        """Fire the schedules that are due, as every worker does. Returns after how many seconds more may be due."""
        if claimed.next_firing is None:
            return BLOCK
        rest = self._fire_at.get(part.base, 0.0) - monotonic()
        if (left := max(claimed.next_firing - claimed.now, rest)) > 0:
            return left
        self._fire_at[part.base] = monotonic() + FIRE
        try:
            await part.schedules.fire_due()
        except AdeqError as error:  # another worker fires them, or the next claim
            log.warning("the schedules of %s were not fired: %s", part.base, error)
        return FIRE

    async def _wait(
        self,
        parts: Sequence[Queue],
        asked: Asked,
        is_there: Callable[[], Awaitable[bool]],
        until: float,
        due: float,
    ) -> bool:
        """Wait until there may be a task, or something is due. False: the time is over, or the client is gone."""
        places = {" ".join((part.base, *asked.lanes)): part for part in parts}
        self._queues |= {part.base: part for part in parts}
        due_at = monotonic() + max(due, 0.01)
        while monotonic() < until:
            left = min(LOOK, until - monotonic(), max(due_at - monotonic(), 0.01))
            heard = await self._waits.wait(list(places), left)
            if not await is_there():
                for place, word in heard.items():
                    await self._give_back(place, word)
                return False
            if heard or monotonic() >= due_at:
                return True
        return False

    async def _listen(self, place: str, seconds: float) -> str | None:
        base, *lanes = place.split(" ")
        return await self._queues[base].leases._block_as(None, lanes, seconds) or None

    async def _give_back(self, place: str, _: str) -> None:
        """Make the queue repeat a hint, for other waiters. Only a worker can: this process is one for a moment."""
        base, *lanes = place.split(" ")
        await self._queues[base].leases.settle(lanes=lanes)
        await self._queues[base].workers.deregister()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else value or ""
