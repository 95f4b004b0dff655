# Generated from tests/integration/aio/test_locks.py by pyadeq/_unasync.py; do not edit.
"""Locks as their users see them: grants, modes, several at once, capacities, force, and what there is to look at."""

from typing import Any

import pytest

from pyadeq import LockRequest
from pyadeq import Adeq, Locks
from pyadeq.errors import (
    BadArgument,
    ConfigError,
    ConflictError,
    LeaseLost,
    LockLost,
    LockUnavailable,
    OwnerWaits,
    RateLimited,
    WaitTimeout,
)
from tests.waiting import DEADLINE


def all_gone(locks: Locks) -> bool:
    stats = locks.stats()
    return (stats.held, stats.waiting) == (0, 0) and locks.inspect.edges() == ()


# Grants


def test_a_lock_is_held_for_the_length_of_a_block(locks: Locks) -> None:
    with locks.acquire("db:1", owner="a", purpose="migration of 12") as grant:
        assert (grant.resource, grant.mode, grant.owner, grant.ttl, grant.lost) == (
            "db:1",
            "exclusive",
            "a",
            30.0,
            False,
        )
        assert grant.fences == {"db:1": grant.fence}
        grant.check()
        (holder,) = (locks.get("db:1")).holders
        assert (holder.rid, holder.owner, holder.agent, holder.state) == (grant.rid, "a", "a", "held")
        assert (holder.purpose, holder.deadline) == ("migration of 12", grant.deadline)
        assert "held" in repr(grant)
    assert "released" in repr(grant)
    assert not grant.lost
    with pytest.raises(LockLost, match="it was released"):
        grant.check()
    grant.release()  # once is enough
    assert all_gone(locks)


def test_it_is_given_back_when_the_block_fails(locks: Locks) -> None:
    with pytest.raises(ZeroDivisionError):
        with locks.acquire("db:1", owner="a"):
            raise ZeroDivisionError
    assert all_gone(locks)


def test_one_that_is_not_free_at_once(locks: Locks) -> None:
    grant = locks.take("db:1", owner="a")
    with pytest.raises(WaitTimeout, match="db:1 for b is not free"):
        locks.take("db:1", owner="b", wait=0)
    with pytest.raises(TimeoutError):
        locks.take_many(["db:2", "db:1"], owner="b", wait=0)
    grant.release()
    assert all_gone(locks)


def test_fences_rise_with_every_grant_of_a_lock(locks: Locks) -> None:
    fences = []
    for owner in "abc":
        with locks.acquire("db:1", owner=owner) as grant, locks.acquire("db:1", owner=owner) as again:
            assert again.fence == grant.fence
            assert again.rid != grant.rid
            fences.append(grant.fence)
    assert fences == sorted(set(fences))


def test_a_lock_taken_twice_is_free_when_it_was_given_back_twice(locks: Locks) -> None:
    with locks.acquire("db:1", owner="a"):
        with locks.acquire("db:1", owner="a", wait=0):
            pass
        with pytest.raises(WaitTimeout):
            locks.take("db:1", owner="b", wait=0)
    with locks.acquire("db:1", owner="b", wait=0):
        pass


def test_shared_locks_upgrade_and_downgrade(locks: Locks) -> None:
    with locks.acquire("db:1", owner="a", mode="shared") as shared:
        with locks.acquire("db:1", owner="b", mode="shared", wait=0):
            with pytest.raises(WaitTimeout):
                locks.take("db:1", owner="a", wait=0)
        with locks.acquire("db:1", owner="a", wait=0) as upgraded:
            assert upgraded.fence > shared.fence
            with pytest.raises(WaitTimeout):
                locks.take("db:1", owner="b", mode="shared", wait=0)
            upgraded.downgrade()
            assert upgraded.mode == "shared"
            with locks.acquire("db:1", owner="b", mode="shared", wait=0):
                pass
    assert all_gone(locks)


def test_several_locks_all_or_none(locks: Locks) -> None:
    wanted: list[Any] = ["db:1", ("db:2", "shared"), LockRequest(resource="db:3", mode="shared")]
    with locks.acquire_many(wanted, owner="a") as grant:
        assert list(grant.fences) == ["db:1", "db:2", "db:3"]
        assert (grant.resource, grant.fence) == ("db:1", grant.fences["db:1"])
        with locks.acquire("db:3", owner="b", mode="shared", wait=0):
            pass
        (request,) = [request for request in locks.iterate(owner="a")]
        assert [(lock.resource, lock.mode) for lock in request.locks] == [
            ("db:1", "exclusive"),
            ("db:2", "shared"),
            ("db:3", "shared"),
        ]
    assert all_gone(locks)


