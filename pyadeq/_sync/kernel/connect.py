# Generated from pyadeq/_async/kernel/connect.py by pyadeq/_unasync.py; do not edit.
"""Creates redis-py clients and nodes. It is imported when a client is created, because redis-py is slow to import."""

from __future__ import annotations

import email.parser  # noqa: F401 # redis-py imports it when it reads its own version: too late for a fork (_importing)
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from redis import Redis, RedisCluster
from redis.connection import parse_url
from redis.sentinel import Sentinel, SentinelConnectionPool
from redis.exceptions import RedisClusterException, RedisError

from pyadeq._sync.kernel.cluster import ClusterNodes
from pyadeq._sync.kernel.nodes import Nodes, Use
from pyadeq._sync.kernel.pools import address, no_retry, own_pool
from pyadeq._twins import CLIENTS
from pyadeq.errors import ConfigError, TransportError
from pyadeq.keys import hint

URLS = "redis://host:port, rediss://host:port, unix:///path, sentinel://host:port,host:port/name, sentinels://… (TLS)"
SENTINEL_PORT = 26379
SENTINEL_URL = re.compile(
    r"sentinel(?P<tls>s?)://(?P<user>[^/?#]*@)?(?P<hosts>[^@/?#]+)/(?P<name>[^/?#]+)(?:/(?P<db>\d*))?(?P<query>\?[^#]*)?"
)


def client_of(url: str, cluster: bool, options: Mapping[str, Any], own: Sequence[str]) -> Redis | RedisCluster:
    """Return a redis-py client for a URL. own: the other options of `from_url`, for errors."""
    settings = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0, "health_check_interval": 30, **options}
    try:
        if cluster:
            return RedisCluster.from_url(url, **settings)
        make = _sentinel_client if url.startswith(("sentinel://", "sentinels://")) else Redis.from_url
        client = make(url, **{"retry": no_retry(), **settings})
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # an option that redis-py does not know is found here
    except TypeError as error:
        raise _unknown_option(error, own) from None
    except ValueError:  # the error does not show the URL: it may hold a password
        raise ConfigError(f"url: this value is not accepted; allowed: {URLS}") from None
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


def _sentinel_client(url: str, **options: Any) -> Redis:
    """Return a client of the primary that sentinels name. ValueError for a URL of another form.

    Options that begin with `sentinel_`, such as `sentinel_password`, are for the connections to the sentinels.
    """
    given = SENTINEL_URL.fullmatch(url)
    if given is None:
        raise ValueError("not the URL of sentinels")
    parse: Any = parse_url
    options |= parse(f"redis://{given['user'] or ''}server/{given['db'] or 0}{given['query'] or ''}")
    del options["host"]
    if given["tls"]:
        options["ssl"] = True
    for_sentinels = {name: value for name, value in options.items() if name.startswith(("socket_", "ssl"))}
    for name in [name for name in options if name.startswith("sentinel_")]:
        for_sentinels[name.removeprefix("sentinel_")] = options.pop(name)
    addresses = [parse(f"redis://{host}") for host in given["hosts"].split(",")]
    if not all("host" in one for one in addresses):
        raise ValueError("an address of a sentinel is empty")
    places = [(one["host"], one.get("port", SENTINEL_PORT)) for one in addresses]
    untyped: Any = Sentinel
    sentinels = untyped(places, sentinel_kwargs={**for_sentinels, "retry": options["retry"]}, **options)
    client: Redis = sentinels.master_for(unquote(given["name"]))
    return client


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
