"""`adeq.queues()` and `adeq.lock_domains()`: the names of what there is under a prefix."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis import Redis as Observer
from redis.asyncio import Redis

from pyadeq.asyncio import Adeq
from pyadeq.errors import BadArgument, TransportError, WaitTimeout
from tests.conftest import CLUSTER
from tests.integration.conftest import Proxy
from tests.waiting import LONGEST_RETRY


@pytest.fixture
def prefix(base_name: str) -> str:
    return base_name


@pytest.fixture
async def adeq(url: str, prefix: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, prefix=prefix) as adeq:
        yield adeq


async def listed(names: Any) -> list[str]:
    return sorted([name async for name in names])


async def test_queues_and_domains_have_names(adeq: Adeq) -> None:
    assert await listed(adeq.queues()) == await listed(adeq.lock_domains()) == []
    await adeq.queue("b").enqueue({})
    await adeq.queue("a.b").configure()
    await adeq.locks("d").configure()
    assert await listed(adeq.queues()) == ["a.b", "b"]
    assert await listed(adeq.lock_domains()) == ["d"]


async def test_a_name_with_partitions_is_listed_once_and_its_partitions_if_they_are_wanted(adeq: Adeq) -> None:
    await adeq.partitioned("a").repartition(3)
    await adeq.queue("b").configure()
    tags = [part.tag for part in await adeq.partitioned("a").partitions()]
    assert await listed(adeq.names("queue")) == ["a", "b"]
    assert await listed(adeq.names("queue", partitions=True)) == sorted(
        ["a" if tag == "-" else f"a/{tag}" for tag in tags] + ["b"]
    )


async def test_only_those_of_the_same_prefix_and_slot(adeq: Adeq, url: str, prefix: str) -> None:
    await adeq.queue("a").enqueue({})
    for start, slot in ((f"{prefix}x", None), (prefix, "s"), (prefix, "t")):
        async with Adeq.from_url(url, prefix=start, slot=slot) as other:
            assert await listed(other.queues()) == []
            name = slot or "q"
            await other.queue(name).enqueue({})
            await other.locks(name).configure()
            assert await listed(other.queues()) == await listed(other.lock_domains()) == [name]
    assert await listed(adeq.queues()) == ["a"]


@pytest.mark.skipif(CLUSTER, reason="a single server takes any key")
async def test_keys_of_other_programs_are_no_queues(adeq: Adeq, client: Observer, prefix: str) -> None:
    start = prefix.encode() + b":{queue:"
    keys = [start + name + b"}:config" for name in (b"no name", b"\xff", b"*", b"")]
    keys += [start + b"a}:config:x", b"x" + start + b"a}:config"]
    client.mset(dict.fromkeys(keys, 1))
    assert await listed(adeq.queues()) == []
    client.delete(*keys)


async def test_partitions_count_once(adeq: Adeq) -> None:
    queue = adeq.partitioned("many")
    await queue.repartition(4)
    await queue.enqueue_many([{"n": n} for n in range(100)])
    assert await listed(adeq.queues()) == ["many"]


async def test_more_than_a_page_of_keys(adeq: Adeq, client: Observer, prefix: str) -> None:
    await adeq.queue("a").enqueue_many([{}] * 3000)
    for n in range(5):
        await adeq.queue(f"q{n}").configure()
    assert await listed(adeq.queues()) == ["a", *(f"q{n}" for n in range(5))]


async def test_time_may_be_over(adeq: Adeq) -> None:
    await adeq.queue("a").enqueue_many([{}] * 5000)
    with pytest.raises(WaitTimeout, match=r"timeout: 0 s were not enough to scan all keys; \d names were found"):
        await listed(adeq.queues(timeout=0))
    assert await listed(adeq.queues(timeout=60)) == ["a"]
    with pytest.raises(BadArgument, match="timeout must be seconds"):
        await listed(adeq.queues(timeout="soon"))  # type: ignore[arg-type]


@pytest.mark.slow
async def test_lost_replies_lose_and_repeat_no_name(proxy: Proxy, prefix: str) -> None:
    async with Adeq.from_url(proxy.url, prefix=prefix, retry_for=LONGEST_RETRY) as adeq:
        await adeq.queue("a").enqueue_many([{}] * 4000)
        for n in range(5):
            await adeq.queue(f"q{n}").configure()
        proxy.lose_every = 7
        assert await listed(adeq.queues()) == ["a", *(f"q{n}" for n in range(5))]
        assert proxy.lost


async def test_a_server_that_is_away(prefix: str) -> None:
    async with Adeq.from_url("redis://127.0.0.1:1", prefix=prefix, retry_for=0.1) as adeq:
        with pytest.raises(TransportError, match=r"SCAN: .*was not applied"):
            await listed(adeq.queues())


@pytest.mark.parametrize("options", [{"decode_responses": True}, {"protocol": 3}], ids=str)
@pytest.mark.skipif(CLUSTER, reason="a client of one server")
async def test_clients_of_other_kinds(url: str, prefix: str, options: dict[str, Any]) -> None:
    async with Redis.from_url(url, **options) as client, Adeq(client, prefix=prefix) as adeq:
        await adeq.queue("a").configure()
        assert await listed(adeq.queues()) == ["a"]
