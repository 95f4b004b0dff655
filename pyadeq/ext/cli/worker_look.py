"""`adeq worker ls|show`: the live workers of a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.common import iso, safe
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, InQueue
from pyadeq.ext.cli.running import Document, Lines, with_client

if TYPE_CHECKING:
    from pyadeq import WorkerInfo

Group = Annotated[str | None, typer.Option(metavar="NAME", help="Only workers of this group.")]
COLUMNS = ("worker", "group", "mode", "heard", "capacity", "busy", "free", "seen", "host", "pid", "capabilities")
RIGHT = ("capacity", "busy", "free", "pid")
SPARE = ("capabilities", "pid", "free", "host", "heard", "seen", "group")
TIMES = ("seen", "registered")


@with_client
def ls(
    group: Group = None,
    capability: Annotated[str | None, typer.Option(metavar="NAME", help="Only workers with this capability.")] = None,
    queue: InQueue = DEFAULT_QUEUE,
) -> Lines:
    """List the live workers of a queue: capacity, running tasks, and requests to the worker.

    A worker is alive if it was seen within 30 s (adeq queue configure --presence).
    """
    return Lines(
        queue.workers(group=group, capability=capability),
        COLUMNS,
        _row,
        as_dict,
        right=RIGHT,
        spare=SPARE,
        none=f"queue {queue.name!r} has no matching live workers",
    )


@with_client
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The worker.")],
    queue: InQueue = DEFAULT_QUEUE,
) -> Document:
    """Show everything about a worker."""
    worker = queue.worker(name)
    if worker is None:
        raise AdeqError(f"worker: queue {queue.name!r} has no live worker with the name {name!r}; see adeq worker ls")
    fields = {**worker.model_dump(), **{time: _time(getattr(worker, time)) for time in TIMES}}
    return Document(as_dict(worker), {name: text for name, value in fields.items() if (text := _text(value))})


def as_dict(worker: WorkerInfo) -> dict[str, Any]:
    """A worker as JSON has it."""
    fields = worker.model_dump()
    return {**fields, **{f"{time}_iso": iso(fields[time]) for time in TIMES if fields[time] is not None}}


def _row(worker: WorkerInfo) -> tuple[str, ...]:
    return (
        worker.name,
        _text(worker.group),
        worker.mode,
        "yes" if worker.heard else "not yet",
        _text(worker.wanted or worker.capacity),
        _text(worker.busy),
        _text(worker.free),
        _time(worker.seen),
        _text(worker.hostname),
        _text(worker.pid),
        _text(worker.capabilities),
    )


def _time(seconds: float | None) -> str:
    return "" if seconds is None else iso(seconds)


def _text(value: object) -> str:
    if value is None:
        return ""
    return safe(" ".join(value) if isinstance(value, tuple) else str(value))
