"""Promises that only rare histories test: each was broken once."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench


def enqueue(bench: Workbench, rid: str, id: str = "a", **task: Any) -> str:
    (receipt,) = bench.run(bench.calls.enqueue([(id, Task(payload=b"x", **task))], rid))
    return f"{receipt.status} {receipt.id}"


# keys


@pytest.mark.parametrize("own", ["k1", None])
def test_a_purge_forgets_every_key_of_a_task(bench: Workbench, own: str | None) -> None:
    assert enqueue(bench, "1", "a", unique="u", idempotency_key=own) == "created a"
    assert enqueue(bench, "2", "b", unique="u", idempotency_key="k2") == "deduplicated a"
    assert enqueue(bench, "3", "c", unique="u", idempotency_key="k3") == "deduplicated a"
    bench.run(bench.calls.purge("p"))
    assert enqueue(bench, "4", "d", idempotency_key="k1") == "created d"
    assert enqueue(bench, "5", "e", idempotency_key="k2") == "created e"
    assert enqueue(bench, "6", "f", idempotency_key="k3") == "created f"
    assert enqueue(bench, "7", "g", idempotency_key="k3") == "deduplicated f"


def test_every_key_of_a_task_outlives_it(bench: Workbench) -> None:
    assert enqueue(bench, "1", "a", unique="u", idempotency_key="k1") == "created a"
    assert enqueue(bench, "2", "b", unique="u", idempotency_key="k2") == "deduplicated a"
    bench.real(bench.calls.configure(finished_max=0))
    bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    assert bench.state("a") is None
    assert enqueue(bench, "3", "c", idempotency_key="k2") == "deduplicated a"


def test_a_call_that_is_sent_again_knows_a_task_whose_id_was_used_again(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    for rid in ("1", "2", "3"):
        assert enqueue(bench, rid) == "created a"
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    assert enqueue(bench, "4") == "created a"
    assert [enqueue(bench, rid) for rid in ("1", "2", "3", "4", "5")] == ["created a"] * 4 + ["exists a"]


def test_eight_earlier_calls_are_known(bench: Workbench) -> None:
    bench.real(bench.calls.configure(finished_max=0))
    for rid in range(12):
        enqueue(bench, f"r{rid}")
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    assert [enqueue(bench, f"r{rid}") for rid in range(11, 2, -1)] == ["created a"] * 9
    assert len(bench.record("a")["earlier"].split()) == 8


# progress, and what is next


def test_late_progress_does_nothing_again(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    first = bench.calls.progress([(lease, {"line": b"one", "ppm": 1})], "one")
    assert bench.run(first) == ["noted"]
    assert bench.run(bench.calls.progress([(lease, {"line": b"two", "ppm": 2})], "two")) == ["noted"]
    before = bench.dump()
    assert bench.run(first) == ["noted"]
    assert bench.dump() == before


def test_a_claim_says_that_ends_are_left_to_be_told(bench: Workbench) -> None:
    bench.limit("all", concurrency=1, policy="reject")
    bench.fill(1)
    (root,) = bench.fill(1)
    bench.fill(500, after=[root])
    bench.worker()
    claimed = bench.run(bench.calls.claim("w", "i", 0, 1, limit=10, lanes=["any"]))
    assert bench.ask("ZCARD", ":ends") == 1
    assert claimed.next_due == bench.now / 1000
    for n in range(2, 8):
        claimed = bench.run(bench.calls.claim("w", "i", 0, n, limit=1, lanes=["group/g"]))
    assert bench.ask("ZCARD", ":ends") == 0
    assert claimed.next_due != bench.now / 1000


# trees and order


def test_a_tree_that_is_cancelled_twice_in_a_millisecond(bench: Workbench) -> None:
    (top,) = bench.fill(1)
    (child,) = bench.fill(1, parent=top)
    bench.fill(1, parent=child)
    bench.run(bench.calls.cancel([top], "1", tree=True))
    (late,) = bench.fill(1, parent=child)
    bench.run(bench.calls.cancel([top], "2", tree=True))
    assert bench.state(late) == "cancelled"


def test_of_many_leases_that_expire_at_once_the_first_in_line_go_first(bench: Workbench) -> None:
    ids = [f"{1000 - n:04}" for n in range(300)]  # their order as text is the other way round
    bench.real(bench.calls.enqueue([(id, Task(payload=b"x")) for id in ids], "r"))
    assert len(bench.claim(300)) == 300
    bench.pass_time(15_000)
    for done in (100, 200, 300):
        assert bench.run(bench.calls.reap(100)) == 100
        assert bench.ready() == ids[:done]


def test_leases_whose_entry_is_damaged_expire_too(bench: Workbench) -> None:
    leases = bench.lease(3)
    bench.ask("HDEL", ":running", leases[2].id)
    bench.pass_time(15_000)
    assert bench.run(bench.calls.reap(1)) == 1
    assert bench.state(leases[2].id) == "dead"
    assert bench.run(bench.calls.reap(5)) == 2


# what goes by itself


@pytest.mark.parametrize("way", ["purge", "cancel", "expire", "claim"])
def test_shares_of_an_empty_lane_go_after_a_day(bench: Workbench, way: str) -> None:
    bench.real(bench.calls.configure(fair=True))
    (id,) = bench.fill(1, user="u", expires_at=bench.now / 1000 + 1)
    assert bench.ask("TTL", ":shares:any") == -1
    match way:
        case "purge":
            bench.run(bench.calls.purge("p"))
        case "cancel":
            bench.run(bench.calls.cancel([id], "c"))
        case "expire":
            bench.pass_time(1_000)
            bench.run(bench.calls.expire())
        case "claim":
            bench.claim(1)
    assert 0 < bench.ask("TTL", ":shares:any") <= 86_400


def test_shares_of_a_lane_whose_tasks_wait_for_a_limit_go_too(bench: Workbench) -> None:
    bench.real(bench.calls.configure(fair=True))
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    bench.fill(1, user="u")
    bench.claim(1)
    bench.run(bench.calls.enqueue([("x", Task(payload=b"x", user="u"))], "r"))
    assert bench.ask("TTL", ":shares:any") > 0
    bench.run(bench.calls.enqueue([("y", Task(payload=b"x", user="u")), ("z", Task(payload=b"x"))], "s"))
    assert bench.ask("TTL", ":shares:any") == -1


# words that mean no


def test_a_task_that_wants_no_reply_has_none(bench: Workbench) -> None:
    no = {"reply": "0", "after_any": "0", "needs_parent": "0"}
    pairs = [word for pair in no.items() for word in pair]
    bench.raw_run("queue.enqueue.v1", "r", "", "", str(bench.now), "", "", "1", "a", "x", str(len(no)), *pairs)
    assert not bench.record("a").keys() & {*no, "ties"}


# schedules


@pytest.mark.parametrize("again", [0, 1])
def test_a_schedule_that_was_removed_and_put_again_knows_its_runs(bench: Workbench, again: int) -> None:
    schedule = bench.due()
    assert bench.run(bench.firing(schedule)) == "fired"
    if not again:
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    assert bench.run(bench.calls.remove_schedule("s", "r")) == "done"
    assert (bench.ask("PTTL", ":runs:s") > 0) == bool(again)
    schedule = bench.due()
    assert not bench.ask("EXISTS", ":runs:s")
    assert bench.run(bench.firing(schedule, "r2")) == ("skipped" if again else "fired")


# repair


def test_repair_takes_a_task_for_itself_and_not_for_an_earlier_one_of_its_id(bench: Workbench) -> None:
    for rid in ("1", "2", "3"):
        assert enqueue(bench, rid) == "created a"
        if rid == "1":
            (lease,) = bench.claim(1)
            bench.real(bench.calls.ack([(lease, b"old")]))
        if rid != "3":
            bench.run(bench.calls.purge(f"p{rid}", all=True))
    bench.ask("ZREM", ":ready:any", "a")
    bench.run(bench.calls.repair(["a"]))
    assert bench.state("a") == "ready"
    assert bench.run(bench.calls.ack([(lease, b"old")])) == ["completed"]  # sent again


@pytest.mark.parametrize("holder", ["nobody", "a"])
def test_a_limit_that_repair_frees_is_looked_at_at_once(bench: Workbench, holder: str) -> None:
    bench.real(bench.calls.set_limits([("all", {"concurrency": 1})], "r"))
    enqueue(bench, "1", "a")
    bench.claim(1)
    enqueue(bench, "2", "b")
    assert bench.claim(1) == []
    if holder == "a":
        bench.ask("ZADD", ":finished", bench.now, "a")  # a lease that is left of a task that has ended
    else:
        bench.ask("HDEL", ":running", "a")
    bench.run(bench.calls.repair(["a"], limit="all"))
    assert bench.state("b") == "blocked"
    ids = {lease.id for _ in range(3) for lease in bench.claim(1)}
    assert ids & {"a", "b"}


# trees


def test_two_cancelled_trees_whose_parents_form_a_cycle_come_to_an_end(bench: Workbench) -> None:
    bench.run(bench.calls.enqueue([("a", Task(payload=b"", parent="b")), ("b", Task(payload=b"", parent="a"))], "r"))
    for n in range(3):
        ids = [(f"{parent}{n}.{at}", Task(payload=b"", parent=parent)) for at in range(100) for parent in "ab"]
        bench.run(bench.calls.enqueue(ids, f"r{n}"))
    bench.real(bench.calls.cancel(["a"], "c1", tree=True))
    bench.pass_time(50)
    bench.real(bench.calls.cancel(["b"], "c2", tree=True))
    for _ in range(20):
        bench.claim(1, lanes=["group/g"])
    assert bench.ask("EXISTS", ":ends") == 0
    assert bench.run(bench.calls.stats()).finished == 602


# fair shares


def test_shares_from_before_the_first_fair_place_end_with_their_lane(bench: Workbench) -> None:
    enqueue(bench, "1", "a")
    enqueue(bench, "2", "b")
    bench.real(bench.calls.configure(fair=True))
    bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
    bench.run(bench.calls.cancel(["b"], "c"))
    assert bench.ask("EXISTS", ":ready:any") == 0
    assert bench.ask("TTL", ":shares:any") in (-2, *range(86_401))
