"""Models of a lock domain: the arguments and answers of its calls.

Times are seconds (float). Points in time are seconds since the epoch, on the domain's clock.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import Field

from pyadeq.errors import CycleEdge as CycleEdge  # noqa: PLC0414 (for users, it belongs here too)
from pyadeq.errors import LockMode as LockMode  # noqa: PLC0414
from pyadeq.models.base import Given, Model
from pyadeq.models.lock_settings import LockPolicy as LockPolicy  # noqa: PLC0414
from pyadeq.models.lock_settings import LockSettings as LockSettings  # noqa: PLC0414

RequestStatus = Literal[
    "granted",
    "queued",
    "busy",
    "deadlock",
    "ended",
    "unknown",
    "owner_waits",
    "unavailable",
    "rate_limited",
    "request_expired",
]
ReleaseLockStatus = Literal["released", "cancelled", "lost", "unknown"]
CancelRequestStatus = Literal["cancelled", "released", "ended"]
DowngradeStatus = Literal["downgraded", "lost", "waiting", "unknown"]
RenewLockStatus = Literal["renewed", "waiting", "lost", "unknown"]
CapacityStatus = Literal["active", "draining", "no_capacity"]


class LockRequest(Given):
    """A resource and how it is wanted.

    permits: how many permits of a resource with a capacity.
    """

    resource: str
    mode: LockMode = "exclusive"
    permits: int = 1


class RequestState(Model):
    """The state of a request: the answer to an acquire or a poll.

    status: `granted` (deadline, fences); `queued` (place from 1, poll, checked); `busy`: wait=0 and not free;
    `deadlock` (cycle, cycle_cut); `ended` (outcome); `owner_waits` (rid of the other request); `unavailable` (reason);
    `rate_limited` (retry_after); `request_expired`: it was under way for too long; `unknown`.
    cycle_cut: how many owners of a long cycle `cycle` does not name.
    poll: seconds until the next poll is due.
    checked: False while the deadlock search has exceeded its budget.
    """

    status: RequestStatus
    now: float
    deadline: float | None = None
    fences: dict[str, int] = Field(default={})
    place: int | None = None
    poll: float | None = None
    checked: bool = True
    cycle: tuple[CycleEdge, ...] = ()
    cycle_cut: int = 0
    outcome: str | None = None
    rid: str | None = None
    reason: str | None = None
    retry_after: float | None = None


class LockRenewal(Model):
    """The answer to a renewal: `renewed` with the new deadline, `waiting`, `lost` or `unknown`."""

    status: RenewLockStatus
    now: float
    deadline: float | None = None


class Forced(Model):
    """The answer to a forced release.

    rids: the requests that held the resource.
    fence: a fence above theirs.
    """

    rids: tuple[str, ...]
    fence: int


class Edge(Model):
    """A wait: `owner` waits with `rid` for `resource` in `mode`, and `blocker` is in the way with `blocker_rid`.

    Redundant edges are left out: if A waits for B and B for C, there need not be an edge from A to C.

    held: whether the blocker holds the resource. If not, it waits for it at an earlier place.
    """

    owner: str
    rid: str
    resource: str
    mode: LockMode
    permits: int = 1
    blocker: str
    blocker_rid: str
    held: bool
    domain: str | None = None


class EdgePage(Model):
    """Some edges, and the cursor for the next page, empty on the last page."""

    edges: list[Edge]
    cursor: str
    now: float


class FoundDeadlock(Model):
    """A deadlock that a search found, and the request that was ended for it.

    cycle_cut: how many owners of a long cycle `cycle` does not name.
    """

    rid: str
    cycle: tuple[CycleEdge, ...]
    cycle_cut: int = 0
    domain: str | None = None


class Detected(Model):
    """The answer to a deadlock search: how many waiters were checked, what was found, and whether there may be more."""

    checked: int
    more: bool
    deadlocks: list[FoundDeadlock]


class HeldLock(Model):
    """A resource of a request, how it is wanted, and the fence of the grant; None while it waits."""

    resource: str
    mode: LockMode
    permits: int = 1
    fence: int | None = None


class RequestView(Model):
    """A request that holds or waits, with its locks.

    state: `held`; `granted`: handed over, not yet fetched; `waiting`.
    since: when it was made.
    born: when its work began, as its owner says.
    granted: when it was granted.
    until: when its wait is over.
    deadline: when it ends if its client is not heard of before.
    ttl: seconds of its lease.
    place: among the waiters, from 1; None for a holder.
    """

    rid: str
    state: Literal["waiting", "granted", "held"]
    owner: str
    agent: str
    priority: int
    since: float
    born: float
    ttl: float
    until: float | None
    granted: float | None
    deadline: float
    place: int | None
    locks: tuple[HeldLock, ...]
    purpose: str


class RequestPage(Model):
    """Some requests, and the cursor for the next page, empty on the last page.

    now: when the page was read.
    """

    requests: list[RequestView]
    cursor: str
    now: float


class Capacity(Model):
    """How many permits a resource has, and how many are in use.

    status: `active`; `draining`: no more are granted; `offline`: no heartbeat for longer than `silent` seconds.
    heartbeat: when the last one came.
    """

    max: int
    used: int
    status: Literal["active", "draining", "offline"]
    heartbeat: float
    silent: float | None


class LockView(Model):
    """A resource with its holders and its waiters, in order.

    held, waiting: how many there are. Each list is cut at the limit that was asked for.
    """

    resource: str
    now: float
    held: int
    waiting: int
    holders: list[RequestView]
    waiters: list[RequestView]
    capacity: Capacity | None = None


class LockStats(Model):
    """The counts of a domain, and its settings.

    held, waiting: live requests.
    ended: ended requests that are remembered.
    unchecked: waiters whose deadlock search exceeded its budget.
    capacities: resources with a capacity.
    detected: when `detect` last searched for deadlocks.
    """

    now: float
    held: int
    waiting: int
    ended: int
    unchecked: int
    capacities: int
    settings: LockSettings
    detected: float | None = None


class Reaped(Model):
    """How many requests were overdue and are ended now, and whether there are more."""

    ended: int
    more: bool


class Hint(NamedTuple):
    """An event of a lock: `acquired`, `released`, `queued`, `promoted`, `expired` or `cancelled`."""

    event: str
    agent: str
