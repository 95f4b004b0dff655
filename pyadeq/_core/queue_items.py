"""What a queue's calls carry: tasks, leases, results and failures in the form that the scripts take."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from pyadeq.errors import BadArgument
from pyadeq.keys import check_name
from pyadeq.models import Backoff, Lease, Task, encode, to_epoch_ms, to_ms

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


def item(id: str, task: Task) -> EnqueueItem:
    """A task as the enqueue script takes it."""
    return id, encode(task.payload), envelope(task)


def envelope(task: Task) -> dict[str, Any]:
    """The name/value pairs of a task; what is at its default is left out."""
    pairs: dict[str, Any] = {}
    if task.priority != 5:
        pairs["priority"] = task.priority
    if task.lane != "any":
        pairs["lane"] = task.lane
    if task.tags:
        pairs["tags"] = checked_list("tags", task.tags)
    if task.coalesce != "first":
        pairs["coalesce"] = task.coalesce
    for name in ("kind", "fallback", "user", "parent", "idempotency_key", "unique", "scope", "max_attempts"):
        if (value := getattr(task, name)) is not None:
            pairs[name] = value
    if task.delay:
        pairs["delay_ms"] = to_ms("delay", task.delay)
    for name, short in (
        ("timeout", "timeout_ms"),
        ("fallback_after", "fallback_after_ms"),
        ("result_ttl", "result_ms"),
    ):
        if (seconds := getattr(task, name)) is not None:
            pairs[short] = to_ms(name, seconds)
    for name in ("run_after", "expires_at"):
        if (moment := getattr(task, name)) is not None:
            pairs[f"{name}_ms"] = to_epoch_ms(name, moment)
    if task.backoff is not None:
        pairs |= backoff_pairs(task.backoff)
    if task.headers:
        pairs["headers"] = encode(task.headers)
    return pairs


def backoff_pairs(backoff: Any) -> dict[str, Any]:
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


def held(one: Held) -> tuple[str, str]:
    if isinstance(one, Lease):
        return one.id, one.token
    if isinstance(one, tuple) and len(one) == 2:
        return one
    raise BadArgument("ADEQ_ARG", "pyadeq", f"a lease must be a Lease or (id, token), got {type(one).__name__}")


def ack_items(acks: Sequence[tuple[Held, Any]]) -> list[tuple[str, str, bytes]]:
    return [(*held(lease), b"" if result is None else encode(result)) for lease, result in acks]


def _error_bytes(error: str | bytes | BaseException) -> bytes:
    """The last 8 KiB, where a traceback says what went wrong."""
    if isinstance(error, BaseException):
        error = "".join(traceback.format_exception(error))
    data = error.encode(errors="backslashreplace") if isinstance(error, str) else error
    if not isinstance(data, bytes):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"error must be text, bytes or an exception, got {type(data).__name__}")
    return data[-MAX_ERROR_BYTES:]


def fail_items(fails: Sequence[Failure], jitters: Sequence[int]) -> list[tuple[Any, ...]]:
    if len(fails) != len(jitters):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"jitters: {len(jitters)} of them for {len(fails)} fails")
    return [
        (*held(fail.lease), fail.retryable, fail.reason, _error_bytes(fail.error), jitter)
        for fail, jitter in zip(fails, jitters, strict=True)
    ]
