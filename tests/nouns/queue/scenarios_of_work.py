"""Paths of enqueue, claim, settle, ack, fail, heartbeat and release."""

from __future__ import annotations

from pyadeq.models import Backoff, Task
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, sent, settle, tasks

# enqueue


@scenario(1, 100, 1000)
def enqueue_new(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1, clock="server")
def enqueue_into_a_queue_that_does_not_exist(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_with_few_events(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(events_max=9))
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_a_plain_task_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit("all", concurrency=1)
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_a_plain_task_behind_another(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_a_plain_task_behind_one_of_which_a_worker_knows(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1)
    bench.ask("DEL", ":wake:any")
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_with_a_token_for_a_due_time(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, delay=5)
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1, 100)
def enqueue_delayed(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, delay=5), "r")


@scenario(1, 100)
def enqueue_large_payloads(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, payload=b"x" * 1025), "r")


@scenario(10)
def enqueue_into_as_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes = [(f"e{at}", Task(payload=b"x", lane=f"group/g{at}")) for at in range(n)]
    return bench.calls.enqueue(lanes, "r")


@scenario(1, 100, 1000)
def enqueue_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.enqueue(tasks(n), "r"))


@scenario(1, 100)
def enqueue_known_ids(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue(tasks(n), "other"))
    return bench.calls.enqueue(tasks(n), "r")


@scenario(2)
def enqueue_the_same_id(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue([("e", Task(payload=b"x", tags=["a", "b"]))] * n, "r")


# claim


@scenario(1, 100, 1000)
def claim_all(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return claim(bench, n)


@scenario(1, 100)
def claim_and_leave_some(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n + 1)
    return claim(bench, n)


@scenario(1, 100, 1000)
def claim_again_within_a_second(bench: Workbench, n: int) -> AnyCall:
    """As a busy worker does: its slot has kept house a moment ago."""
    bench.claim(1)
    bench.fill(n)
    return claim(bench, n)


@scenario(0)
def claim_from_an_empty_queue_within_a_second(bench: Workbench, _: int) -> AnyCall:
    bench.claim(1)
    return claim(bench, 10)


@scenario(0)
def claim_from_an_empty_queue(bench: Workbench, _: int) -> AnyCall:
    return claim(bench, 10)


@scenario(10)
def claim_from_as_many_lanes(bench: Workbench, n: int) -> AnyCall:
    lanes = [f"group/g{at}" for at in range(n)]
    for lane in lanes:
        bench.fill(1, lane=lane)
    return claim(bench, n, *lanes)


@scenario(1, 100, 1000)
def claim_again(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return sent(bench, claim(bench, n))


@scenario(10)
def claim_again_after_acks(bench: Workbench, n: int) -> AnyCall:
    bench.fill(2 * n)
    call = claim(bench, 2 * n)
    bench.real(bench.calls.ack(acks(bench.real(call).leases[:n])))
    return call


@scenario(0)
def claim_stale(bench: Workbench, _: int) -> AnyCall:
    bench.real(claim(bench, 1, n=2))
    return claim(bench, 1, n=1)


@scenario(0)
def claim_unregistered(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.claim("nobody", "i", 0, 1)


@scenario(1, 100)
def claim_tasks_without_record(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n):
        bench.ask("DEL", f":task:{id}", f":payload:{id}")
    return claim(bench, n)


@scenario(1)
def claim_tasks_without_payload(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n):
        bench.ask("DEL", f":payload:{id}")
    return claim(bench, n)


@scenario(5)
def claim_until_4_MiB(bench: Workbench, n: int) -> AnyCall:
    for _ in range(n):
        bench.fill(1, payload=b"x" * 1_000_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_promotes(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, delay=5)
    bench.pass_time(5_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_reaps(bench: Workbench, n: int) -> AnyCall:
    bench.lease(n)
    bench.pass_time(15_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_forgets_workers(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.worker(f"gone{at}")
    bench.pass_time(30_000)
    return claim(bench, 1)


# settle


@scenario(1, 100, 500)
def settle_acks_and_claim(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(n)
    return settle(bench, acks=acks(leases, b"r"), limit=n)


@scenario(1, 100, 500)
def settle_within_a_second(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(2 * n)
    return settle(bench, acks=acks(leases, b"r"), limit=n)


@scenario(1, 100)
def settle_acks_and_fails(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2 * n)
    return settle(bench, acks=acks(leases[:n]), **fails(leases[n:]))


@scenario(0)
def settle_nothing(bench: Workbench, _: int) -> AnyCall:
    return settle(bench)


@scenario(0)
def settle_and_claim_nothing(bench: Workbench, _: int) -> AnyCall:
    return settle(bench, limit=10)


@scenario(1, 100)
def settle_again(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2 * n)
    bench.fill(n)
    return sent(bench, settle(bench, acks=acks(leases[:n]), **fails(leases[n:]), limit=n))


@scenario(0)
def settle_stale(bench: Workbench, _: int) -> AnyCall:
    leases = bench.lease(1)
    bench.real(claim(bench, 1, n=10**6 + 1))
    return settle(bench, acks=acks(leases))


@scenario(0)
def settle_unregistered(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.settle("nobody", "i", 0, 1)


# ack


@scenario(1, 100, 1000)
def ack_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n)))


@scenario(1, 100)
def ack_with_results(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n), b"result"))


@scenario(1, 100, 1000)
def ack_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.ack(acks(bench.lease(n))))


@scenario(1, 100)
def ack_lost_leases(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack([((lease.id, "other"), None) for lease in bench.lease(n)])


# fail


@scenario(1, 100, 1000)
def fail_retried(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n), error=b"e"))


@scenario(1, 100)
def fail_for_good(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n), retryable=False))


@scenario(1)
def fail_the_last_attempt(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n, max_attempts=1, backoff=Backoff())))


@scenario(1, 100)
def fail_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.fail(**fails(leases))


@scenario(1, 100)
def fail_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.fail(**fails(bench.lease(n))))


@scenario(1, 100)
def fail_lost_leases(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases)))
    return bench.calls.fail(**fails(leases))


# heartbeat


@scenario(1, 100, 1000)
def heartbeat_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.heartbeat(bench.lease(n), worker="w")


@scenario(1)
def heartbeat_without_worker(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.heartbeat(leases, lease=60)


@scenario(1)
def heartbeat_with_the_beginning_of_a_token(bench: Workbench, _: int) -> AnyCall:
    (lease,) = bench.lease(1)
    return bench.calls.heartbeat([(lease.id, lease.token[:-1])])


@scenario(1, 100)
def heartbeat_lost_leases(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.heartbeat(leases, worker="w")


# release


@scenario(1, 100, 1000)
def release_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.release(bench.lease(n))


@scenario(1, 100)
def release_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.release(leases)


@scenario(1, 100)
def release_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.release(bench.lease(n)))


@scenario(1, 100)
def release_lost_leases(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.release([(lease.id, "other") for lease in bench.lease(n)])
