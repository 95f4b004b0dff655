"""Paths of what is refused and sent again, of rates and lost holders, and of what an ended task holds still."""

from __future__ import annotations

from typing import Any

from pyadeq._core.queue.items import item
from pyadeq.models import Task
from tests.nouns.queue.scenarios_of_limits import LOOK, MEND, running
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import TIES, AnyCall, acks, claim, scenario, sent

# enqueue


def refused(bench: Workbench, call: AnyCall) -> AnyCall:
    """The same call, after it was answered once that there is no such task."""
    bench.send(call)
    return call


def of_one_scope(**first: Any) -> list[tuple[str, Task]]:
    return [
        ("a", Task(payload=b"1", **first)),
        ("b", Task(payload=b"2", scope="s", unique="u", idempotency_key="i")),
    ]


@scenario(0)
def enqueue_again_what_waits_for_nobody_before_its_scope(bench: Workbench, _: int) -> AnyCall:
    return refused(bench, bench.calls.enqueue(of_one_scope(after=["x"], scope="s"), "r"))


@scenario(0)
def enqueue_again_what_waits_for_nobody_before_its_idempotency_key(bench: Workbench, _: int) -> AnyCall:
    return refused(bench, bench.calls.enqueue(of_one_scope(after=["x"], idempotency_key="i"), "r"))


@scenario(0)
def enqueue_again_what_needs_a_parent_before_its_idempotency_key(bench: Workbench, _: int) -> AnyCall:
    first: dict[str, Any] = {"parent": "x", "needs_parent": True, "idempotency_key": "i"}
    items = [("a", b"1", first), ("b", b"2", {"idempotency_key": "i"})]
    return refused(bench, bench.calls.enqueue_items(items, "r"))


@scenario(0)
def enqueue_again_what_waits_for_one_that_came_since(bench: Workbench, _: int) -> AnyCall:
    call = refused(bench, bench.calls.enqueue(of_one_scope(after=["x"], scope="s", coalesce="last"), "r"))
    bench.real(bench.calls.enqueue([("x", Task(payload=b"x"))], "other"))
    return call


@scenario(0)
def enqueue_again_an_id_that_a_later_item_has(bench: Workbench, _: int) -> AnyCall:
    tasks = [("a", Task(payload=b"1", after=["x"])), ("a", Task(payload=b"2"))]
    return refused(bench, bench.calls.enqueue(tasks, "r"))


@scenario(0)
def enqueue_again_what_has_moved_before_its_idempotency_key(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    one, other = (Task(payload=b"x", idempotency_key="i", parent=parent) for parent in ("elsewhere", "t000001"))
    return sent(bench, bench.calls.enqueue_items([item("a", one), item("b", other)], "r", epoch=1, moved=True))


@scenario(0)
def enqueue_behind_a_key_whose_task_has_gone(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_max=0))
    bench.real(bench.calls.ack(acks(bench.lease(1, idempotency_key="i"))))
    bench.pass_time(61_000)
    bench.ask("DEL", ":task:t000001")
    return bench.calls.enqueue([("a", Task(payload=b"x", idempotency_key="i", after=bench.fill(1)))], "r")


@scenario(0)
def enqueue_a_second_key_of_a_task(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, unique="u", idempotency_key="i")
    return bench.calls.enqueue([("a", Task(payload=b"x", unique="u", idempotency_key="j"))], "r")


@scenario(0)
def enqueue_a_third_key_of_a_task(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, unique="u", idempotency_key="i")
    bench.fill(1, unique="u", idempotency_key="j")
    return bench.calls.enqueue([("a", Task(payload=b"x", unique="u", idempotency_key="k"))], "r")


@scenario(0)
def purge_a_key_of_an_older_version(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1, unique="u", idempotency_key="i")
    bench.fill(1, unique="u", idempotency_key="j")
    bench.fill(1, unique="v", idempotency_key="k")
    bench.fill(1, unique="v", idempotency_key="l")
    for id in ("t000001", "t000003"):
        bench.ask("HSET", f":task:{id}", "keys", "1")
    return bench.calls.purge("r")


@scenario(0)
def purge_a_key_of_an_older_version_of_a_shorter_time(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=60))
    return purge_a_key_of_an_older_version(bench, 0)


# timeouts


@scenario(0)
def configure_the_same_timeout(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(timeout=60))
    return bench.calls.configure("r", timeout=60)


@scenario(0)
def heartbeat_beyond_a_timeout_that_was_set_late(bench: Workbench, _: int) -> AnyCall:
    leases = bench.lease(2) + bench.lease(1, timeout=1)
    bench.pass_time(5_000)
    bench.real(bench.calls.configure(timeout=1))
    return bench.calls.heartbeat(leases)


# rates and lost holders


@scenario(0)
def claim_under_a_slow_rate(bench: Workbench, _: int) -> AnyCall:
    bench.limit(starts=1, period_ms=3_600_000)
    bench.limit("tag:t", concurrency=1)
    bench.fill(2, user="u", tags=["t"])
    return claim(bench, 2)


@scenario(0)
def claim_under_a_rate_beside_a_full_line(bench: Workbench, _: int) -> AnyCall:
    running(bench, 1)
    bench.fill(1, user="u")
    bench.claim(1)
    bench.limit("tag:t", starts=1, period_ms=60_000)
    bench.fill(1, tags=["t"])
    return claim(bench, 2)


