# Generated from tests/integration/aio/test_schedules.py by pyadeq/_unasync.py; do not edit.
"""Schedules as a program uses them: what is put, what fires, and what becomes of it. Time is the test's."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from pyadeq import (
    Adeq,
    At,
    Backoff,
    BadArgument,
    ConfigError,
    Cron,
    Every,
    Firing,
    Lease,
    Queue,
    QueueDraining,
    Schedule,
    Task,
    TransportError,
)
from pyadeq.embedded import EmbeddedServer
from pyadeq.models.schedule import Overlap, Timing
from tests.integration.conftest import LINE, Clock

BEGIN = LINE / 1000  # seconds: what the clock shows first
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@pytest.fixture
def adeq(url: str, clock: Clock) -> Iterator[Adeq]:
    with Adeq.from_url(url, clock=clock) as adeq:
        yield adeq


@pytest.fixture
def queue(adeq: Adeq, base_name: str) -> Queue:
    """A queue whose time is the test's."""
    queue = adeq.queue(base_name)
    queue.configure(clock="test", lease=HOUR)
    return queue


def view(queue: Queue, name: str = "s") -> Schedule:
    schedule = queue.schedules.get(name)
    assert schedule
    return schedule


def counts(queue: Queue, name: str = "s") -> tuple[int, int, int]:
    """How many times were fired, skipped and missed."""
    schedule = view(queue, name)
    return schedule.fired, schedule.skipped, schedule.missed


def fire(queue: Queue) -> list[tuple[str, float, str]]:
    """Fire what is due: of which schedule, how long after the beginning, and what came of it."""
    fired = queue.schedules.fire_due()
    return [(one.schedule, round(one.at - BEGIN, 3), one.status) for one in fired.firings]


def statuses(queue: Queue) -> list[str]:
    return [status for _, _, status in fire(queue)]


def claim(queue: Queue, limit: int = 1000) -> list[Lease]:
    return queue.claim("w1", limit)


def complete(queue: Queue) -> list[str]:
    """Complete all that is in line; the ids in order."""
    leases = claim(queue)
    queue.ack_many([(lease, None) for lease in leases])
    return [lease.id for lease in leases]


def put_many(adeq: Adeq, queue: Queue, timings: dict[str, Timing]) -> None:
    with adeq.pipeline() as pipe:
        for name, timing in timings.items():
            pipe.add(queue.calls.put_schedule(name, timing, Task(payload="p", kind="k"), f"put-{name}", BEGIN))


def id_of(seconds: float, name: str = "s") -> str:
    """The id of the task of a time, by the seconds since the beginning."""
    return f"{name}@{LINE + round(seconds * 1000)}"


# put and get


def test_a_schedule_is_created_changed_or_left_as_it_is(queue: Queue, clock: Clock) -> None:
    assert queue.schedules.get("s") is None
    created = queue.schedules.set("s", Every(MINUTE, offset=50), {"n": 1})
    assert created.status == "created"
    again = queue.schedules.set("s", Every(MINUTE, offset=50), {"n": 1})
    assert (again.status, again.rev) == ("unchanged", created.rev)
    clock.tick(5)
    changed = queue.schedules.set("s", Every(MINUTE, offset=50), {"n": 2})
    assert changed.status == "changed"
    assert changed.rev > created.rev
    schedule = view(queue)
    assert (schedule.name, schedule.timing, schedule.payload) == ("s", Every(MINUTE, offset=50), {"n": 2})
    assert (schedule.overlap, schedule.catch_up, schedule.jitter) == ("skip", 3600, 0)
    assert (schedule.state, schedule.paused, schedule.next) == ("active", False, BEGIN + 10)
    assert (schedule.rev, schedule.created, schedule.changed) == (changed.rev, BEGIN, BEGIN + 5)
    assert (schedule.last, schedule.last_id, schedule.open) == (None, None, ())


