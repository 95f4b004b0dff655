"""What lists say of changes whose review is over by time, and what is counted of users."""

from __future__ import annotations

import pytest

from tests.nouns.change.states import DAY, answer, in_review, watched
from tests.nouns.script_bench import START, MakeAny, pairs


def test_a_review_that_is_over_is_overdue_until_a_call_notes_it(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    for id, timeout in ("short", 60), ("long", 120):
        in_review(bench, id, timeout=timeout)
    bench.pass_time(60_000)
    listed = bench.put("list", by="state", value="reviewing").items
    assert [(one.id, one.overdue) for one in listed] == [("short", 1), ("long", 0)]
    assert [one.overdue for one in bench.put("get", item=["short", "long"]).items] == [1, 0]
    told = bench.put("stats")
    assert (told.overdue, told.since) == (1, bench.now / 1000)
    bench.put("sweep")
    assert bench.put("stats").overdue == 0
    assert [one.overdue for one in bench.put("get", item=["short", "long"]).items] == [0, 0]


def test_what_is_counted_of_a_user(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    seen = [in_review(bench, f"c{number}", "user:bob", "user:eve", required=2) for number in range(4)]
    bench.pass_time(1000)
    for one, action in zip(seen, ("approve", "reject", "abstain", "abstain"), strict=True):
        answer(bench, one, "bob", action)
    answer(bench, seen[0], "bob", "reject")  # another answer to the same request is not one more
    day = bench.now // 86_400_000
    assert pairs(bench.ask("HGETALL", ":userstats:bob")) == {
        f"a:{day}": b"1",
        f"r:{day}": b"2",
        "answers": b"4",
        "took_ms": b"4000",
        "took:1024": b"4",
        "last_ms": str(START + 1000).encode(),
    }


def test_what_a_user_has_answered_is_counted_for_thirty_one_days(make_any: MakeAny) -> None:
    bench = watched(make_any("change"))
    first = bench.now // DAY
    for days in (0, 30, 1):
        bench.pass_time(days * DAY)
        for action in ("approve", "reject"):
            answer(bench, in_review(bench, f"{action}{bench.now}"), "bob", action)
    kept = pairs(bench.ask("HGETALL", ":userstats:bob"))
    days_kept = {name: value for name, value in kept.items() if name[1] == ":"}
    assert days_kept == {f"{kind}:{first + days}": b"1" for kind in "ar" for days in (30, 31)}
    assert kept["answers"] == b"6"


def test_a_sweep_says_whether_there_is_more_to_do(make_any: MakeAny) -> None:
    """There is not, where all that is left to delete waits for the outbox."""
    bench = watched(make_any("change"))
    for number in range(3):
        answer(bench, in_review(bench, f"c{number}"), "bob", "reject")
    bench.pass_time(400 * DAY)
    in_review(bench, "d", cancelled_kind="tell")
    bench.put("move", id="d", to="cancel", actor="ann")
    bench.pass_time(400 * DAY)
    told = [bench.put("sweep", limit=limit) for limit in (2, 5, 1)]
    assert [(one.removed, one.more) for one in told] == [(2, 1), (1, 0), (0, 0)]
    for id in "e", "f":
        in_review(bench, id, timeout=60)
    bench.pass_time(60_000)
    told = [bench.put("sweep", limit=2) for _ in range(2)]
    assert [(one.taken, one.more) for one in told] == [(2, 1), (0, 0)]


@pytest.mark.parametrize(
    ("took", "bound"),
    [(0, 1), (1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048), (2**32, 2**32), (2**32 + 1, 2**32)],
)
def test_how_long_an_answer_took_is_counted_below_a_power_of_two(make_any: MakeAny, took: int, bound: int) -> None:
    bench = watched(make_any("change"))
    bench.put("configure", settings={"max_timeout": 100 * DAY / 1000})
    one = in_review(bench, timeout=100 * DAY / 1000)
    bench.pass_time(took)
    answer(bench, one, "bob")
    assert [name for name in pairs(bench.ask("HGETALL", ":userstats:bob")) if name.startswith("took:")] == [
        f"took:{bound}"
    ]
