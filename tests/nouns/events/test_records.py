"""What groups of readers of events answer and keep, to the last number."""

from __future__ import annotations

from typing import Any

import pytest

from tests.nouns.events.bench import Bench
from tests.nouns.script_bench import MakeAny

DAY = 86_400_000
HOUR = 3_600_000


@pytest.fixture
def bench(make_any: MakeAny) -> Any:
    """One whose calls are all watched."""
    bench: Any = make_any("events")
    bench.put = lambda verb, **arguments: bench.run(bench.call(verb, **arguments))
    return bench


def about(bench: Bench, name: str = "a") -> dict[str, Any]:
    (found,) = [one.about for one in bench.put("groups").items if one.name == name]
    own: dict[str, Any] = found
    return own


def gap_of(bench: Bench, name: str = "a", **more: Any) -> tuple[int, str, str, int] | None:
    gaps = bench.put("read", group=name, **more).gaps
    return next(((one.number, one.fields["from"], one.to, one.lost) for one in gaps), None)


def test_a_group_begins_with_the_oldest_event_or_with_the_next(bench: Bench) -> None:
    ids = bench.add_events(3)
    bench.register("a")
    bench.register("b", start="now")
    (more,) = bench.add_events(1)
    bench.pass_time(1)
    found = [one.id for one in bench.put("read", group="b").items]
    assert [len(found), found[-1]] == [2, more], "the event of its own registration, and the next"
    assert bench.read("a")[:3] == ids
    assert about(bench, "a")["lag"] == about(bench, "b")["lag"] == 0


def test_a_group_that_registers_where_events_were_trimmed_has_lost_nothing(bench: Bench) -> None:
    bench.add_events(5)
    bench.trim_to(2)
    bench.register("a")
    assert about(bench)["missed"] == 0
    assert about(bench)["lag"] == 3
    assert gap_of(bench) is None


def test_a_group_that_begins_with_the_first_event_has_lost_what_was_trimmed(bench: Bench) -> None:
    ids = bench.add_events(5)
    bench.trim_to(2)
    bench.register("a", start="first")
    assert about(bench)["missed"] == 3
    assert gap_of(bench) == (1, "0-0", ids[3], 3)


def test_what_is_lost_is_one_gap_with_its_ends(bench: Bench) -> None:
    ids = bench.add_events(2)
    bench.register("a")
    bench.read(limit=1)
    more = bench.add_events(6)
    bench.trim_to(3)
    assert (about(bench)["missed"], about(bench)["lag"], about(bench)["gap"]) == (5, 3, 0)
    found = bench.put("read", group="a", limit=1)
    (gap,) = found.gaps
    assert (gap.number, gap.fields["from"], gap.to, gap.lost) == (2, ids[0], more[3], 6), "with the delivered one"
    assert found.lag == 3, "two, and the event of the gap"
    (event,) = bench.events("group.gap")
    assert event["payload"] == f"from={ids[0]} to={more[3]} lost=6".encode()
    last = bench.add_events(4)
    bench.trim_to(2)
    assert gap_of(bench, limit=1) == (4, ids[0], last[2], 12)
    assert len(bench.events("group.gap")) == 0, "it was trimmed, and there is no second one"
    own = about(bench)
    assert (own["gap"], own["gap_from"], own["gap_to"], own["gap_lost"], own["lost"]) == (4, ids[0], last[2], 12, 12)
    bench.put("ack", group="a", gap=2)
    assert about(bench)["gap"] == 4
    bench.put("ack", group="a", item=[last[2]])
    assert about(bench)["gap"] == 4, "no number, no gap"
    bench.put("ack", group="a", gap=4)
    own = about(bench)
    assert (own["gap"], own["gap_from"], own["gap_to"], own["gap_lost"], own["lost"]) == (0, "", "", 0, 12)
    assert gap_of(bench) is None
    bench.pass_time(60_000)
    assert gap_of(bench) is None, "all was reported at once"


def test_a_delivered_event_that_was_trimmed_is_lost_at_the_next_read(bench: Bench) -> None:
    ids = bench.add_events(4)
    bench.register("a")
    bench.read(limit=3)
    bench.put("ack", group="a", item=ids[1:2])
    bench.add_events(1)
    bench.trim_to(3)
    assert gap_of(bench) == (1, ids[0], ids[2], 2), "it need not wait until the time to acknowledge is over"
    assert bench.put("ack", group="a", item=ids, gap=1).acked == 1, "only the last one was still pending"
    bench.pass_time(60_000)
    assert gap_of(bench) is None
    assert about(bench)["lost"] == 2


