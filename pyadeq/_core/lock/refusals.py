"""Why a request has no lock, as an error."""

from __future__ import annotations

from pyadeq.errors import (
    AdeqError,
    BadArgument,
    DeadlockError,
    LockLost,
    LockUnavailable,
    OwnerWaits,
    RateLimited,
    TransportError,
    WaitTimeout,
)
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.lock import RequestState

_UNAVAILABLE = {
    "no_capacity": "it has no capacity; set one with set_capacity",
    "too_many": "it has fewer permits than that",
    "draining": "it is draining and gives no more permits",
}
_ENDED = {
    "lost": "the owner's shared hold was lost while it waited for the upgrade",
    "revoked": "it was taken away by force",
    "cancelled": "the request was cancelled",
    "released": "the request was released",
}
_SHORTEST_TTL_MS, _LONGEST_TTL_MS = 100, 3_600_000


def checked_ttl(ttl: Seconds) -> None:
    """Raise BadArgument if ttl is not a valid lease length."""
    ms = to_ms("ttl", ttl)
    if (ms or ttl) and not _SHORTEST_TTL_MS <= ms <= _LONGEST_TTL_MS:
        allowed = f"0 (the domain's setting), or {_SHORTEST_TTL_MS / 1000:g} to {_LONGEST_TTL_MS // 1000} seconds"
        raise BadArgument("ADEQ_ARG", "pyadeq", f"ttl: {ttl!r} is not accepted; allowed: {allowed}")


def lock_error(state: RequestState, names: str, owner: str, born: float | None = None) -> AdeqError:
    """The error for a request that was not granted. born: when its work began, on the domain's clock."""
    what = f"the lock of {names} for {owner}"
    outcome = state.outcome if state.status == "ended" else state.status
    match outcome:
        case "deadlock":
            return DeadlockError(state.cycle, born, state.cycle_cut)
        case "owner_waits":
            return OwnerWaits(
                f"{what}: its owner waits for another lock already, in request {state.rid}", str(state.rid)
            )
        case "unavailable":
            reason = state.reason or "draining"
            return LockUnavailable(f"{what}: {_UNAVAILABLE.get(reason, reason)}", reason)
        case "rate_limited":
            after = state.retry_after or 0.0
            return RateLimited(f"{what}: the agent may acquire again in {after:g} s", after)
        case "request_expired":
            return TransportError(
                f"{what}: the request took too long to arrive", retryable=True, may_have_applied=False
            )
        case "busy":
            return WaitTimeout(f"{what} is not free")
        case "lost" | "revoked" | "cancelled" | "released":
            return LockLost(f"{what}: {_ENDED[outcome]}")
        case _:
            return WaitTimeout(f"{what} was not free in time")
