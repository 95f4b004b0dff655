"""Whatever client of redis-py it is given, Adeq reaches its server, and sends again on its own terms only."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis.asyncio import BlockingConnectionPool, ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from pyadeq._twins import CLIENTS
from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import ConfigError, TransportError
from tests.integration import servers
from tests.waiting import LONGEST_RETRY


class OwnRedis(Redis):
    """A user's class, with commands of its own."""

    async def execute_command(self, *args: Any, **options: Any) -> Any:
        parent: Any = super()
        return b"own", await parent.execute_command(*args, **options)


class Counted(NoBackoff):
    """Counts how often redis-py would try again."""

    count = 0

    def compute(self, failures: int) -> float:
        Counted.count += 1
        return 0.0


@pytest.fixture(scope="module")
def tcp(binary: Any) -> Iterator[EmbeddedServer]:
    with servers.start(binary, {}) as server:
        yield server


def by_address(tcp: EmbeddedServer) -> Redis:
    return Redis(host=servers.HOST, port=tcp.port or 0)


def by_socket(tcp: EmbeddedServer) -> Redis:
    return Redis(unix_socket_path=str(tcp.socket_path))


def by_url(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(f"redis://{servers.HOST}:{tcp.port}/3")


def decoding(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(tcp.url, decode_responses=True, encoding="latin-1")


def resp2(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(tcp.url, protocol=2)


def resp3(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(tcp.url, protocol=3, decode_responses=True)


def one_connection_at_a_time(tcp: EmbeddedServer) -> Redis:
    return Redis.from_pool(BlockingConnectionPool.from_url(tcp.url, max_connections=1, timeout=20))


def shared_pool(tcp: EmbeddedServer) -> Redis:
    return Redis(connection_pool=ConnectionPool.from_url(tcp.url))


def single_connection(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(tcp.url, single_connection_client=True)


def without_timeouts(tcp: EmbeddedServer) -> Redis:
    return Redis.from_url(tcp.url, socket_timeout=None, socket_connect_timeout=None, health_check_interval=1)


def own_class(tcp: EmbeddedServer) -> Redis:
    return OwnRedis.from_url(tcp.url)


KINDS = [
    by_address,
    by_socket,
    by_url,
    decoding,
    resp2,
    resp3,
    one_connection_at_a_time,
    shared_pool,
    single_connection,
    without_timeouts,
    own_class,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
async def test_every_kind_of_client_does_a_task(
    tcp: EmbeddedServer, base_name: str, kind: Callable[[EmbeddedServer], Redis]
) -> None:
    async with kind(tcp) as client, Adeq(client) as adeq:
        queue = adeq.queue(base_name)
        receipt = await queue.enqueue(b"\xff\x00 not text", tags=["a"])
        (lease,) = await queue.claim(wait=5)
        assert (lease.id, lease.data) == (receipt.id, b"\xff\x00 not text")
        await queue.ack(lease, {"größe": 1})
        assert await queue.claim(wait=0.01) == []
        async with adeq.pipeline() as pipe:
            stats = pipe.add(queue.calls.stats())
        assert stats.value.finished == 1


async def test_the_client_stays_as_it_was(tcp: EmbeddedServer, base_name: str) -> None:
    retry = Retry(NoBackoff(), 7)
    async with Redis.from_url(tcp.url, decode_responses=True, retry=retry, socket_timeout=9) as client:
        pool: Any = client.connection_pool
        before = dict(pool.connection_kwargs)
        async with Adeq(client) as adeq:
            await adeq.queue(base_name).enqueue(1)
            await adeq.queue(base_name).claim(wait=0.01)
            assert adeq.client is client
        assert pool.connection_kwargs == before
        assert await client.echo("still open") == "still open"


async def test_a_client_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        Adeq(b"redis://localhost")  # type: ignore[arg-type]
    assert str(caught.value) == f"client: a builtins.bytes is not supported here; allowed: {CLIENTS}"


async def test_only_pyadeq_tries_again(base_name: str) -> None:
    before = Counted.count
    options: dict[str, Any] = {"retry": Retry(Counted(), 1000), "retry_on_error": [OSError]}
    client = Redis(host=servers.HOST, port=servers.unused_port(), **options)
    async with client, Adeq(client, retry_for=0.2) as adeq:
        with pytest.raises(TransportError, match="was not applied"):
            await adeq.queue(base_name).enqueue(1)
        assert not await adeq.block(["list"], 0.01)
    assert Counted.count == before


async def test_a_command_is_not_sent_twice_by_the_client(proxy: Any, base_name: str) -> None:
    before = Counted.count
    async with Redis.from_url(proxy.url, retry=Retry(Counted(), 1000)) as client, Adeq(client, retry_for=0) as adeq:
        await adeq.load_scripts()
        proxy.lose = 1
        with pytest.raises(TransportError, match="may have been applied"):
            await adeq.queue(base_name).enqueue(1, id="a", rid="r")
        assert (await adeq.queue(base_name).enqueue(1, id="a", rid="r")).status == "created"
    assert (proxy.lost, Counted.count) == (1, before)


async def test_an_idle_connection_that_the_server_closed_is_not_used(tcp: EmbeddedServer, base_name: str) -> None:
    name = base_name.replace(" ", "")
    async with Redis.from_url(tcp.url, client_name=name) as client, Adeq(client, retry_for=0) as adeq:
        queue = adeq.queue(base_name)
        for number in range(3):
            await queue.enqueue(number)
            own = await client.client_id()
            for one in await client.client_list():
                if one["name"] == name and one["id"] != str(own):
                    await client.client_kill_filter(_id=one["id"])
            await client.ping()  # on asyncio, the loop hears of the end of connections meanwhile
        assert (await queue.stats()).ready == 3


async def test_a_server_that_is_restarted_is_found_again(binary: Any, base_name: str) -> None:
    with servers.start(binary, {}) as server:
        async with by_address(server) as client, Adeq(client, retry_for=LONGEST_RETRY) as adeq:
            queue = adeq.queue(base_name)
            first = await queue.enqueue(1, id="a", rid="r")
            server.restart()
            assert await queue.enqueue(1, id="a", rid="r") == first
            assert [lease.id for lease in await queue.claim()] == ["a"]