def test_a_delivered_event_that_is_acknowledged_before_the_next_read_is_not_lost(bench: Bench) -> None:
    ids = bench.add_events(3)
    bench.register("a")
    bench.read(limit=3)
    bench.trim_to(1)
    assert bench.put("ack", group="a", item=ids).acked == 3
    assert gap_of(bench) is None


def test_a_gap_grows_at_both_ends(bench: Bench) -> None:
    ids = bench.add_events(5)
    bench.register("a")
    bench.read(limit=3)
    more = bench.add_events(4)
    bench.trim_to(2)
    assert gap_of(bench, limit=1) == (2, ids[0], more[2], 8), "the end is the later one"


def test_the_ends_of_a_gap_are_compared_within_a_millisecond(bench: Bench) -> None:
    at = bench.now
    for number in (9, 10, 11, 100, 101):
        bench.ask("XADD", ":events", f"{at}-{number}", "event", "task.enqueued", "timestamp", at, "id", "t")
    bench.register("a")
    bench.read(limit=4)
    bench.trim_to(3)
    assert gap_of(bench, limit=1) == (1, f"{at}-9", f"{at}-11", 3)
    assert bench.put("ack", group="a", item=[f"{at}-100"]).acked == 1, "it is there, and pending"


def test_a_gap_of_a_stream_that_begins_anew_with_smaller_ids(bench: Bench) -> None:
    ids = bench.add_events(5)
    bench.register("a")
    bench.read(limit=5)
    bench.ask("DEL", ":events")
    bench.add_events(1, at=1000)
    assert gap_of(bench) == (2, ids[0], ids[4], 0)
    bench.pass_time(60_000)
    found = bench.put("read", group="a")
    assert [gap.number for gap in found.gaps] == [2], "no second one"
    assert about(bench)["lost"] == 5


def test_where_all_was_trimmed_the_gap_ends_with_the_newest(bench: Bench) -> None:
    bench.register("a")
    ids = bench.add_events(3)
    bench.trim_to(0)
    found = bench.put("read", group="a")
    (gap,) = found.gaps
    assert (gap.to, gap.lost, found.lag) == (ids[2], 3, 1)
    assert [one.status for one in bench.put("read", group="a").items] == ["event"]
    assert about(bench)["lag"] == 0


def test_a_gap_of_unknown_size_stays_so(bench: Bench) -> None:
    bench.add_events(5)
    bench.register("a")
    bench.read()
    bench.ask("DEL", ":events")
    ids = bench.add_events(2)
    number, _, to, lost = gap_of(bench, limit=1) or (0, "", "", 0)
    assert (number, to, lost) == (2, ids[0], 0)
    more = bench.add_events(3)
    bench.trim_to(1)
    number, _, to, lost = gap_of(bench) or (0, "", "", 0)
    assert (number, to, lost) == (4, more[2], 0)
    assert about(bench)["lost"] == 11, "what is known: five of the old stream, and six of the new one"


def test_an_unknown_loss_makes_the_size_unknown(bench: Bench) -> None:
    bench.register("a")
    bench.add_events(5)
    bench.trim_to(3)
    assert (gap_of(bench, limit=1) or [])[3] == 2
    bench.ask("DEL", ":events")
    bench.add_events(1)
    assert (gap_of(bench, limit=1) or [])[3] == 0


def test_a_deleted_stream_leaves_no_lag(bench: Bench) -> None:
    bench.add_events(5)
    bench.register("a")
    bench.read()
    bench.ask("DEL", ":events")
    assert (about(bench)["lag"], about(bench)["missed"]) == (0, 0)
    assert bench.put("read", group="a").lag == 0


def test_the_time_of_the_last_read_is_exact_to_a_minute(bench: Bench) -> None:
    bench.register("a")
    begun = about(bench)["read"]
    bench.pass_time(59_999)
    bench.read()
    assert about(bench)["read"] == begun
    bench.pass_time(1)
    bench.read()
    assert about(bench)["read"] == begun + 60
    bench.put("configure", settings={"lapse": 100})
    bench.pass_time(9_999)
    bench.read()
    assert about(bench)["read"] == begun + 60
    bench.pass_time(1)
    bench.read()
    assert about(bench)["read"] == begun + 70


