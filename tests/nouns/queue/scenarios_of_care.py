"""Paths of promote, reap, cancel, get, list, stats, register, deregister and configure."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff, Task
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, scenario, scenarios, sent

# promote and reap


@scenario(0)
def promote_nothing(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, delay=5)
    return bench.calls.promote()


@scenario(1, 100, 1000)
def promote_due(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, delay=5)
    bench.pass_time(5_000)
    return bench.calls.promote(n)


@scenario(1)
def promote_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n, delay=5):
        bench.ask("DEL", f":task:{id}")
    bench.pass_time(5_000)
    return bench.calls.promote()


@scenario(0)
def reap_nothing(bench: Workbench, _: int) -> AnyCall:
    bench.lease(1)
    return bench.calls.reap()


@scenario(1, 100, 1000)
def reap_first_crashes(bench: Workbench, n: int) -> AnyCall:
    bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def reap_second_crashes(bench: Workbench, n: int) -> AnyCall:
    bench.crash(1, n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def reap_crash_loops(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(max_crashes=1))
    bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def reap_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.cancel([lease.id for lease in bench.lease(n)]))
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1)
def reap_damaged(bench: Workbench, n: int) -> AnyCall:
    bench.lease(n)
    bench.ask("DEL", ":running")
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1)
def reap_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    for lease in bench.lease(n):
        bench.ask("DEL", f":task:{lease.id}")
    bench.pass_time(15_000)
    return bench.calls.reap()


@scenario(1, 100)
def reap_workers(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.worker(f"gone{at}")
    bench.pass_time(30_000)
    return bench.calls.reap(1)


# cancel


@scenario(1, 100, 1000)
def cancel_ready(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel(bench.fill(n), "r")


scenarios(
    (1, 100),
    cancel_delayed=lambda bench, n: bench.calls.cancel(bench.fill(n, delay=5), "r"),
    cancel_running=lambda bench, n: bench.calls.cancel([lease.id for lease in bench.lease(n)], "r"),
    cancel_dead=lambda bench, n: bench.calls.cancel([*bench.die(n), *bench.die(1, reply=True)], "r"),
)


@scenario(1, 100)
def cancel_cancelled(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    bench.real(bench.calls.cancel(ids))
    return bench.calls.cancel(ids, "r")


@scenario(1, 100)
def cancel_finished(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases)))
    return bench.calls.cancel([lease.id for lease in leases], "r")


@scenario(1)
def cancel_a_tree_with_a_dead_child(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.fill(1, lane="group/g")
    bench.die(n, parent=root)
    return bench.calls.cancel([root], "r", tree=True)


@scenario(1, 100)
def cancel_again(bench: Workbench, n: int) -> AnyCall:
    running = [lease.id for lease in bench.lease(n)]
    return sent(bench, bench.calls.cancel(running + bench.fill(n), "r"))


@scenario(1, 100, 1000)
def cancel_unknown(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel([f"unknown{at}" for at in range(n)], "r")


# get, list, stats


@scenario(1, 100, 1000)
def get_ready(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.get(bench.fill(n))


@scenario(1, 100)
def get_running(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.get([lease.id for lease in bench.lease(n)])


@scenario(5)
def get_until_4_MiB(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.get([id for _ in range(n) for id in bench.fill(1, payload=b"x" * 1_000_000)])


@scenario(1, 100, 1000)
def get_unknown(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.get([f"unknown{at}" for at in range(n)])


@scenario(1)
def get_without_state(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    bench.ask("DEL", ":ready:any")
    return bench.calls.get(ids)


@scenario(1, 100, 1000)
def list_ready(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return bench.calls.list("ready", limit=n)


@scenario(0)
def list_nothing(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.list("dead")


@scenario(1, 100)
def list_completed_from_a_cursor(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(bench.lease(2 * n), b"result")))
    cursor = bench.real(bench.calls.list("completed", limit=n)).cursor
    return bench.calls.list("completed", cursor=cursor, limit=n)


@scenario(1, 100)
def list_ready_after_the_cursor_has_gone(bench: Workbench, n: int) -> AnyCall:
    bench.fill(2 * n)
    cursor = bench.real(bench.calls.list("ready", limit=n)).cursor
    bench.claim(n)
    return bench.calls.list("ready", cursor=cursor, limit=n)


@scenario(0)
def list_bad_cursor(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.list("ready", cursor="1")


@scenario(1, 100)
def stats_of_lanes(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
    return bench.calls.stats()


@scenario(1, 100)
def overview_of_lanes(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
        bench.pass_time(1)
    return bench.calls.overview()


@scenario(0)
def overview_damaged_with_a_lost_record(bench: Workbench, _: int) -> AnyCall:
    bench.fill(2, priority=7)
    bench.pass_time(10)
    (lost,) = bench.fill(1, priority=2)
    bench.fill(1, priority=9)
    bench.fill(1, delay=1)
    bench.pass_time(5000)
    bench.sweep()
    bench.ask("DEL", f":task:{lost}")
    return bench.calls.overview()


@scenario(0)
def overview_damaged_with_an_empty_lane(bench: Workbench, _: int) -> AnyCall:
    bench.lease(2)
    bench.fill(1)
    bench.ask("SADD", ":lanes", "group/g")
    return bench.calls.overview()


@scenario(0)
def overview_of_more_than_200_lanes(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.enqueue([(f"e{at}", Task(payload=b"x", lane=f"group/g{at:03}")) for at in range(201)], "r"))
    return bench.calls.overview()


@scenario(0)
def overview_of_an_empty_queue(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.overview()


@scenario(0)
def overview_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.overview()


@scenario(1, 200)
def snapshot_of_lanes(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
    return bench.calls.snapshot()


@scenario(0)
def snapshot_after_work(bench: Workbench, _: int) -> AnyCall:
    bench.fill(3)
    bench.pass_time(70)
    leases = bench.claim(2)
    bench.pass_time(60_000)
    bench.real(bench.calls.ack([(leases[0], b"")]))
    return bench.calls.snapshot()


@scenario(0)
def snapshot_of_an_hour_of_more_than_200_lanes(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.snapshot())
    bench.real(bench.calls.enqueue([(f"e{at}", Task(payload=b"x", lane=f"group/g{at:03}")) for at in range(201)], "r"))
    bench.pass_time(3_600_000)
    return bench.calls.snapshot()


@scenario(0)
def snapshot_again(bench: Workbench, _: int) -> AnyCall:
    return sent(bench, bench.calls.snapshot())


@scenario(0, clock="server")
def snapshot_where_no_queue_is(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.snapshot()


@scenario(0)
def snapshot_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.snapshot()


@scenario(2, 1000)
def history_of_minutes(bench: Workbench, n: int) -> AnyCall:
    for _ in range(n):
        bench.real(bench.calls.snapshot())
        bench.pass_time(60_000)
    return bench.calls.history("minutes")


@scenario(0)
def history_of_hours_since_a_time(bench: Workbench, _: int) -> AnyCall:
    for _ in range(4):
        bench.real(bench.calls.snapshot())
        bench.pass_time(3_600_000)
    return bench.calls.history("hours", since_ms=bench.now - 3 * 3_600_000 - 3_000_000, limit=2)


@scenario(0)
def snapshot_after_the_clock_was_set_back(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.snapshot())
    bench.now -= 7_200_000
    return bench.calls.snapshot()


@scenario(0)
def history_after_the_clock_was_set_back(bench: Workbench, _: int) -> AnyCall:
    for _ in range(2):
        bench.real(bench.calls.snapshot())
        bench.now -= 7_200_000
    bench.now += 7_200_000
    return bench.calls.history("minutes")


@scenario(0)
def history_that_is_empty(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.history("hours")


@scenario(0)
def history_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.history("minutes")


@scenario(0)
def count_dead_where_none_is(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.count_dead()


@scenario(0)
def count_dead_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.count_dead()


@scenario(1, 1000)
def count_dead_of_some(bench: Workbench, n: int) -> AnyCall:
    _die(bench, n)
    return bench.calls.count_dead()


@scenario(2, 100)
def count_dead_after_a_cursor(bench: Workbench, n: int) -> AnyCall:
    _die(bench, 2 * n)
    cursor = bench.real(bench.calls.count_dead(limit=n))[2]
    return bench.calls.count_dead(cursor=cursor, limit=n)


@scenario(0)
def count_dead_after_a_task_that_is_gone(bench: Workbench, _: int) -> AnyCall:
    _die(bench, 3)
    cursor = bench.real(bench.calls.count_dead(limit=1))[2]
    bench.real(bench.calls.abandon([cursor.split()[1]], "r"))
    return bench.calls.count_dead(cursor=cursor)


@scenario(0)
def count_dead_of_the_newest(bench: Workbench, _: int) -> AnyCall:
    _die(bench, 3)
    return bench.calls.count_dead(limit=2)


@scenario(0)
def count_dead_damaged_without_a_record(bench: Workbench, _: int) -> AnyCall:
    leases = bench.lease(2)
    bench.real(bench.calls.fail([Failure(one, retryable=False) for one in leases], [0, 0]))
    bench.ask("DEL", f":task:{leases[0].id}")
    return bench.calls.count_dead()


@scenario(0)
def count_dead_after_a_bad_cursor(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.count_dead(cursor="1")


def _die(bench: Workbench, n: int) -> None:
    bench.fill(n, kind=lambda id: "ab"[int(id[1:]) % 2])
    failures = [Failure(one, retryable=False, reason=f"r{one.fence % 3}") for one in bench.claim(n)]
    bench.real(bench.calls.fail(failures, [0] * n))


@scenario(0)
def stats_of_an_empty_queue(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.stats()


# workers


scenarios(
    register_new=lambda bench: bench.calls.register("w", "i", {"hostname": "h", "pid": 1}),
    register_again=lambda bench: sent(bench, bench.calls.register("w", "i")),
    deregister_unregistered=lambda bench: bench.calls.deregister("w", "i"),
)


@scenario(0)
def register_replacing(bench: Workbench, _: int) -> AnyCall:
    bench.worker(incarnation="before")
    return bench.calls.register("w", "i")


def unheard(bench: Workbench, mode: Any, capacity: int = 0) -> AnyCall:
    """A successor of a worker that was killed before it heard a request."""
    bench.worker(incarnation="before")
    bench.real(bench.calls.steer(["w"], mode, capacity))
    return bench.calls.register("w", "i")


scenarios(
    register_after_unheard_quiet=lambda bench: unheard(bench, "quiet", 3),
    register_after_unheard_restart=lambda bench: unheard(bench, "restart"),
    register_after_unheard_capacity=lambda bench: unheard(bench, "keep", 3),
)


@scenario(0)
def register_stale(bench: Workbench, _: int) -> AnyCall:
    bench.worker(incarnation="before")
    bench.worker()
    return bench.calls.register("w", "before")


@scenario(0)
def deregister_known(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    return bench.calls.deregister("w", "i")


@scenario(0)
def deregister_stale(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    return bench.calls.deregister("w", "other")


# configure


@scenario(0, clock="server")
def configure_new(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure()


@scenario(0)
def configure_all(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure(
        "r",
        lease=1,
        max_attempts=1,
        max_crashes=1,
        backoff=Backoff(),
        events_max=100,
        events_keep=1,
        events_error_max=1,
        presence=15,
        clock="test",
        finished_keep=1,
        finished_max=1,
        dead_keep=1,
        dead_max=1,
        result_ttl=1,
        idempotency=1,
        timeout=1,
        timeout_grace=1,
    )


@scenario(1)
def enqueue_without_events(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(events_max=0))
    return bench.calls.enqueue([("a", Task(payload=b"x"))], "r")


@scenario(0)
def configure_again(bench: Workbench, _: int) -> AnyCall:
    call = sent(bench, bench.calls.configure("r", lease=1))
    bench.real(bench.calls.configure("other", lease=2))
    return call


@scenario(0)
def configure_what_was_seen(bench: Workbench, _: int) -> AnyCall:
    seen = bench.real(bench.calls.configure(lease=1)).digest
    return bench.calls.configure("r", lease=2, expect=seen)


@scenario(0)
def configure_what_was_seen_again(bench: Workbench, _: int) -> AnyCall:
    return sent(bench, configure_what_was_seen(bench, 0))


@scenario(0)
def configure_what_others_have_changed(bench: Workbench, _: int) -> AnyCall:
    call = configure_what_was_seen(bench, 0)
    bench.real(bench.calls.configure("other", timeout=9))
    return call


@scenario(0)
def configure_another_clock(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure(clock="server")


@scenario(0, clock="server")
def configure_a_test_clock_without_time(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure(clock="test")


@scenario(0)
def configure_without_the_test_clock(bench: Workbench, _: int) -> AnyCall:
    bench.now = 0
    return bench.calls.configure()


@scenario(0)
def stats_of_a_newer_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HSET", ":config", "layout_min", 99)
    return bench.calls.stats()


# To another layout


@scenario(0)
def migrate_from_an_older_layout(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    bench.ask("HSET", ":config", "layout", 0, "layout_min", 0)
    return bench.calls.migrate()


@scenario(0)
def migrate_where_the_layout_is_current(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.migrate()


@scenario(0, clock="server")
def migrate_where_nothing_is_stored(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.migrate()


@scenario(0)
def migrate_where_all_is_rewritten(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    bench.ask("HSET", ":config", "rewritten", 0)
    return bench.calls.migrate(done=True)


@scenario(0)
def migrate_where_it_was_never_migrated_and_is_done(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.migrate(done=True)


@scenario(0)
def migrate_again_before_all_was_rewritten(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    bench.ask("HSET", ":config", "layout", 0, "layout_min", 0, "rewritten", 0)
    return bench.calls.migrate()
