"""Paths of queues with settings of their own, of tasks with more than the usual, and of what comes again."""

from __future__ import annotations

from dataclasses import replace

from pyadeq._core.queue.items import Failure
from pyadeq.models import Backoff, Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, scenarios, sent, settle, tasks

NOW = START / 1000
LANE = "group/g"
MONTH = 31 * 86_400_000  # ms
PLACED = {"lane": LANE, "priority": 1}


def set_all(bench: Workbench) -> None:
    """Every setting, to something else than what holds without it."""
    bench.real(
        bench.calls.configure(
            lease=20, max_attempts=4, max_crashes=4, backoff=Backoff(base=2, multiplier=3, cap=20, jitter=0),
            events_max=50_000, events_keep=60, events_error_max=0, presence=60, finished_keep=60,
            finished_max=1_000, dead_keep=60, dead_max=1_000, result_ttl=60, payload_ttl=60, reply_ttl=60,
            idempotency=60, timeout=3600, timeout_grace=5,
        )
    )  # fmt: skip


# settings of the queue


@scenario(1)
def enqueue_keyed_where_all_is_set(bench: Workbench, n: int) -> AnyCall:
    set_all(bench)
    return bench.calls.enqueue(tasks(n, idempotency_key="k"), "r")


@scenario(0)
def settings_where_all_is_set(bench: Workbench, _: int) -> AnyCall:
    set_all(bench)
    return bench.calls.settings()


@scenario(0)
def configure_of_nothing_with_a_rid(bench: Workbench, _: int) -> AnyCall:
    set_all(bench)
    return bench.calls.configure(rid="r")


@scenario(0)
def stats_where_all_is_set(bench: Workbench, _: int) -> AnyCall:
    set_all(bench)
    bench.worker()
    return bench.calls.stats()


@scenario(0)
def settings_of_an_empty_queue(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.settings()


@scenario(0)
def claim_where_all_is_set(bench: Workbench, _: int) -> AnyCall:
    set_all(bench)
    return claim(bench, 1)


@scenario(1)
def ack_with_a_reply_where_all_is_set(bench: Workbench, n: int) -> AnyCall:
    set_all(bench)
    return bench.calls.ack(acks(bench.lease(n, reply=True), b"result"))


@scenario(1)
def ack_where_payloads_are_not_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(payload_ttl=0))
    return bench.calls.ack(acks(bench.lease(n), b"result"))


@scenario(1)
def fail_where_all_is_set(bench: Workbench, n: int) -> AnyCall:
    set_all(bench)
    return bench.calls.fail(**fails(bench.lease(n)))


@scenario(1)
def heartbeat_beyond_the_timeout_where_all_is_set(bench: Workbench, n: int) -> AnyCall:
    set_all(bench)
    leases = bench.lease(n, timeout=1)
    bench.pass_time(2_000)
    return bench.calls.heartbeat(leases)


@scenario(1)
def heartbeat_beyond_the_timeout_of_the_queue(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=1))
    leases = bench.lease(n)
    bench.pass_time(2_000)
    return bench.calls.heartbeat(leases)


@scenario(2)
def claim_where_the_queue_has_a_timeout(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=1))
    bench.fill(n - 1)
    bench.fill(1, timeout=2)
    return claim(bench, n)


@scenario(1)
def claim_again_where_the_queue_has_a_timeout(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=1))
    bench.fill(n)
    return sent(bench, claim(bench, n))


@scenario(1)
def settle_again_where_the_queue_has_a_timeout(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=1))
    (lease,) = bench.lease(n)
    call = settle(bench, limit=1, acks=[(lease, None)])
    return sent(bench, call)


@scenario(1)
def heartbeat_where_the_timeout_of_the_queue_was_taken_back(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=1))
    bench.real(bench.calls.configure(timeout=0))
    return bench.calls.heartbeat(bench.lease(n))


# what a task brings with it


@scenario(1)
def enqueue_from_a_source(bench: Workbench, n: int) -> AnyCall:
    return replace(bench.calls, source="hook").enqueue(tasks(n, source="user"), "r")


@scenario(1)
def list_from_a_source(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, source="user")
    bench.fill(n)
    return bench.calls.list("ready", source="user")


@scenario(2)
def fail_for_good_with_an_error(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n), error="no route\n", retryable=False))


@scenario(1)
def fail_for_good_where_events_show_no_errors(bench: Workbench, n: int) -> AnyCall:
    set_all(bench)
    return bench.calls.fail(**fails(bench.lease(n), error="no route", retryable=False))


