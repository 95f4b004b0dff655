"""queue.run_now: its paths, its largest calls, and what it promises.

A verb has all its tests in one such file. `scenarios.py` and `test_sizes.py` find it.
"""

from __future__ import annotations

import pytest

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.sizes_of_tasks import enqueue, everything, follow, heavies
from tests.nouns.queue.states import put
from tests.nouns.queue.workbench import BAND, START, Workbench
from tests.nouns.scenario import TIES, AnyCall, scenario, scenarios, sent
from tests.nouns.size import size


@scenario(1, 100, 1000)
def run_now_delayed(bench: Workbench, n: int) -> AnyCall:
    return bench.calls.run_now(bench.fill(n, delay=600), "r")


scenarios(
    (1, 100),
    run_now_tied=lambda bench, n: bench.calls.run_now(bench.fill(n, delay=600, **TIES), "r"),
    run_now_again=lambda bench, n: sent(bench, bench.calls.run_now(bench.fill(n, delay=600), "r")),
    run_now_what_is_not_delayed=lambda bench, n: bench.calls.run_now(bench.fill(n), "r"),
    run_now_unknown=lambda bench, n: bench.calls.run_now([f"unknown{at}" for at in range(n)], "r"),
)


@scenario(1, 100)
def run_now_expired(bench: Workbench, n: int) -> AnyCall:
    ids = bench.fill(n, delay=600, expires_at=START / 1000 + 1)
    bench.pass_time(1_000)
    return bench.calls.run_now(ids, "r")


@scenario(1, 100)
def run_now_snoozed_named_twice(bench: Workbench, n: int) -> AnyCall:
    leases = bench.lease(n)
    bench.real(bench.calls.snooze([(lease, 600) for lease in leases]))
    return bench.calls.run_now([lease.id for lease in leases] * 2, "r")


@scenario(0, clock="server")
def run_now_without_a_queue(bench: Workbench, _: int) -> AnyCall:
    return bench.calls.run_now(["unknown"], "r")


@scenario(1, 100)
def run_now_with_fair_shares(bench: Workbench, n: int) -> AnyCall:
    bench.real(bench.calls.configure(fair=True))
    return bench.calls.run_now(bench.fill(n, delay=600, user=lambda id: id), "r")


@size(1, 1000)
def run_now_all_that_a_task_may_have(bench: Workbench, n: int) -> AnyCall:
    everything(bench)
    ids = enqueue(bench, heavies(n, delay=600))
    follow(bench, ids[:100], 3)
    return bench.calls.run_now(ids, "r")


def run_now(bench: Workbench, *ids: str, rid: str | None = None) -> list[tuple[str, str | None]]:
    return [(one.status, one.state) for one in bench.run(bench.calls.run_now(list(ids), rid))]


def test_a_delayed_task_is_ready_at_the_end_of_the_line_of_its_priority_and_lane(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600, lane="group/g", priority=3)
    line = bench.fill(2, lane="group/g", priority=3)
    bench.ask("DEL", ":wake:group/g")
    bench.pass_time(7)
    assert run_now(bench, id) == [("ready", None)]
    assert bench.ready("group/g") == [*line, id]
    assert int(bench.ask("ZSCORE", ":ready:group/g", id)) == 3 * BAND + 4
    assert (bench.tokens("group/g"), bench.ask("EXISTS", ":delayed")) == (1, 0)
    assert bench.record(id)["ready_ms"] == b"%d" % (START + 7)
    assert [(one["id"], one["payload"]) for one in bench.events("task.promoted")] == [(id.encode(), b"reason=by_hand")]
    assert bench.counters()["promoted"] == 1
    check_queue(bench)


def test_a_retry_a_snoozed_task_and_one_that_crashed_twice_need_not_wait(bench: Workbench) -> None:
    (crashed,) = bench.crash(1)
    bench.pass_time(15_000)
    bench.real(bench.calls.reap())
    failed, snoozed = bench.lease(2)
    bench.real(bench.calls.fail([Failure(failed, "e")], [0]))
    bench.real(bench.calls.snooze([(snoozed, 600.0)]))
    ids = [crashed.id, failed.id, snoozed.id]
    assert [bench.state(id) for id in ids] == ["delayed"] * 3
    assert run_now(bench, *ids) == [("ready", None)] * 3
    assert [(one.id, one.attempt, one.delivery) for one in bench.claim(3)] == [
        (crashed.id, 1, 3), (failed.id, 2, 2), (snoozed.id, 1, 2),
    ]  # fmt: skip
    check_queue(bench)


def test_fair_shares_give_it_the_place_of_its_user(bench: Workbench) -> None:
    bench.real(bench.calls.configure(fair=True))
    bench.fill(3, user="a")
    (id,) = bench.fill(1, user="b", delay=600)
    run_now(bench, id)
    assert bench.ready().index(id) < 2
    check_queue(bench)


