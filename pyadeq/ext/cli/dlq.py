"""`adeq dlq`: dead tasks, which ran out of attempts or failed for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Unpack

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli import task_show
from pyadeq.ext.cli.arguments import StateName, Yes, confirm, many, with_filter
from pyadeq.ext.cli.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, iso, print_json
from pyadeq.ext.cli.listing import find_tasks, print_tasks
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import AnyQueue, existing_queue
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.tree import NOUNS, noun
from pyadeq.models.base import Model
from pyadeq.models.queue import TaskFilter, given_conditions

app = noun(NOUNS["dlq"])

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Dead tasks.")]
All = Annotated[bool, typer.Option("--all", help="All dead tasks.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count the matching tasks.")]


@app.command()
@with_filter
def ls(
    queue: QueueName,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="List at most this many.")] = 100,
    all: Annotated[bool, typer.Option("--all", help="No limit.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **filter: Unpack[TaskFilter],
) -> None:
    """List dead tasks, oldest first. `adeq dlq show` shows the error of one."""
    with connected(url) as adeq:
        found = find_tasks(existing_queue(adeq, queue), StateName.dead, **filter)
        print_tasks(found, output, None if all else limit)


@app.command()
def stats(
    queue: QueueName,
    most: Annotated[int, typer.Option(min=1, help="Look at this many tasks at most, the newest.")] = 10_000,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Count dead tasks by kind and reason. `adeq dlq retry --kind … --reason …` runs those of a row again."""
    with connected(url) as adeq:
        found = existing_queue(adeq, queue).dead_summary(most)
    if output != Format.table:
        print_json({"queue": queue, **found.model_dump()}, output)
        return
    rows = [(one.kind or "", one.reason or "", one.count, iso(one.first), iso(one.last)) for one in found.groups]
    print_rows(["kind", "reason", "tasks", "first died", "last died"], rows, right=["tasks"])
    more = "" if found.complete else "; there are older ones: raise --most"
    print(f"\n{many(found.counted, 'dead task')} counted{more}")


app.command()(task_show.show)


@app.command()
@with_filter
def retry(
    queue: QueueName,
    ids: Ids = None,
    all: All = False,
    dry_run: DryRun = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **filter: Unpack[TaskFilter],
) -> None:
    """Make dead tasks ready again, with all their attempts: those named, those that match a filter, or --all.

    Exits with 1 if a named task is not dead, or if another task has its unique key or scope now.
    """
    fits = check_choice(ids, filter, all, dry_run)
    with connected(url) as adeq:
        if ids:
            answer_each(queue, ids, existing_queue(adeq, queue).retry_many(ids), ("retried",), output)
            return
        bulk = existing_queue(adeq, queue).retry_dead(dry_run=dry_run, **fits)
    _answer_bulk(queue, "retried", bulk.matched, bulk.done, dry_run, output)


@app.command()
@with_filter
def abandon(
    queue: QueueName,
    ids: Ids = None,
    all: All = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **filter: Unpack[TaskFilter],
) -> None:
    """Delete dead tasks for good: those named, those that match a filter, or --all.

    Exits with 1 if a named task is not dead.
    """
    fits = check_choice(ids, filter, all, dry_run)
    with connected(url) as adeq:
        dead = existing_queue(adeq, queue)
        if ids:
            confirm(f"This deletes {many(len(ids), 'dead task')} of queue {queue!r} for good.", yes)
            answer_each(queue, ids, dead.abandon_many(ids), ("abandoned",), output)
            return
        if not dry_run:
            _confirm_all(dead, fits, yes)
        bulk = dead.abandon_dead(dry_run=dry_run, **fits)
    _answer_bulk(queue, "abandoned", bulk.matched, bulk.done, dry_run, output)


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


def answer_each(
    queue: str, ids: list[str], answers: Sequence[str | Model], good: Sequence[str], output: Format
) -> None:
    """Print a status for each task, and who stood in its way; exit with 1 unless all statuses are good ones.

    answers: statuses, or objects with a status and the `holder` of a key or the `state` of the task.
    """
    tasks = [
        {"id": id} | (answer.model_dump(exclude_none=True) if isinstance(answer, Model) else {"status": answer})
        for id, answer in zip(ids, answers, strict=True)
    ]
    if output == Format.table:
        rows = [(task["id"], task["status"], _why(task)) for task in tasks]
        print_rows(["id", "status", ""], rows)
    else:
        print_json({"queue": queue, "tasks": tasks}, output)
    if any(task["status"] not in good for task in tasks):
        raise typer.Exit(FAILED)


def _why(task: dict[str, str]) -> str:
    return f"held by {task['holder']}" if "holder" in task else task.get("state", "")


def _confirm_all(queue: AnyQueue, fits: TaskFilter, yes: bool) -> None:
    if not yes:
        count = queue.abandon_dead(dry_run=True, **fits).matched
        confirm(f"This deletes {many(count, 'dead task')} of queue {queue.name!r} for good.", yes)


def _answer_bulk(queue: str, verb: str, matched: int, done: int, dry_run: bool, output: Format) -> None:
    if output != Format.table:
        print_json({"queue": queue, "matched": matched, verb: done, "dry_run": dry_run}, output)
    elif dry_run:
        print(f"{many(matched, 'dead task')} would be {verb}; nothing was done")
    else:
        print(f"{done:,} of {many(matched, 'dead task')} {verb}")
