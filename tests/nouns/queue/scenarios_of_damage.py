"""Paths of queues that others have damaged: an evicting server, or a hand that wrote or deleted something."""

from __future__ import annotations

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, acks, claim, scenario

HUGE = 5_000_000  # bytes, more than a page may have


def forget(bench: Workbench, *ids: str) -> None:
    """Take their records away."""
    bench.ask("DEL", *[f":task:{id}" for id in ids])


@scenario(1)
def claim_damaged_one_larger_than_a_page(bench: Workbench, n: int) -> AnyCall:
    for id in bench.fill(n):
        bench.ask("HSET", f":task:{id}", "size", HUGE)
    return claim(bench, n)


@scenario(1)
def get_damaged_one_larger_than_a_page(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    for id in ids:
        bench.ask("SET", f":payload:{id}", b"x" * HUGE)
    return bench.calls.get(ids)


@scenario(1)
def get_without_payload(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n)
    for id in ids:
        bench.ask("DEL", f":payload:{id}")
    return bench.calls.get(ids)


@scenario(1)
def outcome_of_a_damaged_one_larger_than_a_page(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    for lease in leases:
        bench.ask("SET", f":result:{lease.id}", b"x" * HUGE)
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1)
def outcome_of_a_completed_one_damaged(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    for lease in leases:
        bench.ask("HDEL", f":task:{lease.id}", "settled")
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1)
def outcome_of_a_dead_one_damaged(bench: Workbench, n: int) -> AnyCall:
    ids = bench.die(n)
    for id in ids:
        bench.ask("HDEL", f":task:{id}", "reason")
    return bench.calls.outcome(ids)


@scenario(1)
def schedules_of_a_damaged_one_larger_than_a_page(bench: Workbench, _: int) -> AnyCall:
    bench.schedule("s")
    bench.ask("HSET", ":schedule:s", "payload", b"x" * HUGE)
    return bench.calls.schedules(name="s")


@scenario(1)
def fire_damaged_that_does_not_say_what_to_do_about_others(bench: Workbench, _: int) -> AnyCall:
    schedule = bench.due()
    bench.ask("HDEL", ":schedule:s", "overlap")
    return bench.firing(schedule)


@scenario(1)
def list_without_record(bench: Workbench, n: int) -> AnyCall:
    forget(bench, *bench.fill(n, user="u"))
    return bench.calls.list(user="u")


@scenario(1)
def list_without_state(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, user="u")
    bench.ask("DEL", ":ready:any")
    return bench.calls.list(user="u")


@scenario(1)
def workers_without_record(bench: Workbench, _: int) -> AnyCall:
    bench.worker()
    bench.ask("DEL", ":worker:w")
    return bench.calls.workers()


@scenario(1)
def claim_without_record_where_tasks_wait_for_others(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, after=bench.fill(1))
    forget(bench, *bench.fill(n))
    return claim(bench, n + 1)


@scenario(1)
def claim_again_damaged(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n)
    call = claim(bench, n)
    bench.real(call)
    bench.ask("DEL", ":leases")
    return call


@scenario(1)
def claim_damaged_whose_scope_another_holds(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, scope="s")
    bench.ask("HSET", ":once", "scope:s", "other")
    return claim(bench, n)


@scenario(1)
def claim_damaged_notes_of_ends(bench: Workbench, n: int) -> AnyCall:
    bench.fill(1, after=bench.fill(1))
    bench.ask("ZADD", ":ends", bench.now, "damaged")
    return claim(bench, n)


@scenario(1)
def ack_with_a_damaged_follower(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    for id in bench.fill(1, after=[lease.id for lease in leases]):
        bench.ask("HDEL", f":task:{id}", "awaits")
    return bench.calls.ack(acks(leases))


@scenario(1)
def retry_what_one_without_record_stands_for(bench: Workbench, n: int) -> AnyCall:
    ids = bench.die(n, unique="k")
    forget(bench, *bench.fill(1, unique="k"))
    return bench.calls.retry(ids, "r")


@scenario(1)
def reap_damaged_under_a_limit(bench: Workbench, n: int) -> AnyCall:
    bench.limit(concurrency=n)
    bench.lease(n, user="u")
    bench.ask("DEL", ":running")
    bench.pass_time(15_000)
    return bench.calls.reap()


@scenario(1)
def cancel_damaged(bench: Workbench, n: int) -> AnyCall:
    ids = [lease.id for lease in bench.lease(n)]
    bench.ask("DEL", ":running")
    return bench.calls.cancel(ids, "r")


@scenario(1)
def cancel_a_tree_with_a_child_without_record(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.enqueue([("p", Task(payload=b"x"))], "p"))
    children = bench.fill(n, parent="p")
    bench.fill(1, parent=children[0])
    forget(bench, *children)
    return bench.calls.cancel(["p"], "r", tree=True)


@scenario(1)
def release_damaged(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("DEL", ":leases")
    return bench.calls.release(leases)


@scenario(1)
def heartbeat_damaged(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("DEL", ":leases")
    return bench.calls.heartbeat(leases)


@scenario(1)
def progress_damaged(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.ask("DEL", ":leases")
    return bench.calls.progress([(lease, {"ppm": 1}) for lease in leases], "r")


@scenario(1)
def expire_what_does_not_wait_any_more(bench: Workbench, n: int) -> AnyCall:
    """Deadlines of a running, a completed and a dead task, which another version has left."""
    leases = bench.lease(2 * n)
    bench.real(bench.calls.ack(acks(leases[:n])))
    for id in (*(lease.id for lease in leases), *bench.die(n)):
        bench.ask("ZADD", ":deadlines", bench.now, id)
    return bench.calls.expire()


@scenario(0)
def configure_damaged_without_its_layout(bench: Workbench, _: int) -> AnyCall:
    bench.ask("HDEL", ":config", "layout", "layout_min")
    return bench.calls.configure()
