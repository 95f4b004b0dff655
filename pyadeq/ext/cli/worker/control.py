"""`adeq worker quiet|resume|stop|restart|resize`: requests to live workers, which hear of them at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.shared.arguments import Yes, confirm
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.shared.resolve import existing_queue
from pyadeq.ext.cli.shared.running import Document, each, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Workers.")]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="Only workers of this group.")]
All = Annotated[bool, typer.Option("--all", help="All workers of the queue.")]


def _steering(mode: str, help: str) -> Callable[..., None]:
    """A command that asks workers for a mode."""

    @with_client
    def command(
        adeq: Adeq,
        names: Names = None,
        group: Group = None,
        all: All = False,
        yes: Yes = False,
        queue: QueueOption = DEFAULT_QUEUE,
    ) -> Document:
        return _steer(adeq, queue, names, group, all, yes, mode=mode)

    command.__doc__ = help
    return command


quiet = _steering("quiet", "Let workers claim no more tasks until `resume`. Running tasks continue.")
resume = _steering("run", "End `quiet`.")
stop = _steering("stop", "Let workers stop as after a SIGTERM: running tasks may finish within the grace time.")
restart = _steering(
    "restart", "Let workers stop in the same way and start again with the same arguments, so that they run new code."
)


@with_client
def resize(
    adeq: Adeq,
    capacity: Annotated[int, typer.Argument(min=1, max=100_000, metavar="N", help="Tasks at a time.")],
    names: Names = None,
    group: Group = None,
    all: All = False,
    yes: Yes = False,
    queue: QueueOption = DEFAULT_QUEUE,
) -> Document:
    """Let each of these workers run up to N tasks at a time. Running tasks are not ended."""
    return _steer(adeq, queue, names, group, all, yes, capacity=capacity)


def _steer(
    adeq: Adeq, queue: str, names: list[str] | None, group: str | None, all: bool, yes: bool, **wanted: Any
) -> Document:
    """Ask them, and say which heard. It fails if a named worker did not, or if there was none."""
    if bool(names) + (group is not None) + all != 1:
        raise ConfigError("which workers? Name some, or --group, or --all; one of these")
    there = existing_queue(adeq, queue)
    if all and not yes:
        count = len(there.workers.list())
        confirm(f"This controls all workers of queue {queue!r}: {count:,}.", yes, "no worker was asked")
    heard = there.workers.control(names or (), group=group, everybody=all, **wanted)
    asked = dict.fromkeys(names or heard)
    if not asked:
        whose = f"group {group!r} of queue {queue!r}" if group is not None else f"queue {queue!r}"
        raise AdeqError(f"{whose} has no live workers; see adeq worker ls")
    rows = [{"worker": name, "status": "asked" if name in heard else "not_found"} for name in asked]
    return each({"queue": queue, **wanted, "workers": rows}, "asked")
