"""Keeping locks: renewed for as long as they are held, lost with a word about it, and never left behind."""

from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest

from pyadeq._async.kernel import keeper as kernel_keeper
from pyadeq._async.lock.keeper import LockKeeper
from pyadeq._twins import aio_Event, aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Grant, Locks
from pyadeq.errors import DurabilityError, LockLost, TransportError, WaitTimeout
from tests.integration.conftest import Clock, Proxy
from tests.waiting import DEADLINE


@pytest.fixture
async def shaky(proxy: Proxy, base_name: str) -> AsyncIterator[Locks]:
    """The same locks through the proxy."""
    async with Adeq.from_url(proxy.url, retry_for=0.2, socket_timeout=0.2) as adeq:
        yield adeq.locks(base_name)


async def all_gone(locks: Locks) -> None:
    """Wait until nobody holds anything or waits."""
    deadline = monotonic() + 30
    while (stats := await locks.stats()).held or stats.waiting:
        assert monotonic() < deadline
        await locks.admin.reap()


async def renewed(grant: Grant, times: int = 1) -> None:
    """Wait until a lease was prolonged so often."""
    deadline = monotonic() + 30
    for _ in range(times):
        before = grant.deadline
        while grant.deadline == before:
            assert monotonic() < deadline
            await aio_sleep(0.01)


async def taken(locks: Locks, resource: str, **options: Any) -> Grant:
    """Take it through the proxy, where a busy machine may answer too late."""
    deadline = monotonic() + 30
    while True:
        try:
            return await locks.take(resource, owner="a", **options)
        except TransportError:
            assert monotonic() < deadline


async def test_a_lock_is_held_for_longer_than_its_lease(locks: Locks) -> None:
    for ttl in (1.5, 6, 24):  # a busy machine may stand still for as long as a short one
        with suppress(LockLost):
            async with locks.acquire("db:1", owner="a", ttl=ttl) as grant:
                first = grant.deadline
                while grant.deadline < first + ttl:
                    grant.check()
                    await aio_sleep(0.01)
                with pytest.raises(WaitTimeout):
                    await locks.take("db:1", owner="b", wait=0)
            break
    else:
        raise AssertionError("it was lost with each lease")
    await all_gone(locks)


