"""Clients like the worker's: for another thread, and, from settings as plain data, in another process."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from redis import RedisCluster as SyncCluster
from redis.asyncio import ConnectionPool, Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.sentinel import SentinelConnectionPool as SyncSentinelPool

from pyadeq._async.client.client import Adeq
from pyadeq._async.queue import Queue
from pyadeq._sync.client.client import Adeq as SyncAdeq
from pyadeq._sync.queue import Queue as SyncQueue
from pyadeq._twins import aio_cluster_connections, cluster_connections
from pyadeq._worker.queue import WorkerQueue
from pyadeq.errors import ConfigError

# Options that are not copied: those of a pool, those that identify the client, and retries, which pyadeq does itself.
_LEFT = {"connection_pool", "driver_info", "event_dispatcher", "himport_registry", "response_callbacks", "retry"}
_LEFT |= {"retry_on_error", "retry_on_timeout"}
# redis.asyncio has a connection class with the same name for each sync class.
_TWINS = {f"redis.{module}": f"redis.asyncio.{module}" for module in ("connection", "sentinel")}
_LEFT_BEGINNINGS = ("maint", "orig_", "oss_cluster_")

RETRY_FOR = 1.0
"""Seconds for which a renewal is retried before it counts as failed."""

Settings = dict[str, Any]


def client_of(queue: WorkerQueue) -> Adeq:
    """Return the client that created the queue."""
    adeq = queue.adeq
    assert isinstance(adeq, Adeq)
    return adeq


def another(adeq: Adeq) -> Adeq:
    """Return a copy of a client for another event loop, with its own connections. Of redis-py's client, it reads the
    settings.
    """
    return Adeq(
        adeq.client,
        prefix=adeq.prefix,
        slot=adeq.slot,
        source=adeq.source,
        clock=adeq._options.clock,
        retry_for=RETRY_FOR,
    )


def client_for(queue: Queue | SyncQueue, source: str = "") -> Adeq:
    """An asyncio client with all settings of the client that a queue, sync or not, was made by; the caller closes it.

    It has connections of its own. ConfigError where an asyncio client cannot have the settings of a sync one.

    source: the source of the calls, if the client has none.
    """
    adeq: Any = queue.adeq
    options = adeq._options.given(source=adeq.source or source)
    if isinstance(adeq, Adeq):
        return Adeq(adeq.client, **options)
    assert isinstance(adeq, SyncAdeq)
    try:
        about = _settings(adeq.client)
    except _Unfit as unfit:
        raise ConfigError(
            f"queue: the client of {queue!r} has a {unfit.what}, which an asyncio client cannot be given; "
            "allowed here: a queue of pyadeq.asyncio.Adeq"
        ) from None
    made = Adeq(_client(about), **options)
    made._owns_client = True
    return made


def describe(adeq: Adeq) -> Settings:
    """Return the settings of a client, including passwords, as data for JSON. Raises ConfigError if JSON cannot hold
    one.
    """
    about: Settings = {"prefix": adeq.prefix, "slot": adeq.slot, "source": adeq.source}
    try:
        if clock := adeq._options.clock:
            raise _Unfit("clock", clock)
        return {**about, **_settings(adeq.client)}
    except _Unfit as unfit:
        raise ConfigError(
            f"renew: 'process' is not accepted, for the client's {unfit.name} is a {unfit.kind}, which no other "
            "process can be given; allowed here: 'thread' or 'loop'"
        ) from None


def _settings(client: Any) -> Settings:
    """How a client of redis-py, sync or not, connects. _Unfit if that cannot be said."""
    if not isinstance(client, RedisCluster | SyncCluster):
        return {"pool": _pool(client.connection_pool)}
    manager: Any = client.nodes_manager
    if getattr(manager, "address_remap", None):
        raise _Unfit("address_remap", manager.address_remap)
    of_kind = aio_cluster_connections if isinstance(client, RedisCluster) else cluster_connections
    kind, options = of_kind(client)
    # With `read_from_replicas` the client itself is called on each connection. Scripts go to primaries.
    if getattr(options.get("redis_connect_func"), "__self__", None) is client:
        options = {name: value for name, value in options.items() if name != "redis_connect_func"}
    nodes = [[node.host, node.port] for node in manager.startup_nodes.values()]
    return {"nodes": nodes, "ssl": "SSL" in kind.__name__, **_connections(kind, options)}


def connect(about: Settings) -> Adeq:
    """A client with these settings, in another process."""
    return Adeq(_client(about), prefix=about["prefix"], slot=about["slot"], source=about["source"], retry_for=RETRY_FOR)


def _client(about: Settings) -> Any:
    if "pool" in about:
        return Redis.from_pool(_connected(about["pool"]))
    kept = {name: _decoded(value) for name, value in about["options"].items() if name not in ("host", "port")}
    nodes = [ClusterNode(host, port) for host, port in about["nodes"]]
    return RedisCluster(startup_nodes=nodes, ssl=about["ssl"], **kept)


def _pool(pool: Any) -> Settings:
    about = _connections(pool.connection_class, pool.connection_kwargs)
    if isinstance(pool, SentinelConnectionPool | SyncSentinelPool):
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
        # redis-py uses a plain `object()` for settings that were not given.
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
        return {"module": _TWINS.get(value.__module__, value.__module__), "name": value.__name__}
    raise _Unfit(name, value)


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


class _Unfit(Exception):
    """A setting that cannot be said in JSON, or that an asyncio client does not have."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(name)
        self.name = name
        self.kind = value.__qualname__ if isinstance(value, type) else type(value).__qualname__
        self.what = f"{name} of the type {self.kind}"
