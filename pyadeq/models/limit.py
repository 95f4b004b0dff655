"""Models of limits: how many tasks may run at a time, and how many may start per period. Times are as in `models`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pyadeq.models.base import Model

Policy = Literal["queue", "reject", "cancel_newest", "cancel_oldest"]
SetLimitStatus = Literal["set", "removed", "unchanged"]


class Limit(Model):
    """A limit that is set for a key.

    key: `user:<user>`, `tag:<tag>`, `key:<limit key>` or `all`. With `*`, it applies to each key of that kind without a
    limit of its own.
    concurrency: how many tasks may run at a time; None: not limited.
    rate: how many tasks may start per second, evenly spaced; None: not limited.
    burst: how many tasks may start at once after a quiet time.
    policy: what happens to a task that may not start yet. `queue`: it waits. `reject`: it is dead. `cancel_newest`: it
    is cancelled. `cancel_oldest`: it waits, and the oldest running task is cancelled. If as many tasks already wait as
    may run, the first waiting task is cancelled instead.
    digest: of all this, for `expect` of `limits.set` and `limits.remove`.
    """

    key: str
    concurrency: int | None = None
    rate: float | None = None
    burst: int | None = None
    policy: Policy = "queue"
    digest: str = ""


class LimitUse(Model):
    """The state of a key.

    running: tasks that count for its limit.
    waiting: tasks in its limit queue; cancelled ones may count for a while.
    limit: the limit that applies to it; None if there is none.
    next_start: when its rate lets the next task start.
    """

    key: str
    running: int
    waiting: int
    limit: Limit | None = None
    next_start: float | None = None

    @property
    def digest(self) -> str:
        """The digest of the limit that is set for this very key, for `expect`; `none` if there is none."""
        return self.limit.digest if self.limit is not None and self.limit.key == self.key else "none"

    @classmethod
    def in_all(cls, of_part: Sequence[LimitUse]) -> LimitUse:
        """Return the state of a key in all partitions of a queue together. The limit is that of each partition."""
        return cls(
            key=of_part[0].key,
            running=sum(use.running for use in of_part),
            waiting=sum(use.waiting for use in of_part),
            limit=next((use.limit for use in of_part if use.limit is not None), None),
            next_start=min((use.next_start for use in of_part if use.next_start is not None), default=None),
        )
