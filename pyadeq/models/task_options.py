# Generated from pyadeq/models/queue.py by pyadeq/_options.py; do not edit.
"""The options of a task as keywords. `Task` says what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from pyadeq.models.base import Moment, Seconds
from pyadeq.models.queue import AfterWhen, Backoff, Earlier, Tier


class CallOptions(TypedDict, total=False):
    """The options of a task, without its kind."""

    id: str | None
    priority: int
    lane: str
    fallback: str | Sequence[str] | None
    fallback_after: Seconds | None
    delay: Seconds
    run_after: Moment | None
    expires_at: Moment | None
    timeout: Seconds | None
    user: str | None
    tags: Sequence[str]
    limits: Sequence[str]
    parent: str | None
    after: Earlier
    after_any: bool
    after_when: AfterWhen
    gather: int | None
    ordering_key: str | None
    idempotency_key: str | None
    unique: str | None
    scope: str | None
    coalesce: Literal["first", "last"]
    result_ttl: Seconds | None
    reply: bool
    max_attempts: int | None
    backoff: Backoff | None
    source: str | None
    headers: dict[str, Any] | None
    tier: Tier | None


class EnqueueOptions(TypedDict, total=False):
    """All options of a task."""

    id: str | None
    kind: str | None
    priority: int
    lane: str
    fallback: str | Sequence[str] | None
    fallback_after: Seconds | None
    delay: Seconds
    run_after: Moment | None
    expires_at: Moment | None
    timeout: Seconds | None
    user: str | None
    tags: Sequence[str]
    limits: Sequence[str]
    parent: str | None
    after: Earlier
    after_any: bool
    after_when: AfterWhen
    gather: int | None
    ordering_key: str | None
    idempotency_key: str | None
    unique: str | None
    scope: str | None
    coalesce: Literal["first", "last"]
    result_ttl: Seconds | None
    reply: bool
    max_attempts: int | None
    backoff: Backoff | None
    source: str | None
    headers: dict[str, Any] | None
    tier: Tier | None


class ScheduleOptions(TypedDict, total=False):
    """The options of the tasks of a schedule."""

    kind: str | None
    priority: int
    lane: str
    fallback: str | Sequence[str] | None
    fallback_after: Seconds | None
    delay: Seconds
    timeout: Seconds | None
    user: str | None
    tags: Sequence[str]
    limits: Sequence[str]
    unique: str | None
    scope: str | None
    coalesce: Literal["first", "last"]
    result_ttl: Seconds | None
    max_attempts: int | None
    backoff: Backoff | None
    source: str | None
    headers: dict[str, Any] | None
    tier: Tier | None