def test_a_schedule_is_removed_only_as_it_was_seen(queue: Queue, adeq: Adeq) -> None:
    partitioned = adeq.partitioned(f"{queue.name}-parts")
    adeq.queue(partitioned.name).configure(clock="test")
    partitioned.repartition(2)
    for schedules in (queue.schedules, partitioned.schedules):
        seen = (schedules.set("s", Every(MINUTE), 1)).rev
        changed = schedules.set("s", Every(MINUTE), 2)
        stale = schedules.set("s", Every(2 * MINUTE), 3, expect=seen)
        assert (stale.status, stale.rev) == ("stale", changed.rev)
        assert schedules.remove("s", expect=seen) == "stale"
        found = schedules.get("s")
        assert found is not None
        assert (found.payload, found.timing) == (2, Every(MINUTE))
        changed = schedules.set("s", Every(MINUTE), 3, expect=changed.rev)
        assert changed.status == "changed"
        same = schedules.set("s", Every(MINUTE), 3, expect=changed.rev)
        assert (same.status, same.rev) == ("unchanged", changed.rev)
        with pytest.raises(BadArgument, match="expect: 0 is not accepted"):
            schedules.set("s", Every(MINUTE), 3, expect=0)
        with pytest.raises(BadArgument, match="expect: 0 is not accepted"):
            schedules.remove("s", expect=0)
        assert schedules.remove("s", expect=changed.rev) == "done"
        assert schedules.remove("s", expect=changed.rev) == "not_found"
        gone = schedules.set("s", Every(MINUTE), 3, expect=changed.rev)
        assert (gone.status, gone.rev, schedules.get("s")) == ("not_found", 0, None)


@pytest.mark.parametrize(
    "change",
    [
        {"timing": Every(61)},
        {"timing": Cron("* * * * *")},
        {"payload": "other"},
        {"overlap": "allow"},
        {"catch_up": 60},
        {"jitter": 1},
        {"kind": "k"},
        {"headers": {"a": 1}},
        {"priority": 4},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_difference_is_a_change(queue: Queue, change: dict[str, Any]) -> None:
    first: dict[str, Any] = {"timing": Every(MINUTE), "payload": "p"}
    before = queue.schedules.set("s", **first)
    after = queue.schedules.set("s", **first | change)
    assert (after.status, after.rev > before.rev) == ("changed", True)
    assert (queue.schedules.set("s", **first | change)).status == "unchanged"
    assert (queue.schedules.set("s", **first)).status == "changed"


@pytest.mark.parametrize("timing", [Cron("30 2 * * *", "Europe/Berlin", start=5.5), Every(0.5, offset=0.2), At(2e6)])
def test_a_timing_comes_back(queue: Queue, timing: Any) -> None:
    queue.schedules.set("s", timing)
    schedule = view(queue)
    assert schedule.timing == timing
    assert schedule.next is not None
    assert schedule.next > BEGIN


@pytest.mark.parametrize("payload", [None, "text", {"a": [1, None]}, b"\x00\xff", b""])
def test_the_payload_comes_as_it_was_given(queue: Queue, clock: Clock, payload: Any) -> None:
    queue.schedules.set("s", Every(MINUTE), payload)
    schedule = view(queue)
    enqueued = queue.enqueue(payload, id="by-hand")
    clock.tick(MINUTE)
    queue.schedules.fire_due()
    by_hand, by_schedule = claim(queue)
    assert (by_hand.id, by_schedule.id) == (enqueued.id, id_of(20))
    assert by_schedule.data == by_hand.data
    assert schedule.data == (by_hand.data or None)


ENVELOPE: dict[str, Any] = {
    "kind": "report",
    "priority": 2,
    "lane": "group/g/inst/i",
    "fallback": ["group/g", "any"],
    "fallback_after": 5,
    "timeout": 30,
    "user": "ann",
    "tags": ["a", "b"],
    "unique": "u",
    "coalesce": "last",
    "scope": "sc",
    "result_ttl": 60,
    "max_attempts": 7,
    "backoff": Backoff(base=3, multiplier=1.5, cap=60, jitter=0),
    "headers": {"trace": "ü"},
}


@pytest.mark.parametrize("way", ["fire", "trigger", "backfill"])
def test_a_task_is_as_if_it_were_enqueued_by_hand(queue: Queue, adeq: Adeq, clock: Clock, way: str) -> None:
    queue.schedules.set("s", Every(MINUTE), {"n": 1}, **ENVELOPE)
    other = adeq.queue(f"{queue.name}-by-hand")
    other.configure(clock="test")
    clock.tick(20)
    other.enqueue({"n": 1}, id="t", **ENVELOPE)
    match way:
        case "fire":
            (firing,) = (queue.schedules.fire_due()).firings
        case "trigger":
            firing = queue.schedules.trigger("s")
        case "backfill":
            (firing,) = queue.schedules.backfill("s", BEGIN, BEGIN + 30)
    assert firing.status == "fired"
    assert firing.id
    task, by_hand = queue.get(firing.id), other.get("t")
    assert task
    assert by_hand
    assert (task.schedule, task.nominal) == ("s", BEGIN + 20)
    ours = task.model_copy(update={"id": "t", "schedule": None, "nominal": None})
    assert ours.model_dump() == by_hand.model_dump()
    assert ours.data == by_hand.data
    lanes = ["group/g/inst/i"]
    (lease,), (lease_by_hand,) = queue.claim("w", 1, lanes=lanes), other.claim("w", 1, lanes=lanes)
    assert (lease.schedule, lease.nominal, lease_by_hand.schedule) == ("s", BEGIN + 20, None)
    assert (lease.timeout, lease.headers, lease.tags) == (30, {"trace": "ü"}, ("a", "b"))
    assert lease.record.keys() - lease_by_hand.record.keys() == {"schedule", "nominal_ms"}
    retries = [one.fail(held) for one, held in ((queue, lease), (other, lease_by_hand))]
    assert [retry.due for retry in retries] == [BEGIN + 23] * 2


@pytest.mark.parametrize(
    ("task", "refusal"),
    [
        ({"id": "t"}, "id: 't' is not accepted; allowed: nothing, for a schedule"),
        ({"run_after": 5.0}, r"run_after: 5\.0"),
        ({"expires_at": 5.0}, r"expires_at: 5\.0"),
        ({"parent": "p"}, "parent: 'p'"),
        ({"after": "a"}, "after: 'a'"),
        ({"after": ["a"]}, r"after: \['a'\]"),
        ({"after": "a", "after_any": True}, "after: 'a'"),
        ({"after_any": True}, "after_any: True"),
        ({"after_when": "ended"}, "after_when: "),
        ({"gather": 3}, "gather: 3"),
        ({"gather": 0}, "gather: 0"),
        ({"idempotency_key": "k"}, "idempotency_key: 'k'"),
        ({"reply": True}, "reply: True"),
        ({"colour": "red"}, "colour: not accepted. Allowed: kind, priority, lane, "),
        ({"overlap": "maybe"}, "overlap: 'maybe' is not accepted; allowed: skip, buffer_one, buffer_all"),
        ({"catch_up": "long"}, "catch_up must be seconds"),
        ({"jitter": "some"}, "jitter must be seconds"),
        ({"delay": "some"}, "delay must be seconds"),
        ({"fallback": "wider"}, "fallback: 'wider' of lane 'any'"),
        ({"backoff": 5}, "backoff must be a Backoff"),
        ({"payload": float("nan")}, "payload must be bytes or JSON: payload is nan"),
        ({"name": ""}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "x" * 129}, "name"),
        ({"timing": "* * * * *"}, "timing must be a Cron, Every or At, got str"),
        ({"timing": Every(0.01)}, "period: "),
        ({"timing": Cron("* * *")}, "expression: "),
        ({"timing": Cron("* * * * *", "Nowhere")}, "tz: "),
    ],
    ids=str,
)
def test_what_a_schedule_cannot_be(queue: Queue, task: dict[str, Any], refusal: str) -> None:
    arguments: dict[str, Any] = {"name": "s", "timing": Every(MINUTE)}
    with pytest.raises(BadArgument, match=refusal):
        queue.schedules.set(**arguments | task)
    assert [schedule for schedule in queue.schedules.iterate()] == []


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"priority": 11}, "priority"),
        ({"lane": "nowhere/x"}, "lane"),
        ({"tags": ["a,b"]}, "tags"),
        ({"timeout": -1}, "timeout"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"headers": {"a": "x" * 5000}}, "headers"),
        ({"catch_up": -1}, "catch_up"),
        ({"jitter": -1}, "jitter"),
        ({"jitter": 2 * DAY}, "jitter"),
        ({"kind": "a b"}, "kind"),
    ],
    ids=str,
)
def test_a_task_that_could_not_be_enqueued_is_refused_when_it_is_put(
    queue: Queue, options: dict[str, Any], refusal: str
) -> None:
    with pytest.raises(BadArgument, match=refusal):
        queue.schedules.set("s", Every(MINUTE), **options)
    assert queue.schedules.get("s") is None


