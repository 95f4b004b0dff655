"""Crowds of clients on one lock domain: in turn, never two at once, never stuck, whoever dies and whatever gets lost.

What happened is read from the domain's event stream, by the server's time. ADEQ_CHAOS=<n>: n times as much.
"""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from pyadeq import Adeq, EmbeddedServer, Locks
from pyadeq.ext.prove.chaos import read_entries
from pyadeq.ext.prove.chaos.lock_line import LockLine, inversions
from pyadeq.ext.prove.chaos.lock_tale import parse_parts
from tests.chaos.conftest import SCALE, Crowd, Start
from tests.integration.conftest import Proxy

pytestmark = pytest.mark.slow

LATE_MS = 5000  # what a busy machine may need; a request that is not woken waits for 30 s
POLL, CLAIM, LEASE = 0.5, 2.0, 2.0
PATIENT = 30.0  # where nobody dies, and a process may have to wait for its turn


@pytest.fixture
def locks(url: str, base_name: str) -> Iterator[Locks]:
    with Adeq.from_url(url) as adeq:
        adeq.locks(base_name).configure(events_max=10_000_000)
        yield adeq.locks(base_name)


@pytest.fixture
def register(client: redis.Redis, base_name: str) -> Iterator[str]:
    """What the lock protects."""
    yield f"register:{base_name}"
    client.delete(f"register:{base_name}")


@pytest.fixture
def proxy(server: EmbeddedServer) -> Iterator[Proxy]:
    folder = Path(tempfile.mkdtemp(prefix="adeq-"))
    proxy = Proxy(folder, server.socket_path)
    yield proxy
    proxy.close()
    shutil.rmtree(folder)


def scaled(number: int) -> int:
    return max(1, round(number * SCALE))


def test_fifty_processes_get_one_lock_in_turn(
    start: Start, client: redis.Redis, url: str, locks: Locks, register: str
) -> None:
    times = scaled(4)
    with locks.acquire("lock", owner="opener"):
        crowd = start("contend", 50, url=url, domain=locks.name, times=times, register=register)
        crowd.until(lambda: locks.stats().waiting == 50)
    fences = [fence for seen in crowd.results() for fence in seen["fences"]]
    events = read_entries(client, locks.base)
    history = LockLine.of(events)
    assert history.idle
    assert history.grants == 1 + 50 * times == 1 + len(set(fences))
    assert (history.jumps, history.deadlocks) == (0, 0)
    assert inversions(events) == 0
    assert max(history.handed) <= locks.configure().poll * 1000 + LATE_MS


@pytest.mark.parametrize("policy", ["requester", "youngest"])
def test_philosophers_never_starve(start: Start, client: redis.Redis, url: str, locks: Locks, policy: str) -> None:
    """Every deadlock is found when it forms, and nothing else is taken for one."""
    locks.configure(policy=policy, detect_visits=20_000)  # type: ignore[arg-type]
    crowd = start("dine", 20, url=url, domain=locks.name, owners=10, meals=scaled(2), forks=60, shared=0.4)
    history = dined(crowd, client, locks)
    assert history.deadlocks > 0


def test_philosophers_never_starve_where_the_search_for_deadlocks_is_short(
    start: Start, client: redis.Redis, url: str, locks: Locks
) -> None:
    """The deadlocks that are not found at once are found later."""
    locks.configure(detect_visits=16)
    crowd = start("dine", 4, url=url, domain=locks.name, owners=5, meals=scaled(1), forks=12, shared=0.0)
    told = sum(seen["deadlocks"] for seen in crowd.results())
    assert told == sum(event.event == "lock.deadlock" for event in read_entries(client, locks.base))
    assert locks.stats().held == locks.stats().waiting == 0


def dined(crowd: Crowd, client: redis.Redis, locks: Locks) -> LockLine:
    """What happened, which is just what the philosophers were told."""
    seen = crowd.results()
    history = LockLine.of(read_entries(client, locks.base))
    assert history.idle
    assert history.grants == sum(one["grants"] for one in seen)
    assert history.deadlocks == sum(one["deadlocks"] for one in seen)
    return history


def test_who_waits_for_a_killed_holder_goes_on(start: Start, client: redis.Redis, url: str, locks: Locks) -> None:
    locks.configure(lease=LEASE, poll=POLL, claim=CLAIM)
    resources = [f"database:{number}" for number in range(5)]
    holder = start("hold", url=url, domain=locks.name, resources=resources)
    holder.until(lambda: locks.stats().held == len(resources))
    heir = start("take", url=url, domain=locks.name, resources=resources)
    heir.until(lambda: locks.stats().waiting == len(resources))
    holder.kill()
    killed_ms = round(locks.stats().now * 1000)
    heir.results()
    events = read_entries(client, locks.base)
    assert LockLine.of(events).idle
    expired = [event.ms for event in events if event.event == "lock.expired"]
    taken = [event.ms for event in events if event.event == "lock.acquired"][len(resources) :]
    assert len(expired) == len(taken) == len(resources)
    assert max(taken) - killed_ms <= (LEASE + POLL) * 1000 + LATE_MS


def test_who_waits_behind_a_killed_grantee_goes_on(start: Start, client: redis.Redis, url: str, locks: Locks) -> None:
    """It is killed when it was handed the lock, and has not fetched it."""
    locks.configure(poll=POLL, claim=CLAIM)
    grant = locks.take("lock", owner="first")
    doomed = start("take", url=url, domain=locks.name, resources=["lock"])
    doomed.until(lambda: locks.stats().waiting == 1)
    heir = start("take", url=url, domain=locks.name, resources=["lock"])
    heir.until(lambda: locks.stats().waiting == 2)
    doomed.signal(signal.SIGSTOP)
    grant.release()
    doomed.kill()
    heir.results()
    events = read_entries(client, locks.base)
    assert LockLine.of(events).idle
    handed, again = (event.ms for event in events if event.event == "lock.promoted")
    assert [event.event for event in events[-5:]] == [
        f"lock.{name}" for name in ("promoted", "expired", "promoted", "acquired", "released")
    ]
    (taken,) = (event.ms for event in events[-2:] if event.event == "lock.acquired")
    assert again - handed >= CLAIM * 1000
    assert taken - handed <= (CLAIM + POLL) * 1000 + LATE_MS


def test_lost_replies_change_nothing(
    start: Start, client: redis.Redis, url: str, locks: Locks, register: str, proxy: Proxy
) -> None:
    locks.configure(poll=POLL, claim=PATIENT)
    proxy.lose_every = 10
    times = scaled(10)
    crowd = start("contend", 10, url=proxy.url, domain=locks.name, times=times, register=register, direct=url)
    fences = [fence for seen in crowd.results() for fence in seen["fences"]]
    events = read_entries(client, locks.base)
    history = LockLine.of(events)
    assert proxy.lost > times
    assert history.idle
    assert history.grants == 10 * times
    assert sorted(fences) == [
        parse_parts(event.words["locks"])[0].fence for event in events if event.event == "lock.released"
    ]
    assert not [event for event in events if event.event in ("lock.expired", "lock.cancelled", "lock.deadlock")]
    assert inversions(events) == 0


def test_lost_replies_change_nothing_among_philosophers(
    start: Start, client: redis.Redis, locks: Locks, proxy: Proxy
) -> None:
    locks.configure(poll=POLL, claim=PATIENT, detect_visits=20_000)
    proxy.lose_every = 10
    crowd = start("dine", 4, url=proxy.url, domain=locks.name, owners=5, meals=scaled(3), forks=12, shared=0.4)
    dined(crowd, client, locks)
    assert proxy.lost > 10
