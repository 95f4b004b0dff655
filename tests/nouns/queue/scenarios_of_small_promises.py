"""Paths of histories that are rare: ids and keys that are used again, leases that expire all at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat

from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from pyadeq.models.schedule import Every
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, scenario, scenarios


def with_two_keys(bench: Workbench) -> None:
    """A task for which a key stands that its record does not know."""
    bench.fill(1, unique="u", idempotency_key="k")
    bench.fill(1, unique="u", idempotency_key="l")


@scenario(1)
def claim_the_last_of_a_lane_that_was_fair(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    bench.fill(n)
    bench.real(bench.calls.configure(fair=False))
    bench.worker()
    return bench.calls.claim("w", "i", 0, 1_000, limit=n)


@scenario(1)
def enqueue_by_a_second_key(bench: Workbench, n: int) -> AnyCall:
    with_two_keys(bench)
    return bench.calls.enqueue([("x", Task(payload=b"x", idempotency_key="l"))], "r")


@scenario(1)
def enqueue_by_a_second_key_of_what_was_purged(bench: Workbench, n: int) -> AnyCall:
    with_two_keys(bench)
    bench.real(bench.calls.purge("p"))
    return bench.calls.enqueue([("x", Task(payload=b"x", idempotency_key="l"))], "r")


@scenario(1)
def enqueue_a_third_key(bench: Workbench, n: int) -> AnyCall:
    with_two_keys(bench)
    return bench.calls.enqueue([("x", Task(payload=b"x", unique="u", idempotency_key="m"))], "r")


@scenario(1)
def enqueue_its_own_key_when_that_is_over(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(1, unique="u", idempotency_key="k")
    bench.pass_time(1_000)
    return bench.calls.enqueue([("x", Task(payload=b"x", unique="u", idempotency_key="k"))], "r")


@scenario(1)
def purge_what_has_two_keys(bench: Workbench, n: int) -> AnyCall:
    with_two_keys(bench)
    return bench.calls.purge("r")


@scenario(1)
def purge_two_that_have_two_keys(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=60))
    with_two_keys(bench)
    bench.fill(1, unique="v", idempotency_key="m")
    bench.fill(1, unique="v", idempotency_key="n")
    return bench.calls.purge("r")


def used_again(bench: Workbench, times: int) -> None:
    """An id that so many calls have used, one after the other, within a minute."""
    bench.real(bench.calls.configure(finished_max=0))
    for at in range(times):
        bench.real(bench.calls.enqueue([("a", Task(payload=b"x"))], f"r{at}"))
        bench.real(bench.calls.ack(acks(bench.claim(1))))


@scenario(1, 2)
def enqueue_an_id_that_is_used_again(bench: Workbench, n: int) -> AnyCall:
    used_again(bench, n)
    return bench.calls.enqueue([("a", Task(payload=b"x"))], "r")


@scenario(1)
def enqueue_again_when_another_has_the_id(bench: Workbench, n: int) -> AnyCall:
    used_again(bench, 2)
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x"))], "r2"))
    return bench.calls.enqueue([("a", Task(payload=b"x"))], "r0")


@scenario(1)
def enqueue_into_a_line_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    bench.claim(1)
    return bench.calls.enqueue([("x", Task(payload=b"x", user="u")), ("y", Task(payload=b"x"))], "r")


@scenario(1)
def enqueue_into_a_line_of_an_empty_lane_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    bench.claim(1)
    return bench.calls.enqueue([("x", Task(payload=b"x", user="u", lane="group/g"))], "r")


@scenario(1)
def purge_an_id_that_is_used_again(bench: Workbench, n: int) -> AnyCall:
    used_again(bench, 2)
    bench.real(bench.calls.enqueue([("a", Task(payload=b"x"))], "r"))
    return bench.calls.purge("p")


@scenario(1)
def reap_some_of_many(bench: Workbench, n: int) -> AnyCall:
    ids = ["c", "b", "a"]
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x")) for id in ids], "r"))
    bench.claim(3)
    bench.pass_time(1)
    bench.lease(1)
    bench.pass_time(15_000)
    return bench.calls.reap(2)


@scenario(1)
def reap_some_of_many_damaged(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(4)
    bench.ask("HDEL", ":running", *[lease.id for lease in leases[:2]])
    bench.pass_time(15_000)
    return bench.calls.reap(1)


@scenario(1)
def cancel_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    return bench.calls.cancel(bench.fill(n, user="u"), "r")


@scenario(1)
def claim_after_the_clock_was_set_back_by_hours(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    bench.worker()
    bench.real(bench.calls.snapshot())
    bench.now -= 7_200_000
    return bench.calls.claim("w", "i", 0, 10**6, limit=n, lanes=["any"])


@scenario(1)
def claim_that_leaves_ends(bench: Workbench, n: int) -> AnyCall:
    late = bench.now / 1000 + 1
    bench.fill(100, lane="group/h", expires_at=late)
    (root,) = bench.fill(1, expires_at=late)
    bench.fill(150, after=[root])
    bench.pass_time(1_000)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 10**6, limit=1, lanes=["any"])


def just_told(bench: Workbench) -> None:
    """Expired tasks that one call finds, and whose ends it has just told when it comes to its limit."""
    late = bench.now / 1000 + 1
    bench.fill(100, lane="group/h", expires_at=late)
    (root,) = bench.fill(1, expires_at=late)
    bench.fill(1, expires_at=late, ordering_key="k")
    bench.fill(1, ordering_key="k")
    bench.fill(99, after=[root])
    bench.pass_time(1_000)
    bench.worker()


@scenario(1)
def claim_that_leaves_no_ends(bench: Workbench, n: int) -> AnyCall:
    just_told(bench)
    return bench.calls.claim("w", "i", 0, 10**6, limit=2, lanes=["any"])


@scenario(1)
def settle_that_leaves_no_ends(bench: Workbench, n: int) -> AnyCall:
    just_told(bench)
    return bench.calls.settle("w", "i", 0, 10**6, limit=2, lanes=["any"])


@scenario(1)
def settle_that_leaves_ends(bench: Workbench, n: int) -> AnyCall:
    late = bench.now / 1000 + 1
    bench.fill(100, lane="group/h", expires_at=late)
    (root,) = bench.fill(1, expires_at=late)
    bench.fill(150, after=[root])
    bench.pass_time(1_000)
    bench.worker()
    return bench.calls.settle("w", "i", 0, 10**6, limit=1, lanes=["any"])


@scenario(1)
def steer_schedule_remove_with_a_run(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.firing(bench.due()))
    return bench.calls.remove_schedule("s", "r")


@scenario(1)
def steer_schedule_remove_without_runs(bench: Workbench, n: int) -> AnyCall:
    bench.schedule()
    return bench.calls.remove_schedule("s", "r")


@scenario(1)
def put_schedule_that_was_removed_with_a_run(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.firing(bench.due()))
    bench.real(bench.calls.remove_schedule("s", "r"))
    return bench.calls.put_schedule("s", Every(60), Task(payload=b"x"), "p", bench.now / 1000)


@scenario(1, 2)
def progress_late(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    call = bench.calls.progress([(lease, {"ppm": 1}) for lease in leases], "one")
    bench.real(call)
    bench.real(bench.calls.progress([(lease, {"ppm": 2}) for lease in leases], "two"))
    return call


def due_after_crashes(bench: Workbench, n: int) -> None:
    """Tasks that crashed a second time, which are due again in a second."""
    bench.crash(1, n)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap(1000))


@scenario(2, 100)
def promote_what_crashed_again(bench: Workbench, n: int) -> AnyCall:
    due_after_crashes(bench, n)
    bench.pass_time(1_000)
    return bench.calls.promote(n)


@scenario(2)
def promote_some_of_many_that_are_due_at_once(bench: Workbench, n: int) -> AnyCall:
    due_after_crashes(bench, n)
    bench.fill(n, delay=1)
    bench.fill(1, delay=0.5)
    bench.pass_time(1_000)
    return bench.calls.promote(n)


# families of which a part was removed


def family(bench: Workbench, **parents: str) -> dict[str, Lease]:
    """Running tasks, by id, with their parents; what ends is removed at once."""
    bench.real(bench.calls.configure(finished_max=0))
    items = [(id, Task(payload=b"x", parent=parent or None)) for id, parent in parents.items()]
    bench.real(bench.calls.enqueue(items, "family"))
    return {lease.id: lease for lease in bench.claim(len(parents))}


def ack(bench: Workbench, leases: dict[str, Lease], *ids: str) -> AnyCall:
    return bench.calls.ack([(leases[id], None) for id in ids])


scenarios(
    (1,),
    ack_a_child_that_has_a_child=lambda bench, n: ack(bench, family(bench, a="", b="a", c="b"), "b"),
    ack_a_root_with_a_child=lambda bench, n: ack(bench, family(bench, a="", b="a"), "a"),
    ack_its_own_parent=lambda bench, n: ack(bench, family(bench, a="a"), "a"),
)


@scenario(1)
def ack_children_with_and_without_children(bench: Workbench, n: int) -> AnyCall:
    return ack(bench, family(bench, a="", b="a", c="b", d="b", e="a", f="g"), "b", "e", "f")


@scenario(1)
def ack_the_only_child_of_a_link(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="", b="a", c="b")
    bench.real(ack(bench, leases, "b"))
    return ack(bench, leases, "c")


@scenario(1)
def ack_a_child_of_a_link_that_has_a_child(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="", b="a", c="b", d="c")
    bench.real(ack(bench, leases, "b"))
    return ack(bench, leases, "c")


@scenario(1)
def ack_a_child_of_a_link_of_a_cancelled_tree(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="", b="a", c="b")
    bench.real(ack(bench, leases, "b"))
    bench.real(bench.calls.cancel(["a"], "tree", tree=True))
    bench.fill(1, parent="c")
    return ack(bench, leases, "c")


@scenario(1)
def ack_a_child_of_a_link_in_a_cancelled_tree(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="", b="a", c="b")
    bench.real(ack(bench, leases, "b"))
    bench.fill(1, parent="c")
    bench.real(bench.calls.cancel(["a"], "tree", tree=True))
    bench.fill(1, parent="c")
    return ack(bench, leases, "c")


@scenario(1)
def trim_an_old_child_that_has_a_child(bench: Workbench, n: int) -> AnyCall:
    (old,) = bench.lease(1, parent="root")
    bench.fill(1, parent=old.id)
    bench.real(bench.calls.ack([(old, None)]))
    bench.pass_time(61_000)
    bench.real(bench.calls.configure(finished_max=0))
    return bench.calls.trim()


@scenario(1)
def ack_the_child_of_a_removed_root(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="", b="a")
    bench.real(ack(bench, leases, "a"))
    return ack(bench, leases, "b")


@scenario(1)
def ack_the_other_of_two_parents_of_each_other(bench: Workbench, n: int) -> AnyCall:
    leases = family(bench, a="b", b="a")
    bench.real(ack(bench, leases, "a"))
    return ack(bench, leases, "b")


@scenario(1)
def enqueue_the_id_of_a_link(bench: Workbench, n: int) -> AnyCall:
    bench.real(ack(bench, family(bench, a="", b="a", c="b"), "b"))
    return bench.calls.enqueue([("b", Task(payload=b"x"))], "r")


@scenario(1)
def cancel_a_tree_with_a_link(bench: Workbench, n: int) -> AnyCall:
    bench.real(ack(bench, family(bench, a="", b="a", c="b"), "b"))
    return bench.calls.cancel(["a"], "r", tree=True)


@scenario(1)
def cancel_a_damaged_tree_with_a_link_to_nobody(bench: Workbench, n: int) -> AnyCall:
    """An older build has removed the last child."""
    bench.real(ack(bench, family(bench, a="", b="a", c="b"), "b"))
    bench.ask("DEL", ":children:b", ":task:c")
    return bench.calls.cancel(["a"], "r", tree=True)


@scenario(1)
def cancel_a_damaged_tree_with_a_task_of_another(bench: Workbench, n: int) -> AnyCall:
    """An older build has enqueued another task of the id of a link."""
    bench.real(ack(bench, family(bench, a="", b="a", c="b"), "b"))
    bench.real(bench.calls.enqueue([("b", Task(payload=b"x"))], "r"))
    bench.ask("ZADD", ":children:a", bench.now, "b")
    return bench.calls.cancel(["a"], "r2", tree=True)


@scenario(1)
def cancel_a_tree_with_an_evicted_parent(bench: Workbench, n: int) -> AnyCall:
    family(bench, a="", b="a", c="b")
    bench.ask("DEL", ":task:b")
    return bench.calls.cancel(["a"], "r", tree=True)


# traces


def traced(bench: Workbench, *traces: str) -> list[Lease]:
    """Running tasks that were enqueued under these traces."""
    enqueue_traced(bench, *traces)
    return bench.claim(len(traces))


def enqueue_traced(bench: Workbench, *traces: str) -> None:
    for at, trace in enumerate(traces):
        calls = replace(bench.calls, trace=repeat(trace or None).__next__)
        bench.real(calls.enqueue([(f"t{at}", Task(payload=b"x"))], f"r{at}"))


@scenario(1, 100)
def claim_with_traces(bench: Workbench, n: int) -> AnyCall:
    enqueue_traced(bench, *["one"] * n)
    bench.worker()
    return bench.calls.claim("w", "i", 0, 1, limit=n)


@scenario(1)
def claim_with_several_traces(bench: Workbench, n: int) -> AnyCall:
    enqueue_traced(bench, "one", "two", "", "no trace")
    bench.worker()
    return bench.calls.claim("w", "i", 0, 1, limit=10)


@scenario(1, 100)
def ack_with_traces(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(traced(bench, *["one"] * n)))


@scenario(1)
def ack_with_several_traces(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.ack(acks(traced(bench, "one", "two", "")))


@scenario(1)
def fail_with_a_trace(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.fail([Failure(lease, b"") for lease in traced(bench, "one")], [0])


@scenario(1)
def reap_with_a_trace(bench: Workbench, n: int) -> AnyCall:
    traced(bench, "one")
    bench.pass_time(15_000)
    return bench.calls.reap()


# a second ack


@scenario(1)
def ack_again_with_another_result(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"two"))


@scenario(1)
def ack_again_with_a_longer_result(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"three"))


@scenario(1)
def ack_again_with_the_same_result(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"one"))


@scenario(1)
def ack_again_with_a_result_after_none(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases)))
    return bench.calls.ack(acks(leases, b"one"))


@scenario(1)
def ack_again_a_result_that_its_task_does_not_keep(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, result_ttl=0)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"one"))


@scenario(1)
def ack_again_a_result_that_its_queue_does_not_keep(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(result_ttl=0))
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"one"))


@scenario(1)
def ack_twice_in_one_call(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    return bench.calls.ack([*acks(leases, b"one"), *acks(leases, b"two")])


@scenario(1)
def ack_again_what_was_removed(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.ack(acks(leases, b"two"))


@scenario(1)
def settle_again_with_another_result(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    return bench.calls.settle("w", "i", 0, 10**6, acks=acks(leases, b"two"))


@scenario(1)
def ack_again_what_was_removed_and_made_again(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"one")))
    bench.real(bench.calls.enqueue([(lease.id, Task(payload=b"x")) for lease in leases], "again"))
    return bench.calls.ack(acks(leases, b"two"))
