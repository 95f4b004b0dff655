"""Paths of schedules: how they are made, steered and listed, and what becomes of each of their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyadeq._core.kernel.call import build_call
from pyadeq._core.queue.items import Failure
from pyadeq.models import Task
from pyadeq.models.schedule import At, Every, Overlap, Schedule
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, claim, scenario, scenarios, sent, settle

MIB = 2**20
HOUR = Every(3600)
SOON = Every(5)  # within the longest block of a worker
LAST = At((START + 60_000) / 1000)
TIED: dict[str, Any] = {
    "priority": 2, "lane": "group/a", "user": "u", "tags": ["s", "t"], "unique": "q", "scope": "c", "kind": "k",
    "fallback": ["group/other", "fail"], "fallback_after": 600, "timeout": 3600, "result_ttl": 60,
    "headers": {"h": "1"},
}  # fmt: skip
EARLIER = (START - 3_600_000) / 1000


def put(bench: Workbench, name: str = "s", timing: Any = None, rid: str = "r", **own: Any) -> AnyCall:
    policy = {word: own.pop(word) for word in ("overlap", "catch_up", "jitter", "expect") if word in own}
    task = Task(**{"payload": b"x"} | own)
    return bench.calls.put_schedule(name, timing or Every(60), task, rid, bench.now / 1000, **policy)


def trigger(bench: Workbench, schedule: Schedule, id: str = "t", rid: str = "r", **own: Any) -> AnyCall:
    return bench.calls.trigger(schedule, id, rid, **own)


def open_tasks(bench: Workbench, n: int, overlap: Overlap, **own: Any) -> Schedule:
    """A schedule of this policy, whose time has come, and n tasks of it: the first in line, the others after it."""
    schedule = bench.due(overlap="buffer_all", **own)
    for at in range(n):
        assert bench.real(trigger(bench, schedule, f"o{at}", f"o{at}")) == "fired"
    bench.real(put(bench, rid="policy", overlap=overlap, **own))
    return bench.shown()


def running_tasks(bench: Workbench, n: int, overlap: Overlap) -> Schedule:
    """The same, and all of them run: each had failed, and is tried again by hand."""
    schedule = open_tasks(bench, n, overlap)
    for _ in range(n):
        (lease,) = bench.claim(1)
        bench.real(bench.calls.fail([Failure(lease, b"e", retryable=False)], [0]))
    bench.real(bench.calls.retry([f"o{at}" for at in range(n)]))
    assert len(bench.claim(n)) == n
    return schedule


def draining(bench: Workbench) -> Workbench:
    bench.real(bench.calls.drain())
    return bench


def scheduled(bench: Workbench) -> Workbench:
    bench.schedule()
    return bench


# put


scenarios(
    put_schedule_new=lambda bench: put(bench, timing=HOUR),
    put_schedule_that_is_due_soon=lambda bench: put(bench, timing=SOON),
    put_schedule_without_a_time_left=lambda bench: put(bench, timing=At(EARLIER)),
    put_schedule_again=lambda bench: sent(bench, put(bench)),
)


@scenario(0, clock="server")
def put_schedule_in_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return put(bench, timing=HOUR)


@scenario(0)
def put_schedule_with_all_there_is_to_say(bench: Workbench, _: int) -> AnyCall:
    own: dict[str, Any] = {"overlap": "buffer_one", "catch_up": 5, "jitter": 5}
    return put(bench, timing=Every(3600, 60, start=START / 1000, until=2e9), **own, **TIED)


@scenario(0)
def put_schedule_with_another_task(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return put(bench, payload=b"y")


@scenario(0)
def put_schedule_with_another_timing(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return put(bench, timing=HOUR)


@scenario(0)
def put_schedule_with_another_timing_while_it_is_paused(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    bench.real(bench.calls.pause_schedule("s", "p"))
    return put(bench, timing=HOUR)


@scenario(0)
def put_schedule_that_is_the_same(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return put(bench)


@scenario(0)
def steer_schedule_remove_what_is_as_it_was_seen(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return bench.calls.remove_schedule("s", "r", 1)


@scenario(0)
def steer_schedule_that_has_changed_since(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return bench.calls.remove_schedule("s", "r", 7)


@scenario(0)
def put_schedule_that_is_the_same_again(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return sent(bench, put(bench))


scenarios(
    change_schedule_in_a_queue_that_does_not_have_it=lambda bench: put(bench, expect=1),
    change_schedule_that_has_changed_since=lambda bench: put(scheduled(bench), expect=7),
    change_schedule_that_is_the_same=lambda bench: put(scheduled(bench), expect=1),
    change_schedule_to_another_task=lambda bench: put(scheduled(bench), payload=b"y", expect=1),
    change_schedule_again=lambda bench: sent(bench, put(scheduled(bench), payload=b"y", expect=1)),
    change_schedule_to_all_there_is_to_say=lambda bench: put(
        scheduled(bench), timing=SOON, overlap="allow", catch_up=5, jitter=5, expect=1, **TIED
    ),
)


@scenario(0, clock="server")
def change_schedule_without_a_queue(bench: Workbench, _: int) -> AnyCall:
    return put(bench, timing=HOUR, expect=1)


# fire


scenarios(
    fire_on_time=lambda bench: bench.firing(bench.due(timing=HOUR)),
    fire_on_time_again=lambda bench: sent(bench, bench.firing(bench.due(timing=HOUR))),
    fire_and_start_later=lambda bench: bench.firing(bench.due(timing=HOUR, jitter=60, delay=60), wait=60_000),
    fire_what_has_all_there_is_to_say=lambda bench: bench.firing(bench.due(timing=HOUR, **TIED)),
    fire_what_is_due_again_soon=lambda bench: bench.firing(bench.due(timing=SOON)),
    fire_the_last_time=lambda bench: bench.firing(bench.due(timing=LAST)),
    fire_while_draining=lambda bench: draining(bench).firing(bench.due()),
)


@scenario(0)
def fire_in_a_paused_queue(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.pause())
    return bench.firing(bench.due(timing=HOUR))


@scenario(0)
def fire_a_time_that_was_triggered(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=HOUR)
    bench.real(bench.calls.trigger(schedule, f"s@{bench.now}", "t", bench.now / 1000))
    return bench.firing(schedule)


@scenario(0)
def fire_where_a_task_of_that_id_is_there(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=HOUR)
    bench.real(bench.calls.enqueue([(f"s@{bench.now}", Task(payload=b"x"))], "e"))
    return bench.firing(schedule)


@scenario(0)
def fire_where_a_task_of_that_id_is_there_again(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=HOUR)
    bench.real(bench.calls.enqueue([(f"s@{bench.now}", Task(payload=b"x"))], "e"))
    return sent(bench, bench.firing(schedule))


@scenario(0)
def fire_where_a_task_of_that_id_was_purged(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=HOUR)
    bench.real(bench.calls.enqueue([(f"s@{bench.now}", Task(payload=b"x"))], "e"))
    bench.real(bench.calls.purge())
    return bench.firing(schedule)


@scenario(0)
def fire_too_late(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(catch_up=1)
    bench.pass_time(2_000)
    return bench.firing(schedule)


@scenario(0)
def fire_too_late_again(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(catch_up=1)
    bench.pass_time(2_000)
    return sent(bench, bench.firing(schedule))


@scenario(1, 100)
def fire_too_late_and_miss_others(bench: Workbench, n: int) -> AnyCall:
    schedule = bench.due(catch_up=1)
    bench.pass_time(60_000 * n + 2_000)
    return bench.firing(schedule)


@scenario(0)
def fire_too_late_the_last_time(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=LAST, catch_up=1)
    bench.pass_time(2_000)
    return bench.firing(schedule)


@scenario(1)
def fire_on_time_and_miss_others(bench: Workbench, n: int) -> AnyCall:
    return bench.firing(bench.due(timing=HOUR), missed=n)


@scenario(0)
def fire_another_revision(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.real(put(bench, payload=b"y", rid="p"))
    return bench.firing(schedule)


@scenario(0)
def fire_a_time_that_was_fired(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.real(bench.firing(schedule, "first"))
    return bench.firing(schedule)


@scenario(0)
def fire_what_is_paused(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.real(bench.calls.pause_schedule("s", "p"))
    return bench.firing(schedule)


@scenario(0)
def fire_too_early(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.pass_time(-1)
    return bench.firing(schedule)


@scenario(0)
def fire_what_was_removed(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.real(bench.calls.remove_schedule("s", "p"))
    return bench.firing(schedule)


@scenario(0)
def fire_a_schedule_without_record(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.ask("DEL", ":schedule:s")
    return bench.firing(schedule)


@scenario(0)
def fire_a_time_that_does_not_rise(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    return bench.firing(schedule, next_ms=bench.now)


@scenario(0)
def fire_without_a_task(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    scalars = {"name": "s", "rid": "r", "rev": schedule.rev, "nominal_ms": bench.now, "next_ms": 0, "now_ms": bench.now}
    return build_call("queue.fire.v1", bench.base, scalars, decode=lambda reply: reply[0].decode())


@scenario(0)
def fire_again_while_draining(bench: Workbench, _: int) -> AnyCall:
    call = sent(bench, bench.firing(bench.due()))
    bench.real(bench.calls.drain())
    return call


@scenario(0)
def fire_too_late_while_draining(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(catch_up=1)
    bench.pass_time(2_000)
    return draining(bench).firing(schedule)


@scenario(0)
def fire_while_draining_where_a_task_stands_for_it(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(unique="q")
    bench.fill(1, unique="q")
    return draining(bench).firing(schedule)


@scenario(0)
def fire_where_another_has_its_unique_key(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, unique="q")
    return bench.firing(bench.due(unique="q"))


@scenario(0)
def fire_where_another_has_its_scope(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="c")
    return bench.firing(bench.due(scope="c"))


@scenario(0)
def fire_where_another_has_its_scope_again(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="c")
    return sent(bench, bench.firing(bench.due(scope="c")))


@scenario(0)
def fire_where_another_has_its_scope_and_takes_its_payload(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="c")
    return bench.firing(bench.due(scope="c", coalesce="last"))


# fire, while tasks of it have not ended


scenarios(
    (1, 2, 63, 64),
    fire_with_skip_and_open_tasks=lambda bench, n: bench.firing(open_tasks(bench, n, "skip")),
    fire_with_buffer_one_and_open_tasks=lambda bench, n: bench.firing(open_tasks(bench, n, "buffer_one")),
    fire_with_buffer_all_and_open_tasks=lambda bench, n: bench.firing(open_tasks(bench, n, "buffer_all")),
)


@scenario(1, 2, 63, 64)
def fire_with_cancel_other_and_waiting_tasks(bench: Workbench, n: int) -> AnyCall:
    return bench.firing(open_tasks(bench, n, "cancel_other"))


@scenario(1, 2, 63, 64)
def fire_with_cancel_other_and_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return bench.firing(running_tasks(bench, n, "cancel_other"))


@scenario(1, 2, 63, 64)
def fire_with_allow_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    """They are of the time before it was allowed."""
    return bench.firing(open_tasks(bench, n, "allow"))


scenarios(
    fire_with_allow=lambda bench: bench.firing(bench.due(overlap="allow")),
    fire_with_buffer_one=lambda bench: bench.firing(bench.due(overlap="buffer_one")),
    fire_with_buffer_all=lambda bench: bench.firing(bench.due(overlap="buffer_all")),
    fire_with_cancel_other=lambda bench: bench.firing(bench.due(overlap="cancel_other")),
)


@scenario(2)
def fire_with_skip_again_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.firing(open_tasks(bench, n, "skip")))


@scenario(2)
def fire_with_buffer_all_again_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.firing(open_tasks(bench, n, "buffer_all")))


@scenario(2)
def fire_with_cancel_other_again_and_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.firing(running_tasks(bench, n, "cancel_other")))


@scenario(1)
def fire_with_cancel_other_and_what_has_its_scope(bench: Workbench, n: int) -> AnyCall:
    return bench.firing(open_tasks(bench, n, "cancel_other", scope="c"))


@scenario(2, 64)
def fire_with_cancel_other_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    return bench.firing(open_tasks(bench, n, "cancel_other"))


@scenario(1, 64)
def fire_after_tasks_that_have_ended(bench: Workbench, n: int) -> AnyCall:
    schedule = open_tasks(bench, n, "skip")
    bench.real(bench.calls.cancel([f"o{at}" for at in range(n)]))
    return bench.firing(schedule)


@scenario(1)
def fire_after_a_dead_task(bench: Workbench, n: int) -> AnyCall:
    schedule = open_tasks(bench, n, "skip")
    bench.real(bench.calls.fail([Failure(bench.claim(1)[0], retryable=False)], [0]))
    return bench.firing(schedule)


@scenario(1, 64)
def fire_after_tasks_that_were_purged(bench: Workbench, n: int) -> AnyCall:
    schedule = open_tasks(bench, n, "skip")
    bench.real(bench.calls.purge(limit=1000))
    return bench.firing(schedule)


@scenario(1, 64)
def fire_after_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    schedule = open_tasks(bench, n, "skip")
    bench.ask("DEL", *[f":task:o{at}" for at in range(n)])
    return bench.firing(schedule)


@scenario(1)
def fire_with_cancel_other_and_a_task_in_no_set(bench: Workbench, n: int) -> AnyCall:
    schedule = open_tasks(bench, n, "cancel_other")
    bench.ask("ZREM", ":ready:any", "o0")
    return bench.firing(schedule)


# trigger


scenarios(
    trigger_now=lambda bench: trigger(bench, bench.schedule()),
    trigger_for_a_time_that_went_by=lambda bench: trigger(bench, bench.schedule(), at=EARLIER),
    trigger_again=lambda bench: sent(bench, trigger(bench, bench.schedule())),
    trigger_what_has_all_there_is_to_say=lambda bench: trigger(bench, bench.schedule(**TIED)),
    trigger_while_draining=lambda bench: trigger(draining(bench), bench.schedule()),
)


@scenario(0)
def trigger_what_is_paused(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.schedule()
    bench.real(bench.calls.pause_schedule("s", "p"))
    return trigger(bench, schedule)


@scenario(0)
def trigger_where_a_task_of_that_id_is_there(bench: Workbench, _: int) -> AnyCall:
    (id,) = bench.fill(1)
    return trigger(bench, bench.schedule(), id)


@scenario(0)
def trigger_where_a_task_of_that_id_is_there_again(bench: Workbench, _: int) -> AnyCall:
    (id,) = bench.fill(1)
    return sent(bench, trigger(bench, bench.schedule(), id))


@scenario(0)
def trigger_where_another_has_its_unique_key(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, unique="q")
    return trigger(bench, bench.schedule(unique="q"))


@scenario(0)
def trigger_where_another_has_its_scope_again(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, scope="c")
    return sent(bench, trigger(bench, bench.schedule(scope="c")))


@scenario(0)
def trigger_another_revision(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.schedule()
    bench.real(put(bench, payload=b"y", rid="p"))
    return trigger(bench, schedule)


@scenario(0)
def trigger_what_was_removed(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.schedule()
    bench.real(bench.calls.remove_schedule("s", "p"))
    return trigger(bench, schedule)


@scenario(0)
def trigger_again_while_draining(bench: Workbench, _: int) -> AnyCall:
    call = sent(bench, trigger(bench, bench.schedule()))
    bench.real(bench.calls.drain())
    return call


@scenario(1, 64)
def trigger_with_skip_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, open_tasks(bench, n, "skip"))


@scenario(1, 2)
def trigger_with_buffer_one_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, open_tasks(bench, n, "buffer_one"))


@scenario(1, 63, 64)
def trigger_with_buffer_all_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, open_tasks(bench, n, "buffer_all"))


@scenario(1, 64)
def trigger_with_cancel_other_and_waiting_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, open_tasks(bench, n, "cancel_other"))


@scenario(1, 63, 64)
def trigger_with_cancel_other_and_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, running_tasks(bench, n, "cancel_other"))


@scenario(2)
def trigger_with_cancel_other_again_and_running_tasks(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, trigger(bench, running_tasks(bench, n, "cancel_other")))


@scenario(2)
def trigger_with_cancel_other_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    return trigger(bench, open_tasks(bench, n, "cancel_other"))


@scenario(1)
def trigger_with_allow_and_open_tasks(bench: Workbench, n: int) -> AnyCall:
    return trigger(bench, open_tasks(bench, n, "allow"))


# steer


@scenario(0)
def steer_schedule_pause(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return bench.calls.pause_schedule("s", "r")


@scenario(0)
def steer_schedule_pause_again(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return sent(bench, bench.calls.pause_schedule("s", "r"))


@scenario(0)
def steer_schedule_pause_what_is_paused(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    bench.real(bench.calls.pause_schedule("s", "p"))
    return bench.calls.pause_schedule("s", "r")


@scenario(0)
def steer_schedule_pause_while_the_server_is_full(bench: Workbench, _: int) -> AnyCall:
    bench.full(False)
    bench.schedule()
    bench.full()
    return bench.calls.pause_schedule("s", "r")


@scenario(0)
def steer_schedule_pause_what_there_is_not(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.pause_schedule("s", "r")


@scenario(0)
def steer_schedule_pause_what_there_is_not_again(bench: Workbench, _: int) -> AnyCall:
    call = sent(bench, bench.calls.pause_schedule("s", "r"))
    bench.schedule()
    return call


@scenario(0, clock="server")
def steer_schedule_pause_in_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.pause_schedule("s", "r")


def paused(bench: Workbench, **own: Any) -> Schedule:
    bench.schedule(**own)
    bench.real(bench.calls.pause_schedule("s", "p"))
    bench.pass_time(600_000)
    return bench.shown()


@scenario(0)
def steer_schedule_resume(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.resume_schedule(paused(bench, timing=HOUR), "r", bench.now / 1000)


@scenario(0)
def steer_schedule_resume_what_is_due_soon(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.resume_schedule(paused(bench, timing=SOON), "r", bench.now / 1000)


@scenario(0)
def steer_schedule_resume_what_has_no_time_left(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.resume_schedule(paused(bench, timing=LAST), "r", bench.now / 1000)


@scenario(0)
def steer_schedule_resume_again(bench: Workbench, _: int) -> AnyCall:
    return sent(bench, bench.calls.resume_schedule(paused(bench), "r", bench.now / 1000))


@scenario(0)
def steer_schedule_resume_what_is_not_paused(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.resume_schedule(bench.schedule(), "r", bench.now / 1000)


@scenario(0)
def steer_schedule_resume_another_revision(bench: Workbench, _: int) -> AnyCall:
    schedule = paused(bench)
    bench.real(put(bench, payload=b"y", rid="p"))
    return bench.calls.resume_schedule(schedule, "r", bench.now / 1000)


@scenario(0)
def steer_schedule_resume_as_it_was_before_the_pause(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.schedule()
    paused(bench)
    return bench.calls.resume_schedule(schedule, "r", START / 1000)


@scenario(0)
def steer_schedule_remove(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return bench.calls.remove_schedule("s", "r")


@scenario(0)
def steer_schedule_remove_again(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return sent(bench, bench.calls.remove_schedule("s", "r"))


@scenario(0)
def steer_schedule_remove_what_is_paused(bench: Workbench, _: int) -> AnyCall:
    paused(bench)
    return bench.calls.remove_schedule("s", "r")


@scenario(64)
def steer_schedule_remove_what_has_open_tasks(bench: Workbench, n: int) -> AnyCall:
    open_tasks(bench, n, "buffer_all")
    return bench.calls.remove_schedule("s", "r")


@scenario(0)
def steer_schedule_remove_a_schedule_without_record(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    bench.ask("DEL", ":schedule:s")
    return bench.calls.remove_schedule("s", "r")


# schedules


def many(bench: Workbench, n: int, size: int = 1, names: Sequence[str] = ()) -> list[str]:
    names = names or [f"s{at:03}" for at in range(n)]
    for name in names:
        bench.real(put(bench, name, rid=name, payload=b"x" * size))
    return list(names)


@scenario(1, 100, 200)
def schedules_all(bench: Workbench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.schedules(limit=n)


@scenario(0)
def schedules_of_a_queue_without_any(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.schedules()


@scenario(2, 100)
def schedules_on_the_next_page(bench: Workbench, n: int) -> AnyCall:
    many(bench, n)
    _, cursor, _ = bench.real(bench.calls.schedules(limit=n // 2))
    return bench.calls.schedules(cursor=cursor, limit=n)


@scenario(2, 100)
def schedules_after_one_that_was_removed(bench: Workbench, n: int) -> AnyCall:
    names = many(bench, n)
    _, cursor, _ = bench.real(bench.calls.schedules(limit=n // 2))
    bench.real(bench.calls.remove_schedule(names[n // 2 - 1], "remove"))
    return bench.calls.schedules(cursor=cursor, limit=n)


@scenario(1, 100)
def schedules_on_a_page_after_the_last(bench: Workbench, n: int) -> AnyCall:
    many(bench, n)
    _, cursor, _ = bench.real(bench.calls.schedules(limit=n))
    return bench.calls.schedules(cursor=cursor, limit=n)


@scenario(1, 100)
def schedules_that_are_due(bench: Workbench, n: int) -> AnyCall:
    many(bench, n)
    bench.pass_time(60_000)
    bench.schedule("later")
    return bench.calls.schedules(due=True)


@scenario(1, 100)
def schedules_that_are_not_due(bench: Workbench, n: int) -> AnyCall:
    many(bench, n)
    return bench.calls.schedules(due=True)


@scenario(5)
def schedules_that_are_due_up_to_4_MiB(bench: Workbench, n: int) -> AnyCall:
    many(bench, n, MIB)
    bench.pass_time(60_000)
    return bench.calls.schedules(due=True)


@scenario(0)
def schedules_of_a_name(bench: Workbench, _: int) -> AnyCall:
    many(bench, 2)
    return bench.calls.schedules(name="s001")


@scenario(0)
def schedules_of_a_name_that_is_unknown(bench: Workbench, _: int) -> AnyCall:
    many(bench, 2)
    return bench.calls.schedules(name="s")


@scenario(0)
def schedules_from_a_bad_cursor(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.schedules(cursor="x")


@scenario(1, 100)
def schedules_without_record(bench: Workbench, n: int) -> AnyCall:
    bench.ask("DEL", *[f":schedule:{name}" for name in many(bench, n)])
    return bench.calls.schedules()


# others


@scenario(1, 100)
def claim_where_there_is_a_schedule(bench: Workbench, n: int) -> AnyCall:
    bench.schedule()
    bench.fill(n)
    return claim(bench, n)


@scenario(1)
def claim_where_a_schedule_is_never_due(bench: Workbench, n: int) -> AnyCall:
    bench.schedule(timing=At(EARLIER))
    bench.fill(n)
    return claim(bench, n)


@scenario(1)
def claim_where_there_was_a_schedule(bench: Workbench, n: int) -> AnyCall:
    bench.schedule()
    bench.real(bench.calls.remove_schedule("s", "r"))
    bench.fill(n)
    return claim(bench, n)


@scenario(1)
def claim_where_there_is_a_schedule_while_draining(bench: Workbench, n: int) -> AnyCall:
    bench.schedule()
    bench.fill(n)
    return claim(draining(bench), n)


@scenario(1, 100)
def settle_where_there_is_a_schedule(bench: Workbench, n: int) -> AnyCall:
    bench.schedule()
    leases = bench.lease(n)
    bench.fill(n)
    return settle(bench, acks=[(lease, None) for lease in leases], limit=n, lanes=["any"])


@scenario(0)
def resume_where_there_is_a_schedule(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    bench.real(bench.calls.drain())
    return bench.calls.resume("r")


@scenario(0)
def resume_where_there_is_a_schedule_again(bench: Workbench, _: int) -> AnyCall:
    bench.schedule()
    return sent(bench, bench.calls.resume("r"))


def taken(bench: Workbench) -> Schedule:
    """A schedule whose time has come, and the id of its task is that of another."""
    schedule = bench.due(timing=HOUR)
    bench.real(bench.calls.enqueue([(f"s@{bench.now}", Task(payload=b"x"))], "e"))
    return schedule


@scenario(0)
def trigger_a_time_whose_id_is_taken(bench: Workbench, _: int) -> AnyCall:
    schedule = taken(bench)
    return bench.calls.trigger(schedule, f"s@{bench.now}", "r", bench.now / 1000)


@scenario(0)
def trigger_a_time_whose_id_is_taken_after_it_was_triggered(bench: Workbench, _: int) -> AnyCall:
    schedule = taken(bench)
    bench.real(bench.calls.trigger(schedule, f"s@{bench.now}", "before", bench.now / 1000))
    return bench.calls.trigger(schedule, f"s@{bench.now}", "r", bench.now / 1000)


@scenario(0)
def schedules_one_whose_id_was_taken(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.firing(taken(bench), "fired"))
    return bench.calls.schedules(name="s")


@scenario(0)
def fire_where_another_has_the_id_of_a_task_that_is_gone(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due(timing=HOUR, overlap="skip")
    id = f"s@{bench.now}"
    bench.real(bench.firing(schedule, "first"))
    bench.real(bench.calls.purge())
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x"))], "e"))
    schedule = bench.shown()
    assert schedule.next is not None
    bench.now = round(schedule.next * 1000)
    return bench.firing(schedule)
