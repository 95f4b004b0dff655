"""Clients like the worker's: for another thread, and, from settings as plain data, in another process."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from redis.asyncio import ConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool

from pyadeq._async.client import Adeq
from pyadeq._async.queue import Queue
from pyadeq._twins import aio_cluster_connections
from pyadeq.errors import ConfigError

# What belongs to a pool, what only says who connects, and retries, which are pyadeq's own.
_LEFT = {"connection_pool", "driver_info", "event_dispatcher", "himport_registry", "response_callbacks", "retry"}
_LEFT |= {"retry_on_error", "retry_on_timeout"}
_LEFT_BEGINNINGS = ("maint", "orig_", "oss_cluster_")

RETRY_FOR = 1.0
"""Seconds in which a renewal is sent again before it is said that it failed."""

Settings = dict[str, Any]


def client_of(queue: Queue) -> Adeq:
    """The client that a queue was made by."""
    adeq = queue._runner
    assert isinstance(adeq, Adeq)
    return adeq


def another(adeq: Adeq) -> Adeq:
    """A client like this one for another event loop, with connections of its own; redis-py's is only read."""
    return Adeq(
        adeq.client,
        prefix=adeq.prefix,
        slot=adeq.slot,
        source=adeq.source,
        clock=adeq._clock,
        retry_for=RETRY_FOR,
    )


def describe(adeq: Adeq) -> Settings:
    """The settings of a client, passwords among them, as what JSON can say. ConfigError if they hold what it cannot."""
    if adeq._clock:
        raise _refused("clock", adeq._clock)
    client: Any = adeq.client
    about: Settings = {"prefix": adeq.prefix, "slot": adeq.slot, "source": adeq.source}
    if not isinstance(client, RedisCluster):
        return {**about, "pool": _pool(client.connection_pool)}
    manager: Any = client.nodes_manager
    if getattr(manager, "address_remap", None):
        raise _refused("address_remap", manager.address_remap)
    kind, options = aio_cluster_connections(client)
    # With `read_from_replicas` the client itself is called on each connection. Scripts go to primaries.
    if getattr(options.get("redis_connect_func"), "__self__", None) is client:
        options = {name: value for name, value in options.items() if name != "redis_connect_func"}
    nodes = [[node.host, node.port] for node in manager.startup_nodes.values()]
    return {**about, "nodes": nodes, "ssl": "SSL" in kind.__name__, **_connections(kind, options)}


def connect(about: Settings) -> Adeq:
    """A client with these settings, in another process."""
    client: Any
    if "pool" in about:
        client = Redis.from_pool(_connected(about["pool"]))
    else:
        kept = {name: _decoded(value) for name, value in about["options"].items() if name not in ("host", "port")}
        nodes = [ClusterNode(host, port) for host, port in about["nodes"]]
        client = RedisCluster(startup_nodes=nodes, ssl=about["ssl"], **kept)
    return Adeq(client, prefix=about["prefix"], slot=about["slot"], source=about["source"], retry_for=RETRY_FOR)


def _pool(pool: Any) -> Settings:
    about = _connections(pool.connection_class, pool.connection_kwargs)
    if isinstance(pool, SentinelConnectionPool):
        manager: Any = pool.sentinel_manager
        about |= {"service_name": pool.service_name, "min_other_sentinels": manager.min_other_sentinels}
        about |= {"is_master": pool.is_master, "check_connection": pool.check_connection}
        about["force_master_ip"] = getattr(manager, "_force_master_ip", None)
        about["sentinels"] = [_pool(sentinel.connection_pool) for sentinel in manager.sentinels]
    return about


def _connected(about: Settings) -> Any:
    options = {name: _decoded(value) for name, value in about["options"].items()}
    options["connection_class"] = _decoded(about["kind"])
    if "sentinels" not in about:
        return ConnectionPool(**options)
    untyped: Any = Sentinel
    manager = untyped([], min_other_sentinels=about["min_other_sentinels"])
    manager._force_master_ip = about["force_master_ip"]
    manager.sentinels = [Redis.from_pool(_connected(sentinel)) for sentinel in about["sentinels"]]
    kept = {name: about[name] for name in ("is_master", "check_connection")}
    untyped = SentinelConnectionPool
    return untyped(about["service_name"], manager, **kept, **options)


def _connections(kind: Any, options: dict[str, Any]) -> Settings:
    kept = {
        name: _encoded(name, value)
        for name, value in options.items()
        # A bare object is how redis-py says that a setting was not given.
        if name not in _LEFT and not name.startswith(_LEFT_BEGINNINGS) and type(value) is not object
    }
    return {"kind": _encoded("connection_class", kind), "options": kept}


def _encoded(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | float | str):
        return value
    if isinstance(value, int):  # the constants of ssl are integers
        return int(value)
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, list | tuple | set):
        return [_encoded(name, one) for one in value]
    if isinstance(value, dict):
        return {"pairs": [[_encoded(name, one) for one in pair] for pair in value.items()]}
    if isinstance(value, type) and value.__module__.split(".")[0] == "redis":
        return {"module": value.__module__, "name": value.__name__}
    raise _refused(name, value)


def _decoded(value: Any) -> Any:
    match value:
        case {"hex": data}:
            return bytes.fromhex(data)
        case {"pairs": pairs}:
            return {_decoded(key): _decoded(one) for key, one in pairs}
        case {"module": module, "name": name}:
            return getattr(import_module(module), name)
        case list():
            return [_decoded(one) for one in value]
    return value


def _refused(name: str, value: Any) -> ConfigError:
    kind = value.__qualname__ if isinstance(value, type) else type(value).__qualname__
    return ConfigError(
        f"renew: 'process' is not accepted, for the client's {name} is a {kind}, which no other process can be given; "
        "allowed here: 'thread' or 'loop'"
    )