# Firing


def test_each_time_fires_when_it_has_come(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), "p")
    fired = queue.schedules.fire_due()
    assert (fired.firings, fired.now, fired.next) == ([], BEGIN, BEGIN + 20)
    clock.tick(19.999)
    assert fire(queue) == []
    clock.tick(0.001)
    fired = queue.schedules.fire_due()
    assert fired.firings == [Firing(schedule="s", at=BEGIN + 20, status="fired", id=id_of(20))]
    assert (fired.now, fired.next) == (BEGIN + 20, BEGIN + 80)
    assert fire(queue) == []
    schedule = view(queue)
    assert (schedule.last, schedule.last_id, schedule.open) == (BEGIN + 20, id_of(20), (id_of(20),))
    assert complete(queue) == [id_of(20)]
    clock.tick(MINUTE)
    assert fire(queue) == [("s", 80, "fired")]
    assert counts(queue) == (2, 0, 0)


def test_nothing_is_due_where_there_is_none(queue: Queue) -> None:
    fired = queue.schedules.fire_due()
    assert (fired.firings, fired.now, fired.next) == ([], BEGIN, None)
    assert (queue.leases.claim_once("w", 1)).next_firing is None


def test_a_claim_tells_when_the_next_is_due(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("b", Every(MINUTE))
    queue.schedules.set("a", Every(HOUR))
    assert (queue.leases.claim_once("w", 1)).next_firing == BEGIN + 20
    assert (queue.leases.settle("w", claim=1)).claimed.next_firing == BEGIN + 20
    clock.tick(30)
    assert (queue.leases.claim_once("w", 1)).next_firing == BEGIN + 20
    queue.schedules.pause("b")
    assert (queue.leases.claim_once("w", 1)).next_firing == 3600
    queue.schedules.remove("a")
    assert (queue.leases.claim_once("w", 1)).next_firing is None


def test_all_times_that_came_fire_in_order(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("a", Every(MINUTE), overlap="allow")
    queue.schedules.set("b", Every(MINUTE, offset=30), overlap="allow")
    clock.tick(140)
    assert fire(queue) == [
        *[("a", at, "fired") for at in (20, 80, 140)],
        *[("b", at, "fired") for at in (50, 110)],
    ]
    leases = claim(queue)
    assert [lease.nominal for lease in leases if lease.schedule == "a"] == [BEGIN + at for at in (20, 80, 140)]


def test_one_moment_fires_once_and_has_ended(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", At(BEGIN + 7), "once")
    clock.tick(7)
    assert fire(queue) == [("s", 7, "fired")]
    schedule = view(queue)
    assert (schedule.state, schedule.next, schedule.paused) == ("ended", None, False)
    clock.tick(DAY)
    fired = queue.schedules.fire_due()
    assert (fired.firings, fired.next) == ([], None)
    assert (queue.schedules.set("s", At(BEGIN + 7), "once")).status == "unchanged"
    assert (queue.schedules.set("s", At(BEGIN + 2 * DAY), "once")).status == "changed"
    assert (view(queue)).state == "active"


def test_after_its_end_nothing_fires(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE, until=BEGIN + 80), overlap="allow")
    clock.tick(HOUR)
    assert fire(queue) == [("s", 20, "fired"), ("s", 80, "fired")]
    assert (view(queue)).state == "ended"


def test_all_that_are_due_fire_in_one_call(adeq: Adeq, queue: Queue, clock: Clock) -> None:
    names = [f"s{n:03}" for n in range(120)]  # more than a page
    put_many(adeq, queue, dict.fromkeys(names, Every(MINUTE)))
    queue.schedules.set("later", Every(MINUTE, offset=50))
    clock.tick(20)
    fired = queue.schedules.fire_due()
    assert sorted(one.schedule for one in fired.firings) == ["later", *names]
    assert {one.status for one in fired.firings} == {"fired"}
    assert fired.next == BEGIN + 70


def test_a_hundred_times_of_one_and_the_others_have_their_turn(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("many", Every(1), overlap="allow")
    queue.schedules.set("one", Every(HOUR, offset=BEGIN + 100), overlap="allow")
    clock.tick(250)
    fired = queue.schedules.fire_due()
    assert [one.schedule for one in fired.firings] == ["many"] * 100 + ["one"]
    assert fired.next is not None
    assert fired.next < fired.now
    while fired.next < fired.now:
        fired = queue.schedules.fire_due()
        assert fired.next
    assert counts(queue, "many") == (250, 0, 0)
    assert counts(queue, "one") == (1, 0, 0)


def test_a_task_starts_later_within_the_jitter(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), overlap="allow", jitter=30, delay=5)
    clock.tick(20 + 59 * MINUTE)
    assert statuses(queue) == ["fired"] * 60
    delays = [task.due - clock.now_ms / 1000 for task in queue.iterate("delayed") if task.due]
    assert len(delays) == 60
    assert all(5 <= delay <= 35 for delay in delays)
    assert len(set(delays)) > 30
    assert max(delays) - min(delays) > 10


# What came while nobody was there


@pytest.mark.parametrize(("late", "status"), [(30, "fired"), (30.001, "missed")])
def test_a_time_is_made_up_for_within_catch_up(queue: Queue, clock: Clock, late: float, status: str) -> None:
    queue.schedules.set("s", Every(HOUR, offset=BEGIN + 1), catch_up=30)
    clock.tick(1 + late)
    assert fire(queue) == [("s", 1, status)]
    assert counts(queue) == ((1, 0, 0) if status == "fired" else (0, 0, 1))
    assert (view(queue)).next == BEGIN + 1 + HOUR


@pytest.mark.parametrize("overlap", get_args(Overlap))
def test_after_a_day_every_minute_is_accounted_for(queue: Queue, clock: Clock, overlap: Overlap) -> None:
    queue.schedules.set("s", Cron("* * * * *"), catch_up=HOUR, overlap=overlap)
    clock.tick(DAY)
    first = statuses(queue)
    assert first[0] == "missed"
    assert "missed" not in first[1:]
    while (queue.schedules.fire_due()).firings:
        pass
    fired, skipped, missed = counts(queue)
    assert (fired + skipped + missed, missed) == (1440, 1380)
    expected = {"skip": 1, "buffer_one": 2, "buffer_all": 60, "cancel_other": 60, "allow": 60}[overlap]
    assert (fired, skipped) == (expected, 60 - expected)
    assert (view(queue)).next == BEGIN + DAY + 20


def test_a_day_of_every_second_is_counted_too(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(0.5), catch_up=10)
    clock.tick(DAY)
    while (queue.schedules.fire_due()).firings:
        pass
    assert counts(queue) == (1, 20, 172_800 - 21)
    assert (view(queue)).next == BEGIN + DAY + 0.5


def test_the_last_time_may_be_missed(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", At(BEGIN + 1), catch_up=10)
    clock.tick(HOUR)
    assert fire(queue) == [("s", 1, "missed")]
    schedule = view(queue)
    assert (schedule.state, schedule.missed, schedule.fired) == ("ended", 1, 0)


# Pause, resume, remove


def test_a_paused_one_misses_its_times_without_a_count(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE))
    assert queue.schedules.pause("s") == "done"
    assert queue.schedules.pause("s") == "unchanged"
    schedule = view(queue)
    assert (schedule.state, schedule.paused, schedule.next) == ("paused", True, None)
    clock.tick(HOUR)
    assert fire(queue) == []
    assert queue.schedules.resume("s") == "done"
    assert queue.schedules.resume("s") == "unchanged"
    schedule = view(queue)
    assert (schedule.state, schedule.next) == ("active", BEGIN + HOUR + 20)
    clock.tick(MINUTE)
    assert fire(queue) == [("s", HOUR + 20, "fired")]
    assert counts(queue) == (1, 0, 0)


def test_what_there_is_not(queue: Queue) -> None:
    for steer in (queue.schedules.pause, queue.schedules.resume, queue.schedules.remove):
        assert steer("s") == "not_found"
    firing = queue.schedules.trigger("s")
    assert (firing.status, firing.id) == ("not_found", None)
    assert queue.schedules.backfill("s", BEGIN, BEGIN + HOUR) == []


def test_whoever_knows_an_older_revision_fires_nothing(queue: Queue, clock: Clock) -> None:
    """It was removed and made anew, or changed, since it was read."""
    queue.schedules.set("s", Every(MINUTE), "old")
    clock.tick(20)
    before = view(queue)
    queue.schedules.remove("s")
    queue.schedules.set("s", Every(MINUTE), "new")
    firings = queue.schedules._fire(before, clock.now_ms / 1000)
    assert [(one.status, one.id) for one in firings] == [("stale", None)]
    queue.schedules.remove("s")
    firings = queue.schedules._fire(before, clock.now_ms / 1000)
    assert [(one.status, one.id) for one in firings] == [("not_found", None)]
    assert claim(queue) == []


# trigger


def test_a_trigger_comes_besides_the_times(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), "p", overlap="allow")
    clock.tick(5)
    firing = queue.schedules.trigger("s")
    assert (firing.schedule, firing.status, firing.at) == ("s", "fired", BEGIN + 5)
    assert firing.id
    assert firing.id.startswith("s@")
    (lease,) = claim(queue)
    assert (lease.id, lease.payload, lease.nominal) == (firing.id, "p", BEGIN + 5)
    again = queue.schedules.trigger("s")
    assert again.id != firing.id
    schedule = view(queue)
    assert (schedule.next, schedule.last, schedule.last_id) == (BEGIN + 20, BEGIN + 5, again.id)
    clock.tick(15)
    assert fire(queue) == [("s", 20, "fired")]
    assert counts(queue) == (3, 0, 0)


def test_its_policy_holds_for_a_trigger(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE))
    assert (queue.schedules.trigger("s")).status == "fired"
    firing = queue.schedules.trigger("s")
    assert (firing.status, firing.id) == ("skipped", None)
    clock.tick(20)
    assert statuses(queue) == ["skipped"]
    complete(queue)
    assert (queue.schedules.trigger("s")).status == "fired"


