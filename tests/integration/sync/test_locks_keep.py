# Generated from tests/integration/aio/test_locks_keep.py by pyadeq/_unasync.py; do not edit.
"""Keeping locks: renewed for as long as they are held, lost with a word about it, and never left behind."""

from collections.abc import Iterator
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest

from pyadeq._sync.kernel import keeper as kernel_keeper
from pyadeq._sync.lock.keeper import LockKeeper
from pyadeq._twins import Event, join, sleep, spawn
from pyadeq import Adeq, Grant, Locks
from pyadeq.errors import DurabilityError, LockLost, TransportError, WaitTimeout
from tests.integration.conftest import Clock, Proxy
from tests.waiting import DEADLINE


@pytest.fixture
def shaky(proxy: Proxy, base_name: str) -> Iterator[Locks]:
    """The same locks through the proxy."""
    with Adeq.from_url(proxy.url, retry_for=0.2, socket_timeout=0.2) as adeq:
        yield adeq.locks(base_name)


def all_gone(locks: Locks) -> None:
    """Wait until nobody holds anything or waits."""
    deadline = monotonic() + 30
    while (stats := locks.stats()).held or stats.waiting:
        assert monotonic() < deadline
        locks.admin.reap()


def renewed(grant: Grant, times: int = 1) -> None:
    """Wait until a lease was prolonged so often."""
    deadline = monotonic() + 30
    for _ in range(times):
        before = grant.deadline
        while grant.deadline == before:
            assert monotonic() < deadline
            sleep(0.01)


def taken(locks: Locks, resource: str, **options: Any) -> Grant:
    """Take it through the proxy, where a busy machine may answer too late."""
    deadline = monotonic() + 30
    while True:
        try:
            return locks.take(resource, owner="a", **options)
        except TransportError:
            assert monotonic() < deadline


def test_a_lock_is_held_for_longer_than_its_lease(locks: Locks) -> None:
    for ttl in (1.5, 6, 24):  # a busy machine may stand still for as long as a short one
        with suppress(LockLost):
            with locks.acquire("db:1", owner="a", ttl=ttl) as grant:
                first = grant.deadline
                while grant.deadline < first + ttl:
                    grant.check()
                    sleep(0.01)
                with pytest.raises(WaitTimeout):
                    locks.take("db:1", owner="b", wait=0)
            break
    else:
        raise AssertionError("it was lost with each lease")
    all_gone(locks)


