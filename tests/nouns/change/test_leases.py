"""Runs of a change: what a lost lease leaves, and what its applier may still say."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.bench import NounBench
from tests.nouns.change.states import Seen, answer, applying, approved, finish, move, watched
from tests.nouns.script_bench import MakeAny

LEASE = 30_000  # ms


def stored(bench: NounBench, *names: str) -> list[Any]:
    found = bench.put("get", item=["c"]).items[0].change
    return [found.get(name) for name in names]


def begin(bench: NounBench, one: Seen, rid: str) -> Any:
    return bench.put("begin", rid=rid, agent=rid, **one)


def test_a_run_whose_lease_is_over_counts_one_attempt_and_may_be_begun_again(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = applying(bench)
    bench.pass_time(LEASE - 1)
    assert begin(bench, one, "second").status == "held"
    bench.pass_time(1)
    again = begin(bench, one, "third")
    assert (again.status, again.fence) == ("begun", 2)
    assert stored(bench, "state", "attempts", "agent") == ["applying", 1, "third"]
    assert bench.put("heartbeat", id="c", token="token").status == "lost"
    assert finish(bench, one).status == "lost"
    assert finish(bench, one, token="third").status == "completed"


@pytest.mark.parametrize(
    ("result", "state", "attempts"),
    [
        ("success", "completed", 1),
        ("failure", "failed", 1),
        ("timeout", "failed", 1),
        ("cancelled", "cancelled", 1),
        ("released", "approved", 1),
    ],
)
def test_a_late_result_counts_while_nobody_has_begun_again(
    make_any: MakeAny, result: str, state: str, attempts: int
) -> None:
    """The lost lease has counted the attempt already."""
    bench = watched(make_any("change"))
    one = applying(bench)
    bench.pass_time(LEASE)
    assert finish(bench, one, result).status == state
    assert stored(bench, "state", "attempts", "result") == [state, attempts, result]
    assert finish(bench, one).status == "lost", "a token counts once"


def test_a_late_result_does_not_count_in_another_round(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = applying(bench)
    bench.pass_time(LEASE)
    assert answer(bench, one, "bob", "retract").state == "reviewing"
    assert finish(bench, one).status == "lost"
    answer(bench, one, "bob")
    assert finish(bench, one).status == "lost"
    assert begin(bench, one, "next").status == "begun"


def test_each_lost_lease_counts_until_none_is_left(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = approved(bench, max_attempts=3)
    for number in range(3):
        assert begin(bench, one, f"run{number}").status == "begun"
        bench.pass_time(LEASE)
    answered = begin(bench, one, "run3")
    assert (answered.status, answered.state) == ("state", "failed")
    assert stored(bench, "attempts", "why") == [3, "lost"]
    assert finish(bench, one, token="run2").status == "lost"


def test_a_new_approval_has_all_its_attempts(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    one = applying(bench, max_attempts=2)
    assert finish(bench, one, "failure", retry=True).attempts == 1
    answer(bench, one, "bob", "retract")
    assert bench.ask("HMGET", ":change:c", "state", "decided_by") == [b"reviewing", b""]
    answer(bench, one, "bob")
    assert stored(bench, "state", "attempts") == ["approved", 0]


@pytest.mark.parametrize(("pause", "state"), [(19_999, "approved"), (20_000, "reviewing")])
def test_a_run_that_is_given_back_after_the_end_of_its_approval_is_reviewed_again(
    make_any: MakeAny, pause: int, state: str
) -> None:
    bench = watched(make_any("change"))
    one = applying(bench, approval=60)
    for _ in range(2):
        bench.pass_time(20_000)
        bench.put("heartbeat", id="c", token="token")
    bench.pass_time(pause)
    told = finish(bench, one, "released")
    assert (told.status, told.attempts) == (state, 0)


def test_a_heartbeat_renews_until_the_time_of_the_run_and_a_grace(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    bench.put("configure", settings={"default_run": 60})
    applying(bench)
    start = bench.now / 1000
    ends = []
    for _ in range(5):
        bench.pass_time(20_000)
        told = bench.put("heartbeat", id="c", token="token")
        ends.append((told.status, told.deadline and round(told.deadline - start)))
    assert ends == [("renewed", 50), ("renewed", 70), ("timed_out", 90), ("timed_out", 90), ("lost", None)]
    assert stored(bench, "state", "why", "attempts") == ["failed", "timeout", 1]


def test_a_run_ends_although_the_memory_is_full(make_any: MakeAny) -> None:
    """Not even a full server keeps an applier from saying what has happened."""
    bench = watched(make_any("change"))
    applying(bench)
    calls = [
        bench.call("heartbeat", id="c", token="token"),
        bench.call("finish", id="c", token="token", result="success", printed="done"),
    ]
    bench.full()
    assert [bench.real(call).status for call in calls] == ["renewed", "completed"]
    bench.full(False)
    assert stored(bench, "state") == ["completed"]


def test_a_cancelled_run_ends_as_its_applier_says(make_any: MakeAny) -> None:
    for result, state in ("success", "completed"), ("released", "cancelled"), ("failure", "cancelled"):
        bench = watched(make_any("change"))
        one = applying(bench)
        assert move(bench, one, "cancel").status == "cancelling"
        assert bench.put("heartbeat", id="c", token="token").status == "cancelling"
        assert finish(bench, one, result, retry=True).status == state
        assert stored(bench, "cancelling") == [False]
