"""`adeq task watch`: one task, until it ends."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import typer
from rich.text import Text

from pyadeq import Adeq, TaskView
from pyadeq.errors import WaitTimeout
from pyadeq.ext.cli.shared.arguments import TaskId, time_option
from pyadeq.ext.cli.shared.common import FAILED, Format, Output, as_json, iso, print_json
from pyadeq.ext.cli.shared.live import Live
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import holder
from pyadeq.ext.cli.shared.running import with_client
from pyadeq.ext.cli.task.listing import more, not_found, print_task, whole
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.models.queue import State
from pyadeq.tiers import may_show, shown

ENDED = ("completed", "cancelled", "dead")
STYLES = {"completed": "green", "dead": "bold red", "cancelled": "yellow", "stalled": "yellow", "running": "cyan"}
SHORTEST = 0.05  # seconds between two reads


@with_client
def watch(
    adeq: Adeq,
    queue: QueueName,
    id: TaskId,
    interval: Annotated[float, time_option("Time between two reads.")] = "500ms",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("Give up after this time.", "--for")] = None,
    output: Output = Format.table,
) -> None:
    """Follow a task until it ends, with its log, and show how it ended. Ctrl-C ends the watch, not the task.

    Exits with 0 if it completed. Exits with 1 if it was cancelled, is dead, or has not ended in time. With -o jsonl
    there is an object for each change, with the new lines of the log. With -o json there is only the last one.
    """
    task: TaskView | None = None
    state: State | None = None
    with Live() as live, suppress(WaitTimeout):
        there = holder(adeq, queue, id)
        for update in there.updates(id, timeout=seconds, interval=max(interval, SHORTEST)):
            state = update.state
            if update.task is None:  # its record was not kept
                break
            task = shown(update.task)
            lines = update.log if may_show(task.tier, "content") else ()
            if output == Format.table:
                for line in lines:
                    live.say(f"{iso(line.at)} {safe(line.text)}")
                live.show(_picture(task), _line(task))
            elif output == Format.jsonl:
                log = [{"at": line.at, "at_iso": iso(line.at), "text": line.text} for line in lines]
                print(as_json({**whole(task), "log": log}), flush=True)
    if task is None:
        raise not_found(queue, id)
    if output == Format.json:
        print_json(whole(task))
    elif output == Format.table and task.state in ENDED:
        print()
        print_task(stdout(), task)
    if state != "completed":
        raise typer.Exit(FAILED)


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