def test_all_grants_are_renewed_in_one_call(locks: Locks, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    renew = LockKeeper._renew_some

    def counted(keeper: LockKeeper, grants: Any) -> None:
        calls.append(len(grants))
        renew(keeper, grants)

    monkeypatch.setattr(LockKeeper, "_renew_some", counted)
    grants = [locks.take(f"db:{number}", owner=f"o{number}") for number in range(5)]
    short = locks.take("db:short", owner="a", ttl=3)
    renewed(short)
    assert set(calls) == {6}
    for grant in grants:
        grant.release()
    renewed(short)
    assert calls[-1] == 1
    short.release()


def test_heartbeats_may_come_sooner_than_every_third_of_a_lease(locks: Locks) -> None:
    locks.configure(heartbeat=2)
    for ttl, pause in ((30, 2.0), (3, 1.0)):
        with locks.acquire("db:1", owner="a", ttl=ttl) as grant:
            assert grant.renew_at - grant.until + ttl * 0.95 == pytest.approx(pause, abs=0.1)


def test_a_lock_that_is_lost_is_told_once_and_at_the_next_check(locks: Locks) -> None:
    told: list[Grant] = []
    heard = Event()

    def on_lost(grant: Grant) -> None:
        told.append(grant)
        heard.set()
        raise ZeroDivisionError("this stays in the log")

    grant = locks.take("db:1", owner="a", ttl=3, on_lost=on_lost)
    other = locks.take("db:2", owner="a", ttl=3)
    locks.admin.force_release("db:1", "test")
    assert heard.wait(DEADLINE)
    with pytest.raises(LockLost, match="the server says that its lease has ended"):
        grant.check()
    renewed(other, 2)
    assert told == [grant]
    with pytest.raises(LockLost):
        grant.release()
    other.release()


def test_one_that_cannot_be_renewed_is_lost_before_somebody_else_has_it(
    locks: Locks, shaky: Locks, proxy: Proxy
) -> None:
    heard = Event()
    times: list[float] = []

    def on_lost(grant: Grant) -> None:
        times.append(monotonic())
        heard.set()

    grant = taken(shaky, "db:1", ttl=1, on_lost=on_lost)
    proxy.hold.clear()
    with locks.acquire("db:1", owner="b", wait=DEADLINE):
        times.append(monotonic())
        assert grant.lost
    assert heard.wait(DEADLINE)
    assert times[0] < times[1]
    with pytest.raises(LockLost, match="could not be renewed in time"):
        grant.check()
    proxy.hold.set()
    with pytest.raises(LockLost):
        grant.release()
    all_gone(locks)


def test_renewals_go_on_after_the_server_was_away(locks: Locks, shaky: Locks, proxy: Proxy) -> None:
    locks.configure(heartbeat=0.2)
    grant = taken(shaky, "db:1", ttl=30)
    proxy.lose_every = 1
    deadline = monotonic() + 30
    while proxy.lost < 3:
        assert monotonic() < deadline
        sleep(0.01)
    proxy.lose_every = 0
    renewed(grant)
    grant.check()
    with suppress(TransportError):
        grant.release()


def test_what_could_not_be_given_back_is_given_back_later(
    locks: Locks, shaky: Locks, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_keeper, "PATIENCE", 0.2)
    grant = taken(shaky, "db:1", ttl=60)
    other = taken(shaky, "db:2", ttl=60)
    proxy.lose_every = 1
    proxy.hold.clear()
    with pytest.raises(TransportError):
        grant.release()
    with pytest.raises(TransportError):
        shaky.take("db:3", owner="a", ttl=60)
    proxy.lose_every = 0
    proxy.hold.set()
    proxy.deaf = True
    with pytest.raises(TransportError):
        other.release()
    proxy.deaf = False
    for resource in ("db:1", "db:2", "db:3"):
        with locks.acquire(resource, owner="b", wait=DEADLINE):
            pass
    all_gone(locks)


def test_one_reply_in_ten_is_lost_and_nothing_else(url: str, locks: Locks, proxy: Proxy) -> None:
    inside: list[str] = []
    fences: list[int] = []

    def work(owner: str) -> None:
        with Adeq.from_url(proxy.url) as adeq:
            mine = adeq.locks(locks.name)
            for _ in range(15):
                with mine.acquire("db:1", owner=owner, ttl=10) as grant:
                    inside.append(owner)
                    assert inside == [owner]
                    fences.append(grant.fence)
                    grant.check()
                    inside.remove(owner)

    def first() -> None:
        work("a")

    def second() -> None:
        work("b")

    def third() -> None:
        work("c")

    locks.configure(poll=0.2)
    proxy.lose_every = 10
    works = [spawn(one) for one in (first, second, third)]
    for one in works:
        join(one, 120)
    proxy.lose_every = 0
    assert len(fences) == 45
    assert fences == sorted(set(fences))
    assert proxy.lost > 10
    all_gone(locks)


def test_a_client_that_is_closed_renews_nothing(url: str, locks: Locks) -> None:
    locks.configure(poll=0.2)
    with Adeq.from_url(url) as adeq:
        grant = adeq.locks(locks.name).take("db:1", owner="a", ttl=0.5)
        renewed(grant)
    with locks.acquire("db:1", owner="b", wait=DEADLINE):
        assert grant.lost


def test_a_lease_ends_on_a_clock_of_ones_own(url: str, base_name: str, clock: Clock) -> None:
    with Adeq.from_url(url, clock=clock) as adeq:
        locks = adeq.locks(base_name)
        locks.configure(clock="test")
        grant = locks.take("db:1", owner="a", ttl=30)
        clock.tick(28)
        grant.check()
        clock.tick(1)
        with pytest.raises(LockLost):
            grant.check()
        clock.tick(3600)
        with locks.acquire("db:1", owner="b", wait=0) as next:
            assert next.fence > grant.fence


def test_a_grant_that_is_not_confirmed_is_none(url: str, locks: Locks) -> None:
    with Adeq.from_url(url, durability="replica", durability_timeout=0.01) as adeq:
        mine = adeq.locks(locks.name)
        with pytest.raises(DurabilityError):
            mine.take("db:1", owner="a")
        all_gone(locks)
        with locks.acquire("db:1", owner="b"):
            with pytest.raises(WaitTimeout):
                mine.take("db:1", owner="a", wait=0.1)
    all_gone(locks)


def test_releases_and_renewals_need_no_confirmation(
    url: str, locks: Locks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Adeq.from_url(url) as adeq, Adeq.from_url(url, durability="replica", durability_timeout=0.01) as other:
        mine = adeq.locks(locks.name)
        with mine.acquire("db:1", owner="a", ttl=3) as grant:
            monkeypatch.setattr(mine._keeper, "_runner", other)
            renewed(grant, 2)
    all_gone(locks)