# backfill


def test_a_backfill_fires_each_time_once(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), overlap="allow")
    clock.tick(5 * MINUTE)
    told: list[tuple[int, int]] = []
    start, end = BEGIN - 40, BEGIN + 80
    firings = queue.schedules.backfill("s", start, end, progress=lambda *done: told.append(done))
    assert [(round(one.at - BEGIN), one.status, one.id) for one in firings] == [
        (at, "fired", id_of(at)) for at in (-40, 20, 80)
    ]
    assert told == [(1, 3), (2, 3), (3, 3)]
    again = queue.schedules.backfill("s", start, end + MINUTE)
    assert [one.status for one in again] == ["exists", "exists", "exists", "fired"]
    assert statuses(queue) == ["exists", "exists", "exists", "fired", "fired"]
    assert len(complete(queue)) == 6
    again = queue.schedules.backfill("s", start, end)
    assert [(one.status, one.id) for one in again] == [("exists", id_of(at)) for at in (-40, 20, 80)]


def test_a_backfill_leaves_out_what_has_fired_by_itself(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), overlap="allow")
    clock.tick(20)
    assert statuses(queue) == ["fired"]
    firings = queue.schedules.backfill("s", BEGIN - 40, BEGIN + 20)
    assert [one.status for one in firings] == ["fired", "exists"]


