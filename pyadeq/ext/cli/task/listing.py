"""Tasks as they are shown: many, page by page and so in constant memory; and one with all there is to it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Unpack

from rich.console import Console
from rich.text import Text

from pyadeq import TaskView
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.arguments import StateName
from pyadeq.ext.cli.shared.common import PLACE, as_json, iso
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.shared.running import Lines
from pyadeq.ext.cli.shared.tables import print_fields
from pyadeq.ext.shared.terminal import safe
from pyadeq.models.base import Storing, flaw
from pyadeq.models.queue import INDEXED, State, TaskFilter, given_conditions
from pyadeq.tiers import shown

RIGHT = ("priority", "runs")
SPARE = ("priority", "tags", "created", "user", "runs", "kind")
TIMES = ("due", "deadline", "created", "started", "ended", "expires_at", "progress_at")
TEXTS = ("payload", "headers", "result")
BYTES = {f"{name}_base64" for name in TEXTS}
LEFT_OUT = {*TEXTS, *BYTES, "error"}  # of summaries
ORDER: tuple[State, ...] = ("running", "stalled", "ready", "delayed", "blocked", "dead", "completed", "cancelled")
COLUMNS = ("id", "state", "priority", "kind", "user", "tags", "runs", "created", "more")


def find_tasks(queue: AnyQueue, state: StateName | None, **filter: Unpack[TaskFilter]) -> Iterator[TaskView]:
    """The tasks that fit; where no user, tag or parent is named, those of all states, one state after the other."""
    fits = given_conditions(filter)
    wanted: State | None = None if state is None else state.value
    if not fits.keys().isdisjoint(INDEXED):
        yield from queue.iterate(wanted, **fits)
        return
    for one in (wanted,) if wanted else ORDER:
        if one != "ready" or "lane" in fits:
            yield from queue.iterate(one, **fits)
            continue
        stats = queue.stats()  # ready tasks are listed by lane
        for lane in stats.lanes:
            of_lane: TaskFilter = {**fits, "lane": lane}
            yield from queue.iterate("ready", **of_lane)
        if stats.more_lanes:
            print(f"{stats.more_lanes:,} more lanes have tasks: name one with --lane", file=sys.stderr)


def task_lines(tasks: Iterable[TaskView], limit: int | None) -> Lines:
    """The answer of a command that lists up to limit tasks; None: all."""
    return Lines(tasks, COLUMNS, lambda task: _row(shown(task)), summary, right=RIGHT, spare=SPARE, limit=limit)


def summary(task: TaskView) -> dict[str, Any]:
    """A task of a list as JSON has it: without payload, result, error and headers."""
    return _with_iso(shown(task).model_dump(exclude=LEFT_OUT))


def whole(task: TaskView) -> dict[str, Any]:
    """A task as JSON has it, with a link to its trace if ADEQ_TRACE_URL says how it looks."""
    link = trace_url(task)
    return ({} if link is None else {"trace_url": link}) | _with_iso(
        {name: value for name, value in task.model_dump(mode="json").items() if value is not None or name not in BYTES}
    )


def not_found(queue: str, id: str) -> AdeqError:
    """The error for a task that there is not."""
    return AdeqError(f"task: queue {queue!r} has no task with the id {id!r}; ended tasks are kept for a limited time")


def print_task(console: Console, task: TaskView) -> None:
    """Print a task: what is set, then its long texts."""
    fields = task.model_dump(exclude=LEFT_OUT)
    rows = [
        (name, time_of(value) if name in TIMES else safe(" ".join(value) if isinstance(value, tuple) else str(value)))
        for name, value in fields.items()
        if value not in (None, (), {})
    ]
    if link := trace_url(task):
        rows.append(("trace_url", safe(link)))
    print_fields(rows)
    long = {name: text for name in TEXTS if (text := shown_text(task, name)) is not None}
    if task.error:
        long["error"] = task.error
    for name, text in long.items():
        console.print(Text(f"\n{name}", style="bold"))
        console.print(Text(safe(text)), soft_wrap=True)


def trace_url(task: TaskView) -> str | None:
    """The page of the trace of a task's enqueue: ADEQ_TRACE_URL with its `{trace_id}` replaced."""
    template = os.environ.get("ADEQ_TRACE_URL", "")
    if template and "{trace_id}" not in template:
        raise ConfigError(
            f"ADEQ_TRACE_URL: {template!r} is not accepted; allowed: an address with {{trace_id}} in it, such as "
            "https://traces.example.org/trace/{trace_id}"
        )
    found = re.fullmatch(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}", task.trace or "")
    if not template or not found:
        return None
    return template.replace("{trace_id}", found[1]).replace("{span_id}", found[2])


def more(task: TaskView) -> str:
    """What there is to know of a task in its state."""
    match task.state:
        case "delayed":
            return f"due {time_of(task.due)}"
        case "running" | "stalled":
            return f"{task.worker} until {time_of(task.deadline)}"
        case "ready" | "blocked":
            awaits = f"awaits {task.awaits:,}" if task.awaits else ""
            limited = f"limited by {task.limited_by}" if task.limited_by else ""
            return " ".join(filter(None, ["" if task.lane == "any" else task.lane, awaits, limited]))
        case _:
            return f"{task.reason or ''} {time_of(task.ended)}".lstrip()


def time_of(seconds: float | None) -> str:
    """A point in time, or nothing."""
    return "" if seconds is None else iso(seconds)


def shown_text(found: Storing, name: str) -> str | None:
    """A stored value for people, as JSON; as it is stored, if not each program could read it. None: there is none."""
    data, value = getattr(found, found.STORED[name]), getattr(found, name)
    return data.decode(errors="replace") if flaw(data) else None if value is None else as_json(value, 2)


def _with_iso(fields: dict[str, Any]) -> dict[str, Any]:
    times = {f"{name}_iso": iso(fields[name]) for name in TIMES if fields[name] is not None}
    return {**fields, **times}


def _row(task: TaskView) -> tuple[str, ...]:
    return (
        task.id,
        task.state,
        str(task.priority),
        task.kind or "",
        task.user or "",
        " ".join(task.tags),
        str(task.attempts),
        time_of(task.created) if PLACE.wide else time_of(task.created)[:19] + "Z",
        more(task),
    )
