"""Changes with a queue for the tasks that follow their steps, and with locks that the server verifies."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from pyadeq import Delivered, FollowTask, Result
from pyadeq.asyncio import Adeq, Changes
from pyadeq.errors import CannotApply, ChangeLost, QueueDraining

CONTENT: dict[str, Any] = {
    "type": "deploy",
    "description": "roll out the new index",
    "resources": ["database:orders", "service:search"],
}


@pytest.fixture(params=["one slot", "slots of their own"])
async def mine(url: str, base_name: str, request: pytest.FixtureRequest) -> AsyncIterator[Adeq]:
    """A client whose nouns are in one slot, or each in its own."""
    async with Adeq.from_url(url, slot=base_name[-60:] if request.param == "one slot" else None) as adeq:
        yield adeq


@pytest.fixture
def own(mine: Adeq, base_name: str) -> Changes:
    return mine.changes(base_name[-64:])


async def in_review(changes: Changes, id: str = "c1", **policy: Any) -> Result:
    """A change that bob is asked to review, as its author has put it."""
    await changes.set_policy("review", required=1, **policy)
    put = await changes.put(id, **CONTENT, actor="ann")
    assert (await changes.submit(put, policy="review", reviewers=["user:bob"], actor="ann")).status == "reviewing"
    return put


async def test_tasks_follow_steps(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    await own.configure(follow_queue=own.name)
    follow = {"approved": FollowTask(kind="apply", lane="group/appliers", priority=2), "completed": "tell"}
    put = await in_review(own, follow=follow)
    policy = (await own.policies())["review"]
    assert policy.follow == {"approved": follow["approved"], "completed": FollowTask(kind="tell")}
    assert (await own.approve(put, actor="bob")).status == "approved"
    (task,) = [one async for one in queue.iterate(state="ready", lane="group/appliers")]
    assert (task.kind, task.lane, task.priority) == ("apply", "group/appliers", 2)
    whole = await queue.get(task.id)
    assert whole
    payload = {"domain": own.name, "id": "c1", "rev": 1, "digest": put.digest, "event": "approved"}
    assert {**payload, "seq": int(task.id.rpartition("/")[2])} == whole.payload
    async with own.apply("c1", agent="deployer"):
        pass
    assert [one.kind async for one in queue.iterate(state="ready")] == ["tell"]
    assert await own.deliver() == Delivered(delivered=0, left=0)


async def test_what_no_client_has_followed_up_is_delivered(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    await own.configure(follow_queue=own.name)
    put = await in_review(own, follow={"approved": "apply"})
    answer = {"id": "c1", "rev": 1, "digest": put.digest, "action": "approve"}
    await mine.send(own.calls.build("respond", rid="r", actor="bob", item=[answer]))  # as of a client that dies then
    assert await own.deliver() == Delivered(delivered=1, left=0)
    assert [one.kind async for one in queue.iterate(state="ready")] == ["apply"]


@pytest.mark.parametrize("step", ["rejected", "changes_requested", "cancelled", "failed"])
async def test_each_step_is_followed(mine: Adeq, own: Changes, step: str) -> None:
    await own.configure(follow_queue=own.name)
    put = await in_review(own, follow={step: "tell"})
    if step == "rejected":
        await own.reject(put, actor="bob")
    elif step == "changes_requested":
        await own.request_changes(put, actor="bob")
    elif step == "cancelled":
        await own.cancel("c1", actor="ann")
    else:
        await own.approve(put, actor="bob")
        with pytest.raises(ZeroDivisionError):
            async with own.apply(put, agent="deployer"):
                raise ZeroDivisionError
    assert [one.kind async for one in mine.queue(own.name).iterate(state="ready")] == ["tell"]


async def test_a_queue_that_takes_no_tasks_refuses_no_vote(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    await own.configure(follow_queue=own.name)
    put = await in_review(own, follow={"approved": "apply"})
    later = await in_review(own, "c2", follow={"approved": "apply"})
    await queue.drain()
    assert (await own.approve(put, actor="bob")).status == "approved"
    answer = {"id": "c2", "rev": 1, "digest": later.digest, "action": "approve"}
    await mine.send(own.calls.build("respond", rid="r", actor="bob", item=[answer]))
    with pytest.raises(QueueDraining):
        await own.deliver()
    assert [one async for one in queue.iterate(state="ready")] == []


async def test_a_run_holds_the_locks_of_the_setting(mine: Adeq, own: Changes) -> None:
    locks = mine.locks(own.name)
    await own.configure(lock_domain=own.name)
    put = await in_review(own)
    await own.approve(put, actor="bob")
    if mine.slot:
        refused = await own.begin(put, agent="deployer")
        assert (refused.status, refused.resource) == ("not_locked", "database:orders")
        unnamed = await mine.send(own.calls.build("begin", id="c1", rev=1, digest=put.digest, agent="deployer"))
        assert (unnamed.status, unnamed.resource) == ("not_locked", "database:orders")
        elsewhere = mine.locks("other")
        with pytest.raises(CannotApply, match="not_locked"):
            async with own.apply(put, agent="deployer", locks=elsewhere):
                pass
    async with own.apply(put, agent="deployer") as run:
        assert run.grant
        assert set(run.grant.fences) == {"database:orders", "service:search"}
        assert bool(run.bases) == bool(mine.slot)
        if mine.slot:
            assert run.deadline <= run.grant.deadline  # type: ignore[attr-defined]
        assert (await locks.stats()).held == 1
    assert (await locks.stats()).held == 0


async def test_a_run_ends_if_a_lock_was_taken_away(mine: Adeq, own: Changes) -> None:
    if not mine.slot:
        pytest.skip("the server cannot look at locks in another slot")
    locks = mine.locks(own.name)
    await own.configure(lock_domain=own.name)
    put = await in_review(own)
    await own.approve(put, actor="bob")

    async def work() -> None:
        async with own.apply(put, agent="deployer") as run:
            await locks.force_release("service:search", "test")
            answer = await own.heartbeat("c1", run.token)
            assert (answer.status, answer.resource) == ("lock_lost", "database:orders")  # all locks of a request end
            run.lose("the test says so")
            run.check()

    with pytest.raises(ChangeLost):
        await work()
    change = await own.get("c1")
    assert change
    assert change.run
    assert (change.state, change.why, change.run.attempts) == ("approved", "lock_lost", 1)
