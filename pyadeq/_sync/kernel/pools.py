# Generated from pyadeq/_async/kernel/pools.py by pyadeq/_unasync.py; do not edit.
"""Our own connections to the client's server, with the client's settings.

The client's connections are not used: its retries would multiply our time limit, and it may have no timeouts.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any
from urllib.parse import quote

from redis import BlockingConnectionPool, ConnectionPool, Redis, RedisCluster
from redis.retry import Retry
from redis.sentinel import SentinelConnectionPool
from redis.backoff import NoBackoff

SOCKET_TIMEOUT = 5.0
"""Seconds in which a server answers, where the client does not say."""

_QUIET: dict[str, Any] = {}
if hasattr(ConnectionPool, "update_maint_notifications_config"):  # newer redis-py
    from redis.maint_notifications import MaintNotificationsConfig

    _QUIET["maint_notifications_config"] = MaintNotificationsConfig(enabled=False)


def no_retry() -> Retry:
    """Return a Retry that never retries. pyadeq sends calls again itself, within one time limit."""
    return Retry(NoBackoff(), 0)


def settings(options: dict[str, Any], longest_wait: float = 0.0) -> dict[str, Any]:
    """Return the options of a client's connections: bytes as replies, no retries, a limit for every wait, no push
    messages.

    longest_wait: seconds that a command may wait at the server, in addition to the client's own timeout.
    """
    kept = {
        name: value
        for name, value in options.items()
        # These tie a connection to the pool it was made for, or to its timeouts.
        if name != "connection_pool" and not name.startswith(("maint_notifications", "orig_"))
    }
    timeout = kept.get("socket_timeout") or SOCKET_TIMEOUT
    timeouts = {
        "socket_timeout": timeout + longest_wait,
        "socket_connect_timeout": kept.get("socket_connect_timeout") or timeout,
    }
    return {**kept, **timeouts, "retry": no_retry(), "decode_responses": False, **_QUIET}


def own_pool(pool: Any, longest_wait: float = 0.0) -> Any:
    """Create a pool like this one. With Sentinel, it asks the same sentinels for the primary."""
    made_by: dict[str, Any] = {
        "connection_class": pool.connection_class,
        "max_connections": pool.max_connections,
        **settings(pool.connection_kwargs, longest_wait),
    }
    kind: Any = ConnectionPool
    if isinstance(pool, SentinelConnectionPool):
        kind = SentinelConnectionPool
        manager: Any = copy(pool.sentinel_manager)
        manager.sentinels = [Redis.from_pool(own_pool(one.connection_pool)) for one in manager.sentinels]
        made_by |= {"service_name": pool.service_name, "sentinel_manager": manager}
        made_by |= {"is_master": pool.is_master, "check_connection": pool.check_connection}
    elif isinstance(pool, BlockingConnectionPool):
        kind = BlockingConnectionPool
        made_by["timeout"] = pool.timeout
    return kind(**made_by)


def address(client: Redis | RedisCluster) -> str:
    """Return where a client connects, as a URL without user and password."""
    if isinstance(client, RedisCluster):
        manager: Any = client.nodes_manager
        return "cluster://" + ",".join(sorted(f"{node.host}:{node.port}" for node in manager.startup_nodes.values()))
    pool: Any = client.connection_pool
    options = pool.connection_kwargs
    database = options.get("db") or 0
    if isinstance(pool, SentinelConnectionPool):
        hosts = sorted(_place(one.connection_pool.connection_kwargs) for one in pool.sentinel_manager.sentinels)
        scheme = "sentinels" if "SSL" in pool.connection_class.__name__ else "sentinel"
        return f"{scheme}://{','.join(hosts)}/{quote(pool.service_name)}/{database}"
    if "path" in options:
        return f"unix://{options['path']}" + (f"?db={database}" if database else "")
    scheme = "rediss" if "SSL" in pool.connection_class.__name__ else "redis"
    return f"{scheme}://{_place(options)}/{database}"


def _place(options: Mapping[str, Any]) -> str:
    host = options.get("host", "localhost")
    return f"{f'[{host}]' if ':' in str(host) else host}:{options.get('port', 6379)}"


def close_pool(pool: Any) -> None:
    """Close a pool that `own_pool` made."""
    _close_sentinels(pool)
    pool.close()


def close_client(client: Redis | RedisCluster) -> None:
    """Close a client that `client_of` made."""
    if isinstance(client, Redis):
        _close_sentinels(client.connection_pool)
    client.close()


def _close_sentinels(pool: Any) -> None:
    if isinstance(pool, SentinelConnectionPool):
        manager: Any = pool.sentinel_manager
        for sentinel in manager.sentinels:
            sentinel.close()
