# Generated from tests/integration/aio/test_locks_limits.py by pyadeq/_unasync.py; do not edit.
"""Locks at their limits: few connections, grants that nobody has, clients that are closed, and wrong arguments."""

import gc
from contextlib import suppress
from time import monotonic
from typing import Any

import pytest

from pyadeq import LockRequest
from pyadeq._twins import join, sleep, spawn
from pyadeq import Adeq, Grant, Locks
from pyadeq.errors import AdeqError, BadArgument, TransportError
from tests.waiting import DEADLINE


def in_line(locks: Locks, count: int) -> None:
    """Wait until so many wait for db:1."""
    deadline = monotonic() + DEADLINE
    while (locks.get("db:1")).waiting != count:
        assert monotonic() < deadline


@pytest.mark.slow
def test_a_crowd_with_few_connections_takes_no_locks_away(url: str, base_name: str) -> None:
    lost: list[Grant] = []
    with Adeq.from_url(url, max_connections=5) as adeq:
        locks = adeq.locks(base_name)
        holders = [locks.take(f"held:{n}", owner=f"h{n}", ttl=6, on_lost=lost.append) for n in range(3)]
        before = [grant.deadline for grant in holders]
        until = monotonic() + 5
        works = []
        for number in range(60):

            def work(name: str = f"o{number}") -> None:
                while monotonic() < until:
                    with suppress(TransportError):  # threads do not take turns
                        with locks.acquire(f"db:{name}", owner=name):
                            pass

            works.append(spawn(work))
        for one in works:
            join(one, 30)
        assert lost == []
        for grant, deadline in zip(holders, before, strict=True):
            assert grant.deadline > deadline + 2
            grant.release()


def test_all_connections_in_use(url: str, base_name: str) -> None:
    with Adeq.from_url(url, max_connections=1, retry_for=0) as adeq:
        locks = adeq.locks(base_name)
        locks.stats()
        (wire,) = adeq._nodes._wires.values()
        wire._gate = None
        mine = wire._connections.take()
        with pytest.raises(TransportError, match="raise max_connections of the client"):
            locks.stats()
        wire._connections.give_back(mine, True)
        locks.stats()


def test_a_grant_that_nobody_has_ends_with_its_lease(locks: Locks) -> None:
    locks.configure(heartbeat=0.2)
    locks.take("db:1", owner="a", ttl=0.6)
    gc.collect()
    kept = locks.take("db:2", owner="a", ttl=60)
    with locks.acquire("db:1", owner="b", ttl=60, wait=DEADLINE) as grant:
        gc.collect()
        deadline = monotonic() + 30
        granted = grant.deadline
        while grant.deadline < granted + 0.5:  # the block itself refers to its grant
            assert monotonic() < deadline
            sleep(0.01)
        kept.check()
    kept.release()
    assert (locks.stats()).held == 0


def test_who_waits_hears_that_the_client_is_closed(url: str, locks: Locks) -> None:
    said: list[str] = []
    with Adeq.from_url(url) as other:
        theirs = other.locks(locks.name)

        def wait() -> None:
            with suppress(AdeqError):
                theirs.take("db:1", owner="b", wait=60)
            said.append("waited")

        def watch() -> None:
            try:
                for hint in theirs.watch("db:1"):
                    said.append(hint.event)
            except AdeqError as error:
                said.append(str(error))

        with locks.acquire("db:1", owner="a"):
            works = [spawn(watch), spawn(wait)]
            in_line(locks, 1)
            began = monotonic()
            other.close()
            assert (locks.get("db:1")).waiting == 0
            for one in works:
                join(one, 30)
            assert monotonic() - began < 10
        assert "waited" in said
        assert any("this client is closed" in one for one in said)


def test_nothing_begins_on_a_closed_client(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        held = adeq.locks(base_name).take("db:1", owner="a", ttl=1)
        adeq.close()
        for name in (base_name, f"{base_name}-2"):
            locks = adeq.locks(name)
            with pytest.raises(AdeqError, match="this client is closed"):
                locks.take("db:2", owner="a")
            with pytest.raises(AdeqError, match="this client is closed"):
                assert not [hint for hint in locks.watch("db:2")]
        assert not held.lost


def test_a_text_is_no_list(adeq: Adeq, locks: Locks) -> None:
    wrong: Any = "abc"
    for call in (locks.admin.poll, locks.admin.renew, locks.admin.release, locks.admin.cancel):
        with pytest.raises(BadArgument, match="rids must be a list, got str"):
            call(wrong)
    with pytest.raises(BadArgument, match="resources must be a list"):
        locks.capacities.heartbeat_many(wrong)
    with pytest.raises(BadArgument, match="wanted must be a list"):
        locks.take_many(wrong, owner="a")
    with pytest.raises(BadArgument, match="domains must be a list"):
        adeq.find_deadlocks(wrong)
    several: Any
    for several in (wrong, ["a"], [("a",)], [("a", "b", "shared", 2)]):
        with pytest.raises(BadArgument, match="wanted"):
            with adeq.acquire_sorted(several, owner="a"):
                raise AssertionError


def test_options_that_there_are_not(locks: Locks) -> None:
    anyhow: Any = locks
    with pytest.raises(TypeError, match=r"timeout: there is no such option; did you mean wait\? Allowed: resource"):
        anyhow.take("db:1", owner="a", timeout=3)
    with pytest.raises(TypeError, match="owner: it is required"):
        anyhow.take("db:1")
    with pytest.raises(TypeError, match=r"leases: .* did you mean lease\?"):
        anyhow.configure(leases=3)


def test_what_makes_no_sense_together(locks: Locks) -> None:
    for ttl in (0.001, 0.0001, -1, 3601):
        with pytest.raises(BadArgument, match=r"ttl: .* allowed: 0 .* or 0.1 to 3600 seconds"):
            locks.take("db:1", owner="a", ttl=ttl)
    with pytest.raises(BadArgument, match="permits: 2 of db:1 in mode 'exclusive'"):
        locks.take("db:1", owner="a", permits=2)
    with pytest.raises(BadArgument, match="permits: 2 of db:1 in mode 'shared'"):
        locks.take_many([LockRequest(resource="db:1", mode="shared", permits=2)], owner="a")
    wrong: Any = "x"
    with pytest.raises(BadArgument, match="on_lost: 'x' is not accepted"):
        locks.take("db:1", owner="a", on_lost=wrong)
    locks.capacities.set("agent:1", 2)
    with locks.acquire("agent:1", owner="a", mode="permit") as grant:
        with pytest.raises(BadArgument, match="mode: 'permit' of agent:1"):
            grant.downgrade()
        assert grant.mode == "permit"
    assert locks.capacities.remove("agent:1") == "removed"
