"""Paths of limits, of the lines before them, and of fair shares."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.limits import rule_digest
from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES, AnyCall, acks, claim, fails, scenario, scenarios, sent, settle, tasks

NOW = START / 1000
LOOK = 5_000  # ms: no line of a limit with room is looked at later than that
MEND = 60_001  # ms: nor one of a full limit later than that
LEASE = 15_000  # ms
MANY = 1_000_000
SOME = {"user": "u", "tags": ["s", "t"], "limits": ["k", "l"]}
FALLBACK: dict[str, Any] = {"fallback": ["group/other"], "fallback_after": 60}


def running(bench: Workbench, number: int, **rule: Any) -> list[Lease]:
    """So many leases, which fill the limit of their user."""
    bench.limit(concurrency=number, **rule)
    return bench.lease(number, user="u")


def in_line(bench: Workbench, number: int, **task: Any) -> list[str]:
    """So many tasks that wait in the line of a limit that is full."""
    ids = bench.fill(number, user="u", **task)
    assert bench.claim(1) == []
    return ids


def lined(bench: Workbench, holders: int, waiting: int, **task: Any) -> list[Lease]:
    """The leases that fill the limit of a user, with so many tasks that wait for them."""
    leases = running(bench, holders)
    in_line(bench, waiting, **task)
    return leases


def left_in_line(bench: Workbench, ids: list[str]) -> None:
    """They are cancelled, and stay in the line of their user, as older versions of the scripts left them."""
    scores = [(bench.ask("ZSCORE", ":waiting:user:u", id), id) for id in ids]
    bench.real(bench.calls.cancel(ids))
    for score, id in scores:
        bench.ask("ZADD", ":waiting:user:u", score, id)
    bench.ask("ZADD", ":limit:lines", bench.now + LOOK, "user:u")


def fair(bench: Workbench) -> None:
    bench.real(bench.calls.configure(fair=True))


def of_users(number: int, users: int, **task: Any) -> list[tuple[str, Task]]:
    return [(f"e{at}", Task(payload=b"x", user=f"u{at % users}", **task)) for at in range(number)]


# set_limits


@scenario(1, 100, 1000)
def set_limits_all(bench: Workbench, n: int) -> AnyCall:
    rule = {"concurrency": 3, "starts": 10, "period_ms": 1_000, "burst": 5, "policy": "reject"}
    return bench.calls.set_limits([(f"user:u{at}", rule) for at in range(n)], "r")


@scenario(1, 100)
def set_limits_to_something_else(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.limit(f"tag:t{at}", concurrency=1)
    return bench.calls.set_limits([(f"tag:t{at}", {"concurrency": 2}) for at in range(n)], "r")


@scenario(1, 100)
def set_limits_to_what_they_are(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.limit(f"key:k{at}", starts=1, period_ms=1_000)
    return bench.calls.set_limits([(f"key:k{at}", {"starts": 1, "period_ms": 1_000}) for at in range(n)], "r")


@scenario(1, 100)
def set_limits_to_none(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.limit(f"user:u{at}", concurrency=1)
    return bench.calls.set_limits([(f"user:u{at}", {}) for at in range(n)], "r")


@scenario(1, 100)
def set_limits_to_none_where_none_is(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.set_limits([(f"user:u{at}", {}) for at in range(n)], "r")


@scenario(1, 100)
def set_limits_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.set_limits([(f"user:u{at}", {"concurrency": 1}) for at in range(n)], "r"))


@scenario(1, 100)
def set_limits_that_were_seen(bench: Workbench, n: int) -> AnyCall:
    for at in range(n):
        bench.limit(f"user:u{at}", concurrency=1)
    seen = rule_digest("1 queue 0 1")
    items = [(f"user:u{at}", {"concurrency": 2, "expect": seen}) for at in range(n)]
    return bench.calls.set_limits([*items, ("all", {"concurrency": 9, "expect": "none"})], "r")


@scenario(1)
def set_limits_that_others_have_changed(bench: Workbench, n: int) -> AnyCall:
    call = set_limits_that_were_seen(bench, n)
    bench.limit("all", concurrency=8)
    return call


@scenario(1, clock="server")
def set_limits_of_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"concurrency": 1})], "r")


@scenario(0)
def set_limits_with_starts_alone(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {}), ("all", {"starts": 1})], "r")


@scenario(0)
def set_limits_with_a_period_alone(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"concurrency": 1, "period_ms": 1})], "r")


@scenario(0)
def set_limits_with_a_burst_alone(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"concurrency": 1, "burst": 1})], "r")


@scenario(0)
def set_limits_with_a_policy_alone(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"policy": "reject"})], "r")


@scenario(0)
def set_limits_with_too_many_starts(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"starts": 101, "period_ms": 1})], "r")


@scenario(0)
def set_limits_that_cancel_the_oldest_by_a_rate(bench: Workbench, _: int) -> AnyCall:
    rule = {"starts": 1, "period_ms": 1, "policy": "cancel_oldest"}
    return bench.calls.set_limits([("all", rule)], "r")


# limits


@scenario(1, 100, 1000)
def limits_all(bench: Workbench, n: int) -> AnyCall:
    set_limits_all(bench, n)
    bench.real(set_limits_all(bench, n))
    return bench.calls.limits()


@scenario(1, 100, 200)
def limits_of_keys(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1, starts=1, period_ms=1_000)
    bench.fill(2, user="u0")
    bench.claim(2)
    return bench.calls.limits([f"user:u{at}" for at in range(n)])


@scenario(1, 100)
def limits_of_keys_without_one(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.limits([f"user:u{at}" for at in range(n)])


@scenario(0)
def limits_from_a_bad_cursor(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.limits(cursor="x")


# enqueue


@scenario(1, 100, 1000)
def enqueue_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=1)
    return bench.calls.enqueue(tasks(n, user="u"), "r")


@scenario(1, 100, 1000)
def enqueue_into_a_line(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, 1)
    return bench.calls.enqueue(tasks(n, user="u"), "r")


@scenario(1, 100)
def enqueue_into_a_line_of_each_user(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    bench.real(bench.calls.enqueue([(f"x{at}", Task(payload=b"x", user=f"u{at % n}")) for at in range(2 * n)], "x"))
    bench.claim(n)
    return bench.calls.enqueue(of_users(n, n), "r")


@scenario(1, 100)
def enqueue_into_a_line_with_ties(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, 1)
    ties = {name: value(f"{n}") if callable(value) else value for name, value in TIES.items()}
    return bench.calls.enqueue([(f"e{at}", Task(payload=b"x", **ties | unshared(at))) for at in range(n)], "r")


def unshared(at: int) -> dict[str, str]:
    return {name: f"{name}-{at}" for name in ("unique", "scope", "idempotency_key")}


@scenario(1, 100)
def enqueue_into_a_line_again(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, 1)
    return sent(bench, bench.calls.enqueue(tasks(n, user="u"), "r"))


@scenario(1, 100)
def enqueue_later_under_a_limit_with_a_line(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, 1)
    return bench.calls.enqueue(tasks(n, user="u", delay=60), "r")


@scenario(1, 100)
def enqueue_where_the_limit_cancels_the_oldest(bench: Workbench, n: int) -> AnyCall:
    """They do not join the line: who comes is to start, and the oldest to go."""
    running(bench, 1, policy="cancel_oldest")
    in_line(bench, 1)
    return bench.calls.enqueue(tasks(n, user="u"), "r")


# claim


@scenario(1, 100, 1000)
def claim_under_limits_of_others(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:other", concurrency=1)
    bench.fill(n)
    return claim(bench, n)


@scenario(1, 100, 1000)
def claim_under_one_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=MANY)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100, 1000)
def claim_under_all_kinds_of_limits(bench: Workbench, n: int) -> AnyCall:
    for key in ("all", "user:*", "tag:s", "tag:t", "key:*", "key:k"):
        bench.limit(key, concurrency=MANY, starts=MANY, period_ms=60_000)
    bench.fill(n, **SOME)
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_limit_of_each_user(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    bench.limit("user:u0", concurrency=2)
    bench.real(bench.calls.enqueue(of_users(2 * n, n), "f"))
    return claim(bench, n)


@scenario(1, 100, 1000)
def claim_under_a_rate(bench: Workbench, n: int) -> AnyCall:
    bench.limit(starts=MANY, period_ms=60_000)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(10)
def claim_under_a_rate_that_is_used_up_and_one_that_is_not(bench: Workbench, n: int) -> AnyCall:
    bench.limit(starts=1, period_ms=60_000)
    bench.limit("tag:t", starts=MANY, period_ms=60_000)
    bench.lease(1, user="u")
    bench.fill(n, user="u", tags=["t"])
    return claim(bench, n)


@scenario(1, 100)
def claim_more_than_a_burst(bench: Workbench, n: int) -> AnyCall:
    bench.limit(starts=10, period_ms=1_000, burst=3)
    bench.fill(n + 3, user="u")
    return claim(bench, n + 3)


@scenario(1, 100, 1000)
def claim_under_a_full_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_alone_under_a_full_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    bench.fill(1 + n, user="u", kind="k")
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=("any",), alone_kinds=["k"])


@scenario(1, 100)
def claim_under_a_full_limit_with_one_without_record(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    _, second, *_ = bench.fill(1 + n, user="u")
    bench.ask("DEL", f":task:{second}")
    return claim(bench, n)


@scenario(1, 20)
def ack_before_a_line_with_old_entries(bench: Workbench, n: int) -> AnyCall:
    leases = running(bench, n)
    left_in_line(bench, in_line(bench, 1))
    in_line(bench, n + 5)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def claim_under_a_full_limit_with_ties(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    bench.fill(n, **TIES)
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_again_with_ties(bench: Workbench, n: int) -> AnyCall:
    """They have run before: they do not expire any more."""
    leases = bench.lease(n, **TIES)
    running(bench, 1)
    bench.real(bench.calls.release(leases))
    return claim(bench, n)


@scenario(1, 100)
def claim_others_where_a_limit_is_full(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    bench.fill(n, user="u")
    bench.fill(n)
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_that_rejects(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="reject")
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_that_rejects_with_ties(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="reject")
    bench.fill(n, **TIES)
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_that_cancels_the_newest(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="cancel_newest")
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_that_cancels_the_oldest(bench: Workbench, n: int) -> AnyCall:
    running(bench, n, policy="cancel_oldest")
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_where_a_rate_is_full_that_cancels_the_oldest(bench: Workbench, n: int) -> AnyCall:
    """Nobody goes for a start that comes by itself."""
    bench.limit(concurrency=MANY, starts=1, period_ms=60_000, policy="cancel_oldest")
    bench.lease(1, user="u")
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_under_a_full_limit_that_cancels_the_oldest_in_line(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="cancel_oldest")
    bench.fill(n + 1, user="u")
    return claim(bench, n + 1)


@scenario(1, 100)
def claim_under_a_full_limit_that_cancels_the_oldest_in_a_stale_line(bench: Workbench, n: int) -> AnyCall:
    running(bench, n, policy="cancel_oldest")
    left_in_line(bench, in_line(bench, n))
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_for_whom_another_limit_is_full(bench: Workbench, n: int) -> AnyCall:
    """They are let go by the one and wait for the other now: the next of their line may start instead."""
    leases = running(bench, n)
    bench.limit("tag:t", concurrency=1)
    bench.lease(1, tags=["t"])
    in_line(bench, n, tags=["t"])
    in_line(bench, n)
    bench.real(bench.calls.ack(acks(leases)))
    return claim(bench, n)


@scenario(1, 100)
def claim_expired_tasks_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    """More than one sweep ends: the others are found when they are to be leased."""
    bench.limit(concurrency=MANY)
    bench.fill(100 + n, user="u", expires_at=NOW + 1)
    bench.pass_time(1_000)
    return claim(bench, n)


@scenario(1)
def claim_tasks_under_a_limit_without_record(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=MANY)
    bench.ask("DEL", *[f":task:{id}" for id in bench.fill(n, user="u")])
    return claim(bench, n)


@scenario(1, 100)
def claim_again_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=n)
    bench.fill(2 * n, user="u")
    return sent(bench, claim(bench, 2 * n))


# lines that are looked at


@scenario(1, 100)
def claim_opens_the_line_of_a_rate(bench: Workbench, n: int) -> AnyCall:
    bench.limit(starts=100, period_ms=1_000, burst=100)
    bench.fill(100 + n, user="u")
    bench.claim(100 + n)
    bench.pass_time(1_000)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_whose_limit_is_higher_now(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, n)
    bench.limit(concurrency=MANY)
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_whose_limit_is_gone(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, n)
    bench.limit()
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_of_more_than_100(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, 100 + n)
    bench.limit()
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_lines(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    bench.real(bench.calls.enqueue(of_users(2 * n, n), "f"))
    bench.claim(2 * n)
    bench.limit("user:*")
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_with_ties(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    in_line(bench, n, lane="group/g", **FALLBACK, expires_at=NOW + 3_600)
    bench.fill(n, user="u", **FALLBACK)
    bench.limit()
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_of_cancelled_tasks(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    left_in_line(bench, in_line(bench, n))
    bench.limit(concurrency=MANY)
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_a_line_of_purged_tasks_that_have_come_again(bench: Workbench, n: int) -> AnyCall:
    """The same ids, blocked for another reason: they are not of this line."""
    running(bench, 1)
    ids = in_line(bench, n)
    bench.real(bench.calls.purge())
    bench.pass_time(61_000)
    bench.real(bench.calls.enqueue([("first", Task(payload=b"x", lane="group/g"))], "first"))
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x", after=["first"])) for id in ids], "again"))
    return claim(bench, n)


@scenario(1, 100)
def claim_looks_at_a_line_that_stays(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, n)
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(1, 100)
def claim_looks_at_lines_of_full_limits(bench: Workbench, n: int) -> AnyCall:
    """A minute later, though only the end of a lease opens them."""
    bench.limit("user:*", concurrency=1)
    bench.real(bench.calls.enqueue(of_users(2 * n, n), "f"))
    bench.claim(2 * n, lease=3_600)
    bench.pass_time(MEND)
    return claim(bench, n)


@scenario(1, 100)
def claim_for_holders_whose_leases_were_evicted(bench: Workbench, n: int) -> AnyCall:
    lined(bench, n, n)
    bench.ask("DEL", ":leases", ":running")
    bench.pass_time(MEND)
    return claim(bench, n)


@scenario(1, 100)
def ack_opens_more_lines_than_one_call_may(bench: Workbench, n: int) -> AnyCall:
    """The other lines are left to the next claims."""
    bench.limit("key:*", concurrency=1)
    leases = bench.lease(n, limits=lambda id: [f"{id}.{at}" for at in range(8)])
    for at in range(8):
        items = [(f"{one.id}/{at}", Task(payload=b"x", limits=[f"{one.id}.{at}"])) for one in leases]
        bench.real(bench.calls.enqueue(items, f"f{at}"))
    while bench.ready():
        bench.claim(1_000)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def claim_forgets_rates(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", starts=1, period_ms=1_000)
    bench.real(bench.calls.enqueue(of_users(n, n), "f"))
    bench.claim(n)
    bench.pass_time(2_000)
    return claim(bench, 1)


# ends that let the next in line start


scenarios(
    (1, 100, 1000),
    ack_under_a_limit=lambda bench, n: bench.calls.ack(acks(running(bench, n))),
    ack_opens_a_line=lambda bench, n: bench.calls.ack(acks(lined(bench, n, n))),
    fail_opens_a_line=lambda bench, n: bench.calls.fail(**fails(lined(bench, n, n))),
    release_opens_a_line=lambda bench, n: bench.calls.release(lined(bench, n, n)),
)


@scenario(1, 100)
def ack_opens_a_line_of_each_user(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    bench.real(bench.calls.enqueue(of_users(2 * n, n), "f"))
    return bench.calls.ack(acks(bench.claim(2 * n)))


@scenario(1, 100)
def ack_opens_one_of_many_lines(bench: Workbench, n: int) -> AnyCall:
    for key in ("all", "user:u", "tag:s", "tag:t", "key:k", "key:l"):
        bench.limit(key, concurrency=n)
    leases = bench.lease(n, **SOME)
    bench.fill(n, **SOME)
    bench.claim(n)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_opens_a_line_of_more_than_100(bench: Workbench, n: int) -> AnyCall:
    leases = lined(bench, 1, 100 + n)
    bench.limit(concurrency=MANY)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_opens_a_line_of_cancelled_tasks(bench: Workbench, n: int) -> AnyCall:
    leases = running(bench, n)
    left_in_line(bench, in_line(bench, n))
    bench.fill(n, user="u")
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_opens_lines_in_a_paused_queue(bench: Workbench, n: int) -> AnyCall:
    leases = lined(bench, n, n)
    bench.real(bench.calls.pause())
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_opens_a_line_while_the_server_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.full(False)
    leases = lined(bench, n, n)
    bench.full()
    return bench.calls.ack(acks(leases))


scenarios(
    (1, 100),
    ack_again_under_a_limit=lambda bench, n: sent(bench, bench.calls.ack(acks(lined(bench, n, n)))),
    fail_for_good_opens_a_line=lambda bench, n: bench.calls.fail(**fails(lined(bench, n, n), retryable=False)),
    snooze_opens_a_line=lambda bench, n: bench.calls.snooze([(lease, 60) for lease in lined(bench, n, n)]),
    deregister_opens_a_line=lambda bench, n: bench.calls.deregister("w", "i", leases=lined(bench, n, n)),
)


@scenario(1, 100)
def ack_of_leases_from_before_the_limit(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, user="u")
    bench.limit(concurrency=1)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def settle_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    leases = lined(bench, n, n)
    return settle(bench, acks=acks(leases), limit=n)


@scenario(2, 100)
def settle_with_both_ends_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    leases = lined(bench, n, n)
    half = n // 2
    return settle(bench, acks=acks(leases[:half]), **fails(leases[half:]), limit=n)


@scenario(1, 100)
def fail_while_cancelling_opens_a_line(bench: Workbench, n: int) -> AnyCall:
    leases = lined(bench, n, n)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return bench.calls.fail(**fails(leases))


@scenario(1, 100)
def reap_opens_a_line(bench: Workbench, n: int) -> AnyCall:
    lined(bench, n, n)
    bench.pass_time(LEASE)
    return bench.calls.reap(n)


@scenario(1, 100)
def claim_reaps_and_opens_a_line(bench: Workbench, n: int) -> AnyCall:
    lined(bench, n, n)
    bench.pass_time(LEASE)
    return claim(bench, n)


# what becomes of those in line


@scenario(1, 100)
def cancel_in_the_line_of_a_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    return bench.calls.cancel(in_line(bench, n), "r")


@scenario(1, 100)
def cancel_running_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel([lease.id for lease in lined(bench, n, n)], "r")


@scenario(1, 100)
def expire_in_the_line_of_a_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    in_line(bench, n, expires_at=NOW + 60, **FALLBACK)
    bench.pass_time(60_000)
    return bench.calls.expire(n)


@scenario(1, 100)
def purge_the_line_of_a_limit(bench: Workbench, n: int) -> AnyCall:
    lined(bench, 1, n)
    return bench.calls.purge("r")


@scenario(1, 100)
def get_in_the_line_of_a_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    return bench.calls.get(in_line(bench, n))


@scenario(1, 100)
def retry_what_a_limit_rejected(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="reject")
    ids = in_line(bench, n)
    return bench.calls.retry(ids, "r")


@scenario(1, 100)
def ack_with_followers_under_a_full_limit(bench: Workbench, n: int) -> AnyCall:
    """A limit counts when a task is to start: those who waited for others get back to their lanes."""
    (lease,) = bench.lease(1)
    running(bench, 1)
    bench.fill(n, user="u", after=[lease.id])
    return bench.calls.ack([(lease, None)])


@scenario(1, 100)
def claim_rejects_what_others_wait_for(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="reject")
    ids = bench.fill(n, user="u")
    for id in ids:
        bench.fill(1, after=[id])
    return claim(bench, n)


# set_weights and weights


@scenario(1, 100, 1000)
def set_weights_all(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.set_weights([(f"u{at}", 200) for at in range(n)], "r")


@scenario(1, 100)
def set_weights_to_what_everybody_has(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.set_weights([(f"u{at}", 200) for at in range(n)], "s"))
    return bench.calls.set_weights([(f"u{at}", 0) for at in range(n)], "r")


@scenario(1, 100)
def set_weights_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.set_weights([(f"u{at}", 200) for at in range(n)], "r"))


@scenario(1, clock="server")
def set_weights_of_a_queue_that_does_not_exist(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_weights([("u", 200)], "r")


@scenario(1, 100, 1000)
def weights_all(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.set_weights([(f"u{at}", 200) for at in range(n)], "r"))
    return bench.calls.weights()


@scenario(1, 100, 1000)
def weights_of_users(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.set_weights([("u0", 200)], "r"))
    return bench.calls.weights([f"u{at}" for at in range(n)])


@scenario(0)
def weights_from_a_bad_cursor(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.weights(cursor="x")


# fair shares


@scenario(1, 100, 1000)
def enqueue_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.enqueue(tasks(n, user="u"), "r")


@scenario(1, 100, 1000)
def enqueue_with_fair_shares_of_as_many_users(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.enqueue(of_users(n, n), "r")


@scenario(1, 100)
def enqueue_with_fair_shares_without_a_user(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.enqueue(tasks(n), "r")


@scenario(1, 100)
def enqueue_with_fair_shares_of_all_priorities(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    items = [(f"e{at}", Task(payload=b"x", user=f"u{at % 3}", priority=at % 10)) for at in range(n)]
    return bench.calls.enqueue(items, "r")


@scenario(1, 100)
def enqueue_with_fair_shares_and_weights(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.real(bench.calls.set_weights([("u0", 30), ("u1", 700)], "w"))
    return bench.calls.enqueue(of_users(n, 3), "r")


@scenario(1, 100)
def enqueue_with_fair_shares_behind_others(bench: Workbench, n: int) -> AnyCall:
    """Some of them have been claimed: newcomers begin where those are."""
    fair(bench)
    bench.fill(10, user="u0")
    bench.claim(5)
    return bench.calls.enqueue(of_users(n, 2), "r")


@scenario(1, 100)
def enqueue_with_fair_shares_again(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return sent(bench, bench.calls.enqueue(of_users(n, 2), "r"))


@scenario(1, 100)
def enqueue_with_fair_shares_later(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.enqueue(tasks(n, user="u", delay=60), "r")


@scenario(1, 100)
def enqueue_with_fair_shares_into_a_line(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    lined(bench, 1, 1)
    return bench.calls.enqueue(tasks(n, user="u"), "r")


@scenario(1, 100, 1000)
def claim_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_with_fair_shares_of_all_priorities(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    items = [(f"e{at}", Task(payload=b"x", user=f"u{at % 3}", priority=at % 10)) for at in range(n)]
    bench.real(bench.calls.enqueue(items, "f"))
    return claim(bench, n)


@scenario(1)
def claim_nothing_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return claim(bench, n)


@scenario(1, 100)
def claim_forgets_users_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.real(bench.calls.enqueue(of_users(n, n), "f"))
    bench.claim(n)
    bench.fill(2, user="u")
    bench.claim(2)
    bench.pass_time(1_000)
    return claim(bench, 1)


@scenario(1, 100)
def claim_with_fair_shares_under_a_full_limit(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    running(bench, 1)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1, 100)
def claim_opens_the_line_of_a_rate_in_a_lane_of_nobody(bench: Workbench, n: int) -> AnyCall:
    """Those whom it lets go are taken by nobody: after 5 seconds it lets more of them go."""
    bench.limit(starts=1, period_ms=1_000)
    bench.lease(1, user="u")
    in_line(bench, n)
    bench.pass_time(1_000)
    bench.sweep()
    bench.fill(n, user="u", lane="group/g")
    bench.pass_time(LOOK)
    return claim(bench, n, "group/g")


@scenario(1, 100)
def expire_to_another_lane_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.fill(n, user="u", **FALLBACK)
    bench.fill(n, **FALLBACK)
    bench.pass_time(60_000)
    return bench.calls.expire(2 * n)


@scenario(1, 100)
def promote_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.fill(n, user="u", delay=5)
    bench.fill(n, delay=5)
    bench.pass_time(5_000)
    return bench.calls.promote(2 * n)


@scenario(1, 100)
def retry_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.retry(bench.die(n, user="u"), "r")


@scenario(1, 100)
def ack_with_followers_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    (lease,) = bench.lease(1)
    bench.fill(n, user="u", after=[lease.id])
    return bench.calls.ack([(lease, None)])


@scenario(1, 100)
def release_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.release(bench.lease(n, user="u"))


@scenario(0)
def configure_fair_shares(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure("r", fair=True)


@scenario(0)
def configure_fair_shares_that_are_on(bench: Workbench, _: int) -> AnyCall:
    fair(bench)
    bench.fill(1, user="u")
    return bench.calls.configure("r", fair=True, max_attempts=5)


@scenario(0)
def configure_no_fair_shares(bench: Workbench, _: int) -> AnyCall:
    fair(bench)
    bench.fill(3, user="u")
    return bench.calls.configure("r", fair=False)


@scenario(0)
def configure_no_fair_shares_where_none_are(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.configure("r", fair=False)
