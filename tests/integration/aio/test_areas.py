"""The areas of a queue and of a lock domain: `queue.dead`, `locks.admin` and the others, beside the short names."""

import pytest

from pyadeq import Bulk
from pyadeq.asyncio import Locks, Queue

pytestmark = pytest.mark.any_engine


async def test_leases_inspect_and_dead(queue: Queue) -> None:
    await queue.enqueue("work", id="a", max_attempts=1)
    (lease,) = await queue.leases.claim("w")
    assert (await queue.leases.fail(lease, "broken")).status == "dead"
    found = await queue.inspect.get("a")
    assert found is not None
    assert (found, found.state) == (await queue.get("a"), "dead")
    assert await queue.dead.retry_all(dry_run=True) == await queue.retry_dead(dry_run=True) == Bulk(matched=1, done=0)
    assert (await queue.dead.retry("a")).status == "retried"
    assert (await queue.inspect.stats()).ready == 1


async def test_settings_and_workers_may_be_called(queue: Queue) -> None:
    await queue.settings.change(lease=20)
    assert (await queue.settings()).lease == (await queue.settings.get()).lease == 20
    await queue.workers.register("w", group="g")
    assert [worker.name for worker in await queue.workers()] == ["w"]
    assert await queue.workers.list(group="g") == await queue.workers(group="g") != []
    assert await queue.workers.list(group="other") == await queue.workers(group="other") == []
    found = await queue.workers.get("w")
    assert found is not None
    assert found.group == "g"


async def test_admin_and_chains(queue: Queue) -> None:
    await queue.admin.pause()
    assert (await queue.settings()).mode == "paused"
    await queue.admin.resume()
    await queue.chains.gather(["x", "y"], "z")
    assert await queue.admin.purge() == 3


async def test_the_areas_of_locks(locks: Locks) -> None:
    async with locks.acquire("db:1", owner="a") as grant:
        view = await locks.inspect.show("db:1")
        assert [holder.rid for holder in view.holders] == [grant.rid]
        assert view.held == (await locks.show("db:1")).held == 1
        assert await locks.inspect.edges() == ()
        assert [state.status for state in await locks.admin.poll([grant.rid])] == ["granted"]
    assert (await locks.inspect.stats()).held == 0
    await locks.admin.set_capacity("gpu:1", 2)
    assert await locks.admin.remove("gpu:1") == "removed"