def test_what_is_not_accepted_is_said_before_anything_runs(locks: Locks) -> None:
    cases: list[dict[str, Any]] = [
        {"resource": "a b"},
        {"mode": "write"},
        {"permits": 0},
        {"priority": 10},
        {"ttl": 3601},
        {"wait": -1},
        {"owner": ""},
    ]
    for case in cases:
        (name,) = case
        with pytest.raises(BadArgument, match=name):
            locks.take(**{"resource": "db:1", "owner": "a", **case})
    wrong: Any = [("db:1", "shared", 3)]
    with pytest.raises(BadArgument, match="wanted"):
        locks.take_many(wrong, owner="a")
    with pytest.raises(BadArgument, match="db:1"):
        locks.take_many(["db:1", "db:1"], owner="a")
    assert all_gone(locks)


def test_the_locks_of_a_domain_are_one_object(url: str, base_name: str) -> None:
    with Adeq.from_url(url, slot="all") as adeq:
        assert adeq.locks(base_name) is adeq.locks(base_name)
        assert adeq.locks(base_name).base == f"ade:{{all}}:lock:{base_name}"
        with pytest.raises(ConfigError, match="domain"):
            adeq.locks("a:b")


# Capacities and rates


def test_permits_of_a_resource_with_a_capacity(locks: Locks) -> None:
    with pytest.raises(LockUnavailable, match="set_capacity") as error:
        locks.take("agent:1", owner="a", mode="permit")
    assert error.value.reason == "no_capacity"
    locks.capacities.set("agent:1", 3, silent=60)
    assert locks.capacities.heartbeat("agent:1") == "active"
    with locks.acquire("agent:1", owner="a", mode="permit", permits=2) as grant:
        assert (grant.mode, grant.lost) == ("permit", False)
        with pytest.raises(WaitTimeout):
            locks.take("agent:1", owner="b", mode="permit", permits=2, wait=0)
        with pytest.raises(LockUnavailable) as error:
            locks.take("agent:1", owner="b", mode="permit", permits=4)
        assert error.value.reason == "too_many"
        capacity = (locks.get("agent:1")).capacity
        assert capacity is not None
        assert (capacity.max, capacity.used, capacity.status, capacity.silent) == (3, 2, "active", 60.0)
        assert locks.capacities.drain("agent:1") == "draining"
        with pytest.raises(LockUnavailable) as error:
            locks.take("agent:1", owner="b", mode="permit")
        assert error.value.reason == "draining"
        assert locks.capacities.remove("agent:1") == "in_use"
    assert locks.capacities.heartbeat_many(["agent:1", "agent:2"]) == ["draining", "no_capacity"]
    assert locks.capacities.remove("agent:1") == "removed"
    assert locks.capacities.remove("agent:1") == locks.capacities.drain("agent:1") == "no_capacity"


def test_an_agent_that_acquires_too_often_waits_within_its_time_to_wait(locks: Locks) -> None:
    locks.configure(rate_per_minute=300, rate_burst=1)
    with locks.acquire("db:1", owner="a", agent="x"):
        with locks.acquire("db:1", owner="a", agent="x", wait=0):  # a lock that it has is free
            pass
        with pytest.raises(RateLimited) as error:
            locks.take("db:2", owner="a", agent="x", wait=0)
        assert 0 < error.value.retry_after <= 0.2
        with locks.acquire("db:2", owner="a", agent="x", wait=DEADLINE):
            pass
    assert all_gone(locks)


# Those who look, and those who use force