async def test_all_grants_are_renewed_in_one_call(locks: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    renew = LockKeeper._renew_some

    async def counted(keeper: LockKeeper, grants: Any) -> None:
        calls.append(len(grants))
        await renew(keeper, grants)

    monkeypatch.setattr(LockKeeper, "_renew_some", counted)
    grants = [await locks.take(f"db:{number}", owner=f"o{number}") for number in range(5)]
    short = await locks.take("db:short", owner="a", ttl=3)
    await renewed(short)
    assert set(calls) == {6}
    for grant in grants:
        await grant.release()
    await renewed(short)
    assert calls[-1] == 1
    await short.release()


async def test_heartbeats_may_come_sooner_than_every_third_of_a_lease(locks: Locks) -> None:
    await locks.configure(heartbeat=2)
    for ttl, pause in ((30, 2.0), (3, 1.0)):
        async with locks.acquire("db:1", owner="a", ttl=ttl) as grant:
            assert grant.renew_at - grant.until + ttl * 0.95 == pytest.approx(pause, abs=0.1)


async def test_a_lock_that_is_lost_is_told_once_and_at_the_next_check(locks: Locks) -> None:
    told: list[Grant] = []
    heard = aio_Event()

    def on_lost(grant: Grant) -> None:
        told.append(grant)
        heard.set()
        raise ZeroDivisionError("this stays in the log")

    grant = await locks.take("db:1", owner="a", ttl=3, on_lost=on_lost)
    other = await locks.take("db:2", owner="a", ttl=3)
    await locks.admin.force_release("db:1", "test")
    assert await heard.wait(DEADLINE)
    with pytest.raises(LockLost, match="the server says that its lease has ended"):
        grant.check()
    await renewed(other, 2)
    assert told == [grant]
    with pytest.raises(LockLost):
        await grant.release()
    await other.release()


async def test_one_that_cannot_be_renewed_is_lost_before_somebody_else_has_it(
    locks: Locks, shaky: Locks, proxy: Proxy
) -> None:
    heard = aio_Event()
    times: list[float] = []

    def on_lost(grant: Grant) -> None:
        times.append(monotonic())
        heard.set()

    grant = await taken(shaky, "db:1", ttl=1, on_lost=on_lost)
    proxy.hold.clear()
    async with locks.acquire("db:1", owner="b", wait=DEADLINE):
        times.append(monotonic())
        assert grant.lost
    assert await heard.wait(DEADLINE)
    assert times[0] < times[1]
    with pytest.raises(LockLost, match="could not be renewed in time"):
        grant.check()
    proxy.hold.set()
    with pytest.raises(LockLost):
        await grant.release()
    await all_gone(locks)


async def test_renewals_go_on_after_the_server_was_away(locks: Locks, shaky: Locks, proxy: Proxy) -> None:
    await locks.configure(heartbeat=0.2)
    grant = await taken(shaky, "db:1", ttl=30)
    proxy.lose_every = 1
    deadline = monotonic() + 30
    while proxy.lost < 3:
        assert monotonic() < deadline
        await aio_sleep(0.01)
    proxy.lose_every = 0
    await renewed(grant)
    grant.check()
    with suppress(TransportError):
        await grant.release()


async def test_what_could_not_be_given_back_is_given_back_later(
    locks: Locks, shaky: Locks, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_keeper, "PATIENCE", 0.2)
    grant = await taken(shaky, "db:1", ttl=60)
    other = await taken(shaky, "db:2", ttl=60)
    proxy.lose_every = 1
    proxy.hold.clear()
    with pytest.raises(TransportError):
        await grant.release()
    with pytest.raises(TransportError):
        await shaky.take("db:3", owner="a", ttl=60)
    proxy.lose_every = 0
    proxy.hold.set()
    proxy.deaf = True
    with pytest.raises(TransportError):
        await other.release()
    proxy.deaf = False
    for resource in ("db:1", "db:2", "db:3"):
        async with locks.acquire(resource, owner="b", wait=DEADLINE):
            pass
    await all_gone(locks)


async def test_one_reply_in_ten_is_lost_and_nothing_else(url: str, locks: Locks, proxy: Proxy) -> None:
    inside: list[str] = []
    fences: list[int] = []

    async def work(owner: str) -> None:
        async with Adeq.from_url(proxy.url) as adeq:
            mine = adeq.locks(locks.name)
            for _ in range(15):
                async with mine.acquire("db:1", owner=owner, ttl=10) as grant:
                    inside.append(owner)
                    assert inside == [owner]
                    fences.append(grant.fence)
                    grant.check()
                    inside.remove(owner)

    async def first() -> None:
        await work("a")

    async def second() -> None:
        await work("b")

    async def third() -> None:
        await work("c")

    await locks.configure(poll=0.2)
    proxy.lose_every = 10
    works = [aio_spawn(one) for one in (first, second, third)]
    for one in works:
        await aio_join(one, 120)
    proxy.lose_every = 0
    assert len(fences) == 45
    assert fences == sorted(set(fences))
    assert proxy.lost > 10
    await all_gone(locks)


async def test_a_client_that_is_closed_renews_nothing(url: str, locks: Locks) -> None:
    await locks.configure(poll=0.2)
    async with Adeq.from_url(url) as adeq:
        grant = await adeq.locks(locks.name).take("db:1", owner="a", ttl=0.5)
        await renewed(grant)
    async with locks.acquire("db:1", owner="b", wait=DEADLINE):
        assert grant.lost


async def test_a_lease_ends_on_a_clock_of_ones_own(url: str, base_name: str, clock: Clock) -> None:
    async with Adeq.from_url(url, clock=clock) as adeq:
        locks = adeq.locks(base_name)
        await locks.configure(clock="test")
        grant = await locks.take("db:1", owner="a", ttl=30)
        clock.tick(28)
        grant.check()
        clock.tick(1)
        with pytest.raises(LockLost):
            grant.check()
        clock.tick(3600)
        async with locks.acquire("db:1", owner="b", wait=0) as next:
            assert next.fence > grant.fence


async def test_a_grant_that_is_not_confirmed_is_none(url: str, locks: Locks) -> None:
    async with Adeq.from_url(url, durability="replica", durability_timeout=0.01) as adeq:
        mine = adeq.locks(locks.name)
        with pytest.raises(DurabilityError):
            await mine.take("db:1", owner="a")
        await all_gone(locks)
        async with locks.acquire("db:1", owner="b"):
            with pytest.raises(WaitTimeout):
                await mine.take("db:1", owner="a", wait=0.1)
    await all_gone(locks)


async def test_releases_and_renewals_need_no_confirmation(
    url: str, locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Adeq.from_url(url) as adeq, Adeq.from_url(url, durability="replica", durability_timeout=0.01) as other:
        mine = adeq.locks(locks.name)
        async with mine.acquire("db:1", owner="a", ttl=3) as grant:
            monkeypatch.setattr(mine._keeper, "_runner", other)
            await renewed(grant, 2)
    await all_gone(locks)
