"""What the adapters need of a queue."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import PartitionedQueue, Queue
from pyadeq.errors import ConfigError


def checked(queue: Any, adapter: str) -> Queue:
    """Return a queue that an adapter can use. Raises ConfigError for a partitioned one, and for one without asyncio."""
    if isinstance(queue, Queue):
        return queue
    if isinstance(queue, PartitionedQueue):
        raise ConfigError(
            f"{adapter}: queue {queue.name!r} is not accepted, because it may have partitions, which have no common "
            'order and no mailboxes; allowed: adeq.queue("…"), a queue without partitions'
        )
    raise ConfigError(
        f"{adapter}: {type(queue).__name__} is not accepted; allowed: a queue of pyadeq.asyncio, such as "
        'pyadeq.asyncio.Adeq(…).queue("…")'
    )
