"""The queue of a command: as its first argument, or as an option."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.ext.cli.shared.complete import queue_names
from pyadeq.ext.cli.shared.resolve import AnyQueue, existing_queue, queue_or_new
from pyadeq.ext.cli.shared.running import Found

QueueName = Annotated[str, typer.Argument(metavar="QUEUE", help="The queue.", autocompletion=queue_names)]
QueueOption = Annotated[
    str,
    typer.Option("--queue", envvar="ADEQ_QUEUE", metavar="NAME", help="The queue.", autocompletion=queue_names),
]
DEFAULT_QUEUE: Any = "default"  # also of those below: the command gets the queue of this name
_ARGUMENT, _OPTION = QueueName.__metadata__[0], QueueOption.__metadata__[0]  # type: ignore[attr-defined]

ThisQueue = Annotated[AnyQueue, _ARGUMENT, Found(existing_queue)]
InQueue = Annotated[AnyQueue, _OPTION, Found(existing_queue)]
InQueueOrNew = Annotated[AnyQueue, _OPTION, Found(queue_or_new)]
