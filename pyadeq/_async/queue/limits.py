"""Limits of a queue: how many tasks may run at a time, and how many may start per period."""

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
        expect: str | None = None,
    ) -> SetLimitStatus:
        """Limit the tasks of a key. `user:*` applies to each user without a limit of their own. The same holds for
        `tag:*` and `key:*`.

        The limit applies within 5 seconds. Tasks that already run do not count for a new limit. Returns `set` or
        `unchanged`.

        concurrency: how many may run at a time.
        starts, period: how many may start in each period (seconds), evenly spaced.
        burst: how many may start at once before that; None: the number of starts.
        policy: what happens to a task that may not start yet. `queue`: it is blocked until its turn. `reject`: it moves
        to the dead set. `cancel_newest`: it is cancelled. `cancel_oldest`: it waits, and the oldest running task is
        cancelled. If as many tasks already wait as may run, the first waiting task is cancelled instead.
        expect: the `digest` that you have read; `none` if the key had no limit. If there is another limit now, nothing
        changes, and StaleError is raised.
        """
        pairs = limit_pairs(concurrency, starts, period, burst, policy, expect)
        (status,) = await self._runner.send(self._calls.set_limits([(key, pairs)], new_ulid()))
        return status

    async def remove(self, key: str, *, expect: str | None = None) -> SetLimitStatus:
        """Remove a limit. Tasks that waited for it start within 5 seconds. Returns `removed` or `unchanged`.

        expect: as for `set`.
        """
        (status,) = await self._runner.send(self._calls.set_limits([(key, {"expect": expect})], new_ulid()))
        return status

    async def list(self) -> list[Limit]:
        """Return the limits that are set, by key."""
        limits: dict[str, Limit] = {}
        cursor = ""
        while True:
            found, cursor, _ = await self._runner.send(self._calls.limits(cursor=cursor))
            limits |= {limit.key: limit for limit in found}
            if not cursor:
                return [limits[key] for key in sorted(limits)]

    async def get(self, key: str) -> LimitUse:
        """Return how many tasks of a key run and wait, and which limit applies to it."""
        _, _, (use,) = await self._runner.send(self._calls.limits([key]))
        return use
