"""Whatever the network does to a call: the answer is that of one call, and so is what is left on the server.

Each story is told twice, on a good network and on a bad one. What the stream and the queue say then is compared; in the
end what was still under way arrives, when all else is over, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import pytest

from pyadeq import Adeq, Backoff, Lease, Locks, Queue, Task
from pyadeq.models import State
from tests.audit import audit
from tests.integration.faults.network import FATES, Fate, Network
from tests.waiting import LONGEST_RETRY

pytestmark = pytest.mark.any_engine
SHORT = 0.2  # seconds that a client waits for a reply; on a busy machine it may send once more than it would have to


@pytest.fixture
def far(network: Network) -> Iterator[Adeq]:
    with Adeq.from_url(network.url, retry_for=LONGEST_RETRY, socket_timeout=SHORT) as adeq:
        yield adeq


# Producers and workers


@dataclass
class Stage:
    """near: the queue, by a good network. far: the same, by one that may be bad. begin: let it be bad from now on."""

    near: Queue
    far: Queue
    begin: Callable[[], None]

    def lease(self, **task: Any) -> Lease:
        """A task that is running, before anything goes wrong; afterwards the network may."""
        self.near.enqueue("work", id="a", **task)
        (lease,) = self.near.claim("near")
        self.begin()
        return lease


def enqueue(stage: Stage) -> Any:
    stage.begin()
    return stage.far.enqueue("work", id="a", tags=["t"]).status


def enqueue_unique(stage: Stage) -> Any:
    stage.begin()
    first = stage.far.enqueue("work", unique="one")
    again = stage.far.enqueue("work", unique="one")
    return first.status, again.status, again.id == first.id


def enqueue_many(stage: Stage) -> Any:
    stage.begin()
    tasks = [Task(payload=str(number), id=f"t{number}") for number in range(300)]
    return {receipt.status for receipt in stage.far.enqueue_many(tasks)}


def cancel(stage: Stage) -> Any:
    stage.near.enqueue("work", id="a")
    stage.begin()
    return stage.far.cancel("a")


def claim(stage: Stage) -> Any:
    """A task is left in line, for a late copy to find."""
    stage.near.enqueue_many([Task(payload="work", id=id) for id in "abcd"])
    stage.begin()
    first = stage.far.claim("far", limit=2)
    second = stage.far.claim("far", limit=1)
    stage.near.ack_many([(lease, None) for lease in first + second])
    return [lease.id for lease in first], [lease.id for lease in second]


def claim_of_a_released_task(stage: Stage) -> Any:
    """What was claimed goes back, so that a late copy of the claim finds it in line."""
    stage.near.enqueue("work", id="a")
    stage.begin()
    (lease,) = stage.far.claim("far")
    return stage.far.release(lease)


def ack(stage: Stage) -> Any:
    return stage.far.ack_many([(stage.lease(), {"ok": True})])


def fail(stage: Stage) -> Any:
    return stage.far.fail(stage.lease(max_attempts=2, backoff=Backoff(base=3600)), "broken").status


def fail_for_good(stage: Stage) -> Any:
    return stage.far.fail(stage.lease(), "broken", retryable=False).status


def snooze(stage: Stage) -> Any:
    return stage.far.snooze(stage.lease(), 3600).status


def release(stage: Stage) -> Any:
    """Another worker has the task by the time that a late copy comes."""
    status = stage.far.release(stage.lease())
    (lease,) = stage.near.claim("near")
    return status, lease.delivery, lease.attempt


def heartbeat(stage: Stage) -> Any:
    lease = stage.lease()
    return stage.far.heartbeat(lease).status, stage.near.ack_many([(lease, None)])


def settle(stage: Stage) -> Any:
    stage.near.enqueue_many([Task(payload="work", id=id) for id in "bcd"])
    first = stage.near.claim("near", limit=2)
    stage.begin()
    settled = stage.far.leases.settle("far", acks=[(first[0], 1)], claim=1)
    return settled.acks, [lease.id for lease in settled.claimed.leases]


def retry(stage: Stage) -> Any:
    stage.near.enqueue("work", id="a", unique="one")
    (lease,) = stage.near.claim("near")
    stage.near.fail(lease, "broken", retryable=False)
    stage.begin()
    return stage.far.dead.retry("a").status


def run_now(stage: Stage) -> Any:
    """The task is snoozed by the time that a late copy comes, and stays so."""
    stage.near.enqueue("work", id="a", delay=3600)
    stage.begin()
    status = stage.far.admin.run_now("a").status
    (lease,) = stage.near.claim("near")
    return status, stage.near.snooze(lease, 3600).status


QUEUE_STORIES = [
    (enqueue, "enqueue"),
    (enqueue_unique, "enqueue"),
    (enqueue_many, "enqueue"),
    (cancel, "cancel"),
    (claim, "claim"),
    (claim_of_a_released_task, "claim"),
    (ack, "ack"),
    (fail, "fail"),
    (fail_for_good, "fail"),
    (snooze, "snooze"),
    (release, "release"),
    (heartbeat, "heartbeat"),
    (settle, "settle"),
    (retry, "retry"),
    (run_now, "run_now"),
]


def seen_of(client: Any, queue: Queue) -> Any:
    """What is left: the events, the tasks, and the totals, but for what time has to do with."""
    events = [(entry[b"event"], entry[b"id"]) for _, entry in client.xrange(f"{queue.base}:events")]
    shown = {"id", "state", "attempts", "crashes", "deliveries", "result", "reason"}
    tasks = [task.model_dump(include=shown) for state in get_args(State) for task in queue.iterate(state)]
    counted = queue.stats().counters.items()
    counters = {name: count for name, count in counted if ":" not in name and not name.endswith("_sum")}
    return events, sorted(tasks, key=lambda task: str(task["id"])), counters


def without_ids(seen: Any) -> Any:
    events, tasks, counters = seen
    return [name for name, _ in events], [{**task, "id": ""} for task in tasks], counters


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize(("story", "verb"), QUEUE_STORIES, ids=[story.__name__ for story, _ in QUEUE_STORIES])
def test_a_call_of_a_queue(
    near: Adeq, far: Adeq, network: Network, base_name: str, story: Callable[[Stage], Any], verb: str, fate: Fate
) -> None:
    good, bad = near.queue(f"{base_name}-good"), near.queue(f"{base_name}-bad")
    expected = story(Stage(good, near.queue(good.name), lambda: None))
    befall = partial(network.befall, f"queue.{verb}.v1", fate)
    answer = story(Stage(bad, far.queue(bad.name), befall))
    assert network.befallen == 1
    assert answer == expected
    seen = seen_of(near.client, bad)
    assert without_ids(seen) == without_ids(seen_of(near.client, good))
    network.deliver()
    assert seen_of(near.client, bad) == seen
    assert audit(near.client, bad.base) == []


# Lock owners


@dataclass
class Doors:
    near: Locks
    far: Locks
    begin: Callable[[], None]


def acquire(doors: Doors) -> Any:
    doors.begin()
    with doors.far.acquire("door", owner="far") as grant:
        return grant.lost


def acquire_after_a_wait(doors: Doors) -> Any:
    """It is in line when the network goes bad, and handed the lock by then."""
    grant = doors.near.take("door", owner="near")
    doors.begin()
    rid = waiting(doors.far)
    grant.release()
    (state,) = doors.far.admin.poll([rid])
    return state.status, doors.far.admin.release([rid])


def waiting(locks: Locks) -> str:
    """The rid of a request that waits."""
    rid = f"far-{locks.name}"
    call = locks.calls.acquire(rid, "door", "far", issued_ms=round(locks.stats().now * 1000), wait=60)
    assert locks._runner.send(call).status == "queued"
    return rid


def renew(doors: Doors) -> Any:
    grant = doors.near.take("door", owner="near")
    doors.begin()
    (renewed,) = doors.far.admin.renew([grant.rid])
    return renewed.status, doors.near.admin.release([grant.rid])


def release_lock(doors: Doors) -> Any:
    """Somebody else has it by the time that a late copy comes."""
    grant = doors.far.take("door", owner="far")
    doors.begin()
    grant.release()
    return doors.near.take("door", owner="heir").fence > grant.fence


def downgrade(doors: Doors) -> Any:
    grant = doors.far.take("door", owner="far")
    doors.begin()
    grant.downgrade()
    grant.release()
    return grant.mode


def cancel_request(doors: Doors) -> Any:
    grant = doors.near.take("door", owner="near")
    rid = waiting(doors.far)
    doors.begin()
    status = doors.far.admin.cancel([rid])
    grant.release()
    return status


def force_release(doors: Doors) -> Any:
    grant = doors.near.take("door", owner="near")
    doors.begin()
    forced = doors.far.admin.force_release("door", "test")
    return forced.rids == (grant.rid,), doors.near.take("door", owner="heir").lost


LOCK_STORIES = [
    (acquire, "acquire"),
    (acquire_after_a_wait, "acquire"),
    (acquire_after_a_wait, "poll"),
    (renew, "renew"),
    (release_lock, "release"),
    (downgrade, "downgrade"),
    (cancel_request, "cancel"),
    (force_release, "force_release"),
]


def told_of(client: Any, locks: Locks) -> Any:
    names = [entry[b"event"] for _, entry in client.xrange(f"{locks.base}:events")]
    door = locks.get("door")
    return names, [holder.owner for holder in door.holders], door.waiting


@pytest.mark.parametrize("fate", FATES)
@pytest.mark.parametrize(
    ("story", "verb"), LOCK_STORIES, ids=[f"{story.__name__}-{verb}" for story, verb in LOCK_STORIES]
)
def test_a_call_of_a_lock_domain(
    near: Adeq, far: Adeq, network: Network, base_name: str, story: Callable[[Doors], Any], verb: str, fate: Fate
) -> None:
    good, bad = near.locks(f"{base_name}-good"), near.locks(f"{base_name}-bad")
    expected = story(Doors(good, good, lambda: None))
    answer = story(Doors(bad, far.locks(bad.name), partial(network.befall, f"lock.{verb}.v1", fate)))
    assert network.befallen == 1
    assert answer == expected
    told = told_of(near.client, bad)
    assert told == told_of(near.client, good)
    network.deliver()
    assert told_of(near.client, bad) == told
    assert audit(near.client, bad.base) == []
