"""The queue's replies: raw lists of bytes and integers, in the form that the manifest declares, into models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyadeq._core.call import Reply
from pyadeq.models import (
    Backoff,
    Claimed,
    Failed,
    Lease,
    Page,
    QueueStats,
    Receipt,
    Renewal,
    Retried,
    Settings,
    Settled,
    Snoozed,
    TaskView,
    read_json,
)


def status(reply: Reply) -> str:
    return str(reply[0].decode())


def statuses(reply: Reply) -> list[Any]:
    return [item[0].decode() for item in reply[2]]


def count(reply: Reply) -> int:
    return int(reply[2])


def receipts(reply: Reply, ids: Sequence[str]) -> list[Receipt]:
    return [
        Receipt.model_construct(status=item[0].decode(), id=item[1].decode() if len(item) > 1 else id)
        for item, id in zip(reply[2], ids, strict=True)
    ]


def claimed(reply: Reply) -> Claimed:
    if reply[0] != b"ok":
        return Claimed(reply[0].decode(), 0.0, 0.0, None, [])
    return _claimed(reply[1:5], reply[5])


def settled(reply: Reply) -> Settled:
    if reply[0] != b"ok":
        return Settled([], [], claimed(reply))
    acks, fails, leases = reply[5:]
    return Settled(
        [item[0].decode() for item in acks],
        [_failed(item) for item in fails],
        _claimed(reply[1:5], leases),
    )


def failed(reply: Reply) -> list[Failed]:
    return [_failed(item) for item in reply[2]]


def renewals(reply: Reply) -> list[Renewal]:
    return [Renewal(status=item[0].decode(), deadline=item[1] / 1000 if len(item) > 1 else None) for item in reply[2]]


def snoozed(reply: Reply) -> list[Snoozed]:
    return [Snoozed(status=item[0].decode(), due=item[1] / 1000 if len(item) > 1 else None) for item in reply[2]]


def retried(reply: Reply) -> list[Retried]:
    return [Retried(status=item[0].decode(), holder=item[1].decode() if len(item) > 1 else None) for item in reply[2]]


def removed(reply: Reply) -> tuple[int, bool]:
    return int(reply[2]), bool(reply[3])


def views(reply: Reply) -> list[TaskView | None]:
    return [_view(item, item[6], item[7]) if item[0] == b"found" else None for item in reply[3]]


def page(reply: Reply) -> Page:
    return Page(tasks=[_view(item) for item in reply[3]], cursor=reply[2].decode(), now=reply[1] / 1000)


def stats(reply: Reply) -> QueueStats:
    now_ms, mode, ready, delayed, blocked, running, stalled, finished, dead, workers = reply[1:11]
    lanes, more_lanes, counters = reply[11:]
    return QueueStats(
        now=now_ms / 1000,
        mode=mode.decode(),
        ready=ready,
        delayed=delayed,
        blocked=blocked,
        running=running,
        stalled=stalled,
        finished=finished,
        dead=dead,
        workers=workers,
        lanes={name.decode(): int(value) for name, value in _pairs(lanes)},
        more_lanes=more_lanes,
        counters={name.decode(): int(value) for name, value in _pairs(counters)},
    )


def settings(reply: Reply) -> Settings:
    stored = {name.decode(): value.decode() for name, value in _pairs(reply[2])}
    backoff = {
        "base": _scaled(stored, "backoff_base_ms", 1000),
        "multiplier": _scaled(stored, "backoff_multiplier_pct", 100),
        "cap": _scaled(stored, "backoff_cap_ms", 1000),
        "jitter": _scaled(stored, "jitter_pct", 100),
    }
    given = {
        "clock": stored.get("clock"),
        "layout": stored.get("layout"),
        "lease": _scaled(stored, "lease_ms", 1000),
        "max_attempts": stored.get("max_attempts"),
        "max_crashes": stored.get("max_crashes"),
        "events_max": stored.get("events_max"),
        "mode": stored.get("mode"),
        "finished_keep": _scaled(stored, "finished_keep_ms", 1000),
        "finished_max": stored.get("finished_max"),
        "dead_keep": _scaled(stored, "dead_keep_ms", 1000),
        "dead_max": stored.get("dead_max"),
        "result_ttl": _scaled(stored, "result_ms", 1000),
        "idempotency": _scaled(stored, "idempotency_ms", 1000),
        "timeout_grace": _scaled(stored, "timeout_grace_ms", 1000),
        "backoff": Backoff.model_validate({k: v for k, v in backoff.items() if v is not None}),
    }
    return Settings.model_validate({name: value for name, value in given.items() if value is not None})


def _scaled(stored: dict[str, str], name: str, unit: int) -> float | None:
    return int(stored[name]) / unit if name in stored else None


def _pairs(flat: list[bytes]) -> zip[tuple[bytes, bytes]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _failed(item: list[Any]) -> Failed:
    return Failed(status=item[0].decode(), due=item[1] / 1000 if len(item) > 1 else None)


def _claimed(times: list[int], leases: list[list[Any]]) -> Claimed:
    now_ms, next_ms, lease_ms, deadline_ms = times
    deadline = deadline_ms / 1000
    held = [
        Lease(
            id.decode(),
            token.decode(),
            fence,
            attempt,
            delivery,
            deadline,
            data,
            {name.decode(): value for name, value in _pairs(record)},
        )
        for _, id, token, fence, attempt, delivery, data, record in leases
    ]
    return Claimed("ok", now_ms / 1000, lease_ms / 1000, next_ms / 1000 if next_ms else None, held)


def _view(item: list[Any], data: bytes | None = None, result: bytes | None = None) -> TaskView:
    _, id, state, at_ms, place, flat = item[:6]
    record = {name.decode(): value for name, value in _pairs(flat)}
    state = state.decode()
    at = at_ms / 1000 if at_ms else None

    def text(name: str) -> str | None:
        return record[name].decode(errors="replace") if name in record else None

    def number(name: str, default: int | None = None) -> Any:
        return int(record[name]) if name in record else default

    def seconds(name: str) -> float | None:
        return int(record[name]) / 1000 if name in record else None

    return TaskView.model_construct(
        id=id.decode(),
        state=state,
        kind=text("kind"),
        priority=number("priority", 5),
        lane=text("lane") or "any",
        user=text("user"),
        tags=tuple(record["tags"].decode().split(",")) if "tags" in record else (),
        place=place if state in ("ready", "blocked") else None,
        due=at if state == "delayed" else None,
        deadline=at if state in ("running", "stalled") else None,
        created=seconds("created_ms"),
        started=seconds("started_ms"),
        ended=at if state in ("completed", "cancelled", "dead") else None,
        attempts=number("attempts", 0),
        crashes=number("crashes", 0),
        deliveries=number("deliveries", 0),
        max_attempts=number("max_attempts"),
        parent=text("parent"),
        idempotency_key=text("idempotency_key"),
        unique=text("unique"),
        scope=text("scope"),
        expires_at=seconds("expires_at_ms"),
        timeout=seconds("timeout_ms"),
        fallback=text("fallback"),
        trace=text("trace"),
        worker=text("worker"),
        fence=number("fence"),
        reason=text("reason"),
        error=text("error"),
        data=data,
        result_data=result,
        headers=read_json(record.get("headers")),
    )
