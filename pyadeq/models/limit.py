"""Limits: how many tasks may run at a time, and how many may start in a time. Times are as in `models`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pyadeq.models.base import Model

Policy = Literal["queue", "reject", "cancel_newest", "cancel_oldest"]
SetLimitStatus = Literal["set", "removed", "unchanged"]


class Limit(Model):
    """A limit that is set for a key.

    key: `user:<user>`, `tag:<tag>`, `key:<limit key>`, `all`; with `*` for each that has no limit of its own.
    concurrency: tasks that may run at a time. rate: tasks a second that may start, evenly, after `burst` at once. None
    where that is not limited. policy: what becomes of a task that may not start yet: it waits (`queue`), is dead
    (`reject`) or cancelled (`cancel_newest`), or the oldest that runs is cancelled for it (`cancel_oldest`).
    """

    key: str
    concurrency: int | None = None
    rate: float | None = None
    burst: int | None = None
    policy: Policy = "queue"


class LimitUse(Model):
    """How a key stands.

    running: tasks that count for its limit. waiting: tasks in its line; cancelled ones may count for a while.
    limit: the one that holds for it, None if none does. next_start: when its rate lets the next task start.
    """

    key: str
    running: int
    waiting: int
    limit: Limit | None = None
    next_start: float | None = None

    @classmethod
    def in_all(cls, of_part: Sequence[LimitUse]) -> LimitUse:
        """How a key stands in all partitions of a queue together; the limit is that of each."""
        return cls(
            key=of_part[0].key,
            running=sum(use.running for use in of_part),
            waiting=sum(use.waiting for use in of_part),
            limit=next((use.limit for use in of_part if use.limit is not None), None),
            next_start=min((use.next_start for use in of_part if use.next_start is not None), default=None),
        )
