"""`adeq queue partitions`: those of a queue, and more of them."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import many
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.queue_arguments import QueueName
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.tables import print_rows

COUNTS = ("ready", "delayed", "blocked", "running", "finished", "dead")


def partitions(
    name: QueueName,
    count: Annotated[int | None, typer.Option("--set", metavar="COUNT", help="Set the number of partitions.")] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Stop asking earlier partitions, if no task is left in the wrong one.")
    ] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show the partitions of a queue, and their slots; or change their number while the queue is in use.

    --finish exits with 1 while tasks are left in the wrong partition: let them run, then repeat the command.
    """
    if count is not None and finish:
        raise ConfigError("--finish: not together with --set; first let the tasks in earlier partitions run")
    with connected(url) as adeq:
        if count is None:
            existing_queue(adeq, name)
        queue = adeq.partitioned(name)
        if count is not None:
            queue.repartition(count)
        left = queue.finish_repartition() if finish else 0
        found = [(one, queue.part(one.tag).stats()) for one in queue.partitions()]
    rows = [
        {**one.model_dump(), **{word: getattr(stats, word) for word in COUNTS}, "mode": stats.mode}
        for one, stats in found
    ]
    if output != Format.table:
        print_json({"queue": name, "left": left, "partitions": rows}, output)
    else:
        heads = ["tag", "slot", "new tasks", *COUNTS]
        shown = [
            [row["tag"], row["slot"], "yes" if row["current"] else "no", *(row[w] for w in COUNTS)] for row in rows
        ]
        print_rows(heads, shown, right=["slot", *COUNTS], spare=["blocked", "delayed", "slot"])
    if left:
        typer.echo(f"\n{many(left, 'task')} in the wrong partition: let them run, then repeat the command", err=True)
        raise typer.Exit(1)
