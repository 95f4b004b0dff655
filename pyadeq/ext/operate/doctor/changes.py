"""What is late in a change domain: steps that no call has done, and tasks that are not in their queue, or dead."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, NamedTuple

from redis.exceptions import NoPermissionError

from pyadeq import Adeq
from pyadeq.ext.operate.doctor.report import Finding, warn

LATE: Final = 3600.0  # seconds
UNDELIVERED: Final = 300.0


class Late(NamedTuple):
    """Numbers of a domain.

    due: how many changes have a step that is due. due_for: seconds since the first was due. outbox: how many tasks are
    not in their queue. outbox_for: seconds since the first should have been tried. queue: theirs; empty: none is set.
    dead: how many of the tasks that follow are dead.
    """

    due: int
    due_for: float
    outbox: int
    outbox_for: float
    queue: str
    dead: int


def look(adeq: Adeq, base: str) -> Late | None:
    """None for a domain with the clock of a test: the server's time says nothing of it."""
    clock, queue = (_text(one) for one in adeq.client.hmget(f"{base}:config", ["clock", "follow_queue"]))
    if clock == "test":
        return None
    seconds, micros = adeq.client.time()
    now_ms = seconds * 1000 + micros // 1000
    queue = "" if queue == "none" else queue  # the setting is unset so
    return Late(
        adeq.client.zcount(f"{base}:due", "-inf", now_ms),
        _since(adeq, f"{base}:due", now_ms),
        adeq.client.zcard(f"{base}:outbox"),
        _since(adeq, f"{base}:outbox", now_ms),
        queue,
        _dead(adeq, queue, base.rpartition(":")[2].removesuffix("}")) if queue else 0,
    )


def _dead(adeq: Adeq, queue: str, domain: str) -> int:
    """Return how many tasks of the queue that follow the domain's changes are dead; 0 if the user may not look."""
    with suppress(NoPermissionError):
        return sum(1 for _ in adeq.client.zscan_iter(f"{adeq.queue(queue).base}:dead", f"{domain}/*", 1000))
    return 0


def _since(adeq: Adeq, key: str, now_ms: int) -> float:
    first: Any = adeq.client.zrange(key, 0, 0, withscores=True)
    return max(now_ms - float(first[0][1]), 0) / 1000 if first else 0.0


def _text(value: bytes | str | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def check(domain: str, late: Late) -> Finding | None:
    """What to do about it, if there is something."""
    if late.outbox and not late.queue:
        return warn(
            f"change domain {domain}: {_tasks(late.outbox)}, because the domain has none",
            "A policy names tasks that follow steps of changes. They wait, and their changes are kept.",
            f"adeq change configure --domain {domain} --follow-queue QUEUE",
        )
    if late.outbox_for > UNDELIVERED:
        return warn(
            f"change domain {domain}: {_tasks(late.outbox)}, one of them for {_time(late.outbox_for)}",
            "They follow steps of changes, and wait for a program that delivers them.",
            f'regularly, in Python: adeq.changes("{domain}").deliver()',
        )
    if late.due_for > LATE:
        return warn(
            f"change domain {domain}: {late.due:,} change{'' if late.due == 1 else 's'} with a step that is due, the "
            f"first for {_time(late.due_for)}",
            "No call has come since, so reminders, escalations and ends of reviews are late. Answers are still right: "
            "a call first does what is due for its changes.",
            f"regularly: adeq change sweep --domain {domain}",
        )
    if late.dead:
        return warn(
            f"change domain {domain}: {late.dead:,} dead task{'' if late.dead == 1 else 's'} in the queue {late.queue}",
            "They follow steps of changes, so something that was decided has not been done.",
            f"adeq dead ls {late.queue}, and when the cause is repaired: adeq dead retry {late.queue} ID",
        )
    return None


def _tasks(count: int) -> str:
    return "1 task is not in its queue" if count == 1 else f"{count:,} tasks are not in their queue"


def _time(seconds: float) -> str:
    return f"{seconds / 3600:,.0f} h" if seconds >= 7200 else f"{seconds / 60:,.0f} min"
