# Generated from tests/integration/aio/test_changes_nouns.py by pyadeq/_unasync.py; do not edit.
"""Changes with a queue for the tasks that follow their steps, and with locks that the server verifies."""

from collections.abc import Iterator
from typing import Any

import pytest

from pyadeq import Delivered, FollowTask, Result
from pyadeq import Adeq, Changes
from pyadeq.errors import AdeqError, CannotApply, ChangeLost, QueueDraining
from tests.integration.conftest import Clock

CONTENT: dict[str, Any] = {
    "type": "deploy",
    "description": "roll out the new index",
    "resources": ["database:orders", "service:search"],
}


@pytest.fixture(params=["one slot", "slots of their own"])
def mine(url: str, base_name: str, request: pytest.FixtureRequest) -> Iterator[Adeq]:
    """A client whose nouns are in one slot, or each in its own."""
    with Adeq.from_url(url, slot=base_name[-60:] if request.param == "one slot" else None) as adeq:
        yield adeq


@pytest.fixture
def own(mine: Adeq, base_name: str) -> Changes:
    return mine.changes(base_name[-64:])


def in_review(changes: Changes, id: str = "c1", **policy: Any) -> Result:
    """A change that bob is asked to review, as its author has put it."""
    changes.policies.set("review", required=1, **policy)
    put = changes.put(id, **CONTENT, actor="ann")
    assert (changes.submit(put, policy="review", reviewers=["user:bob"], actor="ann")).status == "reviewing"
    return put


