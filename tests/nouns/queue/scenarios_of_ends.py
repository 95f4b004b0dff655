"""Paths of retry, abandon, purge, trim, pause, resume, drain, and of list by user, tag and parent."""

from __future__ import annotations

from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import TIES, AnyCall, acks, scenario, scenarios, sent

# retry and abandon


@scenario(1, 100, 1000)
def retry_dead(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.retry(bench.die(n), "r")


scenarios(
    (1, 100),
    retry_tied=lambda bench, n: bench.calls.retry(bench.die(n, **TIES), "r"),
    retry_again=lambda bench, n: sent(bench, bench.calls.retry(bench.die(n, **TIES), "r")),
    retry_what_is_not_dead=lambda bench, n: bench.calls.retry(bench.fill(n), "r"),
    retry_unknown=lambda bench, n: bench.calls.retry([f"unknown{at}" for at in range(n)], "r"),
    abandon_again=lambda bench, n: sent(bench, bench.calls.abandon(bench.die(n), "r")),
    abandon_what_is_not_dead=lambda bench, n: bench.calls.abandon(bench.fill(n), "r"),
    abandon_unknown=lambda bench, n: bench.calls.abandon([f"unknown{at}" for at in range(n)], "r"),
)


@scenario(1, 100)
def retry_conflicts(bench: Workbench, n: int) -> AnyCall:
    ids = [id for _ in range(n) for id in bench.die(1, unique="k")]
    bench.fill(1, unique="k")
    return bench.calls.retry(ids, "r")


@scenario(1)
def retry_conflicts_of_scope(bench: Workbench, n: int) -> AnyCall:
    ids = bench.die(n, scope="s")
    bench.fill(1, scope="s")
    return bench.calls.retry(ids, "r")


@scenario(1)
def retry_in_a_paused_queue(bench: Workbench, n: int) -> AnyCall:
    ids = bench.die(n)
    bench.real(bench.calls.pause())
    return bench.calls.retry(ids, "r")


@scenario(1, 100, 1000)
def abandon_dead(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.abandon(bench.die(n, **TIES), "r")


@scenario(0)
def abandon_one_with_a_tag_given_twice(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.abandon(bench.die(1, tags=["a", "a"]), "r")


@scenario(0)
def abandon_the_same_task_twice(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.abandon(bench.die(1) * 2, "r")


@scenario(1, 100)
def abandon_for_nobody_who_sends_it_again(bench: Workbench, n: int) -> AnyCall:
    """Without a rid nothing is remembered."""
    return bench.calls.abandon(bench.fill(n))


# purge and trim


def all_states(bench: Workbench, n: int) -> None:
    """So many tasks in each of ready, delayed, completed and dead, and one that runs."""
    leases = bench.lease(n + 1, **TIES)
    bench.real(bench.calls.ack(acks(leases[1:], b"result")))
    bench.die(n, **TIES)
    bench.fill(n, **TIES)
    bench.fill(n, delay=3600, **TIES)


@scenario(0)
def purge_nothing(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.purge("r")


@scenario(1, 100, 1000)
def purge_ready(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return bench.calls.purge("r")


@scenario(1, 100)
def purge_waiting(bench: Workbench, n: int) -> AnyCall:
    all_states(bench, n)
    return bench.calls.purge("r")


@scenario(1, 100)
def purge_all(bench: Workbench, n: int) -> AnyCall:
    all_states(bench, n)
    return bench.calls.purge("r", all=True)


@scenario(1, 100)
def purge_lanes(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(2, lane=f"group/g{at}")
    return bench.calls.purge("r", limit=2 * n)


@scenario(1, 100)
def purge_what_had_a_key_before(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(n, idempotency_key="k")
    bench.pass_time(1_000)
    bench.fill(1, idempotency_key="k", delay=1)
    return bench.calls.purge("r")


@scenario(1, 100)
def purge_again(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    call = sent(bench, bench.calls.purge("r"))
    bench.fill(n)
    return call


@scenario(0)
def trim_nothing(bench: Workbench, _: int) -> AnyCall:
    all_states(bench, 1)
    return bench.calls.trim()


@scenario(1)
def trim_where_groups_read_the_events(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(bench.lease(n), b"result")))
    bench.ask("HSET", ":events:config", "held_ms", bench.now + 1)
    return bench.calls.trim()


@scenario(1, 100, 1000)
def trim_by_age(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(bench.lease(n, **TIES), b"result")))
    bench.pass_time(604_800_000)
    return bench.calls.trim()


@scenario(1, 100)
def trim_by_number(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(bench.lease(n, **TIES), b"result")))
    bench.real(bench.calls.configure(finished_max=0))
    return bench.calls.trim()


@scenario(1, 100)
def trim_the_dead(bench: Workbench, n: int) -> AnyCall:
    bench.die(n, **TIES)
    bench.pass_time(2_592_000_000)
    return bench.calls.trim()


@scenario(1)
def trim_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.die(n):
        bench.ask("DEL", f":task:{id}")
    bench.real(bench.calls.configure(dead_max=0))
    return bench.calls.trim()


# the mode of a queue


scenarios(
    pause_running=lambda bench: bench.calls.pause("r"),
    pause_again=lambda bench: sent(bench, bench.calls.pause("r")),
    resume_running=lambda bench: bench.calls.resume("r"),
    drain_again=lambda bench: sent(bench, bench.calls.drain("r")),
)


@scenario(0, clock="server")
def pause_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.pause("r")


@scenario(1, 100)
def resume_paused(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.pause())
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
    return bench.calls.resume("r")


@scenario(1)
def resume_lanes_that_have_tokens(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.real(bench.calls.pause())
    return bench.calls.resume("r")


@scenario(1)
def release_beside_others_in_a_paused_queue(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(1)
    bench.real(bench.calls.pause())
    return bench.calls.release(leases)


@scenario(1, 100)
def resume_again(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
    return sent(bench, bench.calls.resume("r"))


@scenario(1, 100)
def drain_running(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.fill(1, lane=f"group/g{at}")
    return bench.calls.drain("r")


@scenario(0)
def stats_of_a_paused_queue(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.pause())
    return bench.calls.stats()


# list, get


@scenario(1, 100, 1000)
def list_of_a_user(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    return bench.calls.list(user="u", limit=n)


@scenario(1, 100)
def list_of_all_that_is_named(bench: Workbench, n: int) -> AnyCall:
    all_states(bench, n)
    return bench.calls.list("dead", lane="any", user="u", tag="t", parent="p", reason="error", limit=n)


@scenario(1, 100, 1000)
def list_what_does_not_match(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    return bench.calls.list(tag="t", kind="other", limit=1)


@scenario(1, 100)
def list_of_a_parent_after_the_cursor_has_gone(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(2 * n, **TIES)
    cursor = bench.real(bench.calls.list(parent="p", limit=n)).cursor
    bench.real(bench.calls.purge(limit=n))
    assert bench.state(ids[n - 1]) is None
    return bench.calls.list(parent="p", cursor=cursor, limit=n)


@scenario(0)
def list_without_a_filter(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.list()


@scenario(1, 100)
def get_results_whose_time_is_over(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **TIES)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    bench.pass_time(60_000)
    return bench.calls.get([lease.id for lease in leases])


@scenario(1, 100)
def get_stubs(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    bench.real(bench.calls.purge())
    return bench.calls.get(ids)
