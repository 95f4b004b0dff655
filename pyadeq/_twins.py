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
from typing import Any

__all__ = [
    "Lock",
    "aio_Lock",
    "aio_cancellable",
    "aio_cluster_connections",
    "aio_sleep",
    "cancellable",
    "cluster_connections",
    "sleep",
]


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


def aio_cluster_connections(client: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a RedisCluster's connections, and what they are made with."""
    node = next(iter(client.nodes_manager.startup_nodes.values()))
    return node.connection_class, node.connection_kwargs


def cluster_connections(client: Any) -> tuple[Any, dict[str, Any]]:
    """The class of a RedisCluster's connections, and what they are made with."""
    pool = client.get_redis_connection(client.get_nodes()[0]).connection_pool
    return pool.connection_class, pool.connection_kwargs
