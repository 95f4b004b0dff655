# Generated from pyadeq/_async/kernel/connect.py by pyadeq/_unasync.py; do not edit.
"""Creates redis-py clients and nodes. It is imported when a client is created, because redis-py is slow to import."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from redis import Redis, RedisCluster
from redis.sentinel import SentinelConnectionPool
from redis.exceptions import RedisClusterException, RedisError

from pyadeq._sync.kernel.cluster import ClusterNodes
from pyadeq._sync.kernel.nodes import Nodes, Use
from pyadeq._sync.kernel.pools import address, no_retry, own_pool
from pyadeq._twins import CLIENTS
from pyadeq.errors import ConfigError, TransportError
from pyadeq.keys import hint


def client_of(url: str, cluster: bool, options: Mapping[str, Any], own: Sequence[str]) -> Redis | RedisCluster:
    """Return a redis-py client for a URL. own: the other options of `from_url`, for errors."""
    settings = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "health_check_interval": 30, **options}
    try:
        if cluster:
            return RedisCluster.from_url(url, **settings)
        client = Redis.from_url(url, **{"retry": no_retry(), **settings})
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # an option that redis-py does not know is found here
    except TypeError as error:
        raise _unknown_option(error, own) from None
    except ValueError:  # the error does not show the URL: it may hold a password
        raise ConfigError("url: what was given is not accepted; allowed: redis://, rediss://, unix://") from None
    except RedisClusterException as error:
        if not isinstance(error.__cause__, RedisError):
            raise ConfigError(f"url: it is not that of a node of a cluster: {error}") from None
        raise TransportError(str(error), retryable=True, may_have_applied=False) from error
    return client


def nodes_of(client: Redis | RedisCluster, waits: Mapping[Use, float]) -> Nodes:
    """Return the nodes of a client. waits: seconds that commands may wait, in each use."""
    if isinstance(client, RedisCluster):
        return ClusterNodes(client, waits)
    if isinstance(client, Redis):
        return Nodes(client.connection_pool, waits, address(client))
    if isinstance(client, str):
        raise ConfigError(
            "client: a text is not accepted; allowed: a client of redis-py; for a URL, Adeq.from_url(url)"
        )
    raise ConfigError(
        f"client: a {type(client).__module__}.{type(client).__name__} is not supported here; allowed: {CLIENTS}"
    )


def has_failover(client: Redis | RedisCluster) -> bool:
    """Whether another server takes over if the primary fails: with Sentinel and in a cluster."""
    return isinstance(client, RedisCluster) or isinstance(
        getattr(client, "connection_pool", None), SentinelConnectionPool
    )


def client_like(client: Redis | RedisCluster, longest_wait: float) -> Redis | None:
    """Return another client of the same server, with its own connections, on which commands may wait; None for a
    cluster.
    """
    if not isinstance(client, Redis):
        return None
    return Redis.from_pool(own_pool(client.connection_pool, longest_wait))


def _unknown_option(error: TypeError, own: Sequence[str]) -> Exception:
    """Return a ConfigError if redis-py does not know an option of `from_url`; any other error unchanged."""
    unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    if unknown is None:
        return error
    name = unknown[1]
    return ConfigError(
        f"{name}: from_url has no such option{hint(name, own)} Allowed: {', '.join(own)}, and what the connections of "
        "redis-py take"
    )
