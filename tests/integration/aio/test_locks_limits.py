"""Locks at their limits: few connections, grants that nobody has, clients that are closed, and wrong arguments."""

import gc
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest

from pyadeq import LockRequest
from pyadeq._twins import aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Grant, Locks
from pyadeq.errors import AdeqError, BadArgument, TransportError
from tests.waiting import DEADLINE


async def in_line(locks: Locks, count: int) -> None:
    """Wait until so many wait for db:1."""
    deadline = monotonic() + DEADLINE
    while (await locks.get("db:1")).waiting != count:
        assert monotonic() < deadline


@pytest.mark.slow
async def test_a_crowd_with_few_connections_takes_no_locks_away(url: str, base_name: str) -> None:
    lost: list[Grant] = []
    async with Adeq.from_url(url, max_connections=5) as adeq:
        locks = adeq.locks(base_name)
        holders = [await locks.take(f"held:{n}", owner=f"h{n}", ttl=6, on_lost=lost.append) for n in range(3)]
        before = [grant.deadline for grant in holders]
        until = monotonic() + 5
        works = []
        for number in range(60):

            async def work(name: str = f"o{number}") -> None:
                while monotonic() < until:
                    with suppress(TransportError):  # threads do not take turns
                        async with locks.acquire(f"db:{name}", owner=name):
                            pass

            works.append(aio_spawn(work))
        for one in works:
            await aio_join(one, 30)
        assert lost == []
        for grant, deadline in zip(holders, before, strict=True):
            assert grant.deadline > deadline + 2
            await grant.release()


async def test_all_connections_in_use(url: str, base_name: str) -> None:
    async with Adeq.from_url(url, max_connections=1, retry_for=0) as adeq:
        locks = adeq.locks(base_name)
        await locks.stats()
        (wire,) = adeq._nodes._wires.values()
        wire._gate = None
        mine = await wire._connections.take()
        with pytest.raises(TransportError, match="raise max_connections of the client"):
            await locks.stats()
        await wire._connections.give_back(mine, True)
        await locks.stats()


async def test_a_grant_that_nobody_has_ends_with_its_lease(locks: Locks) -> None:
    await locks.configure(heartbeat=0.2)
    await locks.take("db:1", owner="a", ttl=0.6)
    gc.collect()
    kept = await locks.take("db:2", owner="a", ttl=60)
    async with locks.acquire("db:1", owner="b", ttl=60, wait=DEADLINE) as grant:
        gc.collect()
        deadline = monotonic() + 30
        granted = grant.deadline
        while grant.deadline < granted + 0.5:  # the block itself refers to its grant
            assert monotonic() < deadline
            await aio_sleep(0.01)
        kept.check()
    await kept.release()
    assert (await locks.stats()).held == 0


async def test_who_waits_hears_that_the_client_is_closed(url: str, locks: Locks) -> None:
    said: list[str] = []
    async with Adeq.from_url(url) as other:
        theirs = other.locks(locks.name)

        async def wait() -> None:
            with suppress(AdeqError):
                await theirs.take("db:1", owner="b", wait=60)
            said.append("waited")

        async def watch() -> None:
            try:
                async for hint in theirs.watch("db:1"):
                    said.append(hint.event)
            except AdeqError as error:
                said.append(str(error))

        async with locks.acquire("db:1", owner="a"):
            works = [aio_spawn(watch), aio_spawn(wait)]
            await in_line(locks, 1)
            began = monotonic()
            await other.aclose()
            assert (await locks.get("db:1")).waiting == 0
            for one in works:
                await aio_join(one, 30)
            assert monotonic() - began < 10
        assert "waited" in said
        assert any("this client is closed" in one for one in said)


async def test_nothing_begins_on_a_closed_client(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        held = await adeq.locks(base_name).take("db:1", owner="a", ttl=1)
        await adeq.aclose()
        for name in (base_name, f"{base_name}-2"):
            locks = adeq.locks(name)
            with pytest.raises(AdeqError, match="this client is closed"):
                await locks.take("db:2", owner="a")
            with pytest.raises(AdeqError, match="this client is closed"):
                assert not [hint async for hint in locks.watch("db:2")]
        assert not held.lost


async def test_a_text_is_no_list(adeq: Adeq, locks: Locks) -> None:
    wrong: Any = "abc"
    for call in (locks.admin.poll, locks.admin.renew, locks.admin.release, locks.admin.cancel):
        with pytest.raises(BadArgument, match="rids must be a list, got str"):
            await call(wrong)
    with pytest.raises(BadArgument, match="resources must be a list"):
        await locks.capacities.heartbeat_many(wrong)
    with pytest.raises(BadArgument, match="wanted must be a list"):
        await locks.take_many(wrong, owner="a")
    with pytest.raises(BadArgument, match="domains must be a list"):
        await adeq.find_deadlocks(wrong)
    several: Any
    for several in (wrong, ["a"], [("a",)], [("a", "b", "shared", 2)]):
        with pytest.raises(BadArgument, match="wanted"):
            async with adeq.acquire_sorted(several, owner="a"):
                raise AssertionError


async def test_options_that_there_are_not(locks: Locks) -> None:
    anyhow: Any = locks
    with pytest.raises(TypeError, match=r"timeout: there is no such option; did you mean wait\? Allowed: resource"):
        await anyhow.take("db:1", owner="a", timeout=3)
    with pytest.raises(TypeError, match="owner: it is required"):
        await anyhow.take("db:1")
    with pytest.raises(TypeError, match=r"leases: .* did you mean lease\?"):
        await anyhow.configure(leases=3)


async def test_what_makes_no_sense_together(locks: Locks) -> None:
    for ttl in (0.001, 0.0001, -1, 3601):
        with pytest.raises(BadArgument, match=r"ttl: .* allowed: 0 .* or 0.1 to 3600 seconds"):
            await locks.take("db:1", owner="a", ttl=ttl)
    with pytest.raises(BadArgument, match="permits: 2 of db:1 in mode 'exclusive'"):
        await locks.take("db:1", owner="a", permits=2)
    with pytest.raises(BadArgument, match="permits: 2 of db:1 in mode 'shared'"):
        await locks.take_many([LockRequest(resource="db:1", mode="shared", permits=2)], owner="a")
    wrong: Any = "x"
    with pytest.raises(BadArgument, match="on_lost: 'x' is not accepted"):
        await locks.take("db:1", owner="a", on_lost=wrong)
    await locks.capacities.set("agent:1", 2)
    async with locks.acquire("agent:1", owner="a", mode="permit") as grant:
        with pytest.raises(BadArgument, match="mode: 'permit' of agent:1"):
            await grant.downgrade()
        assert grant.mode == "permit"
    assert await locks.capacities.remove("agent:1") == "removed"
