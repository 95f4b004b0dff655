"""`adeq worker quiet|resume|stop|restart|resize`: requests to live workers, which hear of them at once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.arguments import Yes, confirm
from pyadeq.ext.cli.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import existing_queue
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.worker_look import Group

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Workers.")]
All = Annotated[bool, typer.Option("--all", help="All workers of the queue.")]


def quiet(
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let workers claim no more tasks until `resume`. Running tasks continue."""
    _steer(queue, names, group, all, yes, url, output, mode="quiet")


def resume(
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """End `quiet`."""
    _steer(queue, names, group, all, yes, url, output, mode="run")


def stop(
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let workers stop as after a SIGTERM: running tasks may finish within the grace time."""
    _steer(queue, names, group, all, yes, url, output, mode="stop")


def restart(
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let workers stop in the same way and start again with the same arguments, so that they run new code."""
    _steer(queue, names, group, all, yes, url, output, mode="restart")


def resize(
    capacity: Annotated[int, typer.Argument(min=1, max=100_000, metavar="N", help="Tasks at a time.")],
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let each of these workers run up to N tasks at a time. Running tasks are not ended."""
    _steer(queue, names, group, all, yes, url, output, capacity=capacity)


def _steer(
    queue: str,
    names: list[str] | None,
    group: str | None,
    all: bool,
    yes: bool,
    url: str,
    output: Format,
    **wanted: Any,
) -> None:
    """Ask them, print who heard; exit with 1 if a named worker did not, or if there was none."""
    if bool(names) + (group is not None) + all != 1:
        raise ConfigError("which workers? Name some, or --group, or --all; one of these")
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        if all and not yes:
            count = len(there.workers())
            confirm(f"This steers all workers of queue {queue!r}: {count:,}.", yes, "no worker was steered")
        heard = there.steer(names or (), group=group, everybody=all, **wanted)
    asked = dict.fromkeys(names or heard)
    rows = [(name, "asked" if name in heard else "not_found") for name in asked]
    if not rows:
        whose = f"group {group!r} of queue {queue!r}" if group is not None else f"queue {queue!r}"
        raise AdeqError(f"{whose} has no live workers; see adeq worker ls")
    if output != Format.table:
        workers = [{"worker": name, "status": status} for name, status in rows]
        print_json({"queue": queue, **wanted, "workers": workers}, output)
    else:
        print_rows(["worker", "status"], rows)
    if any(status != "asked" for _, status in rows):
        raise typer.Exit(FAILED)