def test_its_policy_holds_for_a_backfill(queue: Queue, clock: Clock) -> None:
    clock.tick(DAY)
    queue.schedules.set("s", Every(MINUTE))
    firings = queue.schedules.backfill("s", BEGIN, BEGIN + 150)
    assert [(one.status, one.id) for one in firings] == [("fired", id_of(20)), ("skipped", None), ("skipped", None)]
    complete(queue)
    queue.schedules.set("s", Every(MINUTE), overlap="buffer_all")
    firings = queue.schedules.backfill("s", BEGIN, BEGIN + 150)
    assert [one.status for one in firings] == ["exists", "fired", "fired"]
    assert complete(queue) == [id_of(80)]
    assert complete(queue) == [id_of(140)]


def test_a_paused_one_may_be_backfilled(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Cron("30 2 * * *", "Europe/Berlin"), overlap="allow")
    queue.schedules.pause("s")
    clock.tick(10 * DAY)
    firings = queue.schedules.backfill("s", BEGIN, BEGIN + 3 * DAY)
    assert [one.status for one in firings] == ["fired"] * 3
    assert (view(queue)).state == "paused"


def test_too_many_times_are_refused(queue: Queue) -> None:
    queue.schedules.set("s", Every(0.1))
    with pytest.raises(BadArgument, match=r"^pyadeq: end: .* at most 100,000 times of the schedule in one call"):
        queue.schedules.backfill("s", 0, 20_000)
    assert claim(queue) == []
    assert queue.schedules.backfill("s", BEGIN, BEGIN - 1) == []


