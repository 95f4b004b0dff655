"""`adeq task`: one task, or a file of a million."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from pyadeq.ext.cli.shared.arguments import Most, StateName, with_filter
from pyadeq.ext.cli.shared.made import add_made, statuses
from pyadeq.ext.cli.shared.queue_arguments import ThisQueue
from pyadeq.ext.cli.shared.running import Document, Lines, with_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.cli.task import enqueue as task_enqueue
from pyadeq.ext.cli.task import lease as task_lease
from pyadeq.ext.cli.task import result as task_result
from pyadeq.ext.cli.task import show as task_show
from pyadeq.ext.cli.task import tree as task_tree
from pyadeq.ext.cli.task import watch as task_watch
from pyadeq.ext.cli.task.listing import find_tasks, task_lines
from pyadeq.models.queue import TaskFilter

app = noun(NOUNS["task"])

TaskIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The tasks.")]


app.command()(task_enqueue.enqueue)


@app.command()
@with_filter
@with_client
def ls(
    queue: ThisQueue,
    state: Annotated[StateName | None, typer.Option(help="Only tasks in this state.")] = None,
    most: Most = None,
    **filter: Unpack[TaskFilter],
) -> Lines:
    """List tasks without their payloads: those that match all given conditions, or all of the queue, state by state.

    The list is printed while it is read, so any number of tasks takes the memory of one page.
    """
    return task_lines(find_tasks(queue, state, **filter), most)


app.command()(task_show.show)
app.command()(task_show.steps)


@app.command()
@with_client
def cancel(
    queue: ThisQueue,
    ids: TaskIds,
    tree: Annotated[bool, typer.Option("--tree", help="Also cancel their children, and theirs.")] = False,
) -> Document:
    """Cancel tasks. Waiting and dead tasks are cancelled at once; the workers of running tasks are notified.

    Exits with 1 if a task does not exist, or is completed. With --tree that is no failure, because its children are
    cancelled all the same.
    """
    good = ("cancelled", "cancelling", "finished") if tree else ("cancelled", "cancelling")
    return statuses({"queue": queue.name}, "tasks", "id", ids, queue.cancel_many(ids, tree), *good)


add_made(app, "task")
app.command()(task_result.result)
app.command()(task_tree.tree)
app.command()(task_watch.watch)
for verb in task_lease.VERBS:
    app.command()(verb)