def test_who_holds_and_who_waits(locks: Locks) -> None:
    rids = ["first", "second", "third"]
    with locks.acquire("db:1", owner="a", agent="x") as grant:
        for rid in rids:
            issued_ms = round((locks.stats()).now * 1000)
            call = locks.calls.acquire(rid, "db:1", f"o-{rid}", issued_ms=issued_ms, agent="y", wait=DEADLINE)
            assert (locks._runner.send(call)).status == "queued"
        view = locks.get("db:1", limit=2)
        assert (view.held, view.waiting, [one.place for one in view.waiters]) == (1, 3, [1, 2])
        assert [one.rid for one in locks.iterate(agent="y")] == rids
        assert [one.rid for one in locks.iterate(type="db", state="held")] == [grant.rid]
        assert (locks.list(owner="o-second")).requests[0].state == "waiting"
        assert [(edge.owner, edge.blocker, edge.held) for edge in locks.inspect.edges()] == [
            ("o-first", "a", True),
            ("o-second", "o-first", False),
            ("o-third", "o-second", False),
        ]
        graph = locks.inspect.graph()
        assert '-->|"exclusive db:1"|' in graph.mermaid()
        assert '"o-second" -> "o-first"' in graph.dot()
        assert graph.cycles() == []
        with pytest.raises(OwnerWaits, match="first") as error:
            locks.take("db:1", owner="o-first")
        assert error.value.rid == "first"
        assert [state.status for state in locks.admin.poll([*rids, "none"])] == ["queued"] * 3 + ["unknown"]
        assert locks.admin.cancel(["second", "late"]) == ["cancelled", "cancelled"]
        assert locks.admin.release(["third"]) == ["cancelled"]
        assert [one.status for one in locks.admin.renew([grant.rid, "first", "none"])] == [
            "renewed",
            "waiting",
            "unknown",
        ]
    assert [state.status for state in locks.admin.poll(["first"])] == ["granted"]
    assert locks.admin.release(["first"]) == ["released"]
    assert locks.admin.reap() == 0
    assert all_gone(locks)


def test_more_rids_than_a_call_takes(locks: Locks) -> None:
    rids = [f"r{number}" for number in range(250)]
    assert locks.admin.cancel(rids) == ["cancelled"] * 250
    assert [state.outcome for state in locks.admin.poll(rids)] == ["cancelled"] * 250


def test_a_lock_that_is_taken_away_by_force(locks: Locks) -> None:
    grant = locks.take("db:1", owner="a")
    other = locks.take("db:1", owner="a")
    forced = locks.admin.force_release("db:1", "the machine burns", owner="a")
    assert set(forced.rids) == {grant.rid, other.rid}
    assert forced.fence > grant.fence
    with locks.acquire("db:1", owner="b", wait=0) as next:
        assert next.fence > forced.fence
    with pytest.raises(LockLost, match="db:1 by a is not held any more"):
        grant.release()
    assert grant.lost
    assert "lost" in repr(grant)
    with pytest.raises(LeaseLost):
        other.downgrade()
    assert other.lost


def test_a_block_that_lost_its_lock_says_so_unless_it_says_more(locks: Locks) -> None:
    def work(error: Exception | None) -> None:
        with locks.acquire("db:1", owner="a"):
            locks.admin.force_release("db:1", "test")
            if error:
                raise error

    with pytest.raises(LockLost):
        work(None)
    with pytest.raises(ZeroDivisionError):
        work(ZeroDivisionError())


def test_who_goes_leaves_nothing_behind(locks: Locks) -> None:
    for name in ("x", "y"):
        locks.take(name, owner=name, agent="machine")
    other = locks.take("z", owner="z")
    assert len(locks.admin.offline(agent="machine")) == 2
    assert locks.admin.offline(owner="x") == []
    assert [(locks.get(name)).held for name in ("x", "y", "z")] == [0, 0, 1]
    other.release()


def test_a_lease_is_no_longer_than_the_domain_allows(locks: Locks) -> None:
    locks.configure(max_ttl=60)
    with pytest.raises(BadArgument, match="ttl_ms must be at most max_ttl_ms of the domain: 60000, got 61000"):
        locks.take("db:1", owner="a", ttl=61)


def test_settings(locks: Locks) -> None:
    before = locks.configure()
    assert (before.lease, before.poll, before.claim, before.policy) == (30.0, 2.0, 5.0, "requester")
    after = locks.configure(lease=10, policy="youngest", detect_visits=100)
    assert (after.lease, after.policy, after.detect_visits, after.poll) == (10.0, "youngest", 100, 2.0)
    assert (locks.stats()).settings == after
    with locks.acquire("db:1", owner="a") as grant:
        assert grant.ttl == 10.0
    with pytest.raises(ConflictError):
        locks.configure(clock="test")
