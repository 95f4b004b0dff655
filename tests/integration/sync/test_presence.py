# Generated from tests/integration/aio/test_presence.py by pyadeq/_unasync.py; do not edit.
"""Who is there, what is wanted of them, and how far they have come."""

import pytest

from pyadeq import Lease, Queue
from pyadeq.errors import BadArgument, LeaseLost
from tests.integration.conftest import Clock


@pytest.fixture
def queue(timed: Queue) -> Queue:
    """With four workers."""
    timed.workers.register("a", capacity=4, group="gpu", capabilities=["cuda", "big/memory"], lanes=["group/gpu"])
    timed.workers.register("b", capacity=2, group="gpu")
    timed.workers.register("c", capacity=1, capabilities=["cuda"])
    timed.workers.register("d")
    return timed


def names(queue: Queue, **filter: str) -> list[str]:
    return [worker.name for worker in queue.workers.list(**filter)]


def test_workers_are_found_by_group_and_capability(queue: Queue) -> None:
    assert names(queue) == ["a", "b", "c", "d"]
    assert names(queue, group="gpu") == ["a", "b"]
    assert names(queue, capability="cuda") == ["a", "c"]
    assert names(queue, group="gpu", capability="big/memory") == ["a"]
    found = queue.workers.get("a")
    assert found is not None
    assert (found.group, found.capabilities, found.lanes) == ("gpu", ("cuda", "big/memory"), ("group/gpu",))
    assert queue.workers.get("nobody") is None


def test_what_a_worker_holds_is_seen(queue: Queue) -> None:
    queue.enqueue_many(range(5))
    settled = queue.leases.settle("a", claim=3, busy=0)
    worker = queue.workers.get("a")
    assert worker is not None
    assert (worker.busy, worker.free) == (3, 1)
    queue.workers.beat(settled.claimed.leases, worker="a", busy=1)
    worker = queue.workers.get("a")
    assert worker is not None
    assert (worker.busy, worker.free) == (1, 3)
    worker = queue.workers.get("b")
    assert worker is not None
    assert (worker.busy, worker.free) == (None, None), "it never said"


def test_who_is_silent_for_30_seconds_is_gone(queue: Queue, clock: Clock) -> None:
    clock.tick(29)
    queue.workers.beat([], worker="b")
    clock.tick(2)
    assert names(queue) == ["b"]
    assert queue.workers.control(everybody=True, mode="quiet") == ["b"]


def test_steered_workers_are_called_and_hear_what_is_wanted(queue: Queue) -> None:
    assert queue.workers.control(["a", "nobody"], mode="quiet", capacity=7) == ["a"]
    assert queue.leases._block_as("a", (), 5) == ""
    assert queue.leases._block_as("a", (), 0.01) is None, "one call is enough"
    heard = queue.workers.beat([], worker="a")
    assert (heard.mode, heard.capacity) == ("quiet", 7)
    assert queue.workers.control(group="gpu", mode="run") == ["a", "b"]
    heard = queue.workers.beat([], worker="a")
    assert (heard.mode, heard.capacity) == ("run", 7)
    queue.workers.control(["a"], mode="stop")
    queue.workers.register("a")
    assert (queue.workers.beat([], worker="a")).mode == "stop", "the one before has not heard it"
    queue.workers.register("a")
    assert (queue.workers.beat([], worker="a")).mode == "run", "the one before has heard it"
    for nobody in ({}, {"workers": ["a"], "everybody": True}):
        with pytest.raises(BadArgument, match="one of these"):
            queue.workers.control(mode="run", **nobody)  # type: ignore[arg-type]


def test_a_cancelled_task_calls_its_worker(queue: Queue) -> None:
    queue.enqueue(1, id="t")
    (lease,) = queue.claim("a")
    queue.cancel("t")
    assert queue.leases._block_as("a", ["any"], 5) == ""
    heard = queue.workers.beat([lease], worker="a")
    assert [renewal.status for renewal in heard.renewals] == ["cancelling"]


def test_who_goes_gives_back_what_it_holds(queue: Queue) -> None:
    queue.enqueue_many(range(3))
    leases = queue.claim("a", 2)
    assert queue.workers.deregister("a", leases=leases) == "deregistered"
    assert [lease.payload for lease in queue.claim("b", 3)] == [0, 1, 2]


def test_progress_is_seen_while_a_task_runs(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="t")
    (lease,) = queue.claim("a")
    assert queue.progress(lease, 0.25, "reading", log="opened the file") == "noted"
    clock.tick(1)
    assert queue.progress(lease, log="é" * 600, output="/var/out/t.txt") == "noted"
    task = queue.get("t")
    assert task is not None
    assert (task.progress, task.progress_text, task.output) == (0.25, "reading", "/var/out/t.txt")
    log = queue.inspect.log("t")
    assert [line.text for line in log] == ["opened the file", "é" * 500]
    assert log[1].at - log[0].at == 1
    for n in range(150):
        queue.progress(lease, log=str(n))
    assert [line.text for line in queue.inspect.log("t")] == [str(n) for n in range(50, 150)]
    queue.cancel("t")
    assert queue.progress(lease, 1) == "cancelling"
    with pytest.raises(BadArgument, match="fraction"):
        queue.progress(lease, 1.1)


def test_a_lost_lease_has_no_progress(queue: Queue, clock: Clock) -> None:
    queue.enqueue(1, id="t")
    lease: Lease
    (lease,) = queue.claim("a")
    clock.tick(16)
    with pytest.raises(LeaseLost):
        queue.progress(lease, 0.5)
    queue.admin.purge(all=True)
    assert queue.inspect.log("t") == []