def test_tasks_follow_steps(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    own.configure(follow_queue=own.name)
    follow = {"approved": FollowTask(kind="apply", lane="group/appliers", priority=2), "completed": "tell"}
    put = in_review(own, follow=follow)
    policy = (own.policies.list())["review"]
    assert policy.follow == {"approved": follow["approved"], "completed": FollowTask(kind="tell")}
    assert (own.approve(put, actor="bob")).status == "approved"
    (task,) = [one for one in queue.iterate(state="ready", lane="group/appliers")]
    assert (task.kind, task.lane, task.priority) == ("apply", "group/appliers", 2)
    whole = queue.get(task.id)
    assert whole
    payload = {"domain": own.name, "id": "c1", "rev": 1, "digest": put.digest, "event": "approved"}
    assert {**payload, "seq": int(task.id.split("/")[2])} == whole.payload
    with own.apply("c1", agent="deployer"):
        pass
    assert [one.kind for one in queue.iterate(state="ready")] == ["tell"]
    assert own.deliver() == Delivered(delivered=0, left=0)


def test_what_no_client_has_followed_up_is_delivered(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    own.configure(follow_queue=own.name)
    put = in_review(own, follow={"approved": "apply"})
    answer = {"id": "c1", "rev": 1, "digest": put.digest, "action": "approve"}
    mine.send(own.calls.build("respond", rid="r", actor="bob", item=[answer]))  # as of a client that dies then
    assert own.deliver() == Delivered(delivered=1, left=0)
    assert [one.kind for one in queue.iterate(state="ready")] == ["apply"]


@pytest.mark.parametrize("step", ["rejected", "changes_requested", "cancelled", "failed"])
def test_each_step_is_followed(mine: Adeq, own: Changes, step: str) -> None:
    own.configure(follow_queue=own.name)
    put = in_review(own, follow={step: "tell"})
    if step == "rejected":
        own.reject(put, actor="bob")
    elif step == "changes_requested":
        own.request_changes(put, actor="bob")
    elif step == "cancelled":
        own.cancel("c1", actor="ann")
    else:
        own.approve(put, actor="bob")
        with pytest.raises(ZeroDivisionError):
            with own.apply(put, agent="deployer"):
                raise ZeroDivisionError
    assert [one.kind for one in mine.queue(own.name).iterate(state="ready")] == ["tell"]


def test_a_queue_that_takes_no_tasks_refuses_no_vote(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    own.configure(follow_queue=own.name)
    put = in_review(own, follow={"approved": "apply"})
    later = in_review(own, "c2", follow={"approved": "apply"})
    queue.admin.drain()
    assert (own.approve(put, actor="bob")).status == "approved"
    answer = {"id": "c2", "rev": 1, "digest": later.digest, "action": "approve"}
    mine.send(own.calls.build("respond", rid="r", actor="bob", item=[answer]))
    with pytest.raises(QueueDraining):
        own.deliver()
    assert [one for one in queue.iterate(state="ready")] == []


def test_nobody_can_take_the_id_of_a_task_that_follows(mine: Adeq, own: Changes) -> None:
    queue = mine.queue(own.name)
    own.configure(follow_queue=own.name)
    put = in_review(own, follow={"approved": "apply"})
    for seq in range(1, 9):
        queue.enqueue({"forged": seq}, id=f"{own.name}/c1/{seq}", kind="noop", delay=86_400)
    assert (own.approve(put, actor="bob")).status == "approved"
    (task,) = [one for one in queue.iterate(state="ready")]
    whole = queue.get(task.id)
    assert whole
    assert (task.kind, whole.payload["event"], whole.payload["id"]) == ("apply", "approved", "c1")
    change = own.get("c1")
    assert change
    assert [f"{own.name}/c1/{end}" for end in change.follow_ids] == [task.id]
    assert task.id.startswith(f"{own.name}/c1/{whole.payload['seq']}/")
    assert own.deliver() == Delivered(delivered=0, left=0)
    assert [one.id for one in queue.iterate(state="ready")] == [task.id]


def test_two_who_deliver_make_one_task_whose_id_the_first_has_chosen(
    url: str, base_name: str, clock: Clock
) -> None:
    with Adeq.from_url(url, clock=clock) as mine:
        own, queue = mine.changes(base_name[-64:]), mine.queue(base_name[-64:])
        own.configure(clock="test", follow_queue=own.name)
        queue.configure(clock="test")
        put = in_review(own, follow={"approved": "apply"})
        answer = {"id": "c1", "rev": 1, "digest": put.digest, "action": "approve"}
        mine.send(own.calls.build("respond", rid="r", actor="bob", item=[answer]))
        (first,) = (mine.send(own.calls.build("outbox", random="first"))).items
        clock.tick(30)
        (second,) = (mine.send(own.calls.build("outbox", random="second"))).items
        assert (first.task_id, len(first.task_id)) == (second.task_id, len(f"{own.name}/c1/{first.seq}/") + 20)
        queue.enqueue("x", id=f"{own.name}/c1/{first.seq}", kind="noop")
        clock.tick(30)
        assert own.deliver() == Delivered(delivered=1, left=0)
        assert first.task_id in [one.id for one in queue.iterate(state="ready")]


def test_a_queue_that_refuses_one_task_gets_the_others(mine: Adeq, own: Changes) -> None:
    if mine.slot:
        return  # the vote enqueues it
    own.configure(follow_queue=own.name)
    for id in ("c1", "c2"):
        put = in_review(own, id, follow={"approved": "apply"})
        answer = {"id": id, "rev": 1, "digest": put.digest, "action": "approve"}
        mine.send(own.calls.build("respond", rid=id, actor="bob", item=[answer]))
    client: Any = mine.client
    (first,) = client.zrange(f"{own.base}:outbox", 0, 0)
    noted = client.hget(f"{own.base}:follows", first)
    client.hset(f"{own.base}:follows", first, noted.replace(b" apply ", b" " + b"x" * 201 + b" "))
    with pytest.raises(AdeqError):
        own.deliver()
    assert [one.kind for one in mine.queue(own.name).iterate(state="ready")] == ["apply"]


def test_a_second_delivery_is_the_same_task(url: str, base_name: str, clock: Clock) -> None:
    """A client has enqueued it, and could not say so. By now it is waiting, or has ended and lost its payload."""
    with Adeq.from_url(url, clock=clock) as mine:
        own, queue = mine.changes(base_name[-64:]), mine.queue(base_name[-64:])
        own.configure(clock="test", follow_queue=own.name)
        queue.configure(clock="test", payload_ttl=0)
        for id in ("c1", "c2"):
            put = in_review(own, id, follow={"approved": "apply"})
            answer = {"id": id, "rev": 1, "digest": put.digest, "action": "approve"}
            mine.send(own.calls.build("respond", rid=id, actor="bob", item=[answer]))
        for one in (mine.send(own.calls.build("outbox", random="r"))).items:
            fields = {
                "domain": own.name,
                **{name: getattr(one, name) for name in ("digest", "event", "id", "rev", "seq")},
            }
            queue.enqueue(dict(sorted(fields.items())), id=one.task_id, kind=one.kind)
        (lease,) = queue.claim(worker="w", limit=1)
        queue.ack(lease)
        clock.tick(30)
        assert own.deliver() == Delivered(delivered=2, left=0)
        assert [one.id.split("/")[1] for one in queue.iterate(state="ready")] == ["c2"]


def test_a_run_holds_the_locks_of_the_setting(mine: Adeq, own: Changes) -> None:
    locks = mine.locks(own.name)
    own.configure(lock_domain=own.name)
    put = in_review(own)
    own.approve(put, actor="bob")
    if mine.slot:
        refused = own.begin(put, agent="deployer")
        assert (refused.status, refused.resource) == ("not_locked", "database:orders")
        unnamed = mine.send(own.calls.build("begin", id="c1", rev=1, digest=put.digest, agent="deployer"))
        assert (unnamed.status, unnamed.resource) == ("not_locked", "database:orders")
        elsewhere = mine.locks("other")
        with pytest.raises(CannotApply, match="not_locked"):
            with own.apply(put, agent="deployer", locks=elsewhere):
                pass
    with own.apply(put, agent="deployer") as run:
        assert run.grant
        assert set(run.grant.fences) == {"database:orders", "service:search"}
        assert bool(run.bases) == bool(mine.slot)
        if mine.slot:
            assert run.deadline <= run.grant.deadline  # type: ignore[attr-defined]
        assert (locks.stats()).held == 1
    assert (locks.stats()).held == 0


def test_a_run_ends_if_a_lock_was_taken_away(mine: Adeq, own: Changes) -> None:
    if not mine.slot:
        pytest.skip("the server cannot look at locks in another slot")
    locks = mine.locks(own.name)
    own.configure(lock_domain=own.name)
    put = in_review(own)
    own.approve(put, actor="bob")

    def work() -> None:
        with own.apply(put, agent="deployer") as run:
            locks.admin.force_release("service:search", "test")
            answer = own.heartbeat("c1", run.token)
            assert (answer.status, answer.resource) == ("lock_lost", "database:orders")  # all locks of a request end
            run.lose("the test says so")
            run.check()

    with pytest.raises(ChangeLost):
        work()
    change = own.get("c1")
    assert change
    assert change.run
    assert (change.state, change.why, change.run.attempts) == ("approved", "lock_lost", 1)
