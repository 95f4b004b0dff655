"""A client like the worker's: what can be handed to another process, and what cannot."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from redis import asyncio as aio
from redis.asyncio.connection import Connection
from redis.cluster import LoadBalancingStrategy
from redis.credentials import UsernamePasswordCredentialProvider

from pyadeq._worker.connections import connect, describe
from pyadeq._worker.renewal.process import ProcessRenewal
from pyadeq._worker.renewal.thread import ThreadRenewal
from pyadeq.asyncio import Adeq
from pyadeq.errors import ConfigError

Make = Callable[[], Any]


def with_sentinel() -> Any:
    untyped: Any = aio.Sentinel
    options = {"sentinel_kwargs": {"password": "a"}, "password": "b", "socket_timeout": 3}
    return untyped([("one", 1), ("two", 2)], **options).master_for("adeq")


CLIENTS: dict[str, Make] = {
    "url": lambda: aio.Redis.from_url("redis://user:word@host:1/2", socket_timeout=3.5),
    "tls": lambda: aio.Redis.from_url("rediss://host:1", ssl_cert_reqs="none", ssl_ca_certs="ca.pem"),
    "bytes": lambda: aio.Redis(password=b"\xff", socket_keepalive_options={1: 2}),  # type: ignore[arg-type]
    "unix": lambda: aio.Redis(unix_socket_path="some.sock"),
    "sentinel": with_sentinel,
    "cluster": lambda: aio.RedisCluster("host", 1, load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN),
    "cluster with tls": lambda: aio.RedisCluster.from_url("rediss://:word@host:1", socket_timeout=1),
}


@pytest.mark.parametrize("kind", CLIENTS)
async def test_settings_arrive_as_they_are(kind: str) -> None:
    adeq = Adeq(CLIENTS[kind](), prefix="p", slot="s", source="me")
    described = describe(adeq)
    arrived = connect(json.loads(json.dumps(described)))
    assert describe(arrived) == described
    assert type(arrived.client) is type(adeq.client)
    assert (arrived.prefix, arrived.slot, arrived.source) == ("p", "s", "me")


class Odd(Connection):
    pass


def greet(connection: Any) -> None:
    pass


REFUSED: dict[str, Make] = {
    "connection_class is a Odd": lambda: aio.Redis(connection_pool=aio.ConnectionPool(Odd)),
    "credential_provider is a UsernamePasswordCredentialProvider": lambda: aio.Redis(
        credential_provider=UsernamePasswordCredentialProvider("user", "hidden")
    ),
    "redis_connect_func is a function": lambda: aio.Redis(redis_connect_func=greet),
    "address_remap is a function": lambda: aio.RedisCluster("host", 1, address_remap=lambda address: address),
    "clock is a function": aio.Redis,
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_cannot_be_handed_over_is_refused(what: str) -> None:
    queue = Adeq(REFUSED[what](), clock=(lambda: 1) if "clock" in what else None).queue("default")
    with pytest.raises(ConfigError) as refused:
        ProcessRenewal(queue, "w1", 0, lambda: 0, lambda heard: None)
    assert str(refused.value) == (
        f"renew: 'process' is not accepted, for the client's {what}, which no other process can be given; "
        "allowed here: 'thread' or 'loop'"
    )
    ThreadRenewal(queue, "w1", 0, lambda: 0, lambda heard: None)
