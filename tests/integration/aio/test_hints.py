"""Hints: what is published is heard, by all that wait for it on one connection, and again after it was lost."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import pytest
import redis

from pyadeq._async.kernel import hints as module
from pyadeq._async.kernel.hints import KEPT, RECONNECTED, Ear, Hints
from pyadeq._twins import aio_sleep
from pyadeq.asyncio import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.conftest import CLUSTER
from tests.integration.servers import HOST, ThreePrimaries, ask, start, unused_port
from tests.waiting import DEADLINE

OPTIONS = [{"protocol": 2}, {"protocol": 3}, {"protocol": 3, "decode_responses": True}, {"socket_timeout": None}]


@asynccontextmanager
async def connected(server: EmbeddedServer, name: str, **options: Any) -> AsyncIterator[Hints]:
    """Hints whose connections have a name. Of a cluster's node if the server is one."""
    options |= {"client_name": name}
    if CLUSTER:
        options |= {"url": f"redis://{HOST}:{server.port}", "cluster": True}
    async with Adeq.from_url(**{"url": server.url, **options}) as adeq:
        hints = Hints(adeq._nodes)
        yield hints
        await hints.aclose()


@asynccontextmanager
async def listening(hints: Hints, *channels: str) -> AsyncIterator[list[Ear]]:
    contexts = [hints.listening(channel) for channel in channels]
    ears = [await context.__aenter__() for context in contexts]
    yield ears
    for context in contexts:
        await context.__aexit__(None, None, None)


async def eventually(condition: Callable[[], object]) -> None:
    deadline = monotonic() + DEADLINE
    while not condition():
        assert monotonic() < deadline
        await aio_sleep(0.01)


def connections(client: redis.Redis, name: str) -> list[str]:
    """The ids of those that listen, or did."""
    listeners = [one for one in client.client_list() if one["name"] == name]
    return [one["id"] for one in listeners if one["cmd"].split("|")[0] in ("ssubscribe", "sunsubscribe", "ping")]


def calls(client: redis.Redis) -> tuple[int, ...]:
    """How many SSUBSCRIBE and SUNSUBSCRIBE there were."""
    counts: Any = client.info("commandstats")
    return tuple(counts.get(f"cmdstat_{name}", {}).get("calls", 0) for name in ("ssubscribe", "sunsubscribe"))


