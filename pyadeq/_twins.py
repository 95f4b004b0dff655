"""What asyncio and threads do differently: the only twins written by hand.

`_async` uses `aio_<name>`; in the generated `_sync` it is `<name>`.
"""

import asyncio
from asyncio import Lock as aio_Lock
from asyncio import sleep as aio_sleep
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import nullcontext as cancellable
from threading import Lock
from time import sleep

__all__ = ["Lock", "aio_Lock", "aio_cancellable", "aio_sleep", "cancellable", "sleep"]


@contextmanager
def aio_cancellable() -> Iterator[None]:
    """Raise a cancellation that was asked for inside and got lost.

    Up to Python 3.11 `asyncio.wait_for`, by which redis-py sends, drops one that comes with the result.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    yield
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
