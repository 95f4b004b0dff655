"""`adeq queue partitions`: those of a queue, and more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.arguments import many
from pyadeq.ext.cli.shared.queue_arguments import QueueName
from pyadeq.ext.cli.shared.resolve import existing_queue
from pyadeq.ext.cli.shared.running import Document, Table, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq

COUNTS = ("ready", "delayed", "blocked", "running", "finished", "dead")


@with_client
def partitions(
    adeq: Adeq,
    queue: QueueName,
    count: Annotated[int | None, typer.Option("--set", metavar="COUNT", help="Set the number of partitions.")] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Stop asking earlier partitions, if no task is left in the wrong one.")
    ] = False,
) -> Document:
    """Show the partitions of a queue, and their slots; or change their number while the queue is in use.

    --finish exits with 1 while tasks are left in the wrong partition: let them run, then repeat the command.
    """
    if count is not None and finish:
        raise ConfigError("--finish: not together with --set; first let the tasks in earlier partitions run")
    if count is None:
        existing_queue(adeq, queue)
    partitioned = adeq.partitioned(queue)
    if count is not None:
        partitioned.repartition(count)
    left = partitioned.finish_repartition() if finish else 0
    found = [(one, partitioned.part(one.tag).stats()) for one in partitioned.partitions()]
    rows = [
        {**one.model_dump(), **{word: getattr(stats, word) for word in COUNTS}, "mode": stats.mode}
        for one, stats in found
    ]
    shown = [[row["tag"], row["slot"], "yes" if row["current"] else "no", *(row[w] for w in COUNTS)] for row in rows]
    heads = ["tag", "slot", "new tasks", *COUNTS]
    later = f"{many(left, 'task')} in the wrong partition: let them run, then repeat the command"
    return Document(
        {"queue": queue, "left": left, "partitions": rows},
        Table(heads, shown, right=["slot", *COUNTS], spare=["blocked", "delayed", "slot"]),
        warning=later if left else "",
        failed=left > 0,
    )
