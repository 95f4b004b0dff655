"""The calls of a lock domain: one function per script, each returning a Call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, Unpack

from pyadeq._core.kernel.call import Answer, Call, Item
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq._core.kernel.settings import setting_pairs
from pyadeq._core.lock import replies
from pyadeq.errors import BadArgument
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.lock import (
    CancelRequestStatus,
    CapacityStatus,
    CycleEdge,
    Detected,
    DowngradeStatus,
    EdgePage,
    Forced,
    LockMode,
    LockRenewal,
    LockRequest,
    LockStats,
    LockView,
    Reaped,
    ReleaseLockStatus,
    RequestPage,
    RequestState,
)
from pyadeq.models.lock_settings import LockSettings, LockSettingsChange

T = TypeVar("T")

MAX_RIDS: Final = 100
"""The most requests in one call, except renewals."""
MAX_RENEWED: Final = 1000


@dataclass(frozen=True)
class LockCalls(NounCalls):
    """Builds the calls of one lock domain.

    A rid names one request forever: a repeated call does not take effect twice, and an ended request never holds
    anything.

    issued_ms: the domain's clock when the request was made; a request that arrives a minute later is refused.
    """

    noun: str = field(default="lock", kw_only=True)

    def _call(
        self,
        verb: str,
        decode: Callable[[Answer], T],
        items: Sequence[Item] = (),
        *,
        group: str = "item",
        **scalars: Any,
    ) -> Call[T]:
        return self.call(verb, decode, {group: items} if items else None, **scalars)

    def acquire(
        self,
        rid: str,
        resource: str,
        owner: str,
        *,
        issued_ms: int,
        agent: str | None = None,
        mode: LockMode = "exclusive",
        permits: int = 1,
        ttl: Seconds = 0,
        wait: Seconds = 0,
        priority: int = 5,
        born_ms: int = 0,
        purpose: str = "",
    ) -> Call[RequestState]:
        """Build an acquire. ttl: seconds; 0 means the domain's setting. wait: 0 returns `busy` if the lock is not free.

        born_ms: when the owner's work began, if before this request; used by the policy `youngest`.
        """
        return self._call(
            "acquire",
            lambda answer: replies.acquired(answer, resource),
            rid=rid,
            resource=resource,
            owner=owner,
            agent=agent,
            mode=mode,
            permits=permits,
            ttl_ms=to_ms("ttl", ttl),
            wait_ms=to_ms("wait", wait),
            priority=priority,
            issued_ms=issued_ms,
            born_ms=born_ms,
            purpose=purpose or None,
        )

    def acquire_many(
        self,
        rid: str,
        requests: Sequence[LockRequest],
        owner: str,
        *,
        issued_ms: int,
        agent: str | None = None,
        ttl: Seconds = 0,
        wait: Seconds = 0,
        priority: int = 5,
        born_ms: int = 0,
        purpose: str = "",
    ) -> Call[RequestState]:
        """All or none of 1 to 32 resources, under one rid, with one place among the waiters of each."""
        return self._call(
            "acquire_many",
            replies.acquired,
            [(one.resource, one.mode, one.permits) for one in requests],
            rid=rid,
            owner=owner,
            agent=agent,
            ttl_ms=to_ms("ttl", ttl),
            wait_ms=to_ms("wait", wait),
            priority=priority,
            issued_ms=issued_ms,
            born_ms=born_ms,
            purpose=purpose or None,
        )

    def poll(self, rids: Sequence[str]) -> Call[list[RequestState]]:
        """Returns the state of requests. It shows that waiters are alive, and takes locks that were handed over."""
        return self._call("poll", replies.polled, _ids(rids))

    def renew(self, rids: Sequence[str]) -> Call[list[LockRenewal]]:
        return self._call("renew", replies.renewals, _ids(rids))

    def release(self, rids: Sequence[str]) -> Call[list[ReleaseLockStatus]]:
        return self._call("release", replies.statuses, _ids(rids))

    def cancel(self, rids: Sequence[str]) -> Call[list[CancelRequestStatus]]:
        """Ends requests, whatever their state. A request that has not arrived yet will hold nothing when it arrives."""
        return self._call("cancel", replies.statuses, _ids(rids))

    def downgrade(self, rid: str) -> Call[DowngradeStatus]:
        return self._call("downgrade", replies.status, rid=rid)

    def reap(self, limit: int = 100) -> Call[Reaped]:
        return self._call("reap", replies.reaped, limit=limit)

    def force_release(
        self, rid: str, resource: str, reason: str, owner: str | None = None
    ) -> Call[tuple[Forced, bool]]:
        """Returns whether there are more holders: at most 100 are ended."""
        return self._call("force_release", replies.forced, rid=rid, resource=resource, reason=reason, owner=owner)

    def offline(self, rid: str, *, owner: str | None = None, agent: str | None = None) -> Call[tuple[list[str], bool]]:
        """End requests of an owner, or of an agent, at most 100. Also returns whether more are left."""
        if (owner is None) == (agent is None):
            raise BadArgument("ADEQ_ARG", "pyadeq", "owner: one is wanted; allowed: an owner, or an agent, not both")
        by = "owner" if agent is None else "agent"
        return self._call("offline", replies.went, rid=rid, who=agent or owner, by=by)

    def set_capacity(self, resource: str, max: int, silent: Seconds = 0) -> Call[str]:
        return self._call("set_capacity", replies.status, resource=resource, max=max, silent_ms=to_ms("silent", silent))

    def heartbeat(self, resources: Sequence[str]) -> Call[list[CapacityStatus]]:
        return self._call("heartbeat", replies.statuses, _ids(resources, "resources"))

    def drain(self, resource: str) -> Call[str]:
        return self._call("drain", replies.status, resource=resource)

    def remove(self, resource: str) -> Call[str]:
        return self._call("remove", replies.status, resource=resource)

    def edges(self, cursor: str = "", limit: int = 1000) -> Call[EdgePage]:
        return self._call("edges", replies.edges, cursor=cursor, limit=limit)

    def detect(self, limit: int = 4, visits: int = 2_000) -> Call[Detected]:
        return self._call("detect", replies.detected, limit=limit, visits=visits)

    def abort(self, rids: Sequence[str], cycle: Sequence[CycleEdge]) -> Call[list[str]]:
        """End waiting requests. Their owners get DeadlockError with this cycle."""
        return self._call("abort", replies.statuses, _ids(rids), circle=replies.circle_text(cycle))

    def list(
        self,
        *,
        type: str | None = None,
        owner: str | None = None,
        agent: str | None = None,
        state: str = "all",
        cursor: str = "",
        limit: int = 100,
    ) -> Call[RequestPage]:
        """List requests: all, or by owner, agent, resource type and state."""
        named: dict[str, Any] = {"of_type": type, "owner": owner, "agent": agent}
        return self._call("list", replies.page, state=state, cursor=cursor, limit=limit, **named)

    def show(self, resource: str, limit: int = 100) -> Call[LockView]:
        return self._call("show", lambda answer: replies.resource(answer, resource), resource=resource, limit=limit)

    def stats(self) -> Call[LockStats]:
        return self._call("stats", replies.stats)

    def configure(self, *, clock: str | None = None, **settings: Unpack[LockSettingsChange]) -> Call[LockSettings]:
        """Settings that are not given stay unchanged. clock: `server` or `test`, when the domain is created."""
        checked_options(settings, LockSettingsChange.__annotations__, besides=("clock",))
        pairs = setting_pairs("lock", settings)
        return self._call("configure", replies.settings, [(pairs,)] if pairs else [], group="settings", clock=clock)


def _ids(values: Sequence[str], name: str = "rids") -> list[tuple[str]]:
    return [(value,) for value in checked_list(name, values)]
