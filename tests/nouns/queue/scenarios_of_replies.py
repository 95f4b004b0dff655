"""Paths of tasks whose end somebody waits for, and of tasks that wait in several lanes in turn."""

from __future__ import annotations

from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, scenarios, sent, settle, tasks

NOW = START / 1000
CHAIN = ["group/one", "group/two", "group/three", "fail"]


# the ways to end


@scenario(1, 100, 1000)
def enqueue_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, reply=True), "r")


@scenario(1, 100, 1000)
def ack_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n, reply=True), b"result"))


@scenario(1, 100)
def ack_again_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.ack(acks(bench.lease(n, reply=True), b"result")))


@scenario(1)
def ack_with_a_reply_while_the_server_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.full(False)
    leases = bench.lease(n, reply=True)
    bench.full()
    return bench.calls.ack(acks(leases, b"x" * 4097))


@scenario(1, 100)
def fail_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n, reply=True), error="e", retryable=False))


@scenario(1, 100)
def fail_with_a_reply_while_cancelling(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.fail(**fails(leases))


@scenario(1, 100)
def settle_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2 * n, reply=True)
    return settle(bench, acks=acks(leases[:n], b"r"), **fails(leases[n:], retryable=False))


@scenario(1, 100)
def cancel_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel(bench.fill(n, reply=True), "r")


@scenario(1, 100)
def reap_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(max_crashes=1))
    bench.lease(n, reply=True)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def expire_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, reply=True, expires_at=NOW + 60)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def purge_with_a_reply(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, reply=True)
    bench.real(bench.calls.ack(acks(bench.claim(n))))
    bench.fill(n, reply=True)
    return bench.calls.purge("r", all=True)


# outcome


scenarios(
    (1, 100),
    outcome_waiting=lambda bench, n: bench.calls.outcome(bench.fill(n, reply=True)),
    outcome_of_the_dead_by_reply=lambda bench, n: bench.calls.outcome(bench.die(n, reply=True)),
    outcome_of_the_dead_by_record=lambda bench, n: bench.calls.outcome(bench.die(n)),
    outcome_of_nobody=lambda bench, n: bench.calls.outcome([f"u{at}" for at in range(n)]),
)


@scenario(1, 100, 1000)
def outcome_by_reply(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    bench.real(bench.calls.ack(acks(leases, b"r")))
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1, 100)
def outcome_by_record(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"r")))
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1)
def outcome_by_record_whose_result_was_dropped(bench: Workbench, n: int) -> AnyCall:
    bench.full(False)
    leases = bench.lease(n)
    bench.full()
    bench.real(bench.calls.ack(acks(leases, b"x" * 4097)))
    bench.full(False)
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1, 100)
def outcome_of_the_cancelled_by_record(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    bench.real(bench.calls.cancel(ids))
    return bench.calls.outcome(ids)


@scenario(1, 100)
def outcome_of_the_purged(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, reply=True)
    bench.real(bench.calls.purge())
    return bench.calls.outcome(ids)


@scenario(1)
def outcome_past_the_time_of_the_reply(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    bench.real(bench.calls.ack(acks(leases, b"r")))
    bench.pass_time(3_600_000)
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(5)
def outcome_until_4_MiB(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    for lease in leases:
        bench.real(bench.calls.ack([(lease, b"x" * 2**20)]))
    return bench.calls.outcome([lease.id for lease in leases])


# lanes in turn


@scenario(1, 100)
def enqueue_with_a_chain(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, fallback=CHAIN, fallback_after=60), "r")


@scenario(1, 100)
def expire_along_a_chain(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback=CHAIN, fallback_after=5)
    bench.pass_time(5_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def expire_to_the_last_of_a_chain(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback=["group/one", "group/two"], fallback_after=60)
    bench.pass_time(60_000)
    bench.real(bench.calls.expire(n))
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def expire_where_nobody_came(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback="fail", fallback_after=60, reply=True)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def claim_where_nobody_came(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback="fail", fallback_after=60, reply=True)
    bench.pass_time(60_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_along_a_chain(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback=CHAIN, fallback_after=60)
    bench.pass_time(60_000)
    return claim(bench, n, "group/one")


@scenario(1, 100)
def release_along_a_chain(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback=CHAIN, fallback_after=60)
    bench.pass_time(60_000)
    return bench.calls.release(bench.claim(n, lanes=["group/one"]))


@scenario(1, 100)
def retry_where_nobody_came(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, fallback="fail", fallback_after=60, reply=True)
    bench.pass_time(60_000)
    bench.real(bench.calls.expire(n))
    return bench.calls.retry(ids, "r")