@scenario(0)
def claim_rejects_by_a_rate_what_may_run(bench: Workbench, _: int) -> AnyCall:
    bench.limit(concurrency=9, starts=1, period_ms=60_000, policy="reject")
    bench.fill(2, user="u")
    return claim(bench, 2)


@scenario(0)
def claim_rejects_by_a_rate_alone(bench: Workbench, _: int) -> AnyCall:
    bench.limit(starts=1, period_ms=60_000, policy="reject")
    bench.fill(2, user="u")
    return claim(bench, 2)


@scenario(100)
def claim_opens_as_many_lines_of_a_kind_as_one_call_may(bench: Workbench, n: int) -> AnyCall:
    bench.limit("user:*", concurrency=1)
    for at in range(n):
        bench.fill(2, user=f"u{at}")
    bench.claim(2 * n)
    bench.limit("user:*", concurrency=2)
    return claim(bench, 1)


@scenario(0)
def claim_mends_a_line_of_one_that_has_gone(bench: Workbench, _: int) -> AnyCall:
    bench.limit(concurrency=1)
    bench.fill(2, user="u")
    bench.claim(2, lease=3600)
    bench.ask("ZADD", ":waiting:user:u", 1, "gone")
    bench.pass_time(MEND)
    return claim(bench, 1)


@scenario(1)
def claim_rejects_nobody_for_an_evicted_holder(bench: Workbench, n: int) -> AnyCall:
    lose(bench, *(lease.id for lease in running(bench, n, policy="reject")))
    bench.fill(2 * n, user="u")
    return claim(bench, 2 * n)


def lose(bench: Workbench, *ids: str) -> None:
    bench.ask("ZREM", ":leases", *ids)
    bench.ask("HDEL", ":running", *ids)


@scenario(0)
def claim_mends_a_line_of_nobody(bench: Workbench, _: int) -> AnyCall:
    bench.limit(concurrency=1)
    bench.ask("ZADD", ":limit:lines", 2**48 + bench.now, "user:u")
    bench.pass_time(MEND)
    return claim(bench, 1)


@scenario(0)
def claim_looks_at_an_empty_line_of_a_full_limit(bench: Workbench, _: int) -> AnyCall:
    running(bench, 1)
    bench.ask("ZADD", ":limit:lines", bench.now, "user:u")
    return claim(bench, 1)


@scenario(0)
def claim_looks_at_a_line_of_one_that_waits_elsewhere(bench: Workbench, _: int) -> AnyCall:
    running(bench, 1)
    (id,) = bench.fill(1, user="u")
    bench.claim(1)
    bench.ask("ZADD", ":waiting:key:k", bench.ask("ZSCORE", ":blocked", id), id)
    bench.ask("ZADD", ":limit:lines", bench.now, "key:k")
    return claim(bench, 1)


@scenario(0)
def claim_what_has_expired_under_no_limit(bench: Workbench, _: int) -> AnyCall:
    ids = bench.fill(1, expires_at=START / 1000 + 1)
    bench.limit("tag:t", concurrency=1)
    bench.ask("ZREM", ":deadlines", *ids)
    bench.pass_time(1_000)
    return claim(bench, 1)


@scenario(0)
def claim_what_has_expired_under_a_limit(bench: Workbench, _: int) -> AnyCall:
    bench.limit(concurrency=1)
    ids = bench.fill(1, user="u", expires_at=START / 1000 + 1)
    bench.ask("ZREM", ":deadlines", *ids)
    bench.pass_time(1_000)
    return claim(bench, 1)


@scenario(0)
def claim_what_has_expired_where_there_are_no_limits(bench: Workbench, _: int) -> AnyCall:
    ids = bench.fill(1, expires_at=START / 1000 + 1)
    bench.ask("ZREM", ":deadlines", *ids)
    bench.pass_time(1_000)
    return claim(bench, 1)


@scenario(0)
def claim_the_last_with_fair_shares_and_limits(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    bench.limit(concurrency=9)
    bench.fill(1, user="u")
    bench.pass_time(LOOK)
    return claim(bench, 1)


# repair


@scenario(0)
def repair_damaged_ended_tasks_that_wait(bench: Workbench, _: int) -> AnyCall:
    """With what an end leaves in the record, and with nothing of it."""
    ids = [bench.fill(1, **TIES)[0] for _ in range(5)]
    for id, place in zip(ids, ("finished", "finished", "finished", "dead", "dead"), strict=True):
        bench.ask("ZADD", f":{place}", bench.now, id)
    bench.ask("HSET", f":task:{ids[0]}", "cancelled_ms", bench.now)
    bench.ask("HSET", f":task:{ids[1]}", "settled", "t result_dropped")
    bench.ask("HSET", f":task:{ids[3]}", "reason", "expired")
    return bench.calls.repair(ids)


@scenario(0)
def enqueue_some_with_idempotency_keys(bench: Workbench, _: int) -> AnyCall:
    bench.fill(1)
    return bench.calls.enqueue([("a", Task(payload=b"", idempotency_key="a")), ("b", Task(payload=b""))], "r")


@scenario(0)
def enqueue_with_a_key_when_others_are_over(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(2, idempotency_key="k")
    bench.pass_time(1_000)
    return bench.calls.enqueue([("a", Task(payload=b"", idempotency_key="a"))], "r")


@scenario(0)
def enqueue_into_a_lane_with_a_time_for_the_result(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.enqueue([("a", Task(payload=b"", lane="group/g", result_ttl=60))], "r")
