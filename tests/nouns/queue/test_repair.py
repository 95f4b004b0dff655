"""Tasks that a call lost which failed half-way, and all that may be wrong with leases, limits and lanes besides."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Repair, Task, TaskRepair
from tests.audit import audit
from tests.nouns.queue.workbench import BAND, Workbench
from tests.nouns.scenario import TIES

SETS = ("ready:any", "ready:group/g", "delayed", "blocked", "leases", "finished", "dead")


def repair(bench: Workbench, *ids: str, **what: Any) -> Repair:
    """As the doctor does it: look first, then mend what is damaged, the oldest first."""
    found = bench.run(bench.calls.repair(ids, dry_run=True, **what))
    oldest_first = sorted(
        (one for one in found.tasks if one.status != "sound"), key=lambda one: (one.created, one.rid, one.index, one.id)
    )
    return bench.run(bench.calls.repair([one.id for one in oldest_first], **what))


def mended(bench: Workbench, *ids: str) -> list[tuple[str, str | None, str | None]]:
    """What was wrong with these, and where each is now; nothing is wrong with what is left."""
    answer = bench.run(bench.calls.repair(ids))
    assert not sound(bench)
    again = bench.run(bench.calls.repair(ids))
    assert [one.status for one in again.tasks] == ["sound"] * len(ids)
    return [(one.id, one.kind, one.state) for one in answer.tasks]


def sound(bench: Workbench) -> list[str]:
    return audit(bench.client, bench.base)


def lose(bench: Workbench, name: str, *ids: str) -> None:
    """Take tasks out of a set, as a call does that fails before it puts them into the next one."""
    bench.ask("ZREM", f":{name}", *ids)


def scores(bench: Workbench, name: str) -> list[tuple[bytes, float]]:
    flat = bench.ask("ZRANGE", f":{name}", 0, -1, "WITHSCORES")
    return [(id, float(score)) for id, score in zip(flat[::2], flat[1::2], strict=True)]


# what was lost goes back to its old place


def test_lost_tasks_go_back_to_their_old_places(bench: Workbench) -> None:
    ids = []
    for at in range(6):
        ids += bench.fill(5, priority=at % 3, lane="group/g" if at % 2 else "any", user="u", tags=["s", "t"])
        bench.pass_time(1)
    before = {name: scores(bench, name) for name in ("ready:any", "ready:group/g")}
    gone = random.Random(1).sample(ids, 20)
    for name in before:
        lose(bench, name, *gone)
    answer = repair(bench, *reversed(ids))
    assert Counter((one.kind, one.state) for one in answer.tasks) == {("lost", "ready"): 20}
    after = {name: scores(bench, name) for name in before}
    assert {name: [id for id, _ in found] for name, found in after.items()} == {
        name: [id for id, _ in found] for name, found in before.items()
    }
    assert not sound(bench)
    assert len(bench.events("task.repaired")) == 20


def test_all_of_a_lane_was_lost(bench: Workbench) -> None:
    ids = bench.fill(3)
    lose(bench, "ready:any", *ids)
    bench.ask("DEL", ":wake:any")
    answer = repair(bench, *reversed(ids), lanes=["any"])
    assert [one.state for one in answer.tasks] == ["ready"] * 3
    assert answer.lanes == ["sound"]
    assert bench.ready() == ids
    assert bench.tokens() == 1
    later = bench.fill(1)
    assert bench.ready() == ids + later
    assert [lease.id for lease in bench.claim(10)] == ids + later


def test_tasks_of_one_millisecond_go_back_in_the_order_of_their_calls(bench: Workbench) -> None:
    for rid, ids in (("a", "zyx"), ("b", "cba")):
        bench.real(bench.calls.enqueue([(id, Task(payload=b"x")) for id in ids], rid))
    for lost in "yxcb":
        lose(bench, "ready:any", lost)
        repair(bench, lost)
        assert "".join(bench.ready()) == "zyxcba"


def test_a_dry_run_writes_nothing(bench: Workbench) -> None:
    ids = bench.fill(2)
    lose(bench, "ready:any", *ids)
    before = bench.dump()
    answer = bench.run(bench.calls.repair(ids, lanes=["any", "group/g"], limit="all", dry_run=True))
    assert answer.tasks == [
        TaskRepair(id=id, status="damaged", kind="lost", created=bench.now / 1000, rid=f"fill/{ids[0]}", index=index)
        for index, id in enumerate(ids, 1)
    ]
    assert answer.lanes == ["damaged", "sound"]
    assert bench.dump() == before


def test_sound_tasks_and_unknown_ones_are_left_alone(bench: Workbench) -> None:
    leases = bench.lease(2)
    bench.real(bench.calls.ack([(leases[0], None)]))
    ids = [lease.id for lease in leases] + bench.fill(1) + bench.fill(1, delay=5) + ["never"]
    before = bench.dump()
    assert [one.status for one in bench.run(bench.calls.repair(ids)).tasks] == ["sound"] * 5
    assert bench.dump() == before


def test_with_fair_shares_a_lost_task_stands_behind_those_of_its_user(bench: Workbench) -> None:
    bench.real(bench.calls.configure(fair=True))
    ids = bench.fill(3, user="u")
    lose(bench, "ready:any", ids[0])
    assert mended(bench, ids[0]) == [(ids[0], "lost", "ready")]
    assert bench.ready() == [*ids[1:], ids[0]]


# what the record says


def test_a_lost_task_that_has_ended_is_kept_as_that(bench: Workbench) -> None:
    completed = bench.lease(1, **TIES)[0]
    bench.real(bench.calls.ack([(completed, b"result")]))
    (dead,) = bench.die(1, **TIES)
    (cancelled,) = bench.fill(1, **TIES)
    bench.real(bench.calls.cancel([cancelled], "c"))
    (expired,) = bench.fill(1, expires_at=bench.now / 1000 + 1)
    bench.pass_time(1000)
    bench.real(bench.calls.expire())
    ids = [completed.id, dead, cancelled, expired]
    for name in ("finished", "dead"):
        lose(bench, name, *ids)
    bench.ask("DEL", *[f":reply:{id}" for id in ids])
    assert mended(bench, *ids) == [
        (completed.id, "lost", "completed"),
        (dead, "lost", "dead"),
        (cancelled, "lost", "cancelled"),
        (expired, "lost", "dead"),
    ]
    assert [one.status for one in bench.real(bench.calls.outcome(ids))] == ["completed", "dead", "cancelled", "dead"]
    assert bench.real(bench.calls.outcome([completed.id]))[0].result == "result"


def test_the_reply_of_a_large_result_is_not_made_again(bench: Workbench) -> None:
    (lease,) = bench.lease(1, reply=True)
    bench.real(bench.calls.ack([(lease, b"x" * 5000)]))
    lose(bench, "finished", lease.id)
    bench.ask("DEL", f":reply:{lease.id}")
    assert mended(bench, lease.id) == [(lease.id, "lost", "completed")]


def test_a_reply_that_is_there_stays(bench: Workbench) -> None:
    (lease,) = bench.lease(1, reply=True)
    bench.real(bench.calls.ack([(lease, b"x" * 5000)]))
    lose(bench, "finished", lease.id)
    assert mended(bench, lease.id) == [(lease.id, "lost", "completed")]
    assert bench.real(bench.calls.outcome([lease.id]))[0].result == "x" * 5000


@pytest.mark.parametrize("reason", ["crash_loop", "damaged", "expired"])
def test_a_death_that_no_worker_reported(bench: Workbench, reason: str) -> None:
    (id,) = bench.fill(1)
    lose(bench, "ready:any", id)
    bench.ask("SREM", ":lanes", "any")
    bench.ask("HSET", f":task:{id}", "reason", reason)
    assert mended(bench, id) == [(id, "lost", "dead")]


def test_a_reason_of_an_earlier_run_proves_no_death(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.real(bench.calls.fail([Failure(lease, b"e", reason="limited")], [0]))
    lose(bench, "delayed", lease.id)
    assert mended(bench, lease.id) == [(lease.id, "lost", "delayed")]
    bench.pass_time(300_000)
    lose(bench, "delayed", lease.id)
    assert mended(bench, lease.id) == [(lease.id, "lost", "ready")]


def test_a_task_that_was_retried_by_hand_runs_again(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.real(bench.calls.retry([id], "r"))
    lose(bench, "ready:any", id)
    bench.ask("SREM", ":lanes", "any")
    assert mended(bench, id) == [(id, "lost", "ready")]


def test_a_lost_task_waits_for_its_time(bench: Workbench) -> None:
    ids = bench.fill(1, delay=60) + bench.fill(1, run_after=bench.now / 1000 + 60)
    due = scores(bench, "delayed")
    lose(bench, "delayed", *ids)
    assert mended(bench, *ids) == [(id, "lost", "delayed") for id in ids]
    assert scores(bench, "delayed") == due
    bench.pass_time(60_000)
    lose(bench, "delayed", *ids)
    assert mended(bench, *ids) == [(id, "lost", "ready") for id in ids]


@pytest.mark.parametrize("delay", [0, 20])
def test_a_lost_task_has_its_time_in_the_lane_again(bench: Workbench, delay: int) -> None:
    (id,) = bench.fill(1, lane="group/g", fallback=["any"], fallback_after=60, delay=delay)
    since = bench.now + 1_000 * (delay or 5)
    bench.pass_time(5_000)
    lose(bench, "delayed" if delay else "ready:group/g", id)
    lose(bench, "deadlines", id)
    assert mended(bench, id) == [(id, "lost", "delayed" if delay else "ready")]
    assert scores(bench, "deadlines") == [(id.encode(), since + 60_000)]


def test_a_lost_task_that_failed_waits_for_its_next_attempt(bench: Workbench) -> None:
    bench.fill(1, delay=1)
    bench.pass_time(1_000)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.fail([Failure(lease, b"", delay=60)], [0]))
    bench.ask("HDEL", f":task:{lease.id}", "ready_ms")
    due = scores(bench, "delayed")
    lose(bench, "delayed", lease.id)
    assert mended(bench, lease.id) == [(lease.id, "lost", "delayed")]
    assert scores(bench, "delayed") == due


def test_a_task_that_was_retried_by_hand_does_not_wait_for_others_again(bench: Workbench) -> None:
    (first,) = bench.fill(1)
    (waits,) = bench.fill(1, after=[first])
    (lease,) = bench.claim(1)
    bench.real(bench.calls.fail([Failure(lease, b"", retryable=False)], [0]))
    bench.settle()
    assert bench.state(waits) == "dead"
    bench.real(bench.calls.retry([waits], "r"))
    lose(bench, "ready:any", waits)
    assert mended(bench, waits) == [(waits, "lost", "ready")]


def test_a_released_task_knows_its_place(bench: Workbench) -> None:
    ids = bench.fill(3)
    (lease,) = bench.claim(1)
    bench.real(bench.calls.release([lease]))
    before = scores(bench, "ready:any")
    lose(bench, "ready:any", lease.id)
    assert mended(bench, lease.id) == [(lease.id, "lost", "ready")]
    assert scores(bench, "ready:any") == before
    assert bench.ready() == ids


def test_keys_and_deadlines_are_held_again(bench: Workbench) -> None:
    (id,) = bench.fill(1, **TIES)
    due = scores(bench, "deadlines")
    before = bench.ask("HGETALL", ":once")
    lose(bench, "ready:any", id)
    bench.ask("SREM", ":lanes", "any")
    lose(bench, "deadlines", id)
    bench.ask("HDEL", ":once", f"unique:unique-{id}", f"scope:scope-{id}")
    bench.ask("DEL", ":by:user:u", ":by:tag:s", ":children:p")
    assert mended(bench, id) == [(id, "lost", "ready")]
    assert scores(bench, "deadlines") == due
    assert sorted(bench.ask("HGETALL", ":once")) == sorted(before)


# tasks that wait for others


def test_a_lost_task_waits_on_for_others(bench: Workbench) -> None:
    first, second = bench.fill(2)
    (waits,) = bench.fill(1, after=[first, second], expires_at=bench.now / 1000 + 60)
    before = scores(bench, "blocked")
    lose(bench, "blocked", waits)
    assert mended(bench, waits) == [(waits, "lost", "blocked")]
    assert scores(bench, "blocked") == before
    leases = bench.claim(10)
    bench.real(bench.calls.ack([(lease, None) for lease in leases]))
    bench.settle()
    assert bench.ready() == [waits]


def test_ends_that_a_lost_task_has_missed_are_told_again(bench: Workbench) -> None:
    first, second = bench.fill(2)
    (waits,) = bench.fill(1, after=[first, second])
    lose(bench, "blocked", waits)
    for lease in bench.claim(1):
        bench.real(bench.calls.ack([(lease, None)]))
    bench.settle()
    assert mended(bench, waits) == [(waits, "lost", "blocked")]
    for lease in bench.claim(1):
        bench.real(bench.calls.ack([(lease, None)]))
    bench.settle()
    assert bench.state(waits) == "ready"


def test_others_that_are_gone_are_not_waited_for(bench: Workbench) -> None:
    (first,) = bench.fill(1)
    (waits,) = bench.fill(1, after=[first])
    lose(bench, "blocked", waits)
    bench.real(bench.calls.purge("p"))
    bench.settle()
    assert mended(bench, waits) == [(waits, "lost", "ready")]


@pytest.mark.parametrize("children", [1, 2])
def test_a_lost_task_gathers_on(bench: Workbench, children: int) -> None:
    (parent,) = bench.fill(1, gather=2)
    bench.pass_time(1)
    bench.fill(children, parent=parent)
    lose(bench, "blocked", parent)
    bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(children)]))
    bench.settle()
    assert mended(bench, parent) == [(parent, "lost", "ready" if children == 2 else "blocked")]
    if children == 1:
        bench.fill(1, parent=parent)
        bench.real(bench.calls.ack([(lease, None) for lease in bench.claim(1)]))
        bench.settle()
    assert bench.state(parent) == "ready"


def test_a_lost_task_gathers_children_that_come_later(bench: Workbench) -> None:
    (parent,) = bench.fill(1, gather=1)
    lose(bench, "blocked", parent)
    assert mended(bench, parent) == [(parent, "lost", "blocked")]


def test_a_child_knows_the_place_of_its_parent(bench: Workbench) -> None:
    (parent,) = bench.fill(1, gather=1)
    bench.fill(1, parent=parent)
    before = scores(bench, "blocked")
    lose(bench, "blocked", parent)
    assert mended(bench, parent) == [(parent, "lost", "blocked")]
    assert scores(bench, "blocked") == before


def test_the_line_of_an_ordering_key(bench: Workbench) -> None:
    ids = bench.fill(3, ordering_key="k")
    before = scores(bench, "ready:any"), scores(bench, "blocked")
    lose(bench, "ready:any", *ids)
    lose(bench, "blocked", *ids)
    bench.ask("SREM", ":lanes", "any")
    assert mended(bench, *ids) == [(ids[0], "lost", "ready"), (ids[1], "lost", "blocked"), (ids[2], "lost", "blocked")]
    assert (scores(bench, "ready:any"), scores(bench, "blocked")) == before


# leases


def test_a_lease_whose_deadline_is_gone_goes_on(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=5)
    (lease,) = bench.lease(1, user="u", **{name: TIES[name] for name in ("unique", "reply", "timeout")})
    lose(bench, "leases", lease.id)
    bench.ask("DEL", ":holding:user:u")
    assert mended(bench, lease.id) == [(lease.id, "lease", "running")]
    assert bench.real(bench.calls.ack([(lease, None)])) == ["completed"]
    assert bench.real(bench.calls.heartbeat([lease], worker="w")).renewals[0].status == "lease_lost"


def test_a_lease_of_which_nobody_knows_the_token_ends(bench: Workbench) -> None:
    ids = bench.fill(2)
    leases = bench.claim(1)
    bench.ask("HDEL", ":running", leases[0].id)
    assert mended(bench, leases[0].id) == [(leases[0].id, "lease", "ready")]
    assert bench.ready() == ids


def test_a_lease_that_was_settled_has_ended(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    held = bench.ask("HGET", ":running", lease.id)
    bench.real(bench.calls.ack([(lease, b"r")]))
    lose(bench, "finished", lease.id)
    bench.ask("HSET", ":running", lease.id, held)
    assert mended(bench, lease.id) == [(lease.id, "lease", "completed")]


def test_a_lease_that_a_limit_does_not_count(bench: Workbench) -> None:
    """As an ack leaves it that failed: the worker may send it again."""
    bench.limit("user:u", concurrency=1)
    (lease,) = bench.lease(1, user="u")
    bench.ask("DEL", ":holding:user:u")
    bench.ask("HSET", f":task:{lease.id}", "settled", f"{lease.token} completed")
    assert mended(bench, lease.id) == [(lease.id, "lease", "running")]
    assert bench.real(bench.calls.ack([(lease, b"r")])) == ["completed"]
    assert not sound(bench)


def test_a_lease_without_a_task_goes(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=5)
    (lease,) = bench.lease(1, user="u")
    lose(bench, "leases", lease.id)
    bench.ask("DEL", f":task:{lease.id}", f":payload:{lease.id}", ":by:user:u")
    assert mended(bench, lease.id) == [(lease.id, "lease", "gone")]
    assert not bench.ask("EXISTS", ":holding:user:u", ":running")


# tasks in two sets


@pytest.mark.parametrize("state", ["finished", "dead"])
def test_the_end_counts(bench: Workbench, state: str) -> None:
    (lease,) = bench.lease(1)
    held = bench.ask("HGET", ":running", lease.id)
    if state == "dead":
        bench.real(bench.calls.fail([Failure(lease, b"e", retryable=False)], [0]))
    else:
        bench.real(bench.calls.ack([(lease, None)]))
    bench.ask("ZADD", ":leases", bench.now + 5, lease.id)
    bench.ask("HSET", ":running", lease.id, held)
    assert mended(bench, lease.id) == [(lease.id, "twice", "dead" if state == "dead" else "completed")]


def test_a_settlement_that_the_record_knows_counts(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    held = bench.ask("HGET", ":running", lease.id)
    bench.real(bench.calls.fail([Failure(lease, b"e")], [0]))
    bench.ask("ZADD", ":leases", bench.now + 5, lease.id)
    bench.ask("HSET", ":running", lease.id, held)
    assert mended(bench, lease.id) == [(lease.id, "twice", "delayed")]


def test_a_lease_counts_more_than_a_place_in_line(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("ZADD", ":ready:any", 5 * BAND + 1, lease.id)
    bench.ask("SADD", ":lanes", "any")
    bench.ask("ZADD", ":delayed", bench.now + 5, lease.id)
    assert mended(bench, lease.id) == [(lease.id, "twice", "running")]
    assert bench.real(bench.calls.ack([(lease, None)])) == ["completed"]


def test_in_line_and_aside(bench: Workbench) -> None:
    (id,) = bench.fill(1)
    bench.ask("ZADD", ":delayed", bench.now + 5, id)
    assert mended(bench, id) == [(id, "twice", "ready")]


# limits and lanes


def test_who_waits_for_a_limit_without_a_place_there(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=1)
    (lease,) = bench.lease(1, user="u")
    ids = bench.fill(3, user="u")
    bench.claim(10)
    before = scores(bench, "waiting:user:u")
    assert [id.decode() for id, _ in before] == ids
    lose(bench, "waiting:user:u", ids[0])
    assert mended(bench, ids[0]) == [(ids[0], "line", "blocked")]
    assert scores(bench, "waiting:user:u") == before
    bench.ask("DEL", ":waiting:user:u", ":limit:lines")
    assert mended(bench, *ids) == [(id, "line", "blocked") for id in ids]
    lose(bench, "blocked", ids[1])
    assert mended(bench, ids[1]) == [(ids[1], "lost", "ready")]
    assert scores(bench, "ready:any") == before[1:2]
    bench.real(bench.calls.ack([(lease, None)]))
    bench.settle()


def test_entries_of_a_limit_that_belong_to_no_task(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=1)
    (lease,) = bench.lease(1, user="u")
    (waits,) = bench.fill(1, user="u")
    bench.claim(10)
    bench.ask("ZADD", ":holding:user:u", 1, "x", 2, "y")
    bench.ask("ZADD", ":waiting:user:u", 1, "x", 2, "y", 3, "z")
    bench.ask("ZREM", ":limit:lines", "user:u")
    for dry_run in (True, False):
        answer = bench.run(bench.calls.repair(limit="user:u", dry_run=dry_run))
        assert (answer.seen, answer.damaged) == (4, 6)
    assert [id.decode() for id, _ in scores(bench, "holding:user:u")] == [lease.id]
    assert [id.decode() for id, _ in scores(bench, "waiting:user:u")] == [waits]
    assert not sound(bench)
    answer = bench.run(bench.calls.repair(limit="user:u", start=1))
    assert (answer.seen, answer.damaged) == (0, 0)


def test_who_waits_for_another_limit_now(bench: Workbench) -> None:
    bench.limit("user:u", concurrency=1)
    bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u")
    bench.claim(10)
    score = bench.ask("ZSCORE", ":blocked", id)
    bench.ask("ZADD", ":waiting:key:k", score, id)
    bench.ask("ZADD", ":limit:lines", bench.now, "key:k")
    assert bench.run(bench.calls.repair(limit="key:k")).damaged == 2  # the look at the line that is empty now, too
    assert not bench.ask("EXISTS", ":waiting:key:k")


def test_the_list_of_lanes(bench: Workbench) -> None:
    bench.fill(1, lane="group/g")
    bench.ask("SREM", ":lanes", "group/g")
    bench.ask("SADD", ":lanes", "group/h")
    bench.ask("DEL", ":wake:group/g")
    lanes = ["group/g", "group/h", "any"]
    assert bench.run(bench.calls.repair(lanes=lanes, dry_run=True)).lanes == ["damaged", "damaged", "sound"]
    assert bench.run(bench.calls.repair(lanes=lanes)).lanes == ["repaired", "repaired", "sound"]
    assert bench.tokens("group/g") == 1
    assert not sound(bench)


# all at once


@pytest.mark.parametrize("seed", range(12))
def test_random_removals(bench: Workbench, seed: int) -> None:
    """Whatever set a task is taken from, it is found again, and nothing that the audit knows is wrong afterwards."""
    luck = random.Random(seed)
    bench.limit("user:u", concurrency=3)
    ids = bench.fill(4) + bench.fill(3, lane="group/g", user="v") + bench.fill(2, delay=60, tags=["s"])
    bench.pass_time(1)
    ids += bench.fill(8, user="u", parent=ids[0])
    ids += bench.fill(2, after=ids[:2]) + bench.fill(3, ordering_key="k") + bench.fill(2, gather=2, parent=ids[1])
    ids += bench.fill(2, **TIES)
    bench.pass_time(1)
    leases = bench.claim(luck.randint(5, 20))
    luck.shuffle(leases)
    bench.real(bench.calls.ack([(lease, b"r") for lease in leases[:3]]))
    bench.real(bench.calls.fail([Failure(lease, b"e", retryable=lease.id > ids[3]) for lease in leases[3:5]], [0, 0]))
    bench.real(bench.calls.cancel(luck.sample(ids, 2), "c"))
    bench.settle()
    assert not sound(bench)
    before = {id: bench.state(id) for id in ids}

    for name in SETS:
        members = [id for id, _ in scores(bench, name)]
        if some := luck.sample(members, luck.randint(0, len(members))):
            bench.ask("ZREM", f":{name}", *some)
    if some := luck.sample(held := bench.ask("HKEYS", ":running"), luck.randint(0, len(held))):
        bench.ask("HDEL", ":running", *some)
    if luck.random() < 0.5:
        bench.ask("DEL", ":holding:user:u")
    lanes = ["any", "group/g", "group/other"]
    repair(bench, *ids, lanes=lanes, limit="user:u")
    bench.run(bench.calls.repair(lanes=lanes, limit="user:u"))
    assert not sound(bench)
    after = {id: bench.state(id) for id in ids}
    moved = {(before[id], after[id]) for id in ids if before[id] != after[id]}
    assert moved <= {("running", "ready"), ("blocked", "ready")}
    for id in ids:
        if (before[id], after[id]) == ("blocked", "ready"):
            assert bench.record(id).get("user") == b"u"  # from the line of a limit, where it goes again


# what an ended task holds still


@pytest.mark.parametrize("end", ["finished", "dead"])
def test_a_task_that_has_ended_and_waits_too_holds_nothing(bench: Workbench, end: str) -> None:
    ids = bench.fill(2, ordering_key="k")
    (id,) = bench.fill(1, **TIES | {"expires_at": bench.now / 1000 + 5}, after=ids[1:], after_when="ended")
    (other,) = bench.fill(1, after=[id], after_when="ended")
    for one in (ids[0], id):
        bench.ask("ZADD", f":{end}", bench.now, one)
        bench.ask("HSET", f":task:{one}", *(("settled", "t completed") if end == "finished" else ("reason", "expired")))
    state = "completed" if end == "finished" else "dead"
    assert mended(bench, ids[0], id) == [(ids[0], "twice", state), (id, "twice", state)]
    bench.sweep()
    assert [bench.state(one) for one in (ids[1], other)] == ["ready", "ready"]
    assert bench.ask("EXISTS", ":deadlines") == 0
    assert [name for name in bench.ask("HKEYS", ":once") if name.startswith((b"unique", b"scope"))] == []
    bench.pass_time(6_000)
    bench.run(bench.calls.expire())
    assert [bench.state(one) for one in (ids[0], id)] == [state, state]
