"""What a data tier hides, shown to somebody who asks for it: an event says who has seen it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pyadeq import TaskView, tiers
from pyadeq.ext.cli.change.who import Actor, actor_of
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.task.listing import not_found

__all__ = ["Actor", "Reveal", "as_asked"]

Reveal = Annotated[
    bool, typer.Option("--reveal", help="Also show what the data tier hides. An event records who has seen it.")
]


def as_asked(queue: AnyQueue, task: TaskView, reveal: bool, actor: str | None) -> TaskView:
    """The task as it may be shown; whole if that is asked for, after the event about it is written."""
    if not tiers.hidden(task.tier):
        return task
    if reveal:
        if queue.admin.reveal(task.id, actor=actor_of(actor)) == "not_found":  # deleted meanwhile: nothing was recorded
            raise not_found(queue.name, task.id)
        return task
    print(f"{hidden_words(task)}; --reveal shows it", file=sys.stderr)
    return tiers.shown(task)


def hidden_words(task: TaskView) -> str:
    """What the command line says of a task that it does not show whole."""
    return f"task {task.id!r} is {task.tier}: its {', '.join(tiers.hidden(task.tier))} and log are not shown"