@pytest.mark.parametrize("state", ["ready", "blocked", "running", "stalled", "completed", "cancelled", "dead"])
def test_only_the_delayed_are_changed(bench: Workbench, state: str) -> None:
    id = put(bench, state)
    before = bench.dump()
    assert run_now(bench, id) == [("not_delayed", state)]
    assert bench.dump() == before


def test_unknown_and_deleted_tasks_are_not_found_and_nothing_is_written(bench: Workbench) -> None:
    assert run_now(bench, "unknown", rid="r") == [("not_found", None)]
    (id,) = bench.fill(1, delay=600, idempotency_key="k")
    bench.real(bench.calls.purge("p"))
    before = bench.dump()
    assert run_now(bench, id, "unknown") == [("not_found", None)] * 2
    assert bench.dump() == before


def test_an_id_that_is_named_twice_is_run_once(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600)
    assert run_now(bench, id, id) == [("ready", None), ("not_delayed", "ready")]
    assert (bench.ready(), bench.counters()["promoted"]) == ([id], 1)


def test_one_that_waits_for_others_or_in_the_queue_of_a_limit_stays_there(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    (lease,) = bench.lease(1, user="u")
    (limited,) = bench.fill(1, user="u")
    (after,) = bench.fill(1, after=[lease.id], delay=600)
    bench.claim(1)
    assert run_now(bench, limited, after) == [("not_delayed", "blocked")] * 2
    check_queue(bench)


def test_a_limit_still_holds_back_what_runs_now(bench: Workbench) -> None:
    bench.limit(concurrency=1)
    bench.lease(1, user="u")
    (id,) = bench.fill(1, user="u", delay=600)
    assert run_now(bench, id) == [("ready", None)]
    assert bench.claim(1) == []
    assert bench.state(id) == "blocked"
    check_queue(bench)


def test_the_tasks_of_an_ordering_key_keep_their_order(bench: Workbench) -> None:
    first, second = [bench.fill(1, ordering_key="k", delay=600)[0] for _ in range(2)]
    assert run_now(bench, second, first) == [("not_delayed", "blocked"), ("ready", None)]
    assert [one.id for one in bench.claim(2)] == [first]
    check_queue(bench)


def test_its_unique_key_and_its_scope_are_held_as_before(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600, unique="q", scope="s")
    run_now(bench, id)
    before = bench.ask("ZCARD", ":ready:any")
    assert bench.ask("HMGET", ":once", "unique:q", "scope:s") == [id.encode()] * 2
    bench.fill(1, unique="q")
    bench.fill(1, scope="s")
    assert bench.ask("ZCARD", ":ready:any") == before
    check_queue(bench)


def test_fallback_lanes_count_from_now(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600, lane="group/g", fallback="any", fallback_after=60)
    assert int(bench.ask("ZSCORE", ":deadlines", id)) == START + 660_000
    run_now(bench, id)
    assert int(bench.ask("ZSCORE", ":deadlines", id)) == START + 60_000
    bench.pass_time(60_000)
    bench.real(bench.calls.expire())
    assert bench.ready("any") == [id]
    check_queue(bench)


def test_one_that_would_expire_before_it_is_due_can_run(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600, expires_at=START / 1000 + 60)
    bench.pass_time(59_999)
    assert run_now(bench, id) == [("ready", None)]
    assert [one.id for one in bench.claim(1)] == [id]
    check_queue(bench)


def test_one_that_has_expired_cannot(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600, expires_at=START / 1000 + 60)
    bench.pass_time(60_000)
    before = bench.dump()
    assert run_now(bench, id) == [("expired", None)]
    assert bench.dump() == before
    bench.claim(1)
    assert run_now(bench, id) == [("not_delayed", "dead")]


def test_in_a_paused_queue_it_is_ready_and_nobody_is_woken(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600)
    bench.real(bench.calls.pause())
    bench.ask("DEL", ":wake:any")
    assert run_now(bench, id) == [("ready", None)]
    assert (bench.tokens(), bench.claim(1)) == (0, [])
    bench.real(bench.calls.resume())
    assert (bench.tokens(), [one.id for one in bench.claim(1)]) == (1, [id])


def test_the_same_call_again_changes_nothing(bench: Workbench) -> None:
    (id,) = bench.fill(1, delay=600)
    assert run_now(bench, id, "unknown", rid="r") == [("ready", None), ("not_found", None)]
    (lease,) = bench.claim(1)
    bench.real(bench.calls.snooze([(lease, 600.0)]))
    before = bench.dump()
    assert run_now(bench, id, "unknown", rid="r") == [("ready", None), ("not_found", None)]
    assert bench.dump() == before
    assert run_now(bench, id, "unknown", rid="s") == [("ready", None), ("not_found", None)]


def test_tasks_with_all_that_a_task_may_have(bench: Workbench) -> None:
    ids = bench.fill(3, delay=600, **TIES)
    assert run_now(bench, *ids) == [("ready", None)] * 3
    assert bench.ready() == ids
    check_queue(bench)
