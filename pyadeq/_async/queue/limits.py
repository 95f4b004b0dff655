"""Limits of a queue: how many tasks may run at a time, and how many may start in a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyadeq._core.queue.limits import limit_pairs
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.limit import Limit, LimitUse, Policy, SetLimitStatus

if TYPE_CHECKING:
    from pyadeq._async.kernel.runner import Runner
    from pyadeq._core.queue.calls import QueueCalls


class Limits:
    """The limits of one queue, by key: `user:<user>`, `tag:<tag>`, `key:<limit key>`, `all`."""

    def __init__(self, runner: Runner, calls: QueueCalls) -> None:
        self._runner = runner
        self._calls = calls

    async def set(
        self,
        key: str,
        *,
        concurrency: int | None = None,
        starts: int | None = None,
        period: Seconds = 1.0,
        burst: int | None = None,
        policy: Policy = "queue",
    ) -> SetLimitStatus:
        """Limit the tasks of a key; `user:*` is for each user that has no limit of his own, and so on.

        concurrency: how many may run at a time. starts: how many may start in each period of so many seconds, evenly,
        after burst at once; None: as many as in a period. policy: what becomes of a task that may not start yet: with
        `queue` it is blocked, and waits for its turn; `reject` sends it to the dead set; `cancel_newest` cancels it;
        `cancel_oldest` cancels the oldest that runs, or waits, in its place. A task that runs already does not count
        for a new limit. It holds within 5 seconds. `set` or `unchanged`.
        """
        pairs = limit_pairs(concurrency, starts, period, burst, policy)
        (status,) = await self._runner.send(self._calls.set_limits([(key, pairs)], new_ulid()))
        return status

    async def remove(self, key: str) -> SetLimitStatus:
        """Take a limit away: who waits in its lines starts within 5 seconds. `removed` or `unchanged`."""
        (status,) = await self._runner.send(self._calls.set_limits([(key, {})], new_ulid()))
        return status

    async def list(self) -> list[Limit]:
        """The limits that are set, by key."""
        limits: dict[str, Limit] = {}
        cursor = ""
        while True:
            found, cursor, _ = await self._runner.send(self._calls.limits(cursor=cursor))
            limits |= {limit.key: limit for limit in found}
            if not cursor:
                return [limits[key] for key in sorted(limits)]

    async def inspect(self, key: str) -> LimitUse:
        """How many tasks of a key run and wait, and which limit holds for it."""
        _, _, (use,) = await self._runner.send(self._calls.limits([key]))
        return use

    look = inspect  # by its old name
