"""The queue's replies into models: the frequent ones from raw lists of bytes and integers, the others by names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pyadeq._core.kernel.call import Answer, Reply
from pyadeq._core.kernel.nouncalls import in_seconds, model, models, record
from pyadeq._core.kernel.settings import read_settings
from pyadeq._core.queue.history import Snapshot
from pyadeq.errors import UnknownTask
from pyadeq.models.option import Kind
from pyadeq.models.queue import (
    OPTIONS,
    Claimed,
    DeadGroup,
    Failed,
    Lease,
    Page,
    QueueOverview,
    QueueStats,
    Receipt,
    Renewal,
    Repair,
    Settled,
    TaskRepair,
    TaskView,
)
from pyadeq.models.queue_settings import Settings
from pyadeq.models.worker import Heartbeat, Outcome, WorkerInfo


def statuses(reply: Reply) -> list[Any]:
    return [item[0].decode() for item in reply[2]]


def repair(ids: Sequence[str], answer: Answer) -> Repair:
    seen = answer["lines"][0].fields if answer["lines"] else {"count": 0, "damaged": 0}
    found = [model(TaskRepair, one, id=id) for one, id in zip(answer["tasks"], ids, strict=True)]
    return Repair(
        tasks=found, lanes=[one.status for one in answer["lanes"]], seen=seen["count"], damaged=seen["damaged"]
    )


def receipts(reply: Reply, ids: Sequence[str]) -> list[Receipt]:
    """Return the receipts. Raises UnknownTask, with all receipts, if a task in an `after` does not exist."""
    answers: list[Receipt | None] = []
    unknown: tuple[str, str] | None = None
    for item, id in zip(reply[2], ids, strict=True):
        if item[0] == b"unknown":
            unknown = unknown or (id, item[1].decode())
            answers.append(None)
        else:
            answers.append(Receipt(item[0].decode(), item[1].decode() if len(item) > 1 else id))
    if unknown:
        raise UnknownTask(*unknown, answers)
    return cast(list[Receipt], answers)


def claimed(reply: Reply) -> Claimed:
    if reply[0] != b"ok":
        return Claimed(reply[0].decode(), 0.0, 0.0, None, [])
    return _claimed(reply[1:6], reply[6])


def settled(reply: Reply) -> Settled:
    if reply[0] != b"ok":
        return Settled([], [], claimed(reply))
    acks, fails, leases = reply[6:]
    return Settled(
        [item[0].decode() for item in acks],
        [_failed(item) for item in fails],
        _claimed(reply[1:6], leases),
    )


def failed(reply: Reply) -> list[Failed]:
    return [_failed(item) for item in reply[2]]


def heartbeat(reply: Reply) -> Heartbeat:
    _, _, mode, wanted, items = reply
    renewals = [
        Renewal.model_construct(status=item[0].decode(), deadline=item[1] / 1000 if len(item) > 1 else None)
        for item in items
    ]
    return Heartbeat.model_construct(mode=mode.decode(), capacity=wanted, renewals=renewals)


def outcomes(reply: Reply) -> list[Outcome]:
    return [_outcome(*item) for item in reply[3]]


def workers(answer: Answer) -> tuple[list[WorkerInfo], str]:
    return [_worker(item) for item in answer["items"]], answer["cursor"]


def views(answer: Answer) -> list[TaskView | None]:
    return [_view(one.fields) if one.status == "found" else None for one in answer["items"]]


def page(answer: Answer) -> Page:
    tasks = [_view(one.fields) for one in answer["items"]]
    return Page(tasks=tasks, cursor=answer["cursor"], now=answer["now_ms"] / 1000)


def stats(answer: Answer) -> QueueStats:
    fields = in_seconds(answer.fields)
    tables = {name: record("queue", name, fields.pop(name)) for name in ("lanes", "counters")}
    return QueueStats.model_validate({**fields, **tables})


def overview(answer: Answer) -> QueueOverview:
    fields = in_seconds(answer.fields)
    tables = {name: record("queue", name, fields.pop(name)) for name in ("lanes", "counters", "oldest")}
    oldest = {lane: since_ms / 1000 for lane, since_ms in tables.pop("oldest").items()}
    return QueueOverview.model_validate({**fields, **tables, "oldest": oldest})


def snapshots(answer: Answer) -> list[Snapshot]:
    return [(one["at_ms"] / 1000, one.fields) for one in answer["items"]]


def dead_groups(answer: Answer) -> tuple[list[DeadGroup], int, str]:
    return models(DeadGroup)(answer), answer["counted"], answer["cursor"]


def settings(answer: Answer) -> Settings:
    return read_settings("queue", answer["settings"], Settings)


def _failed(item: list[Any]) -> Failed:
    return Failed(status=item[0].decode(), due=item[1] / 1000 if len(item) > 1 else None)


def _claimed(times: list[int], leases: list[list[Any]]) -> Claimed:
    now_ms, next_ms, fires_ms, lease_ms, deadline_ms = times
    deadline = deadline_ms / 1000
    held = [_lease(deadline, now_ms / 1000, *fields) for _, *fields in leases]
    next_due, next_firing = (at_ms / 1000 if at_ms else None for at_ms in (next_ms, fires_ms))
    return Claimed("ok", now_ms / 1000, lease_ms / 1000, next_due, held, next_firing)


def _lease(
    deadline: float,
    claimed: float,
    id: bytes,
    token: bytes,
    fence: int,
    attempt: int,
    delivery: int,
    data: bytes,
    record: list[bytes],
) -> Lease:
    """Build a Lease without the slow checks of the frozen model."""
    lease = object.__new__(Lease)
    words = iter(record)
    its = lease.__dict__
    its["id"] = id.decode()
    its["token"] = token.decode()
    its["fence"] = fence
    its["attempt"] = attempt
    its["delivery"] = delivery
    its["deadline"] = deadline
    its["claimed"] = claimed
    its["data"] = data
    its["record"] = {name.decode(): value for name, value in zip(words, words, strict=True)}
    return lease


def _outcome(status: bytes, *fields: Any) -> Outcome:
    match status, fields:
        case b"waiting", (state, told):
            return Outcome(status="waiting", state=state.decode(), told=bool(told))
        case b"completed", (value,):
            return Outcome(status="completed", data=value)
        case b"dead", (reason, error):
            return Outcome(status="dead", reason=reason.decode(), error=error.decode(errors="replace"))
    return Outcome.model_validate({"status": status.decode()})


def _worker(item: Answer) -> WorkerInfo:
    own = record("queue", "worker", item["record"])
    return WorkerInfo.model_validate({**own, "name": item["name"], "seen": item["seen_ms"] / 1000})


def _view(fields: dict[str, Any]) -> TaskView:
    state, record = fields["state"], fields["record"]
    at = fields["at_ms"] / 1000 if fields["at_ms"] else None
    waits = "after" in record or "gather" in record
    view = {
        **_UNSET,
        "id": fields["id"],
        "state": state,
        "place": fields["place"] if state in ("ready", "blocked") else None,
        "due": at if state == "delayed" else None,
        "deadline": at if state in ("running", "stalled") else None,
        "ended": at if state in ("completed", "cancelled", "dead") else None,
        "data": fields.get("payload"),
        "result_data": fields.get("result"),
        "headers_data": record.get("headers"),
    }
    for name, value in record.items():
        if (found := _READ.get(name)) is not None:
            field, read = found
            view[field] = read(value)
    view["after_any"] = "after_any" in record if waits else None
    view["after_when"] = view["after_when"] or "completed" if waits else None
    if state == "delayed" and "waits_for" in record:
        delivery, _, name = record["waits_for"].decode().partition(" ")
        view["waits_for"] = name if record.get("deliveries") == delivery.encode() else None
    if state != "blocked":
        view["awaits"] = view["limited_by"] = None
    if "fallback" in record or "unclaimed" in record:
        view["fallback"] = _lanes(record)
    return TaskView.model_construct(**view)


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _texts(value: bytes) -> tuple[str, ...]:
    return tuple(value.decode().split(","))


def _seconds(value: bytes) -> float:
    return int(value) / 1000


_READERS: Final[dict[Kind, Callable[[bytes], Any]]] = {
    "seconds": _seconds,
    "moment": _seconds,
    "flag": lambda value: value == b"1",
    "number": int,
    "list": _texts,
    "choice": _text,
    "text": _text,
}
_UNSET: Final = {name: field.default for name, field in TaskView.model_fields.items() if name != "unreadable"}
_READ: Final[dict[str, tuple[str, Callable[[bytes], Any]]]] = {
    "limited_by": ("limited_by", _text),
    "durable": ("steps", lambda value: int(value.split(b" ")[0])),
    "created_ms": ("created", _seconds),
    "started_ms": ("started", _seconds),
    "attempts": ("attempts", int),
    "crashes": ("crashes", int),
    "deliveries": ("deliveries", int),
    "awaits": ("awaits", int),
    "schedule": ("schedule", _text),
    "nominal_ms": ("nominal", _seconds),
    "trace": ("trace", _text),
    "worker": ("worker", _text),
    "fence": ("fence", int),
    "progress_ppm": ("progress", lambda value: int(value) / 1_000_000),
    "progress_text": ("progress_text", _text),
    "progress_ms": ("progress_at", _seconds),
    "output": ("output", _text),
    "exit_code": ("exit_code", int),
    "reason": ("reason", _text),
    "error": ("error", _text),
    **{
        one.wire: (name, _READERS[one.kind])
        for name, one in OPTIONS.items()
        if name in TaskView.model_fields and name not in ("id", "fallback")
    },
}
"""The fields of a record that a view shows, and how they are read. Those of options are as their declarations say."""


def _lanes(record: dict[str, bytes]) -> tuple[str, ...]:
    """Decode the fallback of a task: its lanes, and `fail` if it fails after the last one."""
    lanes = record["fallback"].decode().split(",") if "fallback" in record else []
    return (*lanes, "fail") if record.get("unclaimed") == b"fail" else tuple(lanes)
