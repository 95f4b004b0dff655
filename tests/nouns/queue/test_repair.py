"""Tasks that a call lost which failed half-way, and all that may be wrong with leases, limits and lanes besides."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Repair, Task
from tests.audit import audit
from tests.nouns.queue.workbench import Workbench


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


def test_tasks_of_one_millisecond_go_back_in_the_order_of_their_calls(bench: Workbench) -> None:
    for rid, ids in (("a", "zyx"), ("b", "cba")):
        bench.real(bench.calls.enqueue([(id, Task(payload=b"x")) for id in ids], rid))
    for lost in "yxcb":
        lose(bench, "ready:any", lost)
        repair(bench, lost)
        assert "".join(bench.ready()) == "zyxcba"


# what the record says


def test_a_task_that_was_retried_by_hand_runs_again(bench: Workbench) -> None:
    (id,) = bench.die(1)
    bench.real(bench.calls.retry([id], "r"))
    lose(bench, "ready:any", id)
    bench.ask("SREM", ":lanes", "any")
    assert mended(bench, id) == [(id, "lost", "ready")]


@pytest.mark.parametrize("delay", [0, 20])
def test_a_lost_task_has_its_time_in_the_lane_again(bench: Workbench, delay: int) -> None:
    (id,) = bench.fill(1, lane="group/g", fallback=["any"], fallback_after=60, delay=delay)
    since = bench.now + 1_000 * (delay or 5)
    bench.pass_time(5_000)
    lose(bench, "delayed" if delay else "ready:group/g", id)
    lose(bench, "deadlines", id)
    assert mended(bench, id) == [(id, "lost", "delayed" if delay else "ready")]
    assert scores(bench, "deadlines") == [(id.encode(), since + 60_000)]


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


# leases


def test_a_lease_that_a_limit_does_not_count(bench: Workbench) -> None:
    """As an ack leaves it that failed: the worker may send it again."""
    bench.limit("user:u", concurrency=1)
    (lease,) = bench.lease(1, user="u")
    bench.ask("DEL", ":holding:user:u")
    bench.ask("HSET", f":task:{lease.id}", "settled", f"{lease.token} completed")
    assert mended(bench, lease.id) == [(lease.id, "lease", "running")]
    assert bench.real(bench.calls.ack([(lease, b"r")])) == ["completed"]
    assert not sound(bench)


# limits and lanes


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
