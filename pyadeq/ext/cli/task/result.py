"""`adeq task result`: what a task left, once it has ended."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pyadeq import Outcome
from pyadeq.errors import AdeqError, WaitTimeout
from pyadeq.ext.cli.change.who import actor_of
from pyadeq.ext.cli.shared.arguments import TaskId, time_option
from pyadeq.ext.cli.shared.common import as_json
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.shared.running import Document, with_client
from pyadeq.ext.cli.task.reveal import Actor, Reveal
from pyadeq.ext.shared.terminal import safe
from pyadeq.models.base import flaw
from pyadeq.tiers import may_show

TOLD = {
    "cancelled": "was cancelled",
    "removed": "was deleted before it ran",
    "result_dropped": "is completed; the server's memory was full, so its result was not kept",
    "not_found": "does not exist, or no longer; the end of a task with --reply is kept for an hour",
}


@with_client
def result(
    queue: ThisQueue,
    id: TaskId,
    wait: Annotated[float | None, time_option("How long to wait for its end.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Print the bytes of the result as they are.")] = False,
    reveal: Reveal = False,
    actor: Actor = None,
) -> Document:
    """Print the result of a task; with --wait, wait for its end first.

    Exits with 1 if it has not ended in time, or if it ended without a result.
    """
    outcome = _ended(queue, id, wait or 0.0)
    if outcome.status in ("completed", "dead"):
        _check_tier(queue, id, reveal, actor)
    for what, why in outcome.unreadable.items():
        print(f"{what}: {why}; name the right codec with --codec", file=sys.stderr)
    unreadable, completed = "result" in outcome.unreadable, outcome.status == "completed"
    return Document(
        {"queue": queue.name, "id": id, **outcome.model_dump(mode="json")},
        lambda: _print(outcome, raw) if completed and not unreadable else None,
        failed=unreadable or (False if completed else AdeqError(_said(queue.name, id, outcome))),
    )


def _print(outcome: Outcome, raw: bool) -> None:
    if raw:
        sys.stdout.buffer.write(outcome.data or b"")
        return
    found = (outcome.data or b"").decode(errors="replace") if flaw(outcome.data) else outcome.result
    print(safe(found) if isinstance(found, str) else as_json(found))


def _check_tier(queue: AnyQueue, id: str, reveal: bool, actor: str | None) -> None:
    """Raise AdeqError if the data tier hides results, unless they are to be revealed: then write the event about it.

    A reply outlives its task, and does not know its tier. So it is not shown.
    """
    task = queue.get(id)
    if task is not None and may_show(task.tier, "content"):
        return
    if task is not None and not reveal:
        raise AdeqError(f"task {id!r} of queue {queue.name!r} is {task.tier}: its end is not shown; --reveal shows it")
    if task is None or queue.admin.reveal(id, actor=actor_of(actor)) == "not_found":
        raise AdeqError(
            f"the record of task {id!r} of queue {queue.name!r} is gone, so its data tier is not known, and nobody can "
            "record who sees it: its end is not shown"
        )


def _ended(queue: AnyQueue, id: str, wait: float) -> Outcome:
    try:
        return queue.inspect.ended(id, wait)
    except WaitTimeout:
        return queue.inspect.outcome(id)


def _said(queue: str, id: str, outcome: Outcome) -> str:
    task = f"task {id!r} of queue {queue!r}"
    if outcome.status == "waiting":
        return f"{task} is {outcome.state}: it has not ended; wait for it with --wait"
    if outcome.status == "dead":
        return f"{task} is dead: {outcome.reason}; see its error with adeq task show {queue} {id}"
    return f"{task} {TOLD[outcome.status]}"
