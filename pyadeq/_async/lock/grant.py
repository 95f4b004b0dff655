"""A grant: the locks that one request holds while they are renewed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pyadeq._async.kernel.held import Held
from pyadeq.errors import BadArgument, LockLost
from pyadeq.models.lock import DowngradeStatus, LockMode, LockRequest, ReleaseLockStatus, RequestState


class GrantKeeper(Protocol):
    """The interface of the object that renews and releases a grant."""

    def here(self) -> float: ...

    async def release(self, grant: Grant) -> ReleaseLockStatus: ...

    async def downgrade(self, grant: Grant) -> DowngradeStatus: ...


class Grant(Held):
    """Locks that one request holds. They are renewed in the background until `release`, or until they are lost.

    Without a reference to it, a grant is no longer renewed. It then ends with its lease, without a notification.

    rid: of the request.
    resource, mode, fence: of the lock, or of the first of several.
    fences: by resource. A fence rises with every grant of its resource, so that other systems can refuse a former
    holder.
    ttl: seconds of a lease.
    deadline: when the current lease ends, by the domain's clock.
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
        super().__init__(keeper.here, rid, (sent, state.now, state.deadline), ttl, heartbeat, on_lost)
        self.owner = owner
        self.resource = requests[0].resource
        self.mode: LockMode = requests[0].mode
        self._permits_only = all(one.mode == "permit" for one in requests)
        self.fences = dict(state.fences)
        self.fence = state.fences[self.resource]
        self._keeper = keeper

    def __repr__(self) -> str:
        state = "lost" if self.lost else "released" if self._released else "held"
        return f"<Grant of {', '.join(self.fences)} to {self.owner}, {state}>"

    def check(self) -> None:
        """Raise LockLost if it is no longer held. Call this before each step that the lock protects."""
        if self.lost or self._released:
            what = f"the lock of {', '.join(self.fences)} by {self.owner}"
            raise LockLost(f"{what} is not held any more: {self._why_lost or 'it was released'}")

    async def release(self) -> None:
        """Release it, once. Raises LockLost if it was no longer held."""
        if self._released or self.foreign:
            return
        lost, self._released = self.lost, True
        if await self._keeper.release(self) != "released" or lost:
            self.lose("its lease had ended when it was released")
            self.check()

    async def downgrade(self) -> None:
        """Hold it shared from now on, so that waiters for shared locks get it. Raises LockLost if it is no longer held.

        Permits stay unchanged. Raises BadArgument if there are only permits.
        """
        if self._permits_only:
            what = f"mode: 'permit' of {', '.join(self.fences)} is not accepted"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}; allowed: exclusive or shared, to be downgraded")
        self.check()
        if await self._keeper.downgrade(self) != "downgraded":
            self.lose("its lease had ended when it was downgraded")
            self.check()
        if self.mode == "exclusive":
            self.mode = "shared"
