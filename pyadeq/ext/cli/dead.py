"""`adeq dead`: dead tasks, which ran out of attempts or failed for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import Most, StateName, Yes, confirm, many, with_filter
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.made import statuses
from pyadeq.ext.cli.shared.queue_arguments import QueueName, ThisQueue
from pyadeq.ext.cli.shared.resolve import AnyQueue, existing_queue
from pyadeq.ext.cli.shared.running import Document, Lines, Table, with_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.cli.task import show as task_show
from pyadeq.ext.cli.task.listing import find_tasks, task_lines
from pyadeq.models.queue import TaskFilter, given_conditions

if TYPE_CHECKING:
    from pyadeq import Adeq, Bulk

app = noun(NOUNS["dead"])

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Dead tasks.")]
All = Annotated[bool, typer.Option("--all", help="All dead tasks.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the matching tasks.")]


@app.command()
@with_filter
@with_client
def ls(queue: ThisQueue, most: Most = None, **filter: Unpack[TaskFilter]) -> Lines:
    """List dead tasks, oldest first. `adeq dead show` shows the error of one."""
    return task_lines(find_tasks(queue, StateName.dead, **filter), most)


@app.command()
@with_client
def stats(
    queue: ThisQueue,
    most: Annotated[int, typer.Option(min=1, help="Look at this many tasks at most, the newest.")] = 10_000,
) -> Document:
    """Count dead tasks by kind and reason. `adeq dead retry --kind … --reason …` runs those of a row again."""
    found = queue.dead.summary(most)
    rows = [(one.kind or "", one.reason or "", one.count, iso(one.first), iso(one.last)) for one in found.groups]
    table = Table(["kind", "reason", "tasks", "first died", "last died"], rows, right=["tasks"])
    more = "" if found.complete else "; there are older ones: raise --most"
    return Document(
        {"queue": queue.name, **found.model_dump()}, [table, f"{many(found.counted, 'dead task')} counted{more}"]
    )


app.command()(task_show.show)


@app.command()
@with_filter
@with_client
def retry(
    adeq: Adeq,
    queue: QueueName,
    ids: Ids = None,
    all: All = False,
    dry_run: DryRun = False,
    **filter: Unpack[TaskFilter],
) -> Document:
    """Make dead tasks ready again, with all their attempts: those named, those that match a filter, or --all.

    Exits with 1 if a named task is not dead, or if another task has its unique key or scope now.
    """
    fits = check_choice(ids, filter, all, dry_run)
    dead = existing_queue(adeq, queue)
    if ids:
        return statuses({"queue": queue}, "tasks", "id", ids, dead.dead.retry_many(ids), "retried")
    return _answer_bulk(queue, "retried", dead.dead.retry_all(dry_run=dry_run, **fits), dry_run)


@app.command()
@with_filter
@with_client
def abandon(
    adeq: Adeq,
    queue: QueueName,
    ids: Ids = None,
    all: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    **filter: Unpack[TaskFilter],
) -> Document:
    """Delete dead tasks for good: those named, those that match a filter, or --all.

    Exits with 1 if a named task is not dead.
    """
    fits = check_choice(ids, filter, all, dry_run)
    dead = existing_queue(adeq, queue)
    if ids:
        confirm(f"This deletes {many(len(ids), 'dead task')} of queue {queue!r} for good.", yes)
        return statuses({"queue": queue}, "tasks", "id", ids, dead.dead.abandon_many(ids), "abandoned")
    if not dry_run:
        _confirm_all(dead, fits, yes)
    return _answer_bulk(queue, "abandoned", dead.dead.abandon_all(dry_run=dry_run, **fits), dry_run)


def check_choice(ids: list[str] | None, filter: TaskFilter, all: bool, dry_run: bool) -> TaskFilter:
    """The filter as it was given. ConfigError unless one of ids, filter and --all, not several, is given."""
    fits = given_conditions(filter)
    if ids and (fits or all):
        raise ConfigError("name tasks, or give a filter, or --all: only one of these")
    if all and fits:
        raise ConfigError("--all means all dead tasks; leave it out if you give a filter")
    if not ids and not fits and not all:
        raise ConfigError("which tasks? Name some, or give a filter (--kind, --reason, --user …), or --all")
    if ids and dry_run:
        raise ConfigError("--dry-run counts the tasks of a filter or --all; leave it out if you name tasks")
    return fits


def _confirm_all(queue: AnyQueue, fits: TaskFilter, yes: bool) -> None:
    if not yes:
        count = queue.dead.abandon_all(dry_run=True, **fits).matched
        confirm(f"This deletes {many(count, 'dead task')} of queue {queue.name!r} for good.", yes)


def _answer_bulk(queue: str, verb: str, bulk: Bulk, dry_run: bool) -> Document:
    value = {"queue": queue, "matched": bulk.matched, verb: bulk.done, "dry_run": dry_run}
    tasks = many(bulk.matched, "dead task")
    would = f"{tasks} would be {verb}; nothing was done"
    return Document(value, would if dry_run else f"{bulk.done:,} of {tasks} {verb}")
