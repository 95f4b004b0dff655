"""Paths of tasks that have more than the usual: keys of `once`, deadlines, a timeout, a time for their results."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES, AnyCall, acks, claim, fails, scenario, scenarios, sent, settle, tasks

NOW = START / 1000


def each(number: int, **task: Any) -> list[tuple[str, Task]]:
    """Tasks with a key of their own in each field that is called `own`."""
    task.setdefault("payload", b"x")
    own: list[dict[str, Any]] = [
        {name: f"{name}{at}" if value == "own" else value for name, value in task.items()} for at in range(number)
    ]
    return [(f"e{at}", Task(**fields)) for at, fields in enumerate(own)]


# enqueue


@scenario(1, 100, 1000)
def enqueue_indexed(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, user="u", tags=["s", "t"], parent="p"), "r")


@scenario(1, 100, 1000)
def enqueue_tied(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(each(n, **TIES | dict.fromkeys(("unique", "scope", "idempotency_key"), "own")), "r")


@scenario(1, 100)
def enqueue_after_a_time(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, run_after=NOW + 60, fallback="any", fallback_after=1), "r")


@scenario(1, 100)
def enqueue_expired(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, expires_at=NOW - 60), "r")


@scenario(0)
def enqueue_with_half_a_fallback(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.enqueue(tasks(1, fallback="any"), "r")


@scenario(1, 100, 1000)
def enqueue_unique_known(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue([(f"first{at}", task) for at, (_, task) in enumerate(each(n, unique="own"))], "o"))
    return bench.calls.enqueue(each(n, unique="own"), "r")


@scenario(1, 100)
def enqueue_unique_once_in_a_call(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, unique="k"), "r")


@scenario(1)
def enqueue_unique_of_an_evicted_task(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n, unique="k"):
        bench.ask("DEL", f":task:{id}", f":payload:{id}")
    return bench.calls.enqueue(tasks(n, unique="k"), "r")


@scenario(1, 100)
def enqueue_idempotency_keys_known(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, idempotency_key="k")
    return bench.calls.enqueue(tasks(n, idempotency_key="k"), "r")


@scenario(1, 100)
def enqueue_idempotency_keys_that_are_over(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue(each(n, idempotency_key="own"), "r"))
    bench.pass_time(86_400_000)
    return bench.calls.enqueue(
        [(f"again{at}", task) for at, (_, task) in enumerate(each(n, idempotency_key="own"))], "o"
    )


@scenario(1, 100)
def enqueue_into_a_scope(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, scope="s")
    return bench.calls.enqueue(tasks(n, scope="s"), "r")


@scenario(1, 100)
def enqueue_into_a_scope_the_last(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, scope="s")
    return bench.calls.enqueue(tasks(n, scope="s", coalesce="last"), "r")


@scenario(1, 100)
def enqueue_deduplicated_again(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, scope="s", unique="k", idempotency_key="i")
    return sent(bench, bench.calls.enqueue(tasks(n, scope="s", unique="k", coalesce="last"), "r"))


@scenario(1, 100)
def enqueue_over_stubs(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, **TIES)
    bench.real(bench.calls.purge())
    return bench.calls.enqueue([(id, Task(payload=b"x")) for id in ids], "r")


@scenario(1, 100)
def enqueue_again_over_stubs(bench: Workbench, n: int) -> AnyCall:
    call = sent(bench, bench.calls.enqueue(each(n), "r"))
    bench.real(bench.calls.purge())
    return call


@scenario(1)
def enqueue_into_a_draining_queue(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.drain())
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1, 100)
def enqueue_again_into_a_draining_queue(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, unique="k")
    call = sent(bench, bench.calls.enqueue([*tasks(n), ("other", Task(payload=b"x", unique="k"))], "r"))
    bench.real(bench.calls.drain())
    return call


# claim and settle


@scenario(1, 100, 1000)
def claim_tied(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    return claim(bench, n)


@scenario(1, 100)
def claim_expires(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    bench.pass_time(3_600_000)
    return claim(bench, n, "any", "group/other")


@scenario(1, 100)
def claim_expired_tasks_that_no_sweep_has_reached(bench: Workbench, n: int) -> AnyCall:
    bench.fill(100 + n, expires_at=NOW + 1)
    bench.pass_time(1_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_from_the_fallback(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    bench.pass_time(600_000)
    return claim(bench, n, "group/other")


@scenario(1, 100)
def claim_trims_and_forgets_keys(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(bench.lease(n, **TIES))))
    bench.pass_time(604_800_000)
    return claim(bench, 1)


@scenario(1, 100)
def settle_tied(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2 * n, **TIES)
    bench.fill(n, **TIES)
    return settle(bench, acks=acks(leases[:n], b"r"), **fails(leases[n:]), limit=n)


@scenario(1, 100)
def settle_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0, dead_max=0))
    leases = bench.lease(2 * n)
    return settle(bench, acks=acks(leases[:n]), **fails(leases[n:], retryable=False))


# ack


@scenario(1, 100, 1000)
def ack_tied(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n, **TIES), b"result"))


@scenario(1, 100)
def ack_results_that_are_not_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(result_ttl=0))
    return bench.calls.ack(acks(bench.lease(n), b"result"))


@scenario(1, 100)
def ack_results_that_are_kept_for_a_time(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(result_ttl=60))
    return bench.calls.ack(acks(bench.lease(n), b"result"))


@scenario(1, 100)
def ack_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    return bench.calls.ack(acks(bench.lease(n, **TIES), b"result"))


@scenario(1, 100)
def ack_again_over_stubs(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    return sent(bench, bench.calls.ack(acks(bench.lease(n, **TIES), b"result")))


@scenario(1, 100)
def ack_while_the_server_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.full(False)
    leases = bench.lease(n)
    bench.full()
    return bench.calls.ack(acks(leases, b"x" * 4097))


# fail, heartbeat, release, snooze


scenarios(
    (1, 100, 1000),
    fail_tied=lambda bench, n: bench.calls.fail(**fails(bench.lease(n, **TIES))),
    heartbeat_tied=lambda bench, n: bench.calls.heartbeat(bench.lease(n, **TIES), worker="w"),
    release_tied=lambda bench, n: bench.calls.release(bench.lease(n, **TIES)),
    snooze_all=lambda bench, n: bench.calls.snooze([(lease, 5) for lease in bench.lease(n)]),
    snooze_tied=lambda bench, n: bench.calls.snooze([(lease, 60) for lease in bench.lease(n, **TIES)]),
)


@scenario(1, 100)
def fail_tied_for_good(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n, **TIES), retryable=False))


@scenario(1, 100)
def fail_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(dead_max=0))
    return bench.calls.fail(**fails(bench.lease(n, **TIES), retryable=False))


@scenario(1, 100)
def heartbeat_timed_out(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, timeout=1)
    bench.pass_time(1_000)
    return bench.calls.heartbeat(leases)


@scenario(1, 100)
def heartbeat_after_the_grace(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, timeout=1)
    bench.pass_time(11_000)
    return bench.calls.heartbeat(leases)


@scenario(1, 100)
def release_tied_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, **TIES)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.release(leases)


@scenario(1, 100)
def snooze_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.snooze([(lease, 5) for lease in leases])


@scenario(1, 100)
def snooze_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.snooze([(lease, 5) for lease in bench.lease(n)]))


@scenario(1, 100)
def snooze_lost_leases(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.snooze([((lease.id, "other"), 5) for lease in bench.lease(n)])


# sweeps and cancel


@scenario(1, 100)
def reap_tied(bench: Workbench, n: int) -> AnyCall:
    bench.lease(n, **TIES)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def reap_tied_crash_loops(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(max_crashes=1, dead_max=0))
    bench.lease(n, **TIES)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100, 1000)
def cancel_tied(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel(bench.fill(n, **TIES), "r")


@scenario(1, 100)
def cancel_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    return bench.calls.cancel(bench.fill(n), "r")


@scenario(0)
def expire_nothing(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, **TIES)
    return bench.calls.expire()


@scenario(1, 100, 1000)
def expire_ready(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, expires_at=NOW + 60)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def expire_delayed(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, delay=3600, expires_at=NOW + 60)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100, 1000)
def expire_to_the_fallback(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    bench.pass_time(600_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def expire_to_the_fallback_before_they_are_promoted(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, delay=60, fallback="group/other", fallback_after=0)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1)
def expire_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n, **TIES):
        bench.ask("DEL", f":task:{id}")
    bench.pass_time(600_000)
    return bench.calls.expire()


@scenario(1)
def expire_tasks_in_no_set(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, **TIES)
    bench.ask("DEL", ":ready:any")
    bench.pass_time(600_000)
    return bench.calls.expire()