# A timing that this release does not know


STRANGE = [
    b"{}",
    b"\xff",
    b'{"moon":"full"}',
    b'{"cron":"0 3 * * *","tz":"Mars/Base"}',
    b'{"every_ms":0,"offset_ms":0}',
]


@pytest.fixture
def strange(queue: Queue, adeq: Adeq, request: pytest.FixtureRequest) -> Queue:
    """With a schedule that somebody else has put, due at 1 s, before all others."""
    queue.schedules.set("strange", Every(HOUR, offset=BEGIN + 1), "theirs")
    adeq.client.hset(f"{queue.base}:schedule:strange", "timing", request.param)
    return queue


@pytest.mark.parametrize("strange", STRANGE, indirect=True)
def test_a_strange_one_keeps_nobody_else_from_firing(strange: Queue, clock: Clock) -> None:
    queue = strange
    queue.schedules.set("s", Every(MINUTE))
    assert queue.schedules.get("strange")
    clock.tick(20)
    first = queue.schedules.fire_due()
    assert [(one.schedule, one.status) for one in first.firings] == [("strange", "failed"), ("s", "fired")]
    assert first.firings[0].error
    assert re.search("cannot read the schedule 'strange'|is not accepted", first.firings[0].error)
    assert first.next == BEGIN + 30
    assert complete(queue) == [id_of(20)]
    assert counts(queue, "strange") == (0, 0, 0)


@pytest.mark.parametrize("strange", STRANGE[:1], indirect=True)
def test_a_strange_one_is_not_tried_time_and_again(strange: Queue, clock: Clock) -> None:
    queue = strange
    clock.tick(20)
    looks = 0
    end = clock.now_ms + 60_000
    while clock.now_ms < end:
        fired = queue.schedules.fire_due()
        looks += 1
        assert fired.next is not None
        assert fired.next > fired.now
        clock.tick(max(fired.next - fired.now, 0.001))
    assert looks <= 7