@scenario(1)
def fail_for_good_with_a_sealed_error(bench: Workbench, n: int) -> AnyCall:
    class Codec:
        def seal(self, data: bytes, context: bytes) -> bytes:
            return data

        open = seal

    return replace(bench.calls, codec=Codec()).fail(**fails(bench.lease(n), error="sealed", retryable=False))


@scenario(1)
def fail_for_good_without_events(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(events_max=0))
    return bench.calls.fail(**fails(bench.lease(n), error="no route", retryable=False))


scenarios(
    (1,),
    enqueue_with_a_timeout=lambda bench, n: bench.calls.enqueue(tasks(n, timeout=1), "r"),
    enqueue_whose_result_is_kept_for_a_time=lambda bench, n: bench.calls.enqueue(tasks(n, result_ttl=60), "r"),
    enqueue_a_tag_given_twice=lambda bench, n: bench.calls.enqueue(tasks(n, tags=["t", "t"]), "r"),
    enqueue_delayed_in_a_lane=lambda bench, n: bench.calls.enqueue(tasks(n, delay=5, **PLACED), "r"),
    retry_in_its_lane=lambda bench, n: bench.calls.retry(bench.die(n, **PLACED), "r"),
    cancel_in_its_lane=lambda bench, n: bench.calls.cancel(bench.fill(n, **PLACED), "r"),
)


@scenario(1)
def enqueue_that_fails_if_nobody_comes_soon(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, fallback="fail", fallback_after=5), "r")


@scenario(1)
def enqueue_after_another_with_a_priority(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, after=bench.fill(1), **PLACED), "r")


@scenario(1)
def promote_into_a_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, delay=5, **PLACED)
    bench.pass_time(5_000)
    return bench.calls.promote()


