"""`adeq task show`, `adeq dlq show`: one task."""

from __future__ import annotations

from rich.text import Text

from pyadeq.ext.cli.arguments import QueueName, TaskId
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json, safe, stdout
from pyadeq.ext.cli.listing import not_found, print_task, whole
from pyadeq.ext.cli.resolve import existing_queue


def show(queue: QueueName, id: TaskId, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show everything about a task: its payload, result and error, and the end of its log."""
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        task, log = there.get(id), there.log(id)
    if task is None:
        raise not_found(queue, id)
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
