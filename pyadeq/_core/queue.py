"""The queue's calls: one function per script, each returning a Call."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pyadeq._core import queue_replies as replies
from pyadeq._core.call import Call, build_call
from pyadeq.errors import BadArgument
from pyadeq.keys import check_name
from pyadeq.models import (
    AckStatus,
    Backoff,
    CancelStatus,
    Claimed,
    Failed,
    Lease,
    Page,
    QueueStats,
    Receipt,
    ReleaseStatus,
    Renewal,
    Seconds,
    Settings,
    Settled,
    State,
    Task,
    TaskView,
    encode,
    to_ms,
)

MAX_ITEMS = 1000
MAX_ERROR_BYTES = 8192

Held = Lease | tuple[str, str]
"""A lease, or the id and token of one."""

EnqueueItem = tuple[str, bytes, dict[str, Any]]
"""An id, the payload's bytes and the name/value pairs of the rest."""


@dataclass(frozen=True)
class Failure:
    """How an attempt ended. error: text, bytes, or an exception with its traceback; the last 8 KiB are kept.

    reason: one word for lists. retryable: False sends the task to the dead set at once.
    """

    lease: Held
    error: str | bytes | BaseException = field(default=b"", repr=False)
    reason: str = "error"
    retryable: bool = True


@dataclass(frozen=True)
class QueueCalls:
    """Builds the calls of one queue. now_ms is asked once a call; it answers 0 but for queues with a test clock."""

    base: str
    now_ms: Callable[[], int] = field(default=lambda: 0)
    source: str = ""

    def _scalars(self, **scalars: Any) -> dict[str, Any]:
        return {"now_ms": self.now_ms(), "source": self.source or None, **scalars}

    def enqueue(self, tasks: Sequence[tuple[str, Task]], rid: str) -> Call[list[Receipt]]:
        """tasks: ids with their tasks, 1 to 1,000; their order is their order in line."""
        return self.enqueue_items([item(id, task) for id, task in tasks], rid)

    def enqueue_items(self, items: Sequence[EnqueueItem], rid: str) -> Call[list[Receipt]]:
        """The same for tasks that are encoded already, by `item`."""
        return build_call(
            "queue.enqueue.v1",
            self.base,
            self._scalars(rid=rid),
            {"item": items},
            decode=lambda reply: replies.receipts(reply, [id for id, _, _ in items]),
        )

    def claim(
        self,
        worker: str,
        incarnation: str,
        slot: int,
        n: int,
        *,
        limit: int = 10,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> Call[Claimed]:
        """lease: seconds, 0 for the queue's setting. An answer holds fewer than limit where its bytes pass 4 MiB."""
        scalars = self._scalars(
            worker=worker, incarnation=incarnation, slot=slot, n=n, limit=limit, lease_ms=to_ms("lease", lease)
        )
        return build_call(
            "queue.claim.v1",
            self.base,
            scalars,
            {"item": [(lane,) for lane in checked_lanes(lanes)]},
            decode=replies.claimed,
        )

    def settle(
        self,
        worker: str,
        incarnation: str,
        slot: int,
        n: int,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        jitters: Sequence[int] = (),
        limit: int = 0,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> Call[Settled]:
        """Acks, fails and a claim of up to limit more in one call; jitters: 0 to 1,000,000 for each fail."""
        scalars = self._scalars(
            worker=worker, incarnation=incarnation, slot=slot, n=n, limit=limit, lease_ms=to_ms("lease", lease)
        )
        groups = {
            "acks": _ack_items(acks),
            "fails": _fail_items(fails, jitters),
            "lanes_wanted": [(lane,) for lane in checked_lanes(lanes)],
        }
        return build_call("queue.settle.v1", self.base, scalars, groups, decode=replies.settled)

    def ack(self, acks: Sequence[tuple[Held, Any]]) -> Call[list[AckStatus]]:
        """acks: leases with their results; None keeps no result."""
        return build_call(
            "queue.ack.v1", self.base, self._scalars(), {"item": _ack_items(acks)}, decode=replies.statuses
        )

    def fail(self, fails: Sequence[Failure], jitters: Sequence[int]) -> Call[list[Failed]]:
        """jitters: 0 to 1,000,000 for each fail; 500,000 is the backoff as it is."""
        return build_call(
            "queue.fail.v1", self.base, self._scalars(), {"item": _fail_items(fails, jitters)}, decode=replies.failed
        )

    def heartbeat(self, leases: Sequence[Held], worker: str = "", lease: Seconds = 0) -> Call[list[Renewal]]:
        return build_call(
            "queue.heartbeat.v1",
            self.base,
            {"now_ms": self.now_ms(), "worker": worker or None, "lease_ms": to_ms("lease", lease)},
            {"item": [_held(one) for one in leases]},
            decode=replies.renewals,
        )

    def release(self, leases: Sequence[Held]) -> Call[list[ReleaseStatus]]:
        return build_call(
            "queue.release.v1",
            self.base,
            self._scalars(),
            {"item": [_held(one) for one in leases]},
            decode=replies.statuses,
        )

    def promote(self, limit: int = 100) -> Call[int]:
        return build_call("queue.promote.v1", self.base, self._scalars(limit=limit), decode=replies.count)

    def reap(self, limit: int = 100) -> Call[int]:
        return build_call("queue.reap.v1", self.base, self._scalars(limit=limit), decode=replies.count)

    def cancel(self, ids: Sequence[str]) -> Call[list[CancelStatus]]:
        return build_call(
            "queue.cancel.v1",
            self.base,
            self._scalars(),
            {"item": [(id,) for id in ids]},
            decode=replies.statuses,
        )

    def get(self, ids: Sequence[str]) -> Call[list[TaskView | None]]:
        """The answer may be shorter than ids: it stops before 4 MiB. Ask again for the rest."""
        return build_call(
            "queue.get.v1",
            self.base,
            {"now_ms": self.now_ms()},
            {"item": [(id,) for id in ids]},
            decode=replies.views,
        )

    def list(self, state: State, *, lane: str = "any", cursor: str = "", limit: int = 100) -> Call[Page]:
        scalars = {"now_ms": self.now_ms(), "state": state, "lane": lane, "cursor": cursor, "limit": limit}
        return build_call("queue.list.v1", self.base, scalars, decode=replies.page)

    def stats(self) -> Call[QueueStats]:
        return build_call("queue.stats.v1", self.base, {"now_ms": self.now_ms()}, decode=replies.stats)

    def register(self, worker: str, incarnation: str, about: Mapping[str, Any] | None = None) -> Call[str]:
        """about: hostname, pid, version, capacity. Answers `registered`, or `stale` for a replaced incarnation."""
        return build_call(
            "queue.register.v1",
            self.base,
            self._scalars(worker=worker, incarnation=incarnation),
            {"about": [(about,)] if about else []},
            decode=replies.status,
        )

    def deregister(self, worker: str, incarnation: str, reason: str = "stopped") -> Call[str]:
        """Answers `deregistered`, `unregistered` or `stale`."""
        return build_call(
            "queue.deregister.v1",
            self.base,
            self._scalars(worker=worker, incarnation=incarnation, reason=reason),
            decode=replies.status,
        )

    def configure(
        self,
        *,
        clock: str | None = None,
        lease: Seconds | None = None,
        max_attempts: int | None = None,
        max_crashes: int | None = None,
        backoff: Any = None,
        events_max: int | None = None,
    ) -> Call[Settings]:
        """What is None stays as it is. clock: `server` or `test`, when the queue is created."""
        settings: dict[str, Any] = {
            "lease_ms": None if lease is None else to_ms("lease", lease),
            "max_attempts": max_attempts,
            "max_crashes": max_crashes,
            "events_max": events_max,
        }
        settings |= _backoff_pairs(backoff)
        return build_call(
            "queue.configure.v1",
            self.base,
            {"now_ms": self.now_ms(), "clock": clock},
            {"settings": [(settings,)] if any(value is not None for value in settings.values()) else []},
            decode=replies.settings,
        )


def item(id: str, task: Task) -> EnqueueItem:
    """A task as the enqueue script takes it."""
    return id, encode(task.payload), envelope(task)


def envelope(task: Task) -> dict[str, Any]:
    """The name/value pairs of a task; what is at its default is left out."""
    pairs: dict[str, Any] = {}
    if task.kind is not None:
        pairs["kind"] = task.kind
    if task.priority != 5:
        pairs["priority"] = task.priority
    if task.lane != "any":
        pairs["lane"] = task.lane
    if task.delay:
        pairs["delay_ms"] = to_ms("delay", task.delay)
    if task.user is not None:
        pairs["user"] = task.user
    if task.tags:
        pairs["tags"] = checked_list("tags", task.tags)
    if task.max_attempts is not None:
        pairs["max_attempts"] = task.max_attempts
    if task.backoff is not None:
        pairs |= _backoff_pairs(task.backoff)
    if task.headers:
        pairs["headers"] = encode(task.headers)
    return pairs


def _backoff_pairs(backoff: Any) -> dict[str, Any]:
    if backoff is None:
        return {}
    if not isinstance(backoff, Backoff):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"backoff must be a Backoff, got {type(backoff).__name__}")
    return {
        "backoff_base_ms": to_ms("backoff.base", backoff.base),
        "backoff_multiplier_pct": round(backoff.multiplier * 100),
        "backoff_cap_ms": to_ms("backoff.cap", backoff.cap),
        "jitter_pct": round(backoff.jitter * 100),
    }


def refuse_single(name: str, values: Any) -> None:
    """Refuse a text, a mapping or one model where several values are meant: its parts are not."""
    if isinstance(values, str | bytes | Mapping | BaseModel) or not isinstance(values, Iterable):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{name} must be a list, got {type(values).__name__}")


def checked_list(name: str, values: Any) -> list[Any]:
    """The values as a list."""
    refuse_single(name, values)
    return list(values)


def checked_lanes(lanes: Any) -> list[str]:
    """The names of lanes, one at least."""
    names = checked_list("lanes", lanes)
    if not names:
        raise BadArgument("ADEQ_ARG", "pyadeq", "lanes must name one lane at least, got none")
    return [check_name("lanes", name, "lane") for name in names]


def _held(one: Held) -> tuple[str, str]:
    if isinstance(one, Lease):
        return one.id, one.token
    if isinstance(one, tuple) and len(one) == 2:
        return one
    raise BadArgument("ADEQ_ARG", "pyadeq", f"a lease must be a Lease or (id, token), got {type(one).__name__}")


def _ack_items(acks: Sequence[tuple[Held, Any]]) -> list[tuple[str, str, bytes]]:
    return [(*_held(lease), b"" if result is None else encode(result)) for lease, result in acks]


def _error_bytes(error: str | bytes | BaseException) -> bytes:
    """The last 8 KiB, where a traceback says what went wrong."""
    if isinstance(error, BaseException):
        error = "".join(traceback.format_exception(error))
    data = error.encode(errors="backslashreplace") if isinstance(error, str) else error
    if not isinstance(data, bytes):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"error must be text, bytes or an exception, got {type(data).__name__}")
    return data[-MAX_ERROR_BYTES:]


def _fail_items(fails: Sequence[Failure], jitters: Sequence[int]) -> list[tuple[Any, ...]]:
    if len(fails) != len(jitters):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"jitters: {len(jitters)} of them for {len(fails)} fails")
    return [
        (*_held(fail.lease), fail.retryable, fail.reason, _error_bytes(fail.error), jitter)
        for fail, jitter in zip(fails, jitters, strict=True)
    ]
