"""What lists say of changes whose review is over by time, and what is counted of users."""

from __future__ import annotations

from tests.lua.bench import START, MakeAny, pairs
from tests.nouns.change.states import answer, in_review, watched


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
    for one, action in zip(seen, ("approve", "reject", "abstain", "approve"), strict=True):
        answer(bench, one, "bob", action)
    answer(bench, seen[0], "bob", "reject")  # another answer to the same request is not one more
    day = bench.now // 86_400_000
    assert pairs(bench.ask("HGETALL", ":userstats:bob")) == {
        f"a:{day}": b"2",
        f"r:{day}": b"2",
        "answers": b"4",
        "took_ms": b"4000",
        "took:1024": b"4",
        "last_ms": str(START + 1000).encode(),
    }