@scenario(1)
def ack_lets_another_go_to_its_lane(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(1, after=[leases[0].id], **PLACED)
    return bench.calls.ack(acks(leases))


@scenario(1)
def ack_lets_another_wait_for_its_time_in_its_lane(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.fill(1, after=[leases[0].id], run_after=NOW + 60, **PLACED)
    return bench.calls.ack(acks(leases))


@scenario(1)
def fail_with_a_backoff_of_its_own(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(bench.lease(n, backoff=Backoff(base=2, multiplier=3, cap=20, jitter=0))))


@scenario(1)
def claim_for_a_lease_of_its_own(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lease=60)


@scenario(1)
def settle_for_a_lease_of_its_own(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return settle(bench, limit=n, lease=60)


@scenario(1)
def progress_in_words_alone(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.progress([(lease, {"text": "so far"}) for lease in bench.lease(n)], "r")


# not the first time


@scenario(1)
def claim_after_an_attempt(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.fail(**fails(bench.lease(n))))
    bench.pass_time(60_000)
    return claim(bench, n)


@scenario(1)
def ack_the_second_attempt(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.fail(**fails(bench.lease(n))))
    bench.pass_time(60_000)
    return bench.calls.ack(acks(bench.claim(n)))


@scenario(1)
def claim_what_was_given_back_before_it_expires(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.release(bench.lease(n, expires_at=NOW + 60, scope="s")))
    return claim(bench, n)


@scenario(1)
def expire_what_somebody_had_and_gave_back(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, fallback="fail", fallback_after=5)
    bench.real(bench.calls.fail([Failure(lease, b"e", delay=1) for lease in leases], [0] * n))
    bench.pass_time(1_000)
    bench.real(bench.calls.promote())
    bench.pass_time(60_000)
    return bench.calls.expire()


@scenario(1)
def expire_while_paused_what_nobody_takes(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, fallback="fail", fallback_after=5)
    bench.real(bench.calls.pause())
    bench.pass_time(5_000)
    return bench.calls.expire()


@scenario(1)
def claim_what_has_waited_for_a_month(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.pass_time(MONTH)
    return claim(bench, n)


# an id, or a call, that comes again


@scenario(1)
def enqueue_keyed_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.enqueue(tasks(n, unique="k"), "r"))


@scenario(1)
def enqueue_a_known_id_under_a_key_that_is_held(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, unique="k")
    bench.real(bench.calls.enqueue(tasks(n), "other"))
    return bench.calls.enqueue(tasks(n, unique="k"), "r")


@scenario(1)
def enqueue_after_another_under_a_key_that_is_held(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue(tasks(n, unique="k", after=bench.fill(1, unique="k")), "r")


@scenario(1)
def enqueue_under_two_keys_of_which_one_is_held(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, unique="k")
    return bench.calls.enqueue(tasks(n, unique="k", idempotency_key="i"), "r")


@scenario(1)
def enqueue_known_and_new_ids(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue(tasks(n), "other"))
    return bench.calls.enqueue(tasks(n + 1), "r")


@scenario(2)
def enqueue_again_after_what_comes_later_in_the_call(bench: Workbench, n: int) -> AnyCall:
    items = tasks(n)
    items[0] = ("e0", Task(payload=b"x", after="e1"))
    call = bench.calls.enqueue(items, "r")
    bench.send(call)
    return call


@scenario(2)
def enqueue_the_same_known_id_while_draining(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue(tasks(1), "other"))
    bench.real(bench.calls.drain())
    return bench.calls.enqueue(tasks(1) * n, "r")


scenarios(
    (2,),
    ack_the_same_twice=lambda bench, n: bench.calls.ack(acks(bench.lease(1)) * n),
    fail_the_same_twice=lambda bench, n: bench.calls.fail(**fails(bench.lease(1) * n)),
    release_the_same_twice=lambda bench, n: bench.calls.release(bench.lease(1) * n),
)


@scenario(2)
def claim_from_a_lane_named_twice(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1)
    return claim(bench, n, "any", "any")


@scenario(0)
def cancel_a_minute_later_again(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.cancel(["unknown"], "r"))
    bench.pass_time(60_000)
    return bench.calls.cancel(["unknown"], "r")


@scenario(1)
def retry_conflicts_again(bench: Workbench, n: int) -> AnyCall:
    ids = bench.die(n, unique="k")
    bench.fill(1, unique="k")
    return sent(bench, bench.calls.retry(ids, "r"))


@scenario(1)
def retry_what_is_still_in_line_under_its_key(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.retry(bench.fill(n, unique="k"), "r")


@scenario(1)
def claim_again_what_another_has_by_now(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.real(claim(bench, n))
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    assert len(bench.claim(n, slot=1)) == n
    return claim(bench, n)


# whose lease, and whose slot


@scenario(10)
def ack_with_the_beginning_of_a_token(bench: Workbench, n: int) -> AnyCall:
    last = bench.lease(n)[-1]
    return bench.calls.ack([((last.id, last.token[:-1]), None)])


@scenario(1)
def ack_by_a_worker_named_ties(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.worker("ties")
    leases = bench.real(bench.calls.claim("ties", "i", 0, 1, limit=n)).leases
    return bench.calls.ack(acks(leases))


@scenario(1)
def ack_a_large_result_for_one_who_waits(bench: Workbench, n: int) -> AnyCall:
    bench.limit_memory(2**40)
    return bench.calls.ack(acks(bench.lease(n, reply=True), b"x" * 5_000))


@scenario(1)
def fail_with_the_token_of_another(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail([Failure((lease.id, "other"), b"e") for lease in bench.lease(n)], [0] * n)


@scenario(1)
def heartbeat_with_the_token_of_another(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.heartbeat([(lease.id, "other") for lease in bench.lease(n)])


@scenario(1)
def progress_with_the_token_of_another(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.progress([((lease.id, "other"), {"ppm": 1}) for lease in bench.lease(n)], "r")


@scenario(0)
def progress_of_an_unknown_task(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.progress([(("unknown", "other"), {"ppm": 1})], "r")


@scenario(0)
def heartbeat_of_an_unknown_task(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.heartbeat([("unknown", "other")])


@scenario(0)
def claim_by_another_incarnation(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    return bench.calls.claim("w", "other", 0, 1)


# which task comes next, and whether one does


@scenario(2)
def claim_the_second_lane_first(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, lane=LANE)
    bench.fill(1, lane="any", priority=1)
    return claim(bench, n, LANE, "any")


@scenario(2)
def claim_lane_by_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, lane=LANE)
    bench.fill(1, lane="any", priority=1)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=[LANE, "any"], lane_first=True)


@scenario(100)
def claim_more_from_a_lane_than_its_share(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    return claim(bench, n, "any", LANE)


@scenario(1)
def claim_while_paused(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.real(bench.calls.pause())
    return claim(bench, n)


@scenario(1)
def claim_in_an_open_window_what_was_given_back(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.release(bench.lease(n)))
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=10, lanes=["any", LANE], window=60)


@scenario(0)
def stats_while_draining_after_work(bench: Workbench, _: int) -> AnyCall:
    leases = bench.lease(1)
    bench.pass_time(10)
    bench.real(bench.calls.ack(acks(leases)))
    bench.real(bench.calls.drain())
    return bench.calls.stats()
