"""`adeq task`: one task, or a file of a million."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from pyadeq.ext.cli import task_enqueue, task_lease, task_result, task_show, task_tree, task_watch
from pyadeq.ext.cli.arguments import StateName, with_filter
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected
from pyadeq.ext.cli.dlq import answer_each
from pyadeq.ext.cli.listing import find_tasks, print_tasks
from pyadeq.ext.cli.made import add_made
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.tree import NOUNS, noun
from pyadeq.models.queue import TaskFilter

app = noun(NOUNS["task"])

TaskIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The tasks.")]


app.command()(task_enqueue.enqueue)


@app.command()
@with_filter
def ls(
    queue: QueueName,
    state: Annotated[StateName | None, typer.Option(help="Only tasks in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, help="List at most this many.")] = 100,
    all: Annotated[bool, typer.Option("--all", help="No limit.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
    **filter: Unpack[TaskFilter],
) -> None:
    """List tasks without their payloads: those that match all given conditions, or all of the queue, state by state.

    The list is printed while it is read, so any number of tasks takes the memory of one page.
    """
    with connected(url) as adeq:
        found = find_tasks(existing_queue(adeq, queue), state, **filter)
        print_tasks(found, output, None if all else limit)


app.command()(task_show.show)


@app.command()
def cancel(
    queue: QueueName,
    ids: TaskIds,
    tree: Annotated[bool, typer.Option("--tree", help="Also cancel their children, and theirs.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Cancel tasks. Waiting and dead tasks are cancelled at once; the workers of running tasks are notified.

    Exits with 1 if a task does not exist, or is completed. With --tree that is no failure, because its children are
    cancelled all the same.
    """
    with connected(url) as adeq:
        answers = existing_queue(adeq, queue).cancel_many(ids, tree)
    good = ("cancelled", "cancelling", "finished") if tree else ("cancelled", "cancelling")
    answer_each(queue, ids, answers, good, output)


add_made(app, "task")
app.command()(task_result.result)
app.command()(task_tree.tree)
app.command()(task_watch.watch)
for verb in task_lease.VERBS:
    app.command()(verb)
