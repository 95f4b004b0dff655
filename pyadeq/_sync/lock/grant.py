# Generated from pyadeq/_async/lock/grant.py by pyadeq/_unasync.py; do not edit.
"""A grant: what one request holds, for as long as it is renewed."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol

from pyadeq.errors import BadArgument, LockLost
from pyadeq.models.lock import DowngradeStatus, LockMode, LockRequest, ReleaseLockStatus, RequestState

MARGIN = 0.05
"""The part of a lease that is not counted on: clocks may run apart, and a check takes a moment to be acted upon."""


class GrantKeeper(Protocol):
    """Who renews a grant and gives it back."""

    def here(self) -> float: ...

    def release(self, grant: Grant) -> ReleaseLockStatus: ...

    def downgrade(self, grant: Grant) -> DowngradeStatus: ...


class Grant:
    """Locks that one request holds. They are renewed in the background until `release`, or until they are lost.

    One that nobody refers to any more is not renewed: it ends with its lease, and nobody is told.

    rid: of the request. resource, mode, fence: of the lock, of the first where there are several. fences: by resource;
    each rises with every grant of its resource, for what is written elsewhere to be checked by. ttl: seconds that a
    lease lasts. deadline: when the one of now ends, by the domain's clock.
    """

    def __init__(
        self,
        keeper: GrantKeeper,
        rid: str,
        owner: str,
        requests: Sequence[LockRequest],
        state: RequestState,
        sent: float,
        ttl: float,
        on_lost: Callable[[Grant], object] | None,
        heartbeat: float = 0.0,
    ) -> None:
        assert state.deadline is not None
        self.rid = rid
        self.owner = owner
        self.resource = requests[0].resource
        self.mode: LockMode = requests[0].mode
        self._permits_only = all(one.mode == "permit" for one in requests)
        self.fences = dict(state.fences)
        self.fence = state.fences[self.resource]
        self.ttl = ttl
        self.on_lost = on_lost
        self._heartbeat = heartbeat
        self._keeper = keeper
        self._pid = os.getpid()
        self._released = False
        self._why_lost = ""
        self.prolong(sent, state.now, state.deadline)

    def __repr__(self) -> str:
        state = "lost" if self.lost else "released" if self._released else "held"
        return f"<Grant of {', '.join(self.fences)} to {self.owner}, {state}>"

    @property
    def lost(self) -> bool:
        """Whether it is not held any more though nobody here gave it back: its lease ran out, or was taken away."""
        if not self._why_lost and not self._released:
            if self._is_foreign():
                self._why_lost = "it is that of the process of which this one was forked"
            elif self._keeper.here() >= self.until:
                self._why_lost = "its lease could not be renewed in time"
        return self._why_lost != ""

    def check(self) -> None:
        """To be called before each step that the lock protects: LockLost if it is not held any more."""
        if self.lost or self._released:
            what = f"the lock of {', '.join(self.fences)} by {self.owner}"
            raise LockLost(f"{what} is not held any more: {self._why_lost or 'it was released'}")

    def release(self) -> None:
        """Give it back, once. LockLost if it was not held any more."""
        if self._released or self._is_foreign():
            return
        lost, self._released = self.lost, True
        if self._keeper.release(self) != "released" or lost:
            self.lose("its lease had ended when it was released")
            self.check()

    def downgrade(self) -> None:
        """Hold it shared from now on: those who wait to share it come in. LockLost if it is not held any more.

        Permits stay as they are; BadArgument where there is nothing else.
        """
        if self._permits_only:
            what = f"mode: 'permit' of {', '.join(self.fences)} is not accepted"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}; allowed: exclusive or shared, to be downgraded")
        self.check()
        if self._keeper.downgrade(self) != "downgraded":
            self.lose("its lease had ended when it was downgraded")
            self.check()
        if self.mode == "exclusive":
            self.mode = "shared"

    # For its keeper

    @property
    def released(self) -> bool:
        """Whether it was given back here, or an attempt was made."""
        return self._released

    def prolong(self, sent: float, now: float, deadline: float) -> None:
        """Count on the lease that an answer gave. sent: when the call was sent, on the keeper's clock."""
        left = deadline - now
        self.ttl = max(self.ttl, left)
        self.deadline = deadline
        self.renew_at = sent + (min(left / 3, self._heartbeat) or left / 3)
        self.until = sent + left * (1 - MARGIN)

    def lose(self, why: str) -> None:
        """It is lost from now on."""
        self._why_lost = self._why_lost or why

    def _is_foreign(self) -> bool:
        return os.getpid() != self._pid
