"""The replies of a lock domain, in the form that the manifest declares, into models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.nouncalls import in_seconds, record
from pyadeq._core.kernel.settings import read_settings
from pyadeq.models.lock import (
    Capacity,
    CycleEdge,
    Detected,
    Edge,
    EdgePage,
    Forced,
    FoundDeadlock,
    HeldLock,
    LockRenewal,
    LockStats,
    LockView,
    Reaped,
    RequestPage,
    RequestState,
    RequestView,
)
from pyadeq.models.lock_settings import LockSettings

MAX_CIRCLE: Final = 30_000


def status(answer: Answer) -> Any:
    return answer.status


def statuses(answer: Answer) -> list[Any]:
    return [item.status for item in answer["items"]]


def acquired(answer: Answer, resource: str | None = None) -> RequestState:
    """Decode an answer. resource: the resource of the fence, if the answer has a single fence."""
    return _state(answer, answer["now_ms"], resource)


def polled(answer: Answer) -> list[RequestState]:
    return [_state(item, answer["now_ms"]) for item in answer["items"]]


def _state(answer: Answer, now_ms: int, resource: str | None = None) -> RequestState:
    fields = in_seconds(answer.fields)
    fields["now"] = now_ms / 1000
    if "fence" in fields:
        fields["fences"] = {resource: fields.pop("fence")}
    elif "fences" in fields:
        fields["fences"] = {part["resource"]: part["fence"] for part in fields["fences"]}
    if "circle" in fields:
        fields["cycle"], fields["cycle_cut"] = circle(fields.pop("circle"))
    if "retry" in fields:
        fields["retry_after"] = fields.pop("retry")
    return RequestState.model_validate({"status": answer.status, **fields})


def renewals(answer: Answer) -> list[LockRenewal]:
    now = answer["now_ms"] / 1000
    return [
        LockRenewal.model_validate({"status": item.status, "now": now, **in_seconds(item.fields)})
        for item in answer["items"]
    ]


def reaped(answer: Answer) -> Reaped:
    return Reaped(ended=answer["ended"], more=bool(answer["more"]))


def forced(answer: Answer) -> tuple[Forced, bool]:
    return Forced(fence=answer["fence"], rids=tuple(answer["released"])), bool(answer["more"])


def went(answer: Answer) -> tuple[list[str], bool]:
    return list(answer["ended"]), bool(answer["more"])


def edges(answer: Answer) -> EdgePage:
    found = [Edge.model_validate({**_mode(edge.fields.pop("code")), **edge.fields}) for edge in answer["edges"]]
    return EdgePage(edges=found, cursor=answer["cursor"], now=answer["now_ms"] / 1000)


def detected(answer: Answer) -> Detected:
    found = []
    for item in answer["items"]:
        cycle, cut = circle(item["circle"])
        found.append(FoundDeadlock(rid=item["rid"], cycle=cycle, cycle_cut=cut))
    return Detected(checked=answer["checked"], more=bool(answer["more"]), deadlocks=found)


def page(answer: Answer) -> RequestPage:
    requests = [_view(item) for item in answer["items"]]
    return RequestPage(requests=requests, cursor=answer["cursor"], now=answer["now_ms"] / 1000)


def resource(answer: Answer, name: str) -> LockView:
    requests = [_view(item) for item in answer["items"]]
    return LockView(
        resource=name,
        now=answer["now_ms"] / 1000,
        held=answer["holders"],
        waiting=answer["waiters"],
        holders=[one for one in requests if one.place is None],
        waiters=[one for one in requests if one.place is not None],
        capacity=_capacity(answer["capacity"]),
    )


def stats(answer: Answer) -> LockStats:
    found = settings(answer)
    fields = in_seconds(answer.fields)
    fields["detected"] = fields["detected"] or None
    return LockStats(settings=found, **fields)


def _view(item: Answer) -> RequestView:
    fields = in_seconds(item.fields)
    for name in ("until", "granted", "place"):
        fields[name] = fields[name] or None
    fields["locks"] = tuple(_held_lock(part) for part in fields["locks"].split(","))
    fields["purpose"] = fields["purpose"].decode(errors="replace")
    return RequestView.model_validate(fields)


def _held_lock(text: str) -> HeldLock:
    """`<code>/<fence>=<resource>`"""
    code, fence, resource = re.split("[/=]", text, maxsplit=2)
    return HeldLock(resource=resource, fence=int(fence) or None, **_mode(code))


def _mode(code: str) -> dict[str, Any]:
    """x, s, or p and a number; + if the request depends on a lock that its owner already holds."""
    code = code.rstrip("+")
    if code.startswith("p"):
        return {"mode": "permit", "permits": int(code[1:])}
    return {"mode": {"x": "exclusive", "s": "shared"}[code]}


def circle(text: str) -> tuple[tuple[CycleEdge, ...], int]:
    """`<owner>><code>><resource>`, several with spaces between; `+<n>` at the end: n more are left out."""
    steps = text.split()
    cut = int(steps.pop()) if steps[-1].startswith("+") and ">" not in steps[-1] else 0
    parts = [step.split(">", 2) for step in steps]
    return tuple(CycleEdge(owner=owner, resource=resource, **_mode(code)) for owner, code, resource in parts), cut


def circle_text(cycle: Sequence[CycleEdge]) -> str:
    """Encode a cycle as text; only the beginning of a long cycle."""
    codes = {"exclusive": "x", "shared": "s"}
    steps = [f"{one.owner}>{codes.get(one.mode, f'p{one.permits}')}>{one.resource}" for one in cycle]
    while len(text := " ".join(steps)) > MAX_CIRCLE:
        steps.pop()
    return text


def _capacity(about: dict[str, bytes]) -> Capacity | None:
    if not about:
        return None
    fields = record("lock", "capacity", about)
    return Capacity.model_validate({"heartbeat": fields.pop("seen"), **fields, "silent": fields["silent"] or None})


def settings(answer: Answer) -> LockSettings:
    return read_settings("lock", answer.fields.pop("settings"), LockSettings)
