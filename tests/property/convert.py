"""The model's words into pyadeq's, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pyadeq import models
from pyadeq._core.queue.items import Failure
from tests.property.records import Answer, Backoff, Spec

SECONDS = {"lease", "finished_keep", "dead_keep", "result_ttl", "idempotency", "timeout", "timeout_grace", "presence"}
SECONDS |= {"reply_ttl"}
COUNTS = {"max_attempts", "max_crashes", "finished_max", "dead_max"}


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000


def to_settings(changes: dict[str, Any]) -> dict[str, Any]:
    to = {"backoff": to_backoff} | dict.fromkeys(SECONDS, seconds)
    return {name: to[name](value) if name in to else value for name, value in changes.items()}


def from_settings(settings: models.Settings) -> dict[str, Any]:
    back = settings.backoff
    times = {name: getattr(settings, name) for name in SECONDS}
    return {
        **{name: None if value is None else ms(value) for name, value in times.items()},
        **{name: getattr(settings, name) for name in COUNTS},
        "backoff": Backoff(ms(back.base), back.multiplier, ms(back.cap), back.jitter),
        "mode": settings.mode,
    }


def to_backoff(backoff: Backoff | None) -> models.Backoff | None:
    if backoff is None:
        return None
    return models.Backoff(
        base=backoff.base / 1000, multiplier=backoff.multiplier, cap=backoff.cap / 1000, jitter=backoff.jitter
    )


def to_task(spec: Spec) -> models.Task:
    return models.Task(
        payload=spec.payload, kind=spec.kind, priority=spec.priority, lane=spec.lane, delay=spec.delay / 1000,
        run_after=seconds(spec.run_after or None), expires_at=seconds(spec.expires or None),
        timeout=seconds(spec.timeout), fallback=spec.fallback or None,
        fallback_after=seconds(spec.fallback_after) if spec.fallback else None, user=spec.user, tags=spec.tags,
        parent=spec.parent, idempotency_key=spec.key, unique=spec.unique, scope=spec.scope,
        coalesce="last" if spec.coalesce == "last" else "first", result_ttl=seconds(spec.result_ttl),
        max_attempts=spec.max_attempts, backoff=to_backoff(spec.backoff), reply=spec.reply, after=spec.after,
        after_any=spec.after_any, after_when=cast(models.AfterWhen, spec.after_when), gather=spec.gather or None,
        ordering_key=spec.order,
    )  # fmt: skip


def from_items(reply: Any, ids: Iterable[str]) -> list[Answer]:
    """What each item of an enqueue was answered, also those that pyadeq raises an error for."""
    return [(item[0].decode(), item[1].decode() if item[1:] else id) for item, id in zip(reply[2], ids, strict=True)]


def to_acks(acks: Iterable[Answer]) -> list[Any]:
    return [((id, token), result) for id, token, result in acks]


def to_fails(fails: Iterable[Answer]) -> list[Failure]:
    return [
        Failure(
            (id, token), error, reason, retryable, seconds(more.get("delay")), seconds(more.get("timeout")),
            more.get("alert", False), more.get("exit_code"),
        )
        for id, token, retryable, reason, error, _, more in fails
    ]  # fmt: skip


def to_notes(notes: Iterable[Answer]) -> list[Any]:
    return [((id, token), note) for id, token, note in notes]


def from_due(answer: models.Failed | models.Snoozed) -> Answer:
    return (answer.status,) if answer.due is None else (answer.status, ms(answer.due))
