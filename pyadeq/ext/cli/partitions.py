"""`adeq queue partitions`: those of a queue, and more of them."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import QueueName, many
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.tables import print_rows

COUNTS = ("ready", "delayed", "blocked", "running", "finished", "dead")


def partitions(
    name: QueueName,
    count: Annotated[int | None, typer.Option("--set", metavar="COUNT", help="Have so many from now on.")] = None,
    finish: Annotated[bool, typer.Option("--finish", help="Ask earlier partitions no more, if they are left.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show the partitions of a queue, and where they are; or give it another number of them, while it is at work.

    --finish exits with 1 as long as there are tasks that belong elsewhere by now: work them off, and say it again.
    """
    if count is not None and finish:
        raise ConfigError("--finish: after --set, first let the tasks be worked off that belong elsewhere by then")
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
        typer.echo(f"\n{many(left, 'task')} where they belong no more: work them off, and say it again", err=True)
        raise typer.Exit(1)
