"""Paths through the lines of limits and through fair shares that few queues take; and calls that say who sends them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyadeq.models import Task
from tests.nouns.queue.scenarios_of_limits import (
    LOOK,
    MEND,
    ack_opens_more_lines_than_one_call_may,
    fair,
    in_line,
    left_in_line,
    lined,
    of_users,
    running,
)
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, settle, tasks

LANE = "group/g"
PLACED: dict[str, Any] = {"lane": LANE, "priority": 1}

# limits


@scenario(0)
def set_limits_that_cancel_the_oldest(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"concurrency": 1, "policy": "cancel_oldest"})], "r")


@scenario(0)
def set_limits_that_reject_by_a_rate(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("all", {"starts": 1, "period_ms": 1, "policy": "reject"})], "r")


@scenario(1)
def limits_of_a_key_with_its_own(bench: Workbench, _: int) -> AnyCall:
    bench.limit("key:k", concurrency=1)
    return bench.calls.limits(["key:k"])


@scenario(1)
def enqueue_with_limit_keys_alone(bench: Workbench, n: int) -> AnyCall:
    bench.limit("key:k", concurrency=1)
    return bench.calls.enqueue(tasks(n, limits=["k"]), "r")


@scenario(1)
def enqueue_a_tag_given_twice_under_its_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit("tag:t", concurrency=1)
    return bench.calls.enqueue(tasks(n, tags=["t", "t"]), "r")


@scenario(1)
def enqueue_a_child_of_a_parent_that_waits_for_a_limit(bench: Workbench, n: int) -> AnyCall:
    """What the parent was to gather has come, so this one does not count."""
    running(bench, 1)
    (parent,) = bench.fill(1, gather=1, user="u")
    bench.real(bench.calls.ack(acks(bench.lease(1, parent=parent))))
    bench.settle()
    assert bench.claim(1) == []
    return bench.calls.enqueue(tasks(n, parent=parent), "r")


@scenario(1)
def claim_under_a_full_limit_what_nothing_expires(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    bench.fill(n, user="u", unique="k")
    return claim(bench, n)


@scenario(1)
def claim_for_whom_one_limit_of_two_is_full(bench: Workbench, n: int) -> AnyCall:
    """Nobody waits for the other one."""
    bench.limit("user:u", concurrency=10)
    bench.limit("tag:t", concurrency=1)
    bench.lease(1, tags=["t"])
    bench.fill(n, user="u", tags=["t"])
    return claim(bench, n)


@scenario(1)
def ack_opens_a_line_of_those_with_a_deadline(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(lined(bench, n, n, expires_at=START / 1000 + 60)))


@scenario(1)
def claim_opens_a_damaged_line_that_cancels_the_oldest(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.ack(acks(running(bench, n, policy="cancel_oldest"))))
    in_line_of(bench, n)
    bench.pass_time(MEND)
    return claim(bench, n)


def in_line_of(bench: Workbench, n: int) -> None:
    """So many that came to the line while another was there, who has gone without a word."""
    (holder,) = bench.lease(1, user="u")
    bench.fill(n, user="u")
    assert bench.claim(n) == []
    bench.ask("ZREM", ":holding:user:u", holder.id)


@scenario(0)
def set_limits_of_all_of_a_kind(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.set_limits([("user:*", {"concurrency": 1})], "r")


@scenario(0)
def set_limits_of_all_of_a_kind_that_others_have(bench: Workbench, _: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    return bench.calls.set_limits([("user:*", {"concurrency": 2})], "r")


def let_go(bench: Workbench, n: int, **rule: Any) -> None:
    """One has been let go from a line of so many, to its lane."""
    (holder,) = running(bench, 1, **rule)
    bench.fill(n, user="u")
    assert bench.claim(1) == []
    bench.real(bench.calls.ack(acks([holder])))
    bench.settle()
    assert len(bench.ready()) == 1


@scenario(2)
def claim_looks_again_at_a_line_of_which_one_has_started(bench: Workbench, n: int) -> AnyCall:
    let_go(bench, n)
    bench.claim(1)
    bench.pass_time(LOOK)
    return claim(bench, n)


@scenario(2)
def claim_looks_again_at_a_line_of_which_nobody_has_started(bench: Workbench, n: int) -> AnyCall:
    let_go(bench, n)
    bench.pass_time(LOOK)
    return claim(bench, n, LANE)


@scenario(4)
def claim_looks_again_at_a_line_that_cancels_the_oldest(bench: Workbench, n: int) -> AnyCall:
    let_go(bench, n)
    bench.limit(concurrency=1, policy="cancel_oldest")
    bench.settle()
    bench.pass_time(LOOK)
    return claim(bench, n, LANE)


@scenario(2)
def claim_mends_a_line_without_holders_evicted(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=1)
    bench.fill(1, user="u")
    bench.claim(1, lease=3_600)
    in_line(bench, n)
    bench.ask("DEL", ":holding:user:u")
    bench.pass_time(MEND)
    return claim(bench, n)


@scenario(11)
def ack_opens_a_line_of_cancelled_tasks_and_one_more(bench: Workbench, n: int) -> AnyCall:
    (holder,) = running(bench, 1)
    left_in_line(bench, in_line(bench, n)[:-1])
    return bench.calls.ack(acks([holder]))


@scenario(101)
def claim_opens_lines_of_many_users(bench: Workbench, n: int) -> AnyCall:
    """A hundred of them: there is more to do."""
    bench.limit("user:*", concurrency=1)
    bench.real(bench.calls.enqueue(of_users(2 * n, n), "f"))
    bench.claim(2 * n)
    bench.limit("user:*")
    return claim(bench, n)


@scenario(100)
def claim_opens_lines_that_one_call_has_left(bench: Workbench, n: int) -> AnyCall:
    bench.real(ack_opens_more_lines_than_one_call_may(bench, n))
    return claim(bench, n)


@scenario(4)
def claim_looks_again_at_long_lines(bench: Workbench, n: int) -> AnyCall:
    """More than one call may let go: the last ones are due still."""
    bench.limit("user:*", concurrency=1)
    holders = [bench.lease(1, user=f"u{at}")[0] for at in range(n)]
    for at in range(n):
        bench.fill(103, user=f"u{at}")
    while bench.ready():
        bench.claim(1_000)
    bench.real(bench.calls.ack(acks(holders)))
    bench.pass_time(LOOK)
    return claim(bench, n, LANE)


@scenario(1)
def claim_under_a_rate_that_was_much_slower(bench: Workbench, n: int) -> AnyCall:
    bench.limit(starts=1, period_ms=3_600_000)
    bench.lease(1, user="u")
    bench.limit(starts=1, period_ms=1)
    bench.fill(n, user="u")
    return claim(bench, n)


@scenario(1)
def settle_rejects_what_others_wait_for(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1, policy="reject")
    bench.fill(1, after=bench.fill(n, user="u"))
    return settle(bench, limit=n)


@scenario(1)
def ack_of_another_that_one_waited_for_which_waits_for_a_limit(bench: Workbench, n: int) -> AnyCall:
    running(bench, 1)
    first, last = bench.lease(2)
    bench.fill(n, after=[first.id, last.id], after_any=True, user="u")
    bench.real(bench.calls.ack(acks([first])))
    bench.settle()
    assert bench.claim(n) == []
    return bench.calls.ack(acks([last]))


@scenario(1)
def ack_of_one_that_another_waited_for_at_another_place(bench: Workbench, n: int) -> AnyCall:
    """A task of the same id was there before, which another hand took away."""
    leases = bench.lease(2)
    for lease in leases:
        bench.real(bench.calls.enqueue([("e", Task(payload=b"x", after=lease.id))], lease.id))
        if lease is leases[0]:
            bench.real(bench.calls.purge())
            bench.ask("DEL", ":task:e")
    return bench.calls.ack(acks(leases[:n]))


# fair shares


@scenario(1)
def enqueue_fair_in_a_lane(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.enqueue(tasks(n, user="u", **PLACED), "r")


@scenario(1)
def promote_fair_into_a_lane(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.fill(n, delay=5, user="u", **PLACED)
    bench.pass_time(5_000)
    return bench.calls.promote()


@scenario(1)
def retry_fair_in_its_lane(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    return bench.calls.retry(bench.die(n, **PLACED), "r")


@scenario(1)
def ack_lets_another_go_fair_to_its_lane(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    leases = bench.lease(n)
    bench.fill(1, after=[leases[0].id], **PLACED)
    return bench.calls.ack(acks(leases))


@scenario(1)
def claim_fair_and_leave_some(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    bench.fill(n + 1, user="u")
    return claim(bench, n)


@scenario(1)
def claim_forgets_those_whose_last_task_was_claimed(bench: Workbench, n: int) -> AnyCall:
    fair(bench)
    for user in ("u", "v"):
        bench.fill(n, user=user)
    bench.fill(3, user="v")
    bench.claim(10)
    bench.pass_time(1_000)
    return claim(bench, n)


@scenario(0)
def settle_fair_for_no_lane(bench: Workbench, _: int) -> AnyCall:
    """As a client may ask that is not ours."""
    fair(bench)
    call = settle(bench)
    return replace(call, args=(*call.args[:-2], 0))


# where a call comes from


def traced(bench: Workbench) -> Workbench:
    bench.calls = replace(bench.calls, source="tests", trace=lambda: "00-1-2-01")
    return bench


@scenario(1)
def enqueue_from_somewhere(bench: Workbench, n: int) -> AnyCall:
    return traced(bench).calls.enqueue(tasks(n), "r")


@scenario(1)
def enqueue_from_somewhere_into_two_lanes(bench: Workbench, n: int) -> AnyCall:
    other = Task(payload=b"x" * 1025, lane="group/g", timeout=5)
    return traced(bench).calls.enqueue([*tasks(n + 1), ("other", other)], "r")


@scenario(1)
def enqueue_of_users_under_a_trace(bench: Workbench, n: int) -> AnyCall:
    bench.calls = replace(bench.calls, trace=lambda: "00-1-2-01")
    of_users = [(f"u{at}", Task(payload=b"x", user="ann")) for at in range(n + 1)]
    own = ("own", Task(payload=b"x", source="own", priority=2))
    return bench.calls.enqueue([*tasks(n + 1), *of_users, own], "r")


@scenario(1)
def cancel_from_somewhere(bench: Workbench, n: int) -> AnyCall:
    return traced(bench).calls.cancel(bench.fill(n), "r")


@scenario(1)
def ack_from_a_source(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.calls = replace(bench.calls, source="tests")
    return bench.calls.ack(acks(leases))


@scenario(1)
def fail_in_a_trace(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.calls = replace(bench.calls, trace=lambda: "00-1-2-01")
    return bench.calls.fail(**fails(leases))


# weights


@scenario(0)
def weights_of_a_first_page(bench: Workbench, _: int) -> AnyCall:
    heavy(bench)
    return bench.calls.weights()


@scenario(0)
def weights_of_a_second_page(bench: Workbench, _: int) -> AnyCall:
    heavy(bench)
    cursor = bench.real(bench.calls.weights())[1]
    return bench.calls.weights(cursor=cursor)


def heavy(bench: Workbench) -> None:
    bench.real(bench.calls.set_weights([(f"u{at}", 200) for at in range(1000)], "heavy"))


# more of what comes again, or comes with little


@scenario(0)
def schedules_of_a_name_that_is_due(bench: Workbench, _: int) -> AnyCall:
    bench.due()
    return bench.calls.schedules(name="s", due=True)


@scenario(0)
def trigger_a_minute_later_again(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.schedule(overlap="allow")
    bench.real(bench.calls.trigger(schedule, "t", "r"))
    bench.pass_time(60_000)
    return bench.calls.trigger(schedule, "t", "r")


@scenario(2)
def cancel_a_tree_that_is_a_circle(bench: Workbench, _: int) -> AnyCall:
    circle = [("a", Task(payload=b"x", parent="b")), ("b", Task(payload=b"x", parent="a"))]
    bench.real(bench.calls.enqueue(circle, "r"))
    return bench.calls.cancel(["a"], "r", tree=True)


@scenario(0, clock="server")
def configure_new_with_a_test_clock(bench: Workbench, _: int) -> AnyCall:
    bench.now = START
    return bench.calls.configure(clock="test")


@scenario(1)
def heartbeat_tied_without_a_timeout(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.heartbeat(bench.lease(n, unique="k"))


@scenario(1)
def ack_a_large_result_where_memory_has_no_bound(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(bench.lease(n, reply=True), b"x" * 5_000))


@scenario(100)
def list_until_a_mebibyte(bench: Workbench, n: int) -> AnyCall:
    """Each says which others it came after, 64 with long names."""
    named = [f"{at:0200}" for at in range(64)]
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x")) for id in named], "named"))
    bench.real(bench.calls.enqueue(tasks(n, after=named, user="u"), "long"))
    return bench.calls.list(user="u")
