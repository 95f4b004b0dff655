"""Paths of tasks that wait for others, of what their ends mean for those, and of trees that are cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyadeq._core.queue.items import EnqueueItem
from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, scenarios, sent, settle, tasks

MINUTE = 60_000  # ms
FALLBACK: dict[str, Any] = {"fallback": ["group/other"], "fallback_after": 60}
NOW = START / 1000


def chained(number: int) -> list[tuple[str, Task]]:
    """Each after the one before; the first waits for nobody."""
    return [(f"e{at}", Task(payload=b"x", after=[f"e{at - 1}"] if at else ())) for at in range(number)]


def follow(bench: Workbench, ids: Sequence[str], **task: Any) -> None:
    """One task after each of these."""
    items = [(f"of-{id}", Task(payload=b"x", after=id, **task)) for id in ids]
    bench.real(bench.calls.enqueue(items, f"follow/{ids[0]}"))


def followed(bench: Workbench, number: int, **task: Any) -> list[Lease]:
    """So many leases, each with a task that waits for it."""
    leases = bench.lease(number)
    follow(bench, [lease.id for lease in leases], **task)
    return leases


def ending(bench: Workbench, number: int, **task: Any) -> list[Lease]:
    """The same, and all of them are to be cancelled."""
    leases = followed(bench, number, **task)
    bench.real(bench.calls.cancel([lease.id for lease in leases]))
    return leases


def needing(id: str, parent: str) -> EnqueueItem:
    return id, b"x", {"parent": parent, "needs_parent": True}


def gathered(bench: Workbench, number: int) -> list[Lease]:
    """The leases of so many children that their parent waits for."""
    (parent,) = bench.fill(1, gather=number)
    return bench.lease(number, parent=parent)


# enqueue


scenarios(
    (1, 100, 1000),
    enqueue_after_another=lambda bench, n: bench.calls.enqueue(tasks(n, after=bench.fill(1)), "r"),
    enqueue_after_each_other=lambda bench, n: bench.calls.enqueue(chained(n), "r"),
    enqueue_what_gathers=lambda bench, n: bench.calls.enqueue(tasks(n, gather=3), "r"),
)


scenarios(
    (1, 100),
    enqueue_after_64_others=lambda bench, n: bench.calls.enqueue(tasks(n, after=bench.fill(64)), "r"),
    enqueue_after_the_same_twice=lambda bench, n: bench.calls.enqueue(tasks(n, after=bench.fill(1) * 2), "r"),
    enqueue_after_a_dead_one=lambda bench, n: bench.calls.enqueue(tasks(n, after=bench.die(1)), "r"),
    enqueue_after_an_unknown_one=lambda bench, n: bench.calls.enqueue(tasks(n, after=["unknown"]), "r"),
)


@scenario(1, 100)
def enqueue_after_a_running_one(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    return bench.calls.enqueue(tasks(n, after=[lease.id]), "r")


@scenario(1, 100)
def enqueue_after_a_running_one_that_is_to_be_cancelled(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.cancel([lease.id]))
    return bench.calls.enqueue(tasks(n, after=[lease.id]), "r")


@scenario(1, 100)
def enqueue_after_a_completed_one(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.ack([(lease, None)]))
    return bench.calls.enqueue(tasks(n, after=[lease.id]), "r")


@scenario(1, 100)
def enqueue_after_a_cancelled_one_whose_failure_is_wanted(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(1)
    bench.real(bench.calls.cancel(ids))
    return bench.calls.enqueue(tasks(n, after=ids, after_when="failed", delay=60, **FALLBACK), "r")


@scenario(1, 100)
def enqueue_after_any_of_them(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(3)
    return bench.calls.enqueue(tasks(n, after=ids, after_any=True, after_when="ended", expires_at=NOW + 1), "r")


@scenario(1, 100)
def enqueue_after_another_again(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.enqueue(tasks(n, after=bench.fill(1)), "r"))


@scenario(1, 100)
def enqueue_after_one_that_was_purged_again(bench: Workbench, n: int) -> AnyCall:
    call = sent(bench, bench.calls.enqueue(tasks(n, after=bench.fill(1)), "r"))
    bench.real(bench.calls.purge())
    return call


@scenario(1, 100, 1000)
def enqueue_children_that_are_gathered(bench: Workbench, n: int) -> AnyCall:
    (parent,) = bench.fill(1, gather=n)
    return bench.calls.enqueue(tasks(n, parent=parent), "r")


@scenario(1, 100, 1000)
def enqueue_children_that_need_who_gathers_them(bench: Workbench, n: int) -> AnyCall:
    (parent,) = bench.fill(1, gather=n)
    return bench.calls.enqueue_items([needing(id, parent) for id, _ in tasks(n)], "r")


@scenario(1, 100, 1000)
def enqueue_children_after_the_parent_that_waits_for_them(bench: Workbench, n: int) -> AnyCall:
    parents = bench.fill(n, gather=2)
    return bench.calls.enqueue([(f"c{at}", Task(parent=id, after=id)) for at, id in enumerate(parents)], "r")


@scenario(1)
def enqueue_children_after_their_parent_and_others(bench: Workbench, _: int) -> AnyCall:
    any_child, both = bench.fill(1, gather=2, after_any=True) + bench.fill(1, gather=2)
    x, y = bench.fill(2)
    mixed = ((any_child, [any_child], True), (any_child, [any_child, x, y], True), (both, [x, y, both], False))
    after = [(f"c{at}", Task(parent=id, after=ids, after_any=one)) for at, (id, ids, one) in enumerate(mixed)]
    last = ("last", Task(parent=both, after=both))
    return bench.calls.enqueue([*after, ("plain", Task(parent=both)), last], "r")


@scenario(1, 100)
def enqueue_children_whose_parent_is_lost(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue_items([needing(id, "lost") for id, _ in tasks(n)], "r")


@scenario(1)
def enqueue_children_that_need_a_parent_and_others(bench: Workbench, n: int) -> AnyCall:
    id, payload, pairs = needing("c", *bench.fill(1, gather=n))
    return bench.calls.enqueue_items([(id, payload, {**pairs, "after": bench.fill(1)})], "r")


@scenario(1, 100)
def enqueue_children_of_one_that_gathers_no_more(bench: Workbench, n: int) -> AnyCall:
    (lease,) = gathered(bench, 1)
    bench.real(bench.calls.ack([(lease, None)]))
    return bench.calls.enqueue(tasks(n, parent="t000001"), "r")


@scenario(1, 100)
def enqueue_children_of_one_that_waits_for_another(bench: Workbench, n: int) -> AnyCall:
    (parent,) = bench.fill(1, after=bench.fill(1))
    return bench.calls.enqueue(tasks(n, parent=parent), "r")


@scenario(1, 100)
def enqueue_what_gathers_with_its_children(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.enqueue([("p", Task(payload=b"x", gather=n, after=bench.fill(1))), *tasks(n, parent="p")], "r")


# ack and settle


@scenario(1, 100, 1000)
def ack_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(followed(bench, n)))


@scenario(1, 100, 1000)
def ack_one_with_followers(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.fill(n, after=[lease.id])
    return bench.calls.ack([(lease, None)])


@scenario(1, 100)
def ack_with_followers_of_all(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2)
    bench.fill(n, after=[lease.id for lease in leases])
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_with_followers_of_any(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2)
    bench.fill(n, after=[lease.id for lease in leases], after_any=True)
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_with_followers_of_any_that_want_a_failure(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2)
    bench.fill(n, after=[lease.id for lease in leases], after_any=True, after_when="failed")
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def fail_with_followers_of_any(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(2)
    bench.fill(n, after=[lease.id for lease in leases], after_any=True)
    return bench.calls.fail(**fails(leases, retryable=False))


@scenario(1, 100)
def ack_while_an_earlier_end_is_not_passed_on(bench: Workbench, n: int) -> AnyCall:
    """Those of this call wait for their turn."""
    leases = followed(bench, n)
    (first,) = bench.lease(1)
    bench.fill(101, after=[first.id])
    bench.real(bench.calls.ack([(first, None)]))
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_with_followers_that_wait_on(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(followed(bench, n, delay=1, **FALLBACK)))


@scenario(1, 100)
def ack_with_followers_that_want_a_failure(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(followed(bench, n, after_when="failed")))


@scenario(1, 100, 1000)
def ack_gathered(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(gathered(bench, n)))


@scenario(1, 100)
def ack_again_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return sent(bench, bench.calls.ack(acks(followed(bench, n))))


@scenario(1, 100)
def ack_with_followers_in_a_paused_queue(bench: Workbench, n: int) -> AnyCall:
    leases = followed(bench, n)
    bench.real(bench.calls.pause())
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_with_followers_while_the_server_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.full(False)
    leases = followed(bench, n)
    bench.full()
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def ack_with_followers_beyond_what_is_kept(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0, dead_max=0))
    leases = followed(bench, 2 * n)
    bench.fill(n, after=[lease.id for lease in leases[:64]], after_when="failed")
    return bench.calls.ack(acks(leases))


@scenario(1, 100)
def settle_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    leases = followed(bench, 2 * n)
    return settle(bench, acks=acks(leases[:n]), **fails(leases[n:], retryable=False), limit=n)


# fail, release, snooze, deregister


@scenario(1, 100, 1000)
def fail_for_good_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(followed(bench, n), retryable=False))


scenarios(
    (1, 100),
    fail_with_followers_that_wait_on=lambda bench, n: bench.calls.fail(**fails(followed(bench, n))),
    fail_gathered=lambda bench, n: bench.calls.fail(**fails(gathered(bench, n), retryable=False)),
    release_while_cancelling_with_a_follower_each=lambda bench, n: bench.calls.release(ending(bench, n)),
)


@scenario(1, 100, 1000)
def fail_at_the_head_of_a_chain(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue(chained(n), "r"))
    return bench.calls.fail(**fails(bench.claim(1), retryable=False))


@scenario(1, 100)
def fail_while_cancelling_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail(**fails(ending(bench, n, after_when="failed")))


@scenario(1, 100)
def snooze_while_cancelling_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.snooze([(lease, 60) for lease in ending(bench, n, after_when="ended")])


@scenario(1, 100)
def deregister_while_cancelling_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.deregister("w", "i", leases=ending(bench, n))


# cancel


@scenario(1, 100, 1000)
def cancel_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    follow(bench, ids)
    return bench.calls.cancel(ids, "r")


@scenario(1, 100)
def cancel_blocked(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel(bench.fill(n, after=bench.fill(1)), "r")


@scenario(1, 100, 1000)
def cancel_a_tree(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.fill(1)
    bench.fill(n, parent=root)
    return bench.calls.cancel([root], "r", tree=True)


@scenario(1, 100)
def cancel_a_tree_of_running_ones(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.lease(1)
    bench.lease(n, parent=root.id)
    return bench.calls.cancel([root.id], "r", tree=True)


@scenario(1, 100)
def cancel_a_tree_of_three_levels(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.fill(1)
    middle = bench.fill(10, parent=root)
    for parent in middle:
        bench.fill(max(1, n // 10), parent=parent)
    return bench.calls.cancel([root], "r", tree=True)


@scenario(1, 100)
def cancel_trees_again(bench: Workbench, n: int) -> AnyCall:
    roots = bench.fill(n)
    for root in roots:
        bench.fill(1, parent=root)
    return sent(bench, bench.calls.cancel(roots, "r", tree=True))


@scenario(1, 100)
def cancel_a_tree_named_twice(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.fill(1)
    bench.fill(n, parent=root)
    return bench.calls.cancel([root, root], "r", tree=True)


@scenario(1, clock="server")
def cancel_a_tree_of_a_queue_that_does_not_exist(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.cancel([f"unknown{at}" for at in range(n)], "r", tree=True)


# sweeps


@scenario(1, 100)
def expire_blocked(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, after=bench.fill(1), expires_at=NOW + 60, **FALLBACK)
    bench.pass_time(MINUTE)
    return bench.calls.expire(n)


@scenario(1, 100)
def expire_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    follow(bench, bench.fill(n, expires_at=NOW + 60), after_when="failed")
    bench.pass_time(MINUTE)
    return bench.calls.expire(n)


@scenario(1, 100)
def reap_crash_loops_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(max_crashes=1))
    followed(bench, n)
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def reap_while_cancelling_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    ending(bench, n, after_when="ended")
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def claim_passes_on(bench: Workbench, n: int) -> AnyCall:
    """What a purge has noted."""
    bench.fill(n, after=bench.fill(1, lane="group/a"), after_when="failed")
    bench.real(bench.calls.purge(limit=1))
    return claim(bench, n)


@scenario(1, 100)
def claim_passes_on_what_is_left_of_many(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.fill(100 + n, after=[lease.id])
    bench.real(bench.calls.ack([(lease, None)]))
    return claim(bench, n)


@scenario(1, 100)
def claim_cancels_what_is_left_of_a_tree(bench: Workbench, n: int) -> AnyCall:
    (root,) = bench.fill(1)
    bench.fill(100 + n, parent=root)
    bench.real(bench.calls.cancel([root], "r", tree=True))
    return claim(bench, n)


@scenario(1)
def claim_cancels_what_is_left_of_a_tree_that_was_trimmed(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    (root,) = bench.fill(1)
    bench.fill(100 + n, parent=root)
    bench.real(bench.calls.cancel([root], "r", tree=True))
    return claim(bench, n)


@scenario(1, 100)
def claim_expired_tasks_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    """More than one sweep ends: the others are found when they are to be leased."""
    follow(bench, bench.fill(100 + n, expires_at=NOW + 1))
    bench.pass_time(1_000)
    return claim(bench, n)


@scenario(1, 100)
def promote_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    follow(bench, bench.fill(n, delay=5))
    bench.pass_time(5_000)
    return bench.calls.promote(n)


# purge and retry


@scenario(1, 100, 1000)
def purge_blocked(bench: Workbench, n: int) -> AnyCall:
    (lease,) = bench.lease(1)
    bench.fill(n, after=[lease.id])
    return bench.calls.purge("r")


@scenario(1, 100)
def purge_with_a_follower_each(bench: Workbench, n: int) -> AnyCall:
    follow(bench, bench.fill(n))
    return bench.calls.purge("r", limit=n)


@scenario(1, 100)
def retry_what_waited_for_others_in_vain(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.retry(bench.fill(n, after=bench.die(1)), "r")


# damage: what an evicting server leaves, and somebody by hand


@scenario(1, 100)
def claim_tasks_with_followers_without_record(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    follow(bench, ids)
    bench.ask("DEL", *[f":task:{id}" for id in ids])
    return claim(bench, n)


@scenario(1, 100)
def promote_tasks_with_followers_without_record(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, delay=5)
    follow(bench, ids)
    bench.ask("DEL", *[f":task:{id}" for id in ids])
    bench.pass_time(5_000)
    return bench.calls.promote(n)


@scenario(1, 100)
def reap_tasks_with_followers_without_record(bench: Workbench, n: int) -> AnyCall:
    leases = followed(bench, n)
    bench.ask("DEL", *[f":task:{lease.id}" for lease in leases])
    bench.pass_time(15_000)
    return bench.calls.reap(n)


@scenario(1, 100)
def expire_tasks_with_followers_without_record(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, expires_at=NOW + 60)
    follow(bench, ids)
    bench.ask("DEL", *[f":task:{id}" for id in ids])
    bench.pass_time(MINUTE)
    return bench.calls.expire(n)


@scenario(1)
def enqueue_in_a_draining_queue_what_waits_for_nobody(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.drain())
    return bench.calls.enqueue(tasks(n, after=["nobody"]), "r")


@scenario(1)
def enqueue_in_a_draining_queue_children_of_nobody(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.drain())
    children: list[Any] = [(f"c{at}", b"x", {"parent": "nobody", "needs_parent": True}) for at in range(n)]
    return bench.calls.enqueue_items(children, "r")
