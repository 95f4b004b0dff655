# Generated from tests/integration/aio/test_events.py by pyadeq/_unasync.py; do not edit.
"""Events as their readers see them: groups, acknowledgements, gaps, waits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from pyadeq import Event, EventGroup
from pyadeq import Adeq, Events, Queue
from pyadeq.errors import AdeqError, BadArgument, ConfigError, UnknownGroup
from tests.waiting import DEADLINE


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    queue = adeq.queue(base_name)
    queue.configure()
    return queue


@pytest.fixture
def events(adeq: Adeq, queue: Queue) -> Events:
    return adeq.events("queue", queue.name)


def of(events: Events, group: str) -> EventGroup:
    (found,) = [one for one in (events.groups()).groups if one.name == group]
    return found


def test_each_group_gets_each_event(queue: Queue, events: Events) -> None:
    assert events.add("audit")
    assert not events.add("audit")
    events.add("mail", start="now")
    queue.enqueue("x", id="a")
    for group in ("audit", "mail"):
        found = events.read(group)
        assert [(one.event, one.ids, one.again) for one in found.events] == [("task.enqueued", ("a",), False)]
        assert (events.read(group)).events == ()
        assert events.ack(group, found) == 1
        assert events.ack(group, found) == 0
    assert (of(events, "audit")).pending == 0


def test_an_event_is_json_with_iso_times(adeq: Adeq, queue: Queue, events: Events) -> None:
    events.add("audit")
    queue.enqueue("x", id="a")
    (lease,) = queue.claim(worker="w1")
    queue.ack(lease)
    found = {one.event: one for one in (events.read("audit")).events}
    claimed = found["task.claimed"].as_json()
    assert claimed["payload"]["worker"] == "w1"
    at = datetime.fromisoformat(claimed["timestamp"])
    assert at == datetime.fromtimestamp(found["task.claimed"].timestamp, UTC)
    assert claimed.keys() >= {"event", "timestamp", "payload", "source", "id", "ids"}


def test_what_is_not_acknowledged_comes_again(queue: Queue, events: Events) -> None:
    events.add("audit")
    queue.enqueue_many(["x"] * 3)
    (first,) = (events.read("audit", limit=1, hold=1)).events
    assert len(first.ids) == 3
    (again,) = (events.read("audit", wait=DEADLINE)).events
    assert again == first._replace(again=True)
    events.ack("audit", [again.id])
    assert not (events.read("audit", wait=0.05)).events


def test_what_a_slow_group_loses_is_one_gap(adeq: Adeq, queue: Queue, events: Events) -> None:
    queue.configure(events_max=100)
    events.add("slow")
    for _ in range(500):
        queue.enqueue("x")
    found = events.read("slow", limit=10)
    assert found.gap
    assert found.gap.lost
    client: Any = adeq.client
    (newest,) = client.xrevrange(f"{events.base}:events", count=1)
    assert newest[1][b"event"] == b"group.gap"
    length = (events.groups()).length
    assert length <= 200, "the bound of memory holds"
    assert found.gap.lost == 501 - length, "500 tasks and the event of the gap"
    for _ in range(500):
        queue.enqueue("x")
    grown = (events.read("slow", limit=10)).gap
    assert grown
    assert grown.lost
    assert grown.lost > found.gap.lost
    assert grown.after == found.gap.after
    assert events.ack("slow", gap=found.gap) == 0
    assert (of(events, "slow")).gap == grown, "it has grown since"
    events.ack("slow", gap=grown)
    later = of(events, "slow")
    assert (later.gap, later.lost) == (None, grown.lost)
    queue.enqueue("y", id="last")
    delivered = [one.ids for batch in events.follow("slow", idle=0) for one in batch.events]
    assert ("last",) in delivered


def test_a_batch_is_acknowledged_when_the_next_is_asked_for(queue: Queue, events: Events) -> None:
    events.add("audit")
    queue.enqueue("x")
    for _ in events.follow("audit"):
        break
    assert (of(events, "audit")).pending == 1
    queue.enqueue("y")
    found = [len(batch.events) for batch in events.follow("audit", limit=1, idle=0.05)]
    assert found == [1]
    assert (of(events, "audit")).pending == 1


def test_the_error_of_a_dead_task_is_readable(queue: Queue, events: Events) -> None:
    events.add("audit")
    queue.enqueue("x")
    (lease,) = queue.claim()
    queue.fail(lease, "ein ü = 100 %25\n\0", retryable=False)
    found = {one.event: one.payload for one in (events.read("audit")).events}["task.dead"]
    assert found == {"reason": "error", "attempts": "1", "error": "ein ü = 100 %25\n\0"}
    assert Event.from_json(Event("1-0", "task.dead", 0.0, payload=found).as_json()).payload == found


def test_events_of_other_nouns_and_partitions(adeq: Adeq, base_name: str) -> None:
    with adeq.locks(base_name).acquire("r", owner="o"):
        pass
    locks = adeq.events("lock", base_name)
    locks.add("audit")
    (found, *_) = (locks.read("audit")).events
    assert (found.event, found.payload["owner"]) == ("lock.acquired", "o")
    made = adeq.sessions(base_name).create("ann")
    tag = made.id.partition(".")[0]
    logins = adeq.events("session", f"{base_name}/{tag}")
    assert logins.base == f"{adeq.sessions(base_name).base[:-1]}/{tag}}}"
    logins.add("audit")
    assert [one.event for one in (logins.read("audit")).events] == ["session.created", "group.registered"]
    assert adeq.events("lock", base_name) is locks
    assert adeq.noun("events", f"lock:{base_name}") is locks


def test_a_group_may_be_registered_at_a_deploy(adeq: Adeq, base_name: str) -> None:
    """Before the first event: it gets all of them, whatever `start` says."""
    for number, start in enumerate(("oldest", "now", "first")):
        queue = adeq.queue(f"{base_name}-{number}")
        events = adeq.events("queue", queue.name)
        assert events.add("audit", start=start, create=True)  # type: ignore[arg-type]
        assert not events.add("audit")
        assert not (events.read("audit")).events
        queue.enqueue(1, id="a")
        queue.admin.trim()
        batch = events.read("audit", wait=5)
        assert ([one.event for one in batch.events], batch.gap) == (["task.enqueued"], None)
    wide = adeq.partitioned(f"{base_name}-wide")
    assert wide.events.add("audit", create=True)
    wide.repartition(2)
    wide.enqueue_many(range(20))
    read = [id for _ in range(4) for one in (wide.events.read("audit")).events for id in one.ids]
    assert len(read) == 20


def test_what_is_not_accepted(adeq: Adeq, events: Events) -> None:
    with pytest.raises(UnknownGroup, match="has no group 'audit' that reads its events; register it first"):
        events.read("audit")
    with pytest.raises(UnknownGroup):
        events.ack("audit", ["1-0"])
    with pytest.raises(AdeqError, match="nothing is stored under"):
        adeq.events("queue", "nothing").add("audit")
    with pytest.raises(ConfigError, match="noun: 'queues' is not accepted; did you mean queue"):
        adeq.events("queues", "x")
    with pytest.raises(ConfigError, match="domain"):
        adeq.events("lock", "a b")
    with pytest.raises(BadArgument, match="limit"):
        events.read("audit", limit=0)
    assert events.remove("audit") == []


def test_there_are_at_most_100_groups(events: Events) -> None:
    for number in range(100):
        events.add(f"g{number}")
    with pytest.raises(AdeqError, match="100 groups"):
        events.add("more")
    assert events.remove("g0", "more") == ["g0"]
    assert events.add("more")


def test_a_group_holds_what_is_old(queue: Queue, events: Events) -> None:
    for _ in range(500):
        queue.enqueue("x")
    events.add("audit")
    for _ in range(500):
        queue.enqueue("x")
    later = datetime.now(UTC).timestamp() + 60
    assert events.trim(before=later) == (0, "audit")
    while (found := events.read("audit", limit=1000)).events:
        events.ack("audit", found)
    removed, held_by = events.trim(before=later)
    assert (removed > 700, held_by) == (True, "audit"), "only the last block is left"
    assert (of(events, "audit")).lost == 0
    assert not (events.read("audit")).gap
