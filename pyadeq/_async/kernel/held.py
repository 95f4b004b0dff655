"""What this process holds by a lease that is renewed in the background."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

MARGIN = 0.05
"""Safety margin, as a part of the lease: clocks drift, and time passes between `check` and the protected step."""


class Held:
    """A lease of this process. Without a reference to it, it is no longer renewed, and ends without a notification.

    rid: the id of the request that made it.
    ttl: seconds of a lease.
    deadline: when the current lease ends, by the server's clock.
    """

    def __init__(
        self,
        here: Callable[[], float],
        rid: str,
        lease: tuple[float, float, float],
        ttl: float = 0.0,
        heartbeat: float = 0.0,
        on_lost: Callable[[Any], object] | None = None,
    ) -> None:
        """lease: the arguments of `prolong`. heartbeat: seconds between renewals, if that is sooner than a third of
        the lease.
        """
        self.rid = rid
        self.ttl = ttl
        self.on_lost = on_lost
        self._here = here
        self._heartbeat = heartbeat
        self._pid = os.getpid()
        self._released = False
        self._why_lost = ""
        self.prolong(*lease)

    @property
    def lost(self) -> bool:
        """Whether it is no longer held although it was not released here: its lease ran out, or it was taken away."""
        if not self._why_lost and not self._released:
            if self.foreign:
                self._why_lost = "it belongs to the process that this one was forked from"
            elif self._here() >= self.until:
                self._why_lost = "its lease could not be renewed in time"
        return self._why_lost != ""

    # The members below are for the Keeper

    @property
    def foreign(self) -> bool:
        """Whether it belongs to the process that this one was forked from."""
        return os.getpid() != self._pid

    @property
    def released(self) -> bool:
        """Whether it was released here, or its release was tried."""
        return self._released

    def prolong(self, sent: float, now: float, deadline: float) -> None:
        """Note the new end of its lease. sent: when the call was sent, on the keeper's clock."""
        left = deadline - now
        self.ttl = max(self.ttl, left)
        self.deadline = deadline
        self.renew_at = sent + (min(left / 3, self._heartbeat) or left / 3)
        self.until = sent + left * (1 - MARGIN)

    def lose(self, why: str) -> None:
        """Note that the lease is lost from now on, and why."""
        self._why_lost = self._why_lost or why
