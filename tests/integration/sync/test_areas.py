# Generated from tests/integration/aio/test_areas.py by pyadeq/_unasync.py; do not edit.
"""The areas of a queue and of a lock domain: `queue.dead`, `locks.admin` and the others, beside the short names."""

import pytest

from pyadeq import Bulk
from pyadeq import Locks, Queue

pytestmark = pytest.mark.any_engine


def test_leases_inspect_and_dead(queue: Queue) -> None:
    queue.enqueue("work", id="a", max_attempts=1)
    (lease,) = queue.leases.claim("w")
    assert (queue.leases.fail(lease, "broken")).status == "dead"
    found = queue.inspect.get("a")
    assert found is not None
    assert (found, found.state) == (queue.get("a"), "dead")
    assert queue.dead.retry_all(dry_run=True) == queue.retry_dead(dry_run=True) == Bulk(matched=1, done=0)
    assert (queue.dead.retry("a")).status == "retried"
    assert (queue.inspect.stats()).ready == 1


def test_settings_and_workers_may_be_called(queue: Queue) -> None:
    queue.settings.change(lease=20)
    assert (queue.settings()).lease == (queue.settings.get()).lease == 20
    queue.workers.register("w", group="g")
    assert [worker.name for worker in queue.workers()] == ["w"]
    assert queue.workers.list(group="g") == queue.workers(group="g") != []
    assert queue.workers.list(group="other") == queue.workers(group="other") == []
    found = queue.workers.get("w")
    assert found is not None
    assert found.group == "g"


def test_admin_and_chains(queue: Queue) -> None:
    queue.admin.pause()
    assert (queue.settings()).mode == "paused"
    queue.admin.resume()
    queue.chains.gather(["x", "y"], "z")
    assert queue.admin.purge() == 3


def test_the_areas_of_locks(locks: Locks) -> None:
    with locks.acquire("db:1", owner="a") as grant:
        view = locks.inspect.show("db:1")
        assert [holder.rid for holder in view.holders] == [grant.rid]
        assert view.held == (locks.show("db:1")).held == 1
        assert locks.inspect.edges() == ()
        assert [state.status for state in locks.admin.poll([grant.rid])] == ["granted"]
    assert (locks.inspect.stats()).held == 0
    locks.admin.set_capacity("gpu:1", 2)
    assert locks.admin.remove("gpu:1") == "removed"
