"""`adeq worker ls|show`: the live workers of a queue."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq import WorkerInfo
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    Format,
    Output,
    Url,
    connected,
    iso,
    print_json,
    print_lines,
    safe,
)
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.tables import print_fields, print_rows

Group = Annotated[str | None, typer.Option(metavar="NAME", help="Only workers of this group.")]
COLUMNS = ("worker", "group", "mode", "heard", "capacity", "busy", "free", "seen", "host", "pid", "capabilities")
RIGHT = ("capacity", "busy", "free", "pid")
SPARE = ("capabilities", "pid", "free", "host", "heard", "seen", "group")
TIMES = ("seen", "registered")


def ls(
    group: Group = None,
    capability: Annotated[str | None, typer.Option(metavar="NAME", help="Only workers with this capability.")] = None,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the live workers of a queue: capacity, running tasks, and requests to the worker.

    A worker is alive if it was seen within 30 s (adeq queue configure --presence).
    """
    with connected(url) as adeq:
        found = existing_queue(adeq, queue).workers(group=group, capability=capability)
    if output != Format.table:
        print_lines(map(as_dict, found), output)
    else:
        print_rows(COLUMNS, map(_row, found), right=RIGHT, spare=SPARE)
        if not found:
            typer.echo(f"\nqueue {queue!r} has no matching live workers", err=True)


def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The worker.")],
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show everything about a worker."""
    with connected(url) as adeq:
        worker = existing_queue(adeq, queue).worker(name)
    if worker is None:
        raise AdeqError(f"worker: queue {queue!r} has no live worker with the name {name!r}; see adeq worker ls")
    if output != Format.table:
        print_json(as_dict(worker), output)
        return
    fields = {**worker.model_dump(), **{time: _time(getattr(worker, time)) for time in TIMES}}
    print_fields([(name, _text(value)) for name, value in fields.items() if _text(value)])


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
