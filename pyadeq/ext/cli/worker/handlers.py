"""Finding the handler that `module:function` names."""

from __future__ import annotations

import inspect
from typing import Any

from pyadeq import Adeq, Queue, TaskFunction, Tasks
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.asyncio import Worker
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.named import load_named


def load_handler(path: str) -> Any:
    """What `module:name` names: a function of one lease, a Tasks, a Queue or a Worker.

    The working directory is searched first. Raises ConfigError that says what is wrong with it.
    """
    handler, function = load_named("handler", path, "jobs:run"), path.partition(":")[2]
    if isinstance(handler, TaskFunction):
        raise ConfigError(f"handler: {path!r} is one task; name the Queue or the Tasks that it belongs to")
    if isinstance(handler, Worker):
        return handler
    if isinstance(handler, Adeq | AsyncAdeq):
        raise ConfigError(f"handler: {path!r} is a client; name one of its queues: queue = {function}.queue('mail')")
    if isinstance(handler, Queue | AsyncQueue | Tasks):
        if not (handler if isinstance(handler, Tasks) else handler.tasks):
            raise ConfigError(f"handler: {path!r} has no tasks; decorate functions with its `task`")
        return handler
    if not callable(handler) or inspect.isclass(handler):
        raise ConfigError(
            f"handler: {path!r} is not a function; define it as `async def {function}(lease): …`, "
            "or name a Queue, a Tasks or a Worker"
        )
    try:
        inspect.signature(handler).bind(None)
    except TypeError:
        raise ConfigError(
            f"handler: {path!r} takes {inspect.signature(handler)}; it must take one argument, the lease"
        ) from None
    return handler
