"""`adeq task show`, `adeq dlq show`: one task."""

from __future__ import annotations

from rich.text import Text

from pyadeq.ext.cli.arguments import QueueName, TaskId
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json, safe, stdout
from pyadeq.ext.cli.listing import not_found, print_task, whole
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.reveal import Actor, Reveal, as_asked
from pyadeq.tiers import may_show


def show(
    queue: QueueName,
    id: TaskId,
    reveal: Reveal = False,
    actor: Actor = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show everything about a task that its data tier allows: payload, result and error, and the end of its log."""
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        task = there.get(id)
        if task is None:
            raise not_found(queue, id)
        task = as_asked(there, task, reveal, actor)
        log = there.log(id) if reveal or may_show(task.tier, "content") else []
    if output != Format.table:
        lines = [{"at": line.at, "at_iso": iso(line.at), "text": line.text} for line in log]
        print_json({**whole(task), "log": lines}, output)
        return
    console = stdout()
    print_task(console, task)
    if log:
        console.print(Text("\nlog", style="bold"))
    for line in log:
        console.print(Text(f"{iso(line.at)} {safe(line.text)}"), soft_wrap=True)