@pytest.mark.parametrize("strange", STRANGE[:1], indirect=True)
def test_beside_a_strange_one_the_others_are_in_time(strange: Queue, clock: Clock) -> None:
    queue = strange
    queue.schedules.set("s", Every(2), overlap="allow")
    clock.tick(2)
    for _ in range(5):
        fired = queue.schedules.fire_due()
        assert [one.status for one in fired.firings if one.schedule == "s"] == ["fired"]
        assert fired.next == fired.now + 2
        clock.tick(2)


@pytest.mark.parametrize("strange", STRANGE, indirect=True)
def test_what_can_be_done_with_a_strange_one(strange: Queue, clock: Clock) -> None:
    queue = strange
    with pytest.raises((BadArgument, ConfigError)):
        queue.schedules.backfill("strange", BEGIN, BEGIN + HOUR)
    schedule = view(queue, "strange")
    with pytest.raises((BadArgument, ConfigError)):
        queue.schedules.upcoming(schedule)
    assert (queue.schedules.trigger("strange")).status == "fired"  # that needs no calendar
    assert queue.schedules.pause("strange") == "done"
    with pytest.raises((BadArgument, ConfigError)):
        queue.schedules.resume("strange")
    assert [schedule.name for schedule in queue.schedules.iterate()] == ["strange"]
    queue.schedules.set("strange", Every(MINUTE), "ours")
    assert queue.schedules.resume("strange") == "done"
    assert (view(queue, "strange")).next == BEGIN + 20
    assert queue.schedules.remove("strange") == "done"


@pytest.mark.parametrize("text", ["", "no json", "[]", "null", '{"colour":"red"}', '{"priority":77}'])
def test_a_task_that_this_release_cannot_make(queue: Queue, adeq: Adeq, clock: Clock, text: str) -> None:
    for name in ("strange", "s"):
        queue.schedules.set(name, Every(MINUTE))
    adeq.client.hset(f"{queue.base}:schedule:strange", "envelope", text)
    clock.tick(20)
    firings = (queue.schedules.fire_due()).firings
    assert {one.schedule: one.status for one in firings} == {"s": "fired", "strange": "failed"}


@pytest.mark.parametrize("strange", STRANGE[:1], indirect=True)
def test_a_hundred_strange_ones_keep_nobody_from_firing(strange: Queue, adeq: Adeq, clock: Clock) -> None:
    queue = strange
    names = [f"strange-{n}" for n in range(120)]
    put_many(adeq, queue, dict.fromkeys(names, Every(HOUR, offset=BEGIN + 1)))
    for name in names:
        adeq.client.hset(f"{queue.base}:schedule:{name}", "timing", "{}")
    queue.schedules.set("s", Every(MINUTE))
    clock.tick(20)
    for _ in range(3):
        queue.schedules.fire_due()
    assert counts(queue) == (1, 0, 0)


# A queue that is paused, draining, or full


def test_while_a_queue_drains_nothing_fires(queue: Queue, clock: Clock) -> None:
    queue.schedules.set("s", Every(MINUTE), overlap="allow")
    queue.admin.drain()
    clock.tick(20)
    assert (queue.leases.claim_once("w", 1)).next_firing is None
    with pytest.raises(QueueDraining):
        queue.schedules.fire_due()
    with pytest.raises(QueueDraining):
        queue.schedules.trigger("s")
    with pytest.raises(QueueDraining):
        queue.schedules.backfill("s", BEGIN, BEGIN + 30)
    assert counts(queue) == (0, 0, 0)
    assert (view(queue)).next == BEGIN + 20
    assert (queue.schedules.set("other", Every(HOUR))).status == "created"
    assert queue.schedules.pause("other") == "done"
    clock.tick(MINUTE)
    queue.admin.resume()
    assert (queue.leases.claim_once("w", 1)).next_firing == BEGIN + 20
    assert fire(queue) == [("s", 20, "fired"), ("s", 80, "fired")]


