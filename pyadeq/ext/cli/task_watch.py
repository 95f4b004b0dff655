"""`adeq task watch`: one task, until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from time import monotonic, sleep
from typing import Annotated

import typer
from rich.text import Text

from pyadeq import Queue, TaskView
from pyadeq.ext.cli.arguments import QueueName, TaskId, time_option
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    as_json,
    connected,
    print_json,
    safe,
    stdout,
)
from pyadeq.ext.cli.listing import more, not_found, print_task, whole
from pyadeq.ext.cli.live import Live
from pyadeq.ext.cli.resolve import holder
from pyadeq.tiers import shown

ENDED = ("completed", "cancelled", "dead")
STYLES = {"completed": "green", "dead": "bold red", "cancelled": "yellow", "stalled": "yellow", "running": "cyan"}
SHORTEST = 0.05  # seconds between two looks


def watch(
    queue: QueueName,
    id: TaskId,
    interval: Annotated[float, time_option("Time between two reads.")] = "500ms",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("Give up after this time.", "--for")] = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Follow a task until it ends, and show how it ended. Ctrl-C ends the watch, not the task.

    Exits with 0 if it completed. Exits with 1 if it was cancelled, is dead, or has not ended in time. With -o jsonl
    there is an object for each change, with -o json only the last one.
    """
    task: TaskView | None = None
    with connected(url) as adeq, Live() as live:
        for task in map(shown, changes(holder(adeq, queue, id), id, max(interval, SHORTEST), seconds)):
            if output == Format.table:
                live.show(_picture(task), _line(task))
            elif output == Format.jsonl:
                print(as_json(whole(task)), flush=True)
    if task is None:
        raise not_found(queue, id)
    if output == Format.json:
        print_json(whole(task))
    elif output == Format.table and task.state in ENDED:
        print()
        print_task(stdout(), task)
    if task.state != "completed":
        raise typer.Exit(FAILED)


def changes(queue: Queue, id: str, interval: float, seconds: float | None) -> Iterator[TaskView]:
    """The task each time that it has changed, until it has ended or is gone, for at most that many seconds."""
    until = inf if seconds is None else monotonic() + seconds
    before: TaskView | None = None
    while (task := queue.get(id)) is not None:
        if task != before:
            yield task
        before = task
        if task.state in ENDED or monotonic() >= until:
            return
        sleep(max(min(interval, until - monotonic()), 0))


def _line(task: TaskView) -> str:
    words = [task.id, task.state, f"run {task.attempts}" if task.attempts else "", _so_far(task), more(task)]
    return " ".join(filter(None, words))


def _so_far(task: TaskView) -> str:
    """How far its run says it has come."""
    share = "" if task.progress is None else f"{task.progress:.0%}"
    return " ".join(filter(None, [share, safe(task.progress_text or "")]))


def _picture(task: TaskView) -> Text:
    before, state, after = _line(task).partition(task.state)
    return Text.assemble(before, (state, STYLES.get(task.state, "")), after)
