"""Locks of an old layout and of pyadeq exclude each other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from pyadeq import Adeq, BadArgument
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import LockLost, WaitTimeout
from pyadeq.ext.move.migrate import LockBridge
from pyadeq.ext.move.migrate.locks import approval_status, resource_lock, task_lock
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer
from tests.migrate.older import OldLocks

pytestmark = pytest.mark.any_engine

TASK, RESOURCE = task_lock("t1"), resource_lock("database", "prod:1")


@pytest.fixture
def old(old_server: EmbeddedServer) -> Iterator[Redis]:
    with Redis.from_url(old_server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def bridge(old: Redis, url: str, base_name: str) -> Iterator[LockBridge]:
    with Adeq.from_url(url) as adeq:
        yield LockBridge(adeq, old, domain=base_name)


def test_old_programs_bridges_and_new_programs_exclude_each_other(bridge: LockBridge, old: Redis) -> None:
    locks = OldLocks(old)
    with bridge.acquire(TASK, owner="ann", purpose="deploy") as grant:
        row: Any = old.hgetall("lock:task:t1")
        assert (row[b"holder_agent_id"], row[b"purpose"]) == (b"ann", b"deploy")
        assert 0 < old.pttl("lock:task:t1") <= 30_000
        assert not locks.take(TASK, "bob")
        for holder in (bridge, bridge.locks):
            with pytest.raises(WaitTimeout):
                holder.take(TASK, owner="bob", wait=0)
        assert old.hget("lock:task:t1", "holder_agent_id") == b"ann"
        old.pexpire("lock:task:t1", 100_000)
        grant.heartbeat()
        assert old.hget("lock:task:t1", "heartbeat_count") == b"1"
        assert old.pttl("lock:task:t1") <= 30_000
    assert locks.take(TASK, "bob")
    with pytest.raises(WaitTimeout, match="task:t1 is held by another owner"):
        bridge.take(TASK, owner="ann")
    locks.release(TASK, "bob")
    new = bridge.locks.take(TASK, owner="cleo")
    with pytest.raises(WaitTimeout):
        bridge.take(TASK, owner="ann", wait=0.1)
    assert not old.exists("lock:task:t1")  # what it had taken there is free again
    new.release()
    bridge.take(TASK, owner="ann", wait=0.1).release()


def test_shared_locks(bridge: LockBridge, old: Redis) -> None:
    ann, bob = (bridge.take(RESOURCE, owner=owner, mode="shared") for owner in ("ann", "bob"))
    holders: Any = old.hget("lock:resource:database:prod:1", "holders")
    assert [one["agent_id"] for one in json.loads(holders)] == ["ann", "bob"]
    with pytest.raises(WaitTimeout):
        bridge.take(RESOURCE, owner="cleo")
    ann.heartbeat()
    ann.release()
    with pytest.raises(WaitTimeout):
        bridge.take(RESOURCE, owner="cleo")
    bob.release()
    with bridge.acquire(RESOURCE, owner="cleo"):
        assert old.hmget("lock:resource:database:prod:1", "mode", "exclusive_holder") == [b"exclusive", b"cleo"]
        with pytest.raises(WaitTimeout):
            bridge.take(RESOURCE, owner="ann", mode="shared")
    for name, mode in ((TASK, "shared"), ("agent:a1:capacity", "exclusive")):
        with pytest.raises(BadArgument, match=f"name: '{name}' is not accepted; allowed: task:<id> exclusively"):
            bridge.take(name, owner="ann", mode=mode)  # type: ignore[arg-type]


def test_a_shared_lock_lives_as_long_as_its_holder_with_the_longest_lease(bridge: LockBridge, old: Redis) -> None:
    first = bridge.take(RESOURCE, owner="ann", mode="shared", ttl=600)
    second = bridge.take(RESOURCE, owner="bob", mode="shared", ttl=60)
    second.heartbeat()
    assert old.pttl(f"lock:{RESOURCE}") > 300_000
    first.release()
    second.heartbeat()
    assert old.pttl(f"lock:{RESOURCE}") <= 60_000
    second.release()


def test_a_second_grant_of_an_owner_does_not_end_the_first(bridge: LockBridge, old: Redis) -> None:
    with bridge.acquire(TASK, owner="ann"):
        with pytest.raises(WaitTimeout):
            bridge.take(TASK, owner="ann")
        assert old.hget("lock:task:t1", "holder_agent_id") == b"ann"


def test_a_lock_that_was_lost_on_one_side(bridge: LockBridge, old: Redis) -> None:
    grant = bridge.take(TASK, owner="ann")
    old.delete("lock:task:t1")
    with pytest.raises(LockLost, match="the old lock of task:t1 by ann is not held any more"):
        grant.heartbeat()
    assert bridge.compare().both == 0
    grant = bridge.take(TASK, owner="ann")
    bridge.locks.admin.force_release(TASK, "for a test")
    with pytest.raises(LockLost), bridge.acquire(RESOURCE, owner="ann"):
        grant.release()
    assert not old.exists("lock:task:t1", "lock:resource:database:prod:1")


def test_what_is_held_where(bridge: LockBridge, old: Redis, old_server: EmbeddedServer, url: str) -> None:
    locks = OldLocks(old)
    grants = [bridge.take(TASK, owner="ann"), bridge.take(RESOURCE, owner="ann", mode="shared")]
    where = "shadow", "locks", "--from", old_server.url, "--domain", bridge.locks.name, "--url", url
    assert answer("migrate", *where) == {"both": 2, "old": [], "new": []}
    locks.take("task:t2", "bob")
    grants[0].grant.release()
    grants.append(bridge.locks.take("task:t3", owner="cleo"))  # type: ignore[arg-type]
    found = command("migrate", *where)
    assert (found.status, found.stdout.splitlines()) == (
        1,
        [
            "1 lock held in both",
            "2 held: only in the old layout (task:t1, task:t2)",
            "1 held: only in pyadeq (task:t3)",
        ],
    )


def test_statuses_of_version_1() -> None:
    assert [approval_status(one) for one in ("0", "1", "2", "3", "REJECTED")] == [
        "PENDING",
        "APPROVED",
        "REJECTED",
        "DELEGATED",
        "REJECTED",
    ]
    for bad in ("4", "-1", "pending", ""):
        with pytest.raises(BadArgument, match=f"status: '{bad}' is not accepted; allowed: 0 to 3, or PENDING"):
            approval_status(bad)
