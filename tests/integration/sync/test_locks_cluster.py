# Generated from tests/integration/aio/test_locks_cluster.py by pyadeq/_unasync.py; do not edit.
"""Lock domains on several nodes of a cluster: handed over by hints, taken in order, and held while their slot moves."""

from collections.abc import Iterator
from time import monotonic

import pytest

from pyadeq._twins import join, sleep, spawn
from pyadeq import Adeq, Locks
from pyadeq.errors import DeadlockError
from pyadeq.keys import lock_base
from tests.conftest import CLUSTER
from tests.integration.servers import ThreePrimaries
from tests.waiting import LONGEST_RETRY

pytestmark = pytest.mark.skipif(CLUSTER, reason="these have servers of their own")


@pytest.fixture
def adeq(cluster: ThreePrimaries) -> Iterator[Adeq]:
    with Adeq.from_url(cluster.url, cluster=True, retry_for=LONGEST_RETRY) as adeq:
        yield adeq


@pytest.fixture
def domains(cluster: ThreePrimaries, base_name: str) -> list[str]:
    """Two of them, on two nodes."""
    names = [f"{base_name}-{number}" for number in range(100)]
    first = names[0]
    home = cluster.owner(lock_base(first))
    return [first, next(name for name in names if cluster.owner(lock_base(name)) is not home)]


def in_line(locks: Locks) -> None:
    """Wait until somebody waits."""
    deadline = monotonic() + 30
    while not (locks.get("db:1")).waiting:
        assert monotonic() < deadline


def test_a_lock_is_handed_over(adeq: Adeq, domains: list[str]) -> None:
    for name in domains:
        locks = adeq.locks(name)
        locks.configure(poll=60, claim=125, waiter=125)
        fences: list[int] = []

        def wait(locks: Locks = locks, fences: list[int] = fences) -> None:
            with locks.acquire("db:1", owner="b", wait=300) as grant:
                fences.append(grant.fence)

        with locks.acquire("db:1", owner="a") as grant:
            waiting = spawn(wait)
            in_line(locks)
        join(waiting, 30)
        assert fences > [grant.fence]


def test_a_lock_is_held_while_its_slot_moves(adeq: Adeq, cluster: ThreePrimaries, domains: list[str]) -> None:
    locks = adeq.locks(domains[0])
    with locks.acquire("db:1", owner="a", ttl=3) as grant:
        cluster.move(f"{locks.base}:config")
        before = grant.deadline
        while grant.deadline == before:
            grant.check()
            sleep(0.01)


def test_deadlocks_across_nodes(adeq: Adeq, domains: list[str]) -> None:
    with adeq.acquire_sorted([(name, "db:1") for name in reversed(domains)], owner="c") as grants:
        assert list(grants) == sorted(domains)
    one, two = map(adeq.locks, domains)
    ended: list[str] = []
    ready: list[str] = []

    def cross(here: Locks, there: Locks, owner: str) -> None:
        with here.acquire("db:1", owner=owner):
            ready.append(owner)
            while len(ready) < 2:
                sleep(0.01)
            try:
                with there.acquire("db:1", owner=owner):
                    ended.append("both")
            except DeadlockError:
                ended.append("deadlock")

    def forth() -> None:
        cross(one, two, "a")

    def back() -> None:
        cross(two, one, "b")

    works = [spawn(forth), spawn(back)]
    for locks in (one, two):
        in_line(locks)
    assert len(adeq.find_deadlocks(domains)) == 1
    for work in works:
        join(work, 30)
    assert ended == ["deadlock", "both"]