def test_a_group_without_a_reader_lapses_and_comes_back(bench: Bench) -> None:
    bench.add_events(250)
    bench.register("a")
    bench.pass_time(7 * DAY - 1)
    assert bench.put("trim", before_ms=bench.now).held_by == "a"
    assert not about(bench)["lapsed"]
    bench.pass_time(1)
    assert about(bench)["lapsed"]
    before = bench.now
    bench.add_events(1)
    found = bench.put("trim", before_ms=before)
    assert (found.removed > 100, found.more, found.held_by) == (True, 1, "")
    assert bench.put("trim", before_ms=before).more == 0
    assert len(bench.events("group.lapsed")) == 1
    bench.put("trim", before_ms=before)
    assert len(bench.events("group.lapsed")) == 1
    lost = (gap_of(bench) or [])[3]
    assert lost == found.removed
    assert not about(bench)["lapsed"]
    bench.read()
    assert bench.put("trim", before_ms=bench.now).held_by == "a"


def test_the_slowest_group_holds(bench: Bench) -> None:
    ids = bench.add_events(3)
    bench.register("a", "b")
    for name in "ab":
        bench.read(name)
    bench.put("ack", group="a", item=ids)
    assert bench.put("trim", before_ms=bench.now).held_by == "b"
    bench.put("ack", group="b", item=ids[:1])
    assert bench.put("trim", before_ms=int(ids[1].partition("-")[0])).held_by == "", "it holds nothing older"
    assert bench.put("trim", before_ms=int(ids[1].partition("-")[0]) + 1).held_by == "b"


@pytest.mark.parametrize(("noun_keeps", "kept"), [(0, 7 * DAY), (HOUR, HOUR), (30 * DAY, 30 * DAY)])
def test_a_read_trims_once_an_hour(bench: Bench, noun_keeps: int, kept: int) -> None:
    if noun_keeps:
        bench.ask("HSET", ":config", "events_keep_ms", noun_keeps)
    bench.put("configure", settings={"lapse": 40 * 86_400})
    bench.add_events(250)
    bench.register("a")
    while ids := bench.read(limit=1000):
        bench.put("ack", group="a", item=ids)
    bench.pass_time(kept - HOUR)
    bench.read()
    length = bench.put("groups").length
    bench.pass_time(HOUR - 1)
    bench.read()
    assert bench.put("groups").length == length, "within the hour, or too early"
    bench.pass_time(HOUR)
    bench.read()
    assert bench.put("groups").length < length


def test_the_noun_knows_until_when_groups_hold_its_events(bench: Bench) -> None:
    def held() -> int | None:
        until = bench.ask("HGET", ":events:config", "held_ms")
        return None if until is None else int(until) - bench.now

    bench.register("a", "b")
    assert held() == 7 * DAY
    bench.pass_time(59_999)
    bench.read()
    assert held() == 7 * DAY - 59_999, "exact to a minute"
    bench.pass_time(1)
    bench.read("b")
    assert held() == 7 * DAY
    bench.ask("DEL", ":config")
    bench.make_home()  # the noun was deleted, and has begun anew
    assert held() == 7 * DAY
    bench.pass_time(60_000)
    bench.read()
    assert held() == 7 * DAY
    bench.put("configure", settings={"keep": 3600})
    bench.put("configure", settings={"lapse": 14 * 86_400})
    assert held() == 14 * DAY
    bench.put("drop", item=["a"])
    assert held() == 14 * DAY
    bench.put("drop", item=["b"])
    assert held() is None
    bench.put("configure", settings={"lapse": 86_400})
    assert held() is None


def test_a_clock_that_was_set_back_stops_nothing(bench: Bench) -> None:
    bench.add_events(250)
    bench.register("a")
    while ids := bench.read(limit=1000):
        bench.put("ack", group="a", item=ids)
    length = bench.put("groups").length
    bench.ask("HSET", ":events:config", "swept_ms", bench.now + 30 * DAY)
    bench.ask("HSET", ":events:group:a", "read_ms", bench.now + 30 * DAY)
    bench.ask("HSET", ":events:config", "held_ms", bench.now + 37 * DAY)
    bench.pass_time(8 * DAY)
    bench.read()
    assert about(bench)["read"] == bench.now / 1000
    assert bench.put("groups").length < length


def test_long_events_fill_an_answer(bench: Bench) -> None:
    half = ("payload", "x" * (4_194_304 // 2 - len("eventtask.enqueuedtimestamp4100000000000idtpayload")))
    bench.add_events(4, *half)
    bench.register("a")
    assert len(bench.read()) == 2, "they fill it exactly"
    bench.read()
    bench.pass_time(60_000)
    assert len(bench.read()) == 2