def test_a_full_server_fires_when_there_is_room_again(binary: Path, clock: Clock) -> None:
    with EmbeddedServer(binary=binary) as server:
        with Adeq.from_url(server.url, clock=clock, retry_for=0.5) as adeq:
            queue = adeq.queue("full")
            queue.configure(clock="test")
            adeq.load_scripts()
            queue.schedules.set("a", Every(MINUTE), overlap="allow")
            queue.schedules.set("b", Every(MINUTE), overlap="allow")
            clock.tick(20)
            adeq.client.config_set("maxmemory", 1_000_000)
            with pytest.raises(TransportError, match="OOM") as refused:
                queue.schedules.fire_due()
            assert refused.value.retryable
            with pytest.raises(TransportError, match="OOM"):
                queue.schedules.set("c", Every(MINUTE))
            assert queue.schedules.pause("b") == "done"  # steering needs no room
            assert queue.schedules.remove("b") == "done"
            clock.tick(MINUTE)
            adeq.client.config_set("maxmemory", 0)
            assert fire(queue) == [("a", 20, "fired"), ("a", 80, "fired")]
            assert counts(queue, "a") == (2, 0, 0)


# All of them


def test_all_schedules_of_many_by_their_next_time(adeq: Adeq, queue: Queue) -> None:
    names = [f"s{n:03}" for n in range(250)]
    put_many(adeq, queue, {name: Every(HOUR, offset=BEGIN + 250 - int(name[1:])) for name in names})
    queue.schedules.pause("s249")
    queue.schedules.set("s248", At(1), "p", kind="k")
    found = [schedule for schedule in queue.schedules.iterate()]
    assert [schedule.name for schedule in found] == [*reversed(names[:248]), "s248", "s249"]
    assert {(schedule.payload, schedule.envelope["kind"]) for schedule in found} == {(None, "k")}
    assert [schedule.next for schedule in found[:2]] == [BEGIN + 3, BEGIN + 4]
    assert [schedule.state for schedule in found[-3:]] == ["active", "ended", "paused"]


def test_a_hundred_are_a_page(adeq: Adeq, queue: Queue) -> None:
    for count in (99, 100, 101):
        put_many(adeq, queue, {f"s{n}": Every(HOUR) for n in range(count)})
        assert [schedule.name for schedule in queue.schedules.iterate()] == sorted(f"s{n}" for n in range(count))


def test_the_next_times_of_one(queue: Queue) -> None:
    queue.schedules.set("s", Every(MINUTE, until=BEGIN + 150))
    schedule = view(queue)
    assert queue.schedules.upcoming(schedule, 2) == [BEGIN + 20, BEGIN + 80]
    assert queue.schedules.upcoming(schedule) == [BEGIN + 20, BEGIN + 80, BEGIN + 140]
    queue.schedules.pause("s")
    assert queue.schedules.upcoming(view(queue)) == []


def test_the_calls_go_through_a_pipeline(adeq: Adeq, queue: Queue, clock: Clock) -> None:
    with adeq.pipeline() as pipe:
        made = [
            pipe.add(queue.calls.put_schedule(f"s{n}", Every(MINUTE), Task(payload=n), f"r{n}", BEGIN))
            for n in range(150)
        ]
    assert {one.value.status for one in made} == {"created"}
    assert len({one.value.rev for one in made}) == 150
    clock.tick(20)
    with adeq.pipeline() as pipe:
        page = pipe.add(queue.calls.schedules(due=True, limit=200))
        none = pipe.add(queue.calls.schedules(name="none"))
        paused = pipe.add(queue.calls.pause_schedule("s7", "p1"))
    (found, cursor, now), (nothing, _, _) = page.value, none.value
    assert ({schedule.payload for schedule in found}, cursor, now) == (set(range(150)), "", BEGIN + 20)
    assert (nothing, paused.value) == ([], "done")
    while (queue.schedules.fire_due()).firings:
        pass
    assert {lease.payload for lease in claim(queue)} == set(range(150)) - {7}


def test_the_same_call_again_does_nothing_again(adeq: Adeq, queue: Queue, clock: Clock) -> None:
    put = queue.calls.put_schedule("s", Every(MINUTE), Task(payload="p"), "r1", BEGIN, overlap="allow")
    answers = [adeq.send(put) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0].status == "created"
    schedule = view(queue)
    trigger = queue.calls.trigger(schedule, "t1", "r2")
    assert [adeq.send(trigger) for _ in range(2)] == ["fired", "fired"]
    pause = queue.calls.pause_schedule("s", "r3")
    assert [adeq.send(pause) for _ in range(2)] == ["done", "done"]
    paused = view(queue)
    assert paused.rev > schedule.rev
    assert adeq.send(queue.calls.resume_schedule(schedule, "r0", clock.now_ms / 1000)) == "stale"
    resume = queue.calls.resume_schedule(paused, "r4", clock.now_ms / 1000)
    assert [adeq.send(resume) for _ in range(2)] == ["done", "done"]
    remove = queue.calls.remove_schedule("s", "r5")
    assert [adeq.send(remove) for _ in range(2)] == ["done", "done"]
    assert len(claim(queue)) == 1