def heard_by(client: redis.Redis, channel: str) -> int:
    ((_, count),) = client.pubsub_shardnumsub(channel)
    return int(count)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is tested soon, and a connection that nobody needs is closed soon."""
    for name in ("BEAT", "ANSWER", "IDLE"):
        monkeypatch.setattr(module, name, 0.2)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
async def test_words_are_heard(server: EmbeddedServer, client: redis.Redis, base_name: str, options: Any) -> None:
    one, other = f"{base_name}-1", f"{base_name}-2 of two: ü"
    async with connected(server, base_name, **options) as hints, listening(hints, one, one, other) as ears:
        assert client.spublish(one, "released:a1 promoted:a2") == 1
        for ear in ears[:2]:
            assert await ear.wait(DEADLINE) == ["released:a1", "promoted:a2"]
        assert client.spublish(other, "expired:ü") == 1
        assert await ears[2].wait(DEADLINE) == ["expired:ü"]
        for ear in ears:
            assert await ear.wait(0.01) == []


async def test_words_wait_in_order(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints, listening(hints, base_name, base_name) as (ear, other):
        words = [f"released:a{n}" for n in range(KEPT)]
        for word in words:
            client.spublish(base_name, word)
        heard: list[str] = []
        while len(heard) < KEPT:
            more = await ear.wait(DEADLINE)
            assert more
            heard += more
        assert heard == words == await other.wait(0)


async def test_of_many_words_the_last_are_kept(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints, listening(hints, base_name, f"{base_name}-end") as (ear, end):
        for n in range(3 * KEPT):
            client.spublish(base_name, f"{n} {n}")
        client.spublish(f"{base_name}-end", "end")
        assert await end.wait(DEADLINE) == ["end"]
        words = await ear.wait(0)
        assert len(words) == KEPT
        assert words[-1] == f"{3 * KEPT - 1}"


async def test_many_channels_share_a_connection(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    channels = [f"{base_name}-{n // 2}" for n in range(400)]
    before = calls(client)
    async with connected(server, base_name) as hints:
        async with listening(hints, *channels) as ears:
            assert len(connections(client, base_name)) == 1
            assert calls(client) == (before[0] + 200, before[1])
            for n in range(200):
                assert client.spublish(f"{base_name}-{n}", f"word-{n}") == 1
            for n, ear in enumerate(ears):
                assert await ear.wait(DEADLINE) == [f"word-{n // 2}"]
        await eventually(lambda: calls(client)[1] == before[1] + 200)
        assert len(connections(client, base_name)) == 1
    await eventually(lambda: not connections(client, base_name))


async def test_who_comes_and_goes_costs_two_commands(
    server: EmbeddedServer, client: redis.Redis, base_name: str
) -> None:
    before = calls(client)
    async with connected(server, base_name) as hints:
        async with hints.listening(base_name), hints.listening(base_name):
            assert heard_by(client, base_name) == 1
        await eventually(lambda: not heard_by(client, base_name))
        assert calls(client) == (before[0] + 1, before[1] + 1)


async def test_coming_and_going_leaves_nothing(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints:
        for n in range(300):
            async with hints.listening(f"{base_name}-{n % 7}") as ear:
                assert client.spublish(f"{base_name}-{n % 7}", f"{n}") == 1
                assert await ear.wait(DEADLINE) == [f"{n}"]
        exchange = hints._exchange
        (line,) = exchange._lines.values()
        assert exchange._channels == {}
        await eventually(lambda: not (line.wanted or line._states or line._asked or line._changed or line._homeless))
        assert len(connections(client, base_name)) == 1


async def test_a_lost_connection_is_made_again(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with (
        connected(server, base_name) as hints,
        listening(hints, base_name, base_name, f"{base_name}-2") as (ear, same, other),
    ):
        for _ in range(3):
            (id,) = connections(client, base_name)
            client.client_kill_filter(_id=id)
            for one in (ear, same, other):
                assert await one.wait(DEADLINE) == [RECONNECTED]
            assert await ear.wait(0.05) == []
            assert client.spublish(base_name, "again") == 1
            assert await ear.wait(DEADLINE) == await same.wait(DEADLINE) == ["again"]


async def test_who_comes_while_there_is_no_connection_does_not_wait(base_name: str, binary: Any) -> None:
    if CLUSTER:
        pytest.skip("this has a server of its own")
    with start(binary, {}) as own:
        async with connected(own, base_name) as hints, hints.listening(base_name) as ear:
            own.kill()
            line = hints._exchange._lines[None]
            await eventually(lambda: line.failing)
            began = monotonic()
            async with hints.listening(base_name) as late, hints.listening(f"{base_name}-2") as other:
                assert monotonic() - began < 0.5
                own.restart()
                for one in (ear, late, other):
                    assert await one.wait(DEADLINE) == [RECONNECTED]
                ask(own, "SPUBLISH", base_name, "word")
                assert await late.wait(DEADLINE) == ["word"]


async def test_without_a_server_there_is_silence(base_name: str) -> None:
    async with Adeq.from_url(f"redis://{HOST}:{unused_port()}") as adeq:
        hints = Hints(adeq._nodes)
        began = monotonic()
        async with hints.listening(base_name) as ear:
            assert await ear.wait(0.01) == []
        await hints.aclose()
        assert monotonic() - began < 1


async def test_a_message_that_is_lost_with_its_connection(proxy: Any, client: redis.Redis, base_name: str) -> None:
    async with Adeq.from_url(proxy.url) as adeq:
        hints = Hints(adeq._nodes)
        async with hints.listening(base_name) as ear:
            proxy.lose = 1
            client.spublish(base_name, "lost")
            assert await ear.wait(DEADLINE) == [RECONNECTED]
            client.spublish(base_name, "heard")
            assert await ear.wait(DEADLINE) == ["heard"]
        await hints.aclose()


@pytest.mark.usefixtures("fast")
async def test_a_silent_connection_is_left(proxy: Any, client: redis.Redis, base_name: str) -> None:
    async with Adeq.from_url(proxy.url, client_name=base_name) as adeq:
        hints = Hints(adeq._nodes)
        async with hints.listening(base_name) as ear:
            (first,) = connections(client, base_name)
            proxy.hold.clear()
            client.spublish(base_name, "held back")
            await eventually(lambda: first not in connections(client, base_name))
            proxy.hold.set()
            assert await ear.wait(DEADLINE) == [RECONNECTED]
        await hints.aclose()


@pytest.mark.usefixtures("fast")
async def test_a_quiet_connection_stays(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints, hints.listening(base_name) as ear:
        first = connections(client, base_name)
        assert await ear.wait(1) == []
        assert connections(client, base_name) == first


@pytest.mark.usefixtures("fast")
async def test_an_idle_connection_is_closed(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints:
        for _ in range(2):
            async with hints.listening(base_name) as ear:
                client.spublish(base_name, "word")
                assert await ear.wait(DEADLINE) == ["word"]
            await eventually(lambda: not connections(client, base_name))
            assert not hints._exchange._lines


async def test_closing_ends_all(server: EmbeddedServer, client: redis.Redis, base_name: str) -> None:
    async with connected(server, base_name) as hints, hints.listening(base_name) as ear:
        await hints.aclose()
        await eventually(lambda: not connections(client, base_name))
        client.spublish(base_name, "word")
        assert await ear.wait(0.05) == []
        async with hints.listening(base_name) as new:
            client.spublish(base_name, "word")
            assert await new.wait(DEADLINE) == ["word"]


async def test_a_refusal_is_silence(server: EmbeddedServer, client: Any, base_name: str) -> None:
    client.execute_command("ACL", "SETUSER", base_name, "on", "nopass", "+@all", "resetchannels", "&allowed*")
    try:
        async with connected(server, base_name, username=base_name, password="any") as hints:
            began = monotonic()
            async with listening(hints, base_name, f"allowed-{base_name}", base_name) as (ear, allowed, second):
                assert monotonic() - began < 0.9
                (first,) = connections(client, base_name)
                client.spublish(base_name, "word")
                client.spublish(f"allowed-{base_name}", "word")
                assert await allowed.wait(DEADLINE) == ["word"]
                assert await ear.wait(0.05) == await second.wait(0.05) == []
                client.execute_command("ACL", "SETUSER", base_name, "allchannels")
                async with hints.listening(f"{base_name}-2") as late:
                    client.spublish(f"{base_name}-2", "word")
                    assert await late.wait(DEADLINE) == ["word"]
            assert connections(client, base_name) == [first]
    finally:
        client.execute_command("ACL", "DELUSER", base_name)


own_servers = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


@pytest.fixture
def channels(cluster: ThreePrimaries, base_name: str) -> list[str]:
    """Three channels, one on each primary."""
    found: dict[EmbeddedServer, str] = {}
    for n in range(1000):
        name = f"{{{base_name}-{n}}}:channel"
        found.setdefault(cluster.owner(name), name)
        if len(found) == len(cluster.primaries):
            return [found[node] for node in cluster.primaries]
    raise AssertionError


def named(node: EmbeddedServer, name: str) -> int:
    return sum(one["name"] == name for one in ask(node, "CLIENT LIST"))


async def hear_again(ear: Ear, node: EmbeddedServer, channel: str) -> None:
    """A node that is told of a slot of its own once more drops who listens there, so that it may take several words."""
    deadline = monotonic() + DEADLINE
    heard: list[str] = []
    while "word" not in heard:
        assert monotonic() < deadline
        if RECONNECTED in heard:
            ask(node, "SPUBLISH", channel, "word")
        heard += await ear.wait(0.5)
    assert heard[0] == RECONNECTED
    assert set(heard) == {RECONNECTED, "word"}


@own_servers
@pytest.mark.parametrize("protocol", [2, 3])
async def test_each_node_of_a_cluster_has_a_connection(
    cluster: ThreePrimaries, channels: list[str], base_name: str, protocol: int
) -> None:
    async with Adeq.from_url(cluster.url, cluster=True, client_name=base_name, protocol=protocol) as adeq:
        before = [named(node, base_name) for node in cluster.nodes]
        hints = Hints(adeq._nodes)
        # Nobody has asked for the map of slots yet: refusals tell.
        async with listening(hints, *channels, *channels) as ears:
            for channel, node in zip(channels, cluster.primaries, strict=True):
                assert ask(node, "SPUBLISH", channel, channel) == 1
            for channel, ear in zip([*channels, *channels], ears, strict=True):
                assert (await ear.wait(DEADLINE))[-1] == channel
        await hints.aclose()
        await eventually(lambda: [named(node, base_name) for node in cluster.nodes] == before)


@own_servers
async def test_a_slot_that_moves_is_followed(cluster: ThreePrimaries, channels: list[str], base_name: str) -> None:
    async with Adeq.from_url(cluster.url, cluster=True, client_name=base_name) as adeq:
        await adeq._nodes.prepare()
        hints = Hints(adeq._nodes)
        async with listening(hints, *channels) as ears:
            for _ in range(2):
                _, target = cluster.move(channels[2])
                await hear_again(ears[2], target, channels[2])
            assert await ears[0].wait(0.01) == await ears[1].wait(0.01) == []
        await hints.aclose()


@pytest.mark.slow
@own_servers
async def test_a_lost_node_is_replaced(binary: Any, base_name: str) -> None:
    with ThreePrimaries(binary) as own:
        channel = next(name for n in range(1000) if own.owner(name := f"{base_name}-{n}") is own.primaries[0])
        async with Adeq.from_url(own.url, cluster=True) as adeq:
            await adeq._nodes.prepare()
            hints = Hints(adeq._nodes)
            async with hints.listening(channel) as ear:
                own.primaries[0].kill()
                await hear_again(ear, own.replica, channel)
            await hints.aclose()


@own_servers
async def test_each_node_of_a_cluster_hears_hints_that_are_mirrored(cluster: ThreePrimaries, base_name: str) -> None:
    """On a plain channel, and so whatever the slot. A client that has just connected may miss the first ones."""
    async with Adeq.from_url(cluster.url, cluster=True) as adeq:
        locks = adeq.locks(base_name)
        assert (await locks.configure(mirror=True)).mirror
        for node in cluster.primaries:
            client: Any = redis.Redis.from_url(f"redis://{HOST}:{node.port}")
            subscriber = client.pubsub()
            subscriber.subscribe(f"ade:{{lock:{base_name}}}:channel:r")
            deadline, heard = monotonic() + DEADLINE, set[Any]()
            while not heard >= {b"acquired:ann", b"released:ann"}:
                assert monotonic() < deadline
                async with locks.acquire("r", owner="o", agent="ann"):
                    pass
                while message := subscriber.get_message(timeout=0.1):
                    heard.add(message["data"])
            subscriber.close()
            client.close()
