"""Paths of what looks at a queue: filters, pages that end before all is told, and what is left to tell of an end."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.scenario import AnyCall, acks, claim, fails, scenario, settle

NOW = START / 1000
LANE = "group/g"
MEBIBYTE = 2**20


def named(bench: Workbench, *ids: str, **task: Any) -> None:
    """Tasks of these ids, all of one time."""
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x", **task)) for id in ids], f"named/{ids[0]}"))


# list


@scenario(1)
def list_some_of_those_of_a_user_and_a_parent(bench: Workbench, n: int) -> AnyCall:
    """Each of the others lacks one of the things that are asked for."""
    wanted: dict[str, Any] = {"user": "u", "parent": "p", "tags": ["t"], "kind": "k", "lane": LANE}
    others: list[dict[str, Any]] = [{"user": "other"}, {"parent": "other"}, {"tags": ["other"]}, {"tags": []}]
    for lacks in ({}, *others, {"kind": "other"}):
        bench.fill(n, **wanted | lacks)
    bench.fill(n, **wanted | {"lane": "group/other"})
    return bench.calls.list(user="u", parent="p", tag="t", kind="k", lane=LANE)


@scenario(1)
def list_the_tag_of_many_by_their_parent(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, tags=["other"], parent="p")
    bench.fill(n, parent="p")
    bench.fill(3, tags=["t"])
    return bench.calls.list(tag="t", parent="p")


@scenario(1)
def list_the_user_of_many_by_their_tag(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, tags=["t"], user="other")
    bench.fill(3, user="u")
    return bench.calls.list(tag="t", user="u")


@scenario(1)
def list_the_parent_of_many_by_their_user(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, user="u", parent="other")
    bench.fill(3, parent="p")
    return bench.calls.list(user="u", parent="p")


@scenario(1)
def list_dead_of_a_reason(bench: Workbench, n: int) -> AnyCall:
    bench.die(n)
    bench.real(bench.calls.fail(**fails(bench.lease(n), retryable=False, reason="mine")))
    return bench.calls.list("dead", reason="mine")


@scenario(1)
def list_ready_of_a_user(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, user="u")
    bench.claim(n)
    bench.fill(n, user="u", headers={"h": 1})
    return bench.calls.list("ready", user="u")


@scenario(1)
def list_ready_of_a_user_in_a_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE, user="u")
    bench.fill(n + 1, user="u")
    return bench.calls.list("ready", user="u", lane=LANE)


@scenario(1)
def list_ready_in_a_lane(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n, lane=LANE)
    return bench.calls.list("ready", lane=LANE)


@scenario(1)
def list_until_the_page_is_full(bench: Workbench, n: int) -> AnyCall:
    bench.fill(n + 1, user="u")
    return bench.calls.list(user="u", limit=n)


@scenario(1)
def list_as_many_as_are_looked_at_for_a_page(bench: Workbench, n: int) -> AnyCall:
    for _ in range(2):
        bench.fill(500, user="u")
    bench.fill(n, user="u")
    return bench.calls.list(user="u", kind="none")


@scenario(0)
def list_after_one_whose_name_the_next_continues(bench: Workbench, _: int) -> AnyCall:
    named(bench, "aa", "a", "b", user="u")
    return bench.calls.list(user="u", cursor=f"user {START} ab")


@scenario(0)
def list_after_one_that_continues_the_name_of_another(bench: Workbench, _: int) -> AnyCall:
    named(bench, "a", "abc", "b", user="u")
    return bench.calls.list(user="u", cursor=f"user {START} ab")


# other pages


@scenario(0)
def limits_of_a_second_page(bench: Workbench, _: int) -> AnyCall:
    many(bench)
    cursor = bench.real(bench.calls.limits())[1]
    return bench.calls.limits(cursor=cursor)


@scenario(0)
def limits_of_a_first_page(bench: Workbench, _: int) -> AnyCall:
    many(bench)
    return bench.calls.limits()


def many(bench: Workbench) -> None:
    rules = [(f"key:k{at}", {"concurrency": 1}) for at in range(1000)]
    bench.real(bench.calls.set_limits(rules, "many"))


@scenario(0)
def workers_of_none(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.workers()


@scenario(0)
def workers_of_a_first_page(bench: Workbench, _: int) -> AnyCall:
    gang(bench)
    return bench.calls.workers(limit=10)


@scenario(0)
def workers_of_a_second_page(bench: Workbench, _: int) -> AnyCall:
    gang(bench)
    cursor = bench.real(bench.calls.workers(limit=10))[1]
    return bench.calls.workers(limit=10, cursor=cursor)


def gang(bench: Workbench) -> None:
    """They have been silent for a while: how many are on a page is for the server to choose, and each has its cost."""
    for at in range(200):
        bench.worker(f"w{at}")
    bench.pass_time(31_000)


@scenario(0)
def workers_of_one_that_has_claimed(bench: Workbench, _: int) -> AnyCall:
    bench.lease(1)
    return bench.calls.workers(name="w")


@scenario(0)
def workers_where_silence_may_last(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.configure(presence=3600))
    bench.worker("w")
    return bench.calls.workers(name="w")


@scenario(0)
def workers_of_another_group(bench: Workbench, _: int) -> AnyCall:
    bench.real(bench.calls.register("w", "i", {"group": "g"}))
    return bench.calls.workers(group="other")


@scenario(0, clock="server")
def steer_where_no_queue_is(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.steer(["w"], mode="quiet", rid="r")


@scenario(0)
def stats_of_more_than_1000_lanes(bench: Workbench, _: int) -> AnyCall:
    items = [(f"e{at}", Task(payload=b"x", lane=f"group/g{1000 + at}")) for at in range(1001)]
    bench.real(bench.calls.enqueue(items[:1000], "first"))
    bench.real(bench.calls.enqueue(items[1000:], "last"))
    return bench.calls.stats()


# what is left to tell of an end


@scenario(1)
def get_stalled(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.pass_time(15_000)
    return bench.calls.get([lease.id for lease in leases])


@scenario(1)
def outcome_of_one_that_waits_without_a_reply(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.outcome(bench.fill(n))


@scenario(1)
def outcome_that_is_kept_for_a_time(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, result_ttl=60)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1)
def outcome_whose_time_is_over(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, result_ttl=60)
    bench.real(bench.calls.ack(acks(leases, b"result")))
    bench.pass_time(60_000)
    return bench.calls.outcome([lease.id for lease in leases])


@scenario(1)
def outcome_of_an_expired_one(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, expires_at=NOW + 1)
    bench.pass_time(1_000)
    bench.real(bench.calls.expire())
    return bench.calls.outcome(ids)


@scenario(1)
def outcome_of_a_cancelled_one_that_left_a_reply(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, reply=True)
    bench.real(bench.calls.cancel(ids))
    return bench.calls.outcome(ids)


@scenario(1)
def outcome_of_one_whose_reply_was_dropped(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n, reply=True)
    bench.full()
    bench.real(bench.calls.ack(acks(leases, b"x" * 5_000)))
    bench.full(False)
    return bench.calls.outcome([lease.id for lease in leases])


# purge, trim, cancel


@scenario(0, clock="server")
def purge_more_lanes_than_are_seen_to_at_once(bench: Workbench, _: int) -> AnyCall:
    """Which of them is left is for the server to choose, so that two queues cannot be compared."""
    for at in range(101):
        bench.fill(1, lane=f"group/g{at}")
    return bench.calls.purge("r")


@scenario(1)
def purge_those_whose_key_has_been_forgotten(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(n, idempotency_key="k")
    bench.pass_time(1_000)
    bench.real(bench.calls.trim())
    return bench.calls.purge("r")


@scenario(1)
def trim_as_many_as_it_may(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(finished_keep=0))
    bench.real(bench.calls.ack(acks(bench.lease(n))))
    return bench.calls.trim(n)


@scenario(1)
def trim_as_many_keys_as_it_may(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(idempotency=1))
    bench.fill(n, idempotency_key="k")
    bench.pass_time(1_000)
    return bench.calls.trim(n)


@scenario(0)
def cancel_a_tree_that_is_not_there(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.cancel(["unknown"], "r", tree=True)


def too_much_to_forget_at_once(bench: Workbench) -> list[Lease]:
    """What claims have to keep house for, 100 at a time; and the lease of one that has not ended."""
    leases = bench.lease(203)
    bench.real(bench.calls.ack(acks(leases[1:])))
    bench.real(bench.calls.configure(finished_max=0))
    bench.pass_time(1_000)
    return leases[:1]


@scenario(0)
def claim_where_too_much_is_to_be_forgotten_at_once(bench: Workbench, _: int) -> AnyCall:
    too_much_to_forget_at_once(bench)
    return claim(bench, 1)


@scenario(0)
def settle_where_too_much_is_to_be_forgotten_at_once(bench: Workbench, _: int) -> AnyCall:
    """This comes beside what the call itself ends."""
    return settle(bench, acks=acks(too_much_to_forget_at_once(bench)))
