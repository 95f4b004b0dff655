"""Schedules: what they are made of, what becomes of each of their times, and who hears of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from pyadeq._core.kernel.call import Call, build_call
from pyadeq._core.queue.items import Failure
from pyadeq.models import Claimed, Task
from pyadeq.models.schedule import At, Every, Schedule, SchedulePut, Timing
from tests.nouns.queue.checks import check_queue, left_over, let_all_pass
from tests.nouns.queue.workbench import BAND, START, MakeBench, Workbench
from tests.nouns.watched import Refused

MINUTE = 60_000  # ms
FIRST = START + 36_543  # the first full minute
MIB = 2**20
NEVER = 2**53 - 1
NUMBERS = count(1)
POLICIES = ["skip", "buffer_one", "buffer_all", "cancel_other", "allow"]
every_policy = pytest.mark.parametrize("overlap", POLICIES)


def put(bench: Workbench, name: str = "s", timing: Timing | None = None, **own: Any) -> SchedulePut:
    return bench.run(putting(bench, name, timing, f"anew/{next(NUMBERS)}", **own))


def putting(
    bench: Workbench, name: str = "s", timing: Timing | None = None, rid: str = "r", **own: Any
) -> Call[SchedulePut]:
    policy = {word: own.pop(word) for word in ("overlap", "catch_up", "jitter") if word in own}
    task = Task(**{"payload": b"x"} | own)
    return bench.calls.put_schedule(name, timing or Every(60), task, rid, bench.now / 1000, **policy)


def fire(bench: Workbench, rid: str = "r", **due: Any) -> str:
    """Fire s at its next time."""
    return bench.run(bench.firing(bench.shown(), rid, **due))


def trigger(bench: Workbench, id: str = "t", rid: str | None = None, at: float | None = None) -> str:
    return bench.run(bench.calls.trigger(bench.shown(), id, rid or f"r/{id}", at))


def pause(bench: Workbench, rid: str = "p") -> str:
    return bench.run(bench.calls.pause_schedule("s", rid))


def resume(bench: Workbench, rid: str = "u") -> str:
    return bench.run(bench.calls.resume_schedule(bench.shown(), rid, bench.now / 1000))


def remove(bench: Workbench, rid: str = "d", name: str = "s") -> str:
    return bench.run(bench.calls.remove_schedule(name, rid))


def counts(bench: Workbench) -> tuple[int, int, int]:
    shown = bench.shown()
    return shown.fired, shown.skipped, shown.missed


def next_ms(bench: Workbench) -> int:
    return round((bench.shown().next or 0) * 1000)


def last_events(bench: Workbench, number: int) -> list[tuple[str, str, str]]:
    found = bench.events()[-number:]
    return [(one["event"].decode(), one["id"].decode(), one.get("payload", b"").decode()) for one in found]


def complete(bench: Workbench, *ids: str) -> None:
    leases = bench.claim(100)
    assert {lease.id for lease in leases} == set(ids)
    bench.real(bench.calls.ack([(lease, None) for lease in leases]))


# put


def test_a_schedule_is_kept_as_it_was_put(bench: Workbench) -> None:
    policy: dict[str, Any] = {"overlap": "buffer_one", "catch_up": 60, "jitter": 5}
    assert put(bench, payload={"n": 1}, lane="group/a", user="u", **policy) == SchedulePut(status="created", rev=1)
    assert bench.shown() == Schedule(
        name="s", timing=Every(60.0), overlap="buffer_one", catch_up=60, jitter=5, next=FIRST / 1000, rev=1,
        created=START / 1000, changed=START / 1000, envelope={"lane": "group/a", "user": "u"}, data=b'{"n":1}',
    )  # fmt: skip
    assert last_events(bench, 1) == [("schedule.created", "s", "rev=1")]
    assert bench.ask("ZSCORE", ":schedules", "s") == b"%d" % FIRST
    check_queue(bench)


def test_a_queue_that_does_not_exist_is_created(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    put(bench, timing=At(4e9))
    config = bench.dump()[":config"][1]
    assert (config["layout"], config["layout_min"], config["clock"]) == (b"2", b"2", b"server")
    check_queue(bench)


def test_the_same_again_changes_nothing(bench: Workbench) -> None:
    own: dict[str, Any] = {"overlap": "allow", "user": "u"}
    put(bench, **own)
    bench.pass_time(5 * MINUTE)  # and the time that has come meanwhile stays
    before = bench.dump()
    assert put(bench, **own) == SchedulePut(status="unchanged", rev=1)
    after = bench.dump()
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {":once", ":once:due"}  # where it says that it was answered


@pytest.mark.parametrize(
    "change",
    [{"payload": b"y"}, {"user": "u"}, {"overlap": "allow"}, {"catch_up": 60}, {"jitter": 1}, {"timing": Every(120)}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_differs_makes_a_new_revision(bench: Workbench, change: dict[str, Any]) -> None:
    put(bench)
    bench.pass_time(1000)
    assert put(bench, **change) == SchedulePut(status="changed", rev=2)
    shown = bench.shown()
    assert (shown.rev, shown.created, shown.changed) == (2, START / 1000, (START + 1000) / 1000)
    assert last_events(bench, 1) == [("schedule.changed", "s", "rev=2")]
    assert put(bench, **change) == SchedulePut(status="unchanged", rev=2)
    check_queue(bench)


def test_what_was_changed_since_is_not_removed(bench: Workbench) -> None:
    put(bench)
    assert put(bench, payload=b"y").rev == 2
    before = bench.dump()
    assert bench.run(bench.calls.remove_schedule("s", "d1", 1)) == "stale"
    assert bench.dump() == before
    assert bench.run(bench.calls.remove_schedule("s", "d2", 2)) == "done"
    assert bench.run(bench.calls.remove_schedule("s", "d2", 2)) == "done"
    assert bench.run(bench.calls.remove_schedule("s", "d3", 2)) == "not_found"
    check_queue(bench)


def test_a_time_that_has_come_outlasts_a_change_of_all_but_the_timing(bench: Workbench) -> None:
    put(bench)
    bench.pass_time(5 * MINUTE)
    put(bench, payload=b"y", overlap="allow")
    assert next_ms(bench) == FIRST
    put(bench, timing=Every(120), payload=b"y")
    assert next_ms(bench) == bench.now // 120_000 * 120_000 + 120_000
    check_queue(bench)


def test_revisions_are_those_of_the_queue_and_none_comes_twice(bench: Workbench) -> None:
    assert [put(bench, name).rev for name in "abs"] == [1, 2, 3]
    remove(bench)
    assert put(bench).rev == 4
    assert put(bench, "a", payload=b"y").rev == 5
    check_queue(bench)


def test_a_schedule_without_a_time_left_is_there_and_never_due(bench: Workbench) -> None:
    put(bench, timing=At((START - 1) / 1000))
    assert (bench.shown().next, bench.shown().state) == (None, "ended")
    assert bench.ask("ZSCORE", ":schedules", "s") == b"%d" % NEVER
    assert bench.run(bench.calls.schedules(due=True))[0] == []
    check_queue(bench)


def test_what_it_has_done_outlasts_a_change_and_not_a_removal(bench: Workbench) -> None:
    bench.due()
    fire(bench)
    put(bench, payload=b"y", timing=Every(3600))
    assert (counts(bench), bench.shown().last_id) == ((1, 0, 0), f"s@{FIRST}")
    assert bench.shown().open == (f"s@{FIRST}",)
    remove(bench)
    put(bench)
    assert (counts(bench), bench.shown().last) == ((0, 0, 0), None)
    assert bench.shown().open == (f"s@{FIRST}",)  # but for the runs that its policy is about


def test_a_put_that_comes_late_undoes_nothing(bench: Workbench) -> None:
    call = putting(bench)
    first = bench.run(call)
    put(bench, payload=b"y")
    before = bench.dump()
    assert bench.run(call) == first
    assert bench.dump() == before
    remove(bench)
    assert bench.run(call) == first
    assert bench.ask("EXISTS", ":schedule:s") == 0


# fire


def test_a_time_that_has_come_is_a_task_and_the_next_is_noted(bench: Workbench) -> None:
    own: dict[str, Any] = {"priority": 2, "lane": "group/a", "user": "u", "tags": ["t"], "kind": "k", "timeout": 60}
    schedule = bench.due(timing=Every(3600), payload=b"data", **own)
    id = f"s@{bench.now}"
    assert fire(bench) == "fired"
    task = bench.view(id)
    assert task
    assert task.model_dump(include={*own, "state", "schedule", "nominal"}) == {
        **own, "tags": ("t",), "state": "ready", "schedule": "s", "nominal": schedule.next,
    }  # fmt: skip
    assert bench.ask("GET", f":payload:{id}") == b"data"
    assert int(bench.ask("ZSCORE", ":ready:group/a", id)) // BAND == 2
    assert bench.tokens("group/a") == 1
    shown = bench.shown()
    assert (shown.last, shown.last_id, shown.open) == (schedule.next, id, (id,))
    assert (counts(bench), next_ms(bench)) == ((1, 0, 0), bench.now + 3_600_000)
    assert last_events(bench, 2) == [("task.enqueued", id, ""), ("schedule.fired", "s", f"at_ms={bench.now} task={id}")]
    assert bench.counters()["enqueued"] == 1
    check_queue(bench)


def test_of_all_who_fire_one_time_one_does(bench: Workbench) -> None:
    schedule = bench.due(overlap="allow")
    calls = [bench.firing(schedule, f"r{at}") for at in range(5)]
    assert bench.run(calls[0]) == "fired"
    before = bench.dump()
    assert [bench.run(call) for call in calls[1:]] == ["stale"] * 4
    assert bench.dump() == before


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        (lambda bench: put(bench, payload=b"y"), "stale"),
        (lambda bench: put(bench, timing=Every(120)), "stale"),
        (pause, "stale"),
        (lambda bench: (pause(bench), resume(bench)), "stale"),
        (remove, "not_found"),
        (lambda bench: (remove(bench), put(bench)), "stale"),
        (lambda bench: put(bench, overlap="allow"), "fired"),
        (trigger, "fired"),
    ],
    ids=["task", "timing", "pause", "pause and resume", "removal", "made anew", "the same", "trigger"],
)
def test_a_firing_knows_what_has_changed(bench: Workbench, change: Callable[[Workbench], object], answer: str) -> None:
    schedule = bench.due(overlap="allow")
    change(bench)
    before = bench.dump()
    assert bench.run(bench.firing(schedule)) == answer
    assert (bench.dump() == before) == (answer != "fired")
    check_queue(bench)


@pytest.mark.parametrize(("ms", "answer"), [(-1, "early"), (0, "fired"), (1, "fired")])
def test_no_time_fires_before_it_has_come(bench: Workbench, ms: int, answer: str) -> None:
    schedule = bench.due()
    bench.pass_time(ms)
    before = bench.dump()
    assert bench.run(bench.firing(schedule)) == answer
    assert (bench.dump() == before) == (answer == "early")


@every_policy
def test_a_firing_that_is_sent_again_answers_the_same(bench: Workbench, overlap: Any) -> None:
    schedule = bench.due(overlap=overlap)
    trigger(bench)
    call = bench.firing(schedule)
    first = bench.run(call)
    complete(bench, *bench.ready())
    before = bench.dump()
    bench.pass_time(45_000)
    assert bench.run(call) == first
    assert bench.dump() == before


def test_a_firing_that_is_sent_again_does_nothing_after_all_that_came_after_it(bench: Workbench) -> None:
    call = bench.firing(bench.due())
    bench.run(call)
    complete(bench, f"s@{FIRST}")
    bench.real(bench.calls.purge())
    for change in (lambda: put(bench, payload=b"y"), lambda: pause(bench), lambda: resume(bench)):
        change()
        before = bench.dump()
        assert bench.run(call) == "fired"
        assert bench.dump() == before
    bench.pass_time(MINUTE)
    fire(bench, "other")
    remove(bench)
    put(bench)
    before = bench.dump()
    assert bench.run(call) == "stale"
    assert bench.dump() == before


def test_the_last_time_leaves_none(bench: Workbench) -> None:
    bench.due(timing=At((START + 5000) / 1000))
    assert fire(bench) == "fired"
    shown = bench.shown()
    assert (shown.next, shown.state, shown.fired) == (None, "ended", 1)
    assert bench.run(bench.calls.schedules())[0] == [shown.model_copy(update={"data": None})]
    check_queue(bench)


@pytest.mark.parametrize(("ago", "missed"), [(1001, 1), (MINUTE + 1000, 1), (MINUTE + 1001, 2), (60 * MINUTE, 60)])
def test_times_that_came_too_late_are_counted_and_left_out(bench: Workbench, ago: int, missed: int) -> None:
    bench.due(catch_up=1)
    bench.pass_time(ago)
    assert fire(bench) == "missed"
    assert counts(bench) == (0, 0, missed)
    assert next_ms(bench) == FIRST + missed * MINUTE
    assert last_events(bench, 1) == [("schedule.missed", "s", f"count={missed} next_ms={FIRST + missed * MINUTE}")]
    assert bench.ready() == []
    assert bench.shown().last is None
    check_queue(bench)
    if bench.now >= next_ms(bench):
        assert fire(bench, "2") == "fired"  # that one is not too late


def test_who_fires_may_count_others_as_missed(bench: Workbench) -> None:
    bench.due()
    assert fire(bench, missed=3, next_ms=FIRST + 4 * MINUTE) == "fired"
    assert (counts(bench), next_ms(bench)) == ((1, 0, 3), FIRST + 4 * MINUTE)
    assert [event for event, _, _ in last_events(bench, 3)] == ["schedule.missed", "task.enqueued", "schedule.fired"]


def test_a_time_whose_task_is_there_has_fired_before(bench: Workbench) -> None:
    bench.due(overlap="allow")
    trigger(bench, f"s@{FIRST}", at=FIRST / 1000)
    before = bench.record(f"s@{FIRST}")
    assert fire(bench) == "exists"
    assert bench.record(f"s@{FIRST}") == before
    assert (counts(bench), next_ms(bench)) == ((1, 0, 0), FIRST + MINUTE)
    assert bench.counters()["enqueued"] == 1
    check_queue(bench)


def test_a_task_of_somebody_else_with_its_id_does_not_stop_a_time(bench: Workbench) -> None:
    schedule = bench.due(overlap="allow")
    bench.real(bench.calls.enqueue([(f"s@{FIRST}", Task(payload=b"other"))], "e"))
    assert fire(bench, "r1") == "fired"
    (alert, enqueued, fired) = last_events(bench, 3)
    id = enqueued[1]
    assert alert == ("task.alert", f"s@{FIRST}", "reason=schedule_id_taken")
    assert (enqueued[0], id.startswith(f"s@{FIRST}/"), len(id)) == ("task.enqueued", True, len(f"s@{FIRST}/") + 20)
    assert fired == ("schedule.fired", "s", f"at_ms={FIRST} task={id}")
    assert bench.ask("GET", f":payload:{id}") == b"x"
    assert bench.run(bench.firing(schedule, "r1")) == "fired"
    assert trigger(bench, f"s@{FIRST}", at=FIRST / 1000) == "exists", "a time fires once"
    assert (counts(bench), next_ms(bench)) == ((1, 0, 0), FIRST + MINUTE)
    assert not hasattr(bench.shown(), "seed")
    check_queue(bench)


@every_policy
def test_a_task_of_somebody_else_with_the_id_of_an_earlier_one_stops_nothing(bench: Workbench, overlap: str) -> None:
    bench.due(overlap=overlap)
    assert fire(bench) == "fired"
    bench.real(bench.calls.purge())
    bench.real(bench.calls.enqueue([(f"s@{FIRST}", Task(payload=b"other", delay=99))], "e"))
    bench.pass_time(MINUTE)
    assert fire(bench, "r2") == "fired"
    assert bench.view(f"s@{FIRST}").state == "delayed"  # type: ignore[union-attr]
    assert bench.view(f"s@{FIRST + MINUTE}").state == "ready"  # type: ignore[union-attr]


def test_a_time_whose_task_was_purged_fires(bench: Workbench) -> None:
    bench.due()
    bench.real(bench.calls.enqueue([(f"s@{FIRST}", Task(payload=b"other"))], "e"))
    bench.real(bench.calls.purge())
    assert fire(bench) == "fired"
    assert bench.ask("PTTL", f":task:s@{FIRST}") == -1
    assert bench.ask("GET", f":payload:s@{FIRST}") == b"x"
    check_queue(bench)


@pytest.mark.parametrize("wrong", [0, -1, -MINUTE])
def test_the_next_time_must_be_a_later_one(bench: Workbench, wrong: int) -> None:
    schedule = bench.due()
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_ARG next_ms must be 0, or later than nominal_ms"):
        bench.run(bench.firing(schedule, next_ms=FIRST + wrong))
    assert bench.dump() == before


def test_what_is_not_too_late_needs_a_task(bench: Workbench) -> None:
    schedule = bench.due()
    scalars = {"name": "s", "rid": "r", "rev": schedule.rev, "nominal_ms": FIRST, "next_ms": 0, "now_ms": FIRST}
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_ARG item_count must be 1, unless late"):
        bench.run(build_call("queue.fire.v1", bench.base, scalars, decode=str))
    assert bench.dump() == before


def test_a_task_may_start_later_within_the_jitter(bench: Workbench) -> None:
    schedule = bench.due(jitter=5, delay=10)
    assert bench.run(bench.firing(schedule, wait=4000)) == "fired"
    assert bench.ask("ZSCORE", ":delayed", f"s@{FIRST}") == b"%d" % (FIRST + 14_000)
    assert bench.record(f"s@{FIRST}")["nominal_ms"] == b"%d" % FIRST
    check_queue(bench)


@pytest.mark.parametrize("key", ["unique", "scope"])
@pytest.mark.parametrize("verb", [fire, trigger])
def test_where_another_task_stands_for_it_it_is_skipped(bench: Workbench, key: str, verb: Callable[..., str]) -> None:
    own: dict[str, Any] = {key: "k"}
    (other,) = bench.fill(1, **own)
    bench.due(**own)
    before = bench.record(other), bench.ask("GET", f":payload:{other}")
    assert verb(bench) == "skipped"
    assert (bench.record(other), bench.ask("GET", f":payload:{other}")) == before
    assert (bench.ready(), counts(bench), bench.shown().open) == ([other], (0, 1, 0), ())
    assert last_events(bench, 1) == [("schedule.skipped", "s", f"at_ms={FIRST}")]
    check_queue(bench)


def test_a_skipped_one_may_leave_its_payload_to_who_has_its_scope(bench: Workbench) -> None:
    (other,) = bench.fill(1, scope="k")
    bench.due(scope="k", coalesce="last", payload=b"new")
    assert fire(bench) == "skipped"
    assert bench.ask("GET", f":payload:{other}") == b"new"
    check_queue(bench)


def test_its_own_unique_key_skips_like_skip(bench: Workbench) -> None:
    schedule = bench.due(unique="k", overlap="allow")
    assert fire(bench) == "fired"
    bench.pass_time(MINUTE)
    assert fire(bench, "2") == "skipped"
    complete(bench, f"s@{round((schedule.next or 0) * 1000)}")
    bench.pass_time(MINUTE)
    assert fire(bench, "3") == "fired"
    check_queue(bench)


def test_events_say_who_called(bench: Workbench) -> None:
    put(bench)
    bench.pass_time(FIRST - START)
    call = bench.firing(bench.shown())
    names = [argument.name for argument in call.script.args]
    args = list(call.args)
    args[names.index("source")], args[names.index("trace")] = b"me", b"00-1"
    bench.watched.run(call.script.id, call.keys, args)
    assert [(one["source"], one["trace"]) for one in bench.events()[-2:]] == [(b"me", b"00-1")] * 2
    assert bench.record(f"s@{FIRST}")["trace"] == b"00-1"


# fire, in a queue that is paused or draining


def test_a_paused_queue_takes_in_what_is_due(bench: Workbench) -> None:
    bench.real(bench.calls.pause())
    bench.due(timing=Every(3600))
    assert fire(bench) == "fired"
    assert (bench.claim(1), bench.tokens()) == ([], 0)
    bench.real(bench.calls.resume())
    assert len(bench.claim(1)) == 1
    check_queue(bench)


@pytest.mark.parametrize("verb", [fire, trigger])
def test_a_draining_queue_takes_in_nothing(bench: Workbench, verb: Callable[..., str]) -> None:
    bench.due()
    bench.real(bench.calls.drain())
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_DRAINING "):
        verb(bench)
    assert bench.dump() == before
    bench.real(bench.calls.resume())
    assert verb(bench) == "fired"
    check_queue(bench)


@pytest.mark.parametrize("verb", [fire, trigger])
@pytest.mark.parametrize("key", ["unique", "scope"])
def test_not_even_for_one_that_it_would_cancel(bench: Workbench, verb: Callable[..., str], key: str) -> None:
    own: dict[str, Any] = {key: "k"}
    bench.due(overlap="cancel_other", **own)
    trigger(bench, "first")
    bench.real(bench.calls.drain())
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_DRAINING "):
        verb(bench)
    assert bench.dump() == before


@pytest.mark.parametrize("verb", [fire, trigger])
def test_but_answers_what_it_has_taken_in_before(bench: Workbench, verb: Callable[..., str]) -> None:
    schedule = bench.due(overlap="allow")
    call = bench.firing(schedule) if verb is fire else bench.calls.trigger(schedule, "t", "r")
    assert bench.run(call) == "fired"
    bench.real(bench.calls.drain())
    before = bench.dump()
    assert bench.run(call) == "fired"
    assert bench.dump() == before


def test_what_is_too_late_is_counted_while_it_drains(bench: Workbench) -> None:
    bench.due(catch_up=1)
    bench.pass_time(1001)
    bench.real(bench.calls.drain())
    assert fire(bench) == "missed"
    assert counts(bench) == (0, 0, 1)


# tasks of it that have not ended


def opened(bench: Workbench, number: int, overlap: Any) -> list[str]:
    """So many tasks of s, each after the one before; and then its policy."""
    bench.due(overlap="buffer_all")
    ids = [f"o{at:02}" for at in range(number)]
    for id in ids:
        assert bench.real(bench.calls.trigger(bench.shown(), id, id)) == "fired"
    bench.real(putting(bench, rid="policy", overlap=overlap))
    assert bench.shown().open == tuple(ids)
    return ids


@pytest.mark.parametrize("number", [0, 1, 2, 63, 64])
@pytest.mark.parametrize("most", [("skip", 0), ("buffer_one", 1), ("buffer_all", 63), ("allow", 64)])
@pytest.mark.parametrize("verb", [fire, trigger])
def test_how_many_may_be_open(bench: Workbench, number: int, most: tuple[str, int], verb: Callable[..., str]) -> None:
    ids = opened(bench, number, most[0])
    new = f"s@{FIRST}" if verb is fire else "t"
    status = verb(bench)
    assert status == ("fired" if number <= most[1] else "skipped")
    assert (bench.view(new) is not None) == (status == "fired")
    shown = bench.shown()
    assert (shown.fired, shown.skipped) == ((number + 1, 0) if status == "fired" else (number, 1))
    check_queue(bench)
    assert shown.open == (*ids, new)[: number + (status == "fired")][-64:]
    if most[0] == "allow":
        assert bench.state(new) == "ready"
        return
    assert bench.claim(100, lease=1)[0].id == (ids or [new])[0]
    for id in shown.open[1:]:
        assert bench.state(id) == "blocked"
    if status == "fired" and number > 0:
        assert bench.record(new)["after"].decode().split(",") == ids
        assert bench.record(new)["after_when"] == b"ended"


END: dict[str, Callable[[Workbench, str], object]] = {
    "completed": lambda bench, _: complete(bench, *bench.ready()),
    "dead": lambda bench, _: bench.real(bench.calls.fail([Failure(bench.claim(1)[0], retryable=False)], [0])),
    "cancelled": lambda bench, id: bench.real(bench.calls.cancel([id])),
    "purged": lambda bench, _: bench.real(bench.calls.purge()),
    "evicted": lambda bench, id: bench.ask("DEL", f":task:{id}"),
}


@pytest.mark.parametrize("end", END)
@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_a_task_that_has_ended_is_in_nobodys_way(bench: Workbench, end: str, overlap: Any) -> None:
    bench.due(overlap=overlap)
    fire(bench)
    END[end](bench, f"s@{FIRST}")
    bench.pass_time(MINUTE)
    assert fire(bench, "2") == "fired"
    new = f"s@{FIRST + MINUTE}"
    assert (bench.state(new), bench.shown().open) == ("ready", (new,))
    if end != "evicted":
        check_queue(bench)


def delayed_again(bench: Workbench) -> None:
    bench.real(bench.calls.fail([Failure(bench.claim(1)[0], delay=600)], [0]))


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda bench: None, "ready"),
        (lambda bench: bench.claim(1, lease=600), "running"),
        (lambda bench: bench.claim(1, lease=1), "stalled"),
        (delayed_again, "delayed"),
    ],
    ids=["ready", "running", "stalled", "delayed"],
)
def test_every_task_that_has_not_ended_is_open(
    bench: Workbench, change: Callable[[Workbench], object], state: str
) -> None:
    schedule = bench.due(overlap="skip")
    fire(bench)
    change(bench)
    bench.pass_time(MINUTE)
    assert bench.state(f"s@{round((schedule.next or 0) * 1000)}") == state
    assert fire(bench, "2") == "skipped"
    assert (counts(bench), next_ms(bench)) == ((1, 1, 0), FIRST + 2 * MINUTE)
    check_queue(bench)


def test_a_dead_one_that_is_tried_again_is_open(bench: Workbench) -> None:
    (id,) = opened(bench, 1, "skip")
    END["dead"](bench, id)
    bench.real(bench.calls.retry([id]))
    assert fire(bench) == "skipped"


def test_buffered_ones_run_one_after_the_other_however_they_end(bench: Workbench) -> None:
    ids = opened(bench, 3, "buffer_all")
    assert fire(bench) == "fired"
    for id, end in zip([*ids, f"s@{FIRST}"], ["completed", "dead", "cancelled", "completed"], strict=True):
        assert bench.ready() == [id]
        END[end](bench, id)
        check_queue(bench)
    assert bench.ready() == []


def test_the_other_is_cancelled_and_what_waits_goes_at_once(bench: Workbench) -> None:
    ids = opened(bench, 3, "cancel_other")
    assert fire(bench) == "fired"
    assert [bench.state(id) for id in ids] == ["cancelled"] * 3
    assert (bench.ready(), bench.shown().open) == ([f"s@{FIRST}"], (f"s@{FIRST}",))
    assert bench.counters()["cancelled"] == 3
    check_queue(bench)


def test_the_other_is_cancelled_and_waited_for_while_it_runs(bench: Workbench) -> None:
    bench.real(bench.calls.configure(lease=600))
    first, waiting = opened(bench, 2, "cancel_other")
    (lease,) = bench.claim(1)
    assert fire(bench) == "fired"
    new = f"s@{FIRST}"
    assert [bench.state(id) for id in (first, waiting, new)] == ["running", "cancelled", "blocked"]
    assert bench.shown().open == (first, new)
    assert bench.ask("LLEN", ":control:w") == 1
    assert bench.run(bench.calls.heartbeat([lease])).renewals[0].status == "cancelling"
    check_queue(bench)
    bench.pass_time(MINUTE)
    assert fire(bench, "2") == "fired"  # in the place of the one that waited
    assert (bench.state(new), bench.shown().open) == ("cancelled", (first, f"s@{FIRST + MINUTE}"))
    assert bench.run(bench.calls.release([lease])) == ["cancelled"]
    assert bench.ready() == [f"s@{FIRST + MINUTE}"]
    check_queue(bench)


def test_cancelling_others_tells_those_who_waited_for_them(bench: Workbench) -> None:
    (id,) = opened(bench, 1, "cancel_other")
    follower, other = (bench.fill(1, after=[id], after_when=when)[0] for when in ("ended", "completed"))
    fire(bench)
    assert [bench.state(id) for id in (follower, other)] == ["ready", "dead"]
    check_queue(bench)


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_a_policy_holds_from_its_put_on(bench: Workbench, overlap: Any) -> None:
    opened(bench, 2, overlap)
    assert fire(bench) == ("fired" if overlap in ("buffer_all", "cancel_other") else "skipped")


def test_what_was_fired_side_by_side_is_seen_by_the_policy_that_follows(bench: Workbench) -> None:
    bench.due(overlap="allow")
    fire(bench)
    put(bench, overlap="skip")
    bench.pass_time(MINUTE)
    assert fire(bench, "2") == "skipped"


# trigger


@pytest.mark.parametrize("at", [None, (START - MINUTE) / 1000])
def test_a_task_besides_its_times(bench: Workbench, at: float | None) -> None:
    put(bench, user="u", timing=Every(3600))
    at_ms = START if at is None else round(at * 1000)
    before = next_ms(bench)
    assert trigger(bench, at=at) == "fired"
    task, shown = bench.view("t"), bench.shown()
    assert task
    assert (task.user, task.schedule, task.nominal, task.state) == ("u", "s", at_ms / 1000, "ready")
    assert (shown.fired, shown.last, shown.last_id, shown.open) == (1, at_ms / 1000, "t", ("t",))
    assert next_ms(bench) == before
    assert last_events(bench, 1) == [("schedule.fired", "s", f"at_ms={at_ms} task=t")]
    check_queue(bench)


def test_a_paused_one_stays_paused(bench: Workbench) -> None:
    put(bench)
    pause(bench)
    assert trigger(bench) == "fired"
    assert (bench.shown().paused, bench.shown().next) == (True, None)
    check_queue(bench)


def test_a_task_of_that_id_is_left_as_it_is(bench: Workbench) -> None:
    (other,) = bench.fill(1)
    put(bench)
    before = bench.record(other)
    assert trigger(bench, other) == "exists"
    assert (bench.record(other), counts(bench)) == (before, (0, 0, 0))
    check_queue(bench)


def test_a_trigger_must_know_the_revision(bench: Workbench) -> None:
    put(bench)
    old = bench.shown()
    put(bench, payload=b"y")
    before = bench.dump()
    assert bench.run(bench.calls.trigger(old, "t", "r")) == "stale"
    assert bench.dump() == before
    remove(bench)
    before = bench.dump()
    assert bench.run(bench.calls.trigger(old, "t", "r")) == "not_found"
    assert bench.dump() == before


@every_policy
def test_a_trigger_that_is_sent_again_answers_the_same(bench: Workbench, overlap: Any) -> None:
    put(bench, overlap=overlap)
    bench.real(bench.calls.trigger(bench.shown(), "first", "first"))
    call = bench.calls.trigger(bench.shown(), "t", "r")
    first = bench.run(call)
    complete(bench, *bench.ready())
    put(bench, payload=b"y")
    before = bench.dump()
    bench.pass_time(45_000)
    assert bench.run(call) == first
    assert bench.dump() == before
    remove(bench)
    assert bench.run(call) == first


# pause, resume, remove


def test_a_pause_takes_its_times_away_and_counts_nothing(bench: Workbench) -> None:
    put(bench)
    assert [pause(bench, "1"), pause(bench, "2")] == ["done", "unchanged"]
    assert (bench.shown().state, bench.shown().next) == ("paused", None)
    assert bench.ask("ZSCORE", ":schedules", "s") == b"%d" % NEVER
    check_queue(bench)
    bench.pass_time(10 * MINUTE)
    assert bench.run(bench.calls.schedules(due=True))[0] == []
    assert [resume(bench, "1"), resume(bench, "2")] == ["done", "unchanged"]
    assert (next_ms(bench), counts(bench)) == (FIRST + 10 * MINUTE, (0, 0, 0))
    assert [event for event, _, _ in last_events(bench, 2)] == ["schedule.paused", "schedule.resumed"]
    assert last_events(bench, 1)[0][2] == f"next_ms={FIRST + 10 * MINUTE}"
    check_queue(bench)


@pytest.mark.parametrize("change", [{"payload": b"y"}, {"timing": Every(3600)}, {}])
def test_a_pause_outlasts_a_put(bench: Workbench, change: dict[str, Any]) -> None:
    put(bench)
    pause(bench)
    put(bench, **change)
    assert (bench.shown().paused, bench.shown().next) == (True, None)
    check_queue(bench)
    assert resume(bench) == "done"
    assert next_ms(bench) == (START // 3_600_000 * 3_600_000 + 3_600_000 if "timing" in change else FIRST)
    check_queue(bench)


def test_who_resumes_must_know_the_revision(bench: Workbench) -> None:
    put(bench)
    pause(bench)
    old = bench.shown()
    put(bench, timing=Every(3600))
    before = bench.dump()
    assert bench.run(bench.calls.resume_schedule(old, "r", bench.now / 1000)) == "stale"
    assert bench.dump() == before


def test_who_resumes_must_have_seen_the_pause(bench: Workbench) -> None:
    put(bench)
    old = bench.shown()
    pause(bench)
    assert bench.shown().rev > old.rev
    bench.pass_time(5 * MINUTE)
    before = bench.dump()
    assert bench.run(bench.calls.resume_schedule(old, "r", START / 1000)) == "stale"
    assert bench.dump() == before
    check_queue(bench)


def test_what_has_no_time_left_is_resumed_and_has_ended(bench: Workbench) -> None:
    put(bench, timing=At((START + 1000) / 1000))
    pause(bench)
    bench.pass_time(2000)
    assert resume(bench) == "done"
    assert (bench.shown().state, bench.shown().next) == ("ended", None)
    check_queue(bench)


def test_the_tasks_of_one_that_is_removed_stay(bench: Workbench) -> None:
    bench.due()
    fire(bench)
    assert [remove(bench, "1"), remove(bench, "2")] == ["done", "not_found"]
    assert bench.ready() == [f"s@{FIRST}"]
    assert bench.ask("EXISTS", ":schedules", ":schedule:s") == 0
    assert last_events(bench, 1) == [("schedule.removed", "s", "")]
    check_queue(bench)
    let_all_pass(bench)
    assert left_over(bench) == {}


@pytest.mark.parametrize("verb", ["pause", "remove"])
def test_where_there_is_none_nothing_is_made(make_bench: MakeBench, verb: str) -> None:
    bench = make_bench("server")
    assert bench.run(getattr(bench.calls, f"{verb}_schedule")("s", "r")) == "not_found"
    assert bench.dump() == {}


@pytest.mark.parametrize("verb", ["pause", "remove"])
def test_what_found_none_finds_none_when_it_is_sent_again(bench: Workbench, verb: str) -> None:
    call = getattr(bench.calls, f"{verb}_schedule")("s", "r")
    assert bench.run(call) == "not_found"
    put(bench)
    before = bench.dump()
    assert bench.run(call) == "not_found"
    assert bench.dump() == before


@pytest.mark.parametrize("verb", [fire, remove])
def test_what_an_evicting_server_has_left_of_one_goes(bench: Workbench, verb: Callable[..., str]) -> None:
    schedule = bench.due()
    bench.ask("DEL", ":schedule:s")
    call = bench.firing(schedule) if verb is fire else bench.calls.remove_schedule("s", "r")
    assert bench.run(call) == "not_found"
    assert bench.ask("EXISTS", ":schedules") == 0
    check_queue(bench)


def test_steering_that_comes_late_undoes_nothing(bench: Workbench) -> None:
    put(bench)
    calls = [bench.calls.pause_schedule("s", "1")]
    assert bench.run(calls[0]) == "done"
    calls.append(bench.calls.resume_schedule(bench.shown(), "2", bench.now / 1000))
    assert bench.run(calls[1]) == "done"
    before = bench.dump()
    assert bench.run(calls[0]) == "done"
    assert bench.dump() == before
    pause(bench, "3")
    before = bench.dump()
    assert bench.run(calls[1]) == "done"
    assert bench.dump() == before
    calls.append(bench.calls.remove_schedule("s", "4"))
    assert bench.run(calls[2]) == "done"
    put(bench)
    before = bench.dump()
    assert [bench.run(call) for call in calls] == ["done"] * 3
    assert bench.dump() == before


# who hears of it


def claimed(bench: Workbench, **own: Any) -> Claimed:
    bench.worker()
    return bench.run(bench.calls.claim("w", "i", 0, next(NUMBERS), **own))


def settled(bench: Workbench) -> Claimed:
    bench.worker()
    return bench.run(bench.calls.settle("w", "i", 0, next(NUMBERS))).claimed


def sends(bench: Workbench, ask: Callable[[Workbench], Claimed]) -> list[bytes]:
    """The commands of one claim or settle."""
    ask(bench)
    return [words[0] for words in bench.watched.last.commands]


both = pytest.mark.parametrize("ask", [claimed, settled])


@both
def test_workers_learn_when_a_schedule_is_due_next(bench: Workbench, ask: Callable[[Workbench], Claimed]) -> None:
    put(bench, "later", At((START + 90_000) / 1000))
    put(bench)
    put(bench, "never", At(1))
    assert ask(bench).next_firing == FIRST / 1000
    pause(bench)
    assert ask(bench).next_firing == (START + 90_000) / 1000
    bench.pass_time(120_000)  # one that has come is still to be fired
    assert ask(bench).next_firing == (START + 90_000) / 1000
    remove(bench, "l", "later")
    assert ask(bench).next_firing is None


@both
def test_of_a_paused_queue_they_learn_it_and_of_a_draining_one_not(
    bench: Workbench, ask: Callable[[Workbench], Claimed]
) -> None:
    put(bench)
    for verb, known in [("pause", True), ("drain", False), ("resume", True)]:
        bench.real(getattr(bench.calls, verb)())
        assert (ask(bench).next_firing is not None) == known


@both
def test_a_queue_without_schedules_pays_nothing_for_them(
    make_bench: MakeBench, ask: Callable[[Workbench], Claimed]
) -> None:
    without, having = make_bench(), make_bench()
    having.schedule()
    having.ask("DEL", ":wake:any")
    usual = sends(without, ask)
    assert without.watched.last.script.id == ("queue.claim.v1" if ask is claimed else "queue.settle.v1")
    assert ask(without).next_firing is None
    assert len(sends(having, ask)) == len(usual) + 1


def test_a_claim_that_is_sent_again_says_it_too(bench: Workbench) -> None:
    put(bench)
    bench.worker()
    call = bench.calls.claim("w", "i", 0, 1)
    assert bench.run(call).next_firing == bench.run(call).next_firing == FIRST / 1000


@pytest.mark.parametrize(("ms", "tokens"), [(1, 1), (9_999, 1), (10_000, 0), (60_000, 0)])
def test_who_is_blocked_is_woken_for_a_time_that_comes_before_its_block_ends(
    bench: Workbench, ms: int, tokens: int
) -> None:
    timing = At((START + ms) / 1000)
    put(bench, timing=timing)
    assert bench.tokens() == tokens
    assert not tokens or 0 < bench.ask("PTTL", ":wake:any") <= 60_000
    put(bench, "other", timing)
    assert bench.tokens() == tokens  # one at most
    check_queue(bench)
    bench.ask("DEL", ":wake:any")
    put(bench, timing=timing)
    assert bench.tokens() == 0  # for what is known already
    pause(bench)
    assert bench.tokens() == 0
    put(bench, timing=At((START + ms + 1) / 1000))
    assert bench.tokens() == 0  # of a paused one
    assert resume(bench) == "done"
    assert bench.tokens() == (tokens and ms + 1 < 10_000)
    check_queue(bench)


@pytest.mark.parametrize("verb", ["drain", "pause"])
def test_who_is_blocked_is_woken_when_the_queue_goes_on(bench: Workbench, verb: str) -> None:
    bench.real(getattr(bench.calls, verb)())
    bench.real(bench.calls.resume())
    assert bench.tokens() == 0
    put(bench)
    bench.real(getattr(bench.calls, verb)())
    assert bench.run(bench.calls.resume()) == "ok"
    assert bench.tokens() == 1
    assert 0 < bench.ask("PTTL", ":wake:any") <= 60_000


@pytest.mark.parametrize(("period", "tokens"), [(5, 1), (60, 0)])
@pytest.mark.parametrize("late", [False, True])
def test_who_fires_wakes_for_the_next_time(bench: Workbench, period: int, tokens: int, late: bool) -> None:
    bench.due(timing=Every(period), lane="group/a")
    bench.ask("DEL", ":wake:any")
    fire(bench, late=late)
    assert (bench.tokens(), bench.tokens("group/a")) == (tokens, 0 if late else 1)
    check_queue(bench)


# pages


def walk(bench: Workbench, limit: int, between: Callable[[], object] = lambda: None, **own: Any) -> list[Schedule]:
    found, cursor = [], ""
    for _ in range(1000):
        page, cursor, now = bench.run(bench.calls.schedules(cursor=cursor, limit=limit, **own))
        assert len(page) <= limit
        assert now == bench.now / 1000
        found += page
        if not cursor:
            return found
        between()
    raise AssertionError("the pages do not end")


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 200])
def test_all_come_by_when_they_are_due_next(bench: Workbench, limit: int) -> None:
    for name, at in [("c", 3), ("b", 2), ("d", 2), ("never", -1), ("paused", 1)]:
        bench.schedule(name, At((START + at) / 1000))
    bench.real(bench.calls.pause_schedule("paused", "p"))
    found = walk(bench, limit)
    assert [one.name for one in found] == ["b", "d", "c", "never", "paused"]
    assert [one.data for one in found] == [None] * 5
    bench.pass_time(2)
    due = walk(bench, limit, due=True)
    assert [(one.name, one.data) for one in due] == [("b", b"x"), ("d", b"x")]


@pytest.mark.parametrize("name", ["s", "a", "b"])
def test_one_comes_by_its_name(bench: Workbench, name: str) -> None:
    for other in "ab":
        bench.schedule(other)
    found, cursor, _ = bench.run(bench.calls.schedules(name=name, due=True, cursor="1 a"))
    assert ([(one.name, one.data) for one in found], cursor) == ([] if name == "s" else [(name, b"x")], "")


@pytest.mark.parametrize(("size", "on_a_page"), [(MIB, 3), (MIB // 2, 7), (1, 9)])
def test_a_page_ends_before_4_MiB(bench: Workbench, size: int, on_a_page: int) -> None:
    names = [f"s{at}" for at in range(9)]
    for name in names:
        bench.schedule(name, payload=b"x" * size)
    bench.pass_time(MINUTE)
    found, cursor, _ = bench.run(bench.calls.schedules(due=True))
    assert [one.name for one in found] == names[:on_a_page]
    assert bool(cursor) == (on_a_page < 9)
    assert [one.name for one in walk(bench, 200, due=True)] == names
    assert len(bench.run(bench.calls.schedules())[0]) == 9  # without payloads all go on one


@pytest.mark.parametrize("cursor", ["x", "1", "1 ", " a", "a a", "-1 a", "1.0 a", "1 a b", "inf a"])
def test_a_cursor_that_no_page_answered_is_refused(bench: Workbench, cursor: str) -> None:
    bench.schedule()
    with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be empty, or what the page before answered"):
        bench.raw_run("queue.schedules.v1", "", "0", cursor, 10, bench.now)


@pytest.mark.parametrize("seed", range(6))
def test_pages_hold_every_schedule_that_stays_as_it_is(bench: Workbench, seed: int) -> None:
    chance = random.Random(seed)
    for at in range(60):
        timing = At((START + chance.randrange(-1, 5)) / 1000)
        bench.schedule(f"{chance.randrange(100)}-{at}", timing)
    names = [one.name for one in walk(bench, 200)]
    touched: set[str] = set()

    def meddle() -> None:
        name = chance.choice(names)
        touched.add(name)
        call = chance.choice([bench.calls.pause_schedule, bench.calls.remove_schedule])
        bench.real(call(name, f"m{len(bench.events())}"))
        bench.schedule(f"new-{chance.randrange(1000)}", At((START + chance.randrange(-1, 5)) / 1000))

    found = [one.name for one in walk(bench, chance.choice([1, 3, 7]), meddle)]
    assert [name for name in found if name not in touched and name in names] == [n for n in names if n not in touched]
    check_queue(bench)
