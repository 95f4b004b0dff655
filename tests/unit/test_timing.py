"""When a schedule fires: both changes of the clocks, intervals, one moment, and what is refused."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pyadeq import At, BadArgument, Cron, Every
from pyadeq._core.queue.schedules import MOST_COUNTED, due_now, times_between
from pyadeq._core.queue.timing import CALENDAR_END_MS, next_time, read_timing, times, timing_text
from pyadeq.models.schedule import Schedule, Timing

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
DAY_MS = 86_400_000


def at(text: str, tz: str = "UTC", fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz), fold=fold)


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def on_day(timing: Cron, date: str, form: str = "%H:%M%z") -> str:
    """Its times of a day, by the clock on the wall and the offset from UTC."""
    zone, begin = ZoneInfo(timing.tz), at(date, timing.tz)
    end = begin + timedelta(days=1)
    found = takewhile(lambda at_ms: at_ms < ms(end), times(timing, ms(begin) - 1))
    return " ".join(datetime.fromtimestamp(at_ms / 1000, zone).strftime(form) for at_ms in found)


# The changes of the clocks


@pytest.mark.parametrize(
    ("expression", "forward", "back"),
    [
        ("45 1 * * *", "01:45+0100", "01:45+0200"),
        ("0 2 * * *", "03:00+0200", "02:00+0200"),
        ("30 2 * * *", "03:00+0200", "02:30+0200"),
        ("0,20,40 2 * * *", "03:00+0200", "02:00+0200 02:20+0200 02:40+0200"),
        ("30 2,3 * * *", "03:00+0200 03:30+0200", "02:30+0200 03:30+0100"),
        ("0 2,3 * * *", "03:00+0200", "02:00+0200 03:00+0100"),
        ("0 3 * * *", "03:00+0200", "03:00+0100"),
        ("0 30 2 * * *", "", "02:30+0200 02:30+0100"),
        ("*/30 2 * * *", "", "02:00+0200 02:30+0200 02:00+0100 02:30+0100"),
        (
            "*/30 1-3 * * *",
            "01:00+0100 01:30+0100 03:00+0200 03:30+0200",
            "01:00+0200 01:30+0200 02:00+0200 02:30+0200 02:00+0100 02:30+0100 03:00+0100 03:30+0100",
        ),
    ],
)
def test_in_berlin_an_hour_is_left_out_and_another_comes_twice(expression: str, forward: str, back: str) -> None:
    timing = Cron(expression, BERLIN)
    assert on_day(timing, "2026-03-29") == forward
    assert on_day(timing, "2026-10-25") == back


@pytest.mark.parametrize(
    ("expression", "forward", "back"),
    [
        ("30 1 * * *", "01:30-0500", "01:30-0400"),
        ("30 2 * * *", "03:00-0400", "02:30-0500"),
        ("0 1,2,3 * * *", "01:00-0500 03:00-0400", "01:00-0400 02:00-0500 03:00-0500"),
        (
            "*/30 1-2 * * *",
            "01:00-0500 01:30-0500",
            "01:00-0400 01:30-0400 01:00-0500 01:30-0500 02:00-0500 02:30-0500",
        ),
    ],
)
def test_in_new_york_it_is_an_hour_earlier(expression: str, forward: str, back: str) -> None:
    timing = Cron(expression, NEW_YORK)
    assert on_day(timing, "2026-03-08") == forward
    assert on_day(timing, "2026-11-01") == back


@pytest.mark.parametrize(
    ("expression", "forward", "back"),
    [
        ("0 2 * * *", "02:30+1100", "02:00+1030"),
        ("15 2 * * *", "02:30+1100", "02:15+1030"),
        ("45 1 * * *", "01:45+1030", "01:45+1100"),
        ("30 2,3 * * *", "02:30+1100 03:30+1100", "02:30+1030 03:30+1030"),
        (
            "*/30 1-2 * * *",
            "01:00+1030 01:30+1030 02:30+1100",
            "01:00+1100 01:30+1100 01:30+1030 02:00+1030 02:30+1030",
        ),
    ],
)
def test_on_lord_howe_it_is_half_an_hour(expression: str, forward: str, back: str) -> None:
    timing = Cron(expression, LORD_HOWE)
    assert on_day(timing, "2026-10-04") == forward
    assert on_day(timing, "2026-04-05") == back


@pytest.mark.parametrize(
    ("tz", "forward", "back"), [(BERLIN, "2026-03-29", "2026-10-25"), (NEW_YORK, "2026-03-08", "2026-11-01")]
)
@pytest.mark.parametrize("expression", ["*/30 * * * *", "0,30 * * * *", "0,30 0-23 * * *"])
def test_every_half_hour_of_such_days(expression: str, tz: str, forward: str, back: str) -> None:
    """Where the hours are named each counts once; else it is every half hour that passes."""
    timing = Cron(expression, tz)
    named = "0-23" in expression
    assert len(on_day(timing, forward).split()) == 46
    assert len(on_day(timing, back).split()) == (48 if named else 50)
    if not named:
        begin = ms(at(back, tz)) - 1
        assert {late - early for early, late in pairwise(islice(times(timing, begin), 50))} == {1_800_000}


def test_with_seconds_too() -> None:
    timing = Cron("*/20 59 1 * * *", BERLIN)
    for date, offset in (("2026-03-29", "+0100"), ("2026-10-25", "+0200")):
        expected = " ".join(f"01:59:{second}{offset}" for second in ("00", "20", "40"))
        assert on_day(timing, date, "%H:%M:%S%z") == expected
    half = Cron("30 */30 * * * *", BERLIN)
    assert len(on_day(half, "2026-03-29").split()) == 46
    assert len(on_day(half, "2026-10-25").split()) == 50
    assert on_day(Cron("15 30 4 * * *", BERLIN), "2026-03-29", "%H:%M:%S%z") == "04:30:15+0200"


@pytest.mark.parametrize("tz", [BERLIN, NEW_YORK, LORD_HOWE, "UTC"])
def test_what_comes_daily_comes_every_day_of_a_year(tz: str) -> None:
    begin, end = ms(at("2026-01-01", tz)) - 1, ms(at("2027-01-01", tz))
    for expression in ("30 2 * * *", "30 1 * * *", "0 0 * * *"):
        found = list(takewhile(lambda at_ms: at_ms < end, times(Cron(expression, tz), begin)))
        days = {datetime.fromtimestamp(at_ms / 1000, ZoneInfo(tz)).date() for at_ms in found}
        assert (len(found), len(days)) == (365, 365)


def test_a_midnight_that_there_is_not() -> None:
    assert on_day(Cron("0 0 * * *", "America/Havana"), "2026-03-08") == "01:00-0400"


def test_who_asks_in_the_repeated_hour_gets_what_is_later() -> None:
    timing = Cron("30 2 * * *", BERLIN)
    first, second = at("2026-10-25T02:10", BERLIN), at("2026-10-25T02:10", BERLIN, fold=1)
    assert next_time(timing, ms(first)) == ms(at("2026-10-25T02:30", BERLIN))
    assert next_time(timing, ms(second)) == ms(at("2026-10-26T02:30", BERLIN))


def test_nothing_comes_before_a_start_in_the_repeated_hour() -> None:
    start = at("2026-10-25T02:10", BERLIN, fold=1)
    timing = Cron("30 2 * * *", BERLIN, start=start)
    assert next_time(timing, ms(start) - DAY_MS) == ms(at("2026-10-26T02:30", BERLIN))


# Intervals and moments


def test_intervals_count_from_the_epoch() -> None:
    assert list(islice(times(Every(60), 60_000), 3)) == [120_000, 180_000, 240_000]
    assert next_time(Every(60), 59_999) == 60_000
    assert next_time(Every(60, offset=5), 60_000) == 65_000
    assert next_time(Every(60, offset=5), 65_000) == 125_000
    assert next_time(Every(60, offset=65), 0) == 5_000
    assert next_time(Every(60, offset=timedelta(seconds=-5)), 0) == 55_000
    assert next_time(Every(timedelta(days=1)), ms(at("2026-05-05T12:00"))) == ms(at("2026-05-06"))
    assert list(islice(times(Every(0.1), 1_000), 3)) == [1_100, 1_200, 1_300]


@pytest.mark.parametrize(
    ("timing", "after_ms", "expected"),
    [
        (Every(60, start=60), 0, [60, 120, 180]),
        (Every(60, start=60.001), 0, [120, 180]),
        (Every(60, start=61), 0, [120, 180]),
        (Every(60, start=60), 60_000, [120, 180]),
        (Every(60, start=60, until=60), 0, [60]),
        (Every(60, start=61, until=119), 0, []),
        (Every(60, offset=5, start=66), 0, [125]),
        (Every(60), 180_000, []),
        (Cron("* * * * *", start=60), 0, [60, 120, 180]),
        (Cron("* * * * *", start=60.001), 0, [120, 180]),
        (Cron("* * * * *", start=60, until=120), 60_000, [120]),
        (Cron("* * * * *", start=61, until=119), 0, []),
        (At(60), 0, [60]),
        (At(60), 59_999, [60]),
        (At(60), 60_000, []),
    ],
)
def test_both_ends_belong_to_it(timing: Timing, after_ms: int, expected: list[float]) -> None:
    found = [at_ms / 1000 for at_ms in takewhile(lambda at_ms: at_ms <= 180_000, times(timing, after_ms))]
    assert found == expected
    first = next_time(timing, after_ms) / 1000
    assert first == expected[0] if expected else first == 0 or first > 180


def test_moments_have_a_zone() -> None:
    noon = at("2026-05-05T12:00", BERLIN)
    assert next_time(At(noon), 0) == ms(at("2026-05-05T10:00"))
    assert next_time(Every(3600, start=noon), 0) == ms(noon)
    assert next_time(Every(3600, until=noon), ms(noon)) == 0


def test_the_calendar_ends_with_the_year_2099() -> None:
    last = CALENDAR_END_MS - 1
    assert datetime.fromtimestamp(CALENDAR_END_MS / 1000, UTC).isoformat() == "2100-01-01T00:00:00+00:00"
    for timing in (Every(3600), Cron("0 * * * *"), Cron("0 1 * * *", BERLIN), Every(0.1), Cron("* * * * * *")):
        assert next_time(timing, last) in (0, CALENDAR_END_MS)
        assert next_time(timing, CALENDAR_END_MS) == 0
        assert next_time(timing, CALENDAR_END_MS + 10 * 365 * DAY_MS) == 0
    assert next_time(Cron("0 0 29 2 *"), ms(at("2096-03-01"))) == 0
    assert next_time(Cron("0 0 29 2 *"), ms(at("2092-03-01"))) == ms(at("2096-02-29"))
    assert next_time(Cron("0 0 1 1 *", start=at("2200-01-01")), 0) == 0


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("0 0 L * *", "2026-02-01", "2026-02-28"),
        ("0 0 LW * *", "2026-05-01", "2026-05-29"),
        ("0 0 * * MON#2", "2026-05-01", "2026-05-11"),
        ("0 0 * * 5L", "2026-05-01", "2026-05-29"),
        ("0 0 1 jan *", "2026-05-01", "2027-01-01"),
        ("0 0 29 2 MON", "2026-05-01", "2027-02-01"),
        ("0 0 * * 7", "2026-05-01", "2026-05-03"),
    ],
)
def test_what_an_expression_can_say(expression: str, after: str, expected: str) -> None:
    assert next_time(Cron(expression), ms(at(after))) == ms(at(expected))


# As they are stored

TIMINGS: list[Timing] = [
    Cron("0 3 * * *"),
    Cron("30 0 3 * * 1-5", BERLIN, start=1000, until=2000.5),
    Every(0.1),
    Every(90, offset=30),
    Every(3600, offset=-1, start=5, until=7),
    At(1_000_000.001),
]


@pytest.mark.parametrize("timing", TIMINGS, ids=repr)
def test_a_timing_reads_back(timing: Timing) -> None:
    text = timing_text(timing)
    assert read_timing(text) == timing
    assert timing_text(timing) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Cron("0 3 * * *"), Cron("  0  3 *\t* * ", "UTC")),
        (Every(60), Every(timedelta(minutes=1), offset=0)),
        (Every(0.1), Every(0.1000001)),
        (At(at("2026-05-05T12:00", BERLIN)), At(at("2026-05-05T06:00", NEW_YORK))),
        (Every(5, start=at("2026-05-05")), Every(5, start=at("2026-05-05").timestamp())),
    ],
)
def test_equal_timings_have_equal_bytes(one: Timing, other: Timing) -> None:
    assert timing_text(one) == timing_text(other)


def test_different_ones_have_not() -> None:
    others: list[Timing] = [Cron("0 3 * * *", BERLIN), Every(90), Every(3600, offset=-1, start=5), At(1_000_000)]
    assert len({timing_text(timing) for timing in TIMINGS + others}) == len(TIMINGS + others)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"no json",
        b"[]",
        b"null",
        b"5",
        b"{}",
        b'"cron"',
        b'{"moon":"full"}',
        b'{"cron":"* * * * *"}',
        b'{"every_ms":"x","offset_ms":0}',
        b'{"every_ms":100}',
        b'{"at_ms":null}',
        b'{"cron":"* * * * *","tz":"UTC","until_ms":"x"}',
    ],
)
def test_a_timing_that_this_release_does_not_know(text: bytes) -> None:
    assert read_timing(text) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"cron": "0 3 * * *", "tz": "Mars/Base"},
        {"cron": "0 3 * * * * *", "tz": "UTC"},
        {"cron": "0 3 * * @", "tz": "UTC"},
        {"cron": 5, "tz": "UTC"},
        {"every_ms": 0, "offset_ms": 0},
        {"every_ms": -5, "offset_ms": 0},
    ],
    ids=json.dumps,
)
def test_one_that_cannot_be_reckoned_here_is_refused_when_it_is_due(fields: dict[str, Any]) -> None:
    """Another machine may know more time zones, and a newer release more expressions."""
    timing = read_timing(json.dumps(fields).encode())
    with pytest.raises(BadArgument, match="is not accepted"):
        due_now(schedule(timing, 60, 30), 61)


# What is refused


@pytest.mark.parametrize(
    ("timing", "refusal"),
    [
        (Cron("@daily"), "expression: '@daily' is not accepted; allowed: five fields"),
        (Cron("* * * *"), r"expression: .*Wrong number of fields"),
        (Cron("* * * * * * *"), r"expression: .*Wrong number of fields"),
        (Cron("60 * * * *"), r"expression: .*Bad minute"),
        (Cron("61 * * * * *"), r"expression: .*Bad second"),
        (Cron("0 24 * * *"), r"expression: .*Bad hour"),
        (Cron("0 0 0 * *"), r"expression: .*Bad day-of-month"),
        (Cron("0 0 * 13 *"), r"expression: .*Bad month"),
        (Cron("0 0 * * 8"), r"expression: .*Bad day-of-week"),
        (Cron("0 0 30 2 *"), "expression: "),
        (Cron("*/0 * * * *"), "expression: "),
        (Cron(""), "expression: ''"),
        (Cron(None), "expression: None"),  # type: ignore[arg-type]
        (Cron(5), "expression: 5"),  # type: ignore[arg-type]
        (Cron("* * * * *", "Mars/Base"), "tz: 'Mars/Base' is not accepted; allowed: a time zone that this machine"),
        (Cron("* * * * *", "../passwd"), r"tz: '\.\./passwd'"),
        (Cron("* * * * *", ""), "tz: ''"),
        (Cron("* * * * *", None), "tz: None"),  # type: ignore[arg-type]
        (Cron("* * * * *", UTC), "tz: "),  # type: ignore[arg-type]
        (Cron("* * * * *", start=10, until=9), "until: 9 is not accepted; allowed: what is not before start"),
        (Cron("* * * * *", start=datetime(2026, 5, 5)), "start must have a time zone"),
        (Every(0), r"period: 0 is not accepted; allowed: 0\.1 seconds and more"),
        (Every(-5), "period: -5"),
        (Every(0.09), r"period: 0\.09"),
        (Every(float("nan")), "period must be seconds"),
        (Every(float("inf")), "period must be seconds"),
        (Every("5"), "period must be seconds"),  # type: ignore[arg-type]
        (Every(5, offset=float("nan")), "offset must be seconds"),
        (Every(5, start="now"), "start must be a datetime with a time zone, or seconds"),  # type: ignore[arg-type]
        (Every(5, until=datetime(2026, 5, 5)), "until must have a time zone"),
        (Every(5, start=at("2026-05-05"), until=at("2026-05-04")), "until: "),
        (Every(5, start=-1), "start: -1"),
        (Cron("* * * * *", start=1e12), r"start: 1e\+12|start: 1000000000000\.0"),
        (Every(5, until=at("2100-01-01")), "until: "),
        (At(at("2100-01-01")), "moment: "),
        (At(1_760_000_000_000), "moment: "),
        (At(0), "moment: 0 is not accepted; allowed: a datetime, or seconds since the epoch, from 1970 to 2099"),
        (At(-1), "moment: -1"),
        (At(None), "moment must be a datetime with a time zone, or seconds"),  # type: ignore[arg-type]
        (At(datetime(2026, 5, 5)), "moment must have a time zone"),
        ("0 3 * * *", "timing must be a Cron, Every or At, got str"),
        (None, "timing must be a Cron, Every or At, got NoneType"),
    ],
)
def test_a_bad_timing_is_refused(timing: Any, refusal: str) -> None:
    with pytest.raises(BadArgument, match=rf"^pyadeq: {refusal}"):
        timing_text(timing)


# Always

EXPRESSIONS = [
    *("* * * * *", "*/7 * * * *", "*/30 * * * *", "0 * * * *", "0,30 0-23 * * *", "15,45 1,2,3 * * *"),
    *("30 2 * * *", "0 2,3 * * *", "59 1 * * *", "0 0 1 * *", "0 0 * * MON#1", "30 1 L 3,10,11 *"),
    *("0 30 2 * * *", "*/20 59 1-3 * * *", "30 */30 2 * * *"),
]
ZONES = ["UTC", BERLIN, NEW_YORK, LORD_HOWE, "Asia/Kolkata", "America/Havana", "America/St_Johns", "Africa/Casablanca"]
moments = st.integers(ms(at("2024-01-01")), ms(at("2030-01-01")))
# Half of all starts are near a change of the clocks.
CHANGES = [
    *(ms(at(text)) for text in ("2026-03-29T01:00", "2026-10-25T01:00", "2026-03-08T07:00", "2026-11-01T06:00")),
    *(ms(at(text)) for text in ("2026-10-03T15:30", "2026-04-04T15:00", "2026-03-08T05:00", "2026-02-15T02:00")),
]
near = st.builds(lambda change, apart: change + apart, st.sampled_from(CHANGES), st.integers(-4 * 3_600_000, 3_600_000))
crons = st.builds(Cron, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES))
intervals = st.builds(
    lambda period, offset: Every(period / 1000, offset=offset / 1000),
    st.integers(100, 10 * DAY_MS),
    st.integers(-DAY_MS, 20 * DAY_MS),
)
# The second coming of an hour is told from its first.
second = ms(at("2026-10-25T02:00", BERLIN, fold=1))


@given(crons | intervals, moments | near)
@example(Cron("30 2 * * *", BERLIN), second)
@example(Cron("30 2 * * *", BERLIN), second - 1)
@example(Cron("0 2,3 * * *", BERLIN), ms(at("2026-03-29T01:00")) - 1)
def test_times_rise_and_none_comes_twice(timing: Timing, after_ms: int) -> None:
    found = list(islice(times(timing, after_ms), 20))
    assert len(found) == 20
    assert found[0] > after_ms
    assert all(late > early for early, late in pairwise(found))


@given(crons | intervals, moments | near)
@example(Cron("30 2 * * *", BERLIN), ms(at("2026-10-25")))
@example(Cron("0,30 2 * * *", BERLIN), ms(at("2026-03-29")))
def test_one_after_the_other_is_the_same_as_all_in_a_row(timing: Timing, after_ms: int) -> None:
    """Who fires asks for one time after another; who was away, for all at once."""
    row = list(islice(times(timing, after_ms), 6))
    steps = [after_ms]
    for _ in row:
        steps.append(next_time(timing, steps[-1]))
    assert steps[1:] == row


@given(crons | intervals, moments | near, st.integers(0, 6 * 3_600_000))
def test_from_where_one_begins_makes_no_difference(timing: Timing, after_ms: int, later: int) -> None:
    """No time hides: who asks in between gets the next of the same row."""
    between = after_ms + later
    first = next_time(timing, between)
    found = takewhile(lambda at_ms: at_ms <= first, islice(times(timing, after_ms), 250_000))
    assert [at_ms for at_ms in found if at_ms > between] == [first]


@given(st.sampled_from(ZONES), st.integers(0, 23), st.integers(0, 59), moments | near)
def test_a_fixed_time_comes_as_the_wall_clock_shows_it(tz: str, hour: int, minute: int, after_ms: int) -> None:
    """But where the clocks went forward over it."""
    zone = ZoneInfo(tz)
    for at_ms in islice(times(Cron(f"{minute} {hour} * * *", tz), after_ms), 5):
        moment = datetime.fromtimestamp(at_ms / 1000, zone)
        wanted = moment.replace(hour=hour, minute=minute)
        there_is_none = wanted != wanted.astimezone(UTC).astimezone(zone)
        assert (moment.hour, moment.minute, moment.fold) == (hour, minute, 0) or there_is_none


# What to say to `fire`


def schedule(timing: Timing | None, next: float, catch_up: float) -> Schedule:
    return Schedule(name="s", timing=timing, next=next, catch_up=catch_up, rev=1, created=0, changed=0)


@pytest.mark.parametrize(
    ("now", "catch_up", "expected"),
    [
        (60, 30, (60, 120, False, 0)),
        (90, 30, (60, 120, False, 0)),
        (90.001, 30, (60, 120, True, 0)),
        (150, 30, (60, 120, True, 0)),
        (150.001, 30, (60, 180, True, 1)),
        (600, 30, (60, 600, True, 8)),
        (600, 90, (60, 540, True, 7)),
    ],
)
def test_what_is_too_late_is_counted(now: float, catch_up: float, expected: Any) -> None:
    due = due_now(schedule(Every(60), 60, catch_up), now)
    assert (due.nominal_ms / 1000, due.next_ms / 1000, due.late, due.missed) == expected


def test_the_last_time_has_none_that_follows() -> None:
    assert due_now(schedule(At(60), 60, 30), 61) == (60_000, 0, False, 0)
    assert due_now(schedule(At(60), 60, 30), 100) == (60_000, 0, True, 0)
    assert due_now(schedule(Every(60, until=180), 60, 30), 1000) == (60_000, 0, True, 2)


def test_not_all_are_counted_at_once() -> None:
    every = schedule(Every(0.1), 1, 0)
    due = due_now(every, 1_000_000)
    assert due.missed == MOST_COUNTED
    assert due.next_ms == 1_000 + 100 * (MOST_COUNTED + 1)


@given(crons | intervals, moments | near, st.integers(0, 40 * 3_600_000), st.integers(0, 40 * 3_600_000))
def test_every_time_is_fired_or_counted(timing: Timing, since_ms: int, passed: int, catch_up: int) -> None:
    now_ms = since_ms + passed
    expected = times_between(timing, since_ms + 1, now_ms, 200_000)
    assume(len(expected) < 200_000)  # ten times a second, that is five hours
    fired: list[int] = []
    missed, next_ms = 0, next_time(timing, since_ms)
    while 0 < next_ms <= now_ms and len(fired) < 5:
        due = due_now(schedule(timing, next_ms / 1000, catch_up / 1000), now_ms / 1000)
        assert due.nominal_ms == next_ms
        missed += due.missed + due.late
        if not due.late:
            fired.append(due.nominal_ms)
        next_ms = due.next_ms
    assert fired == expected[missed : missed + len(fired)]
    if len(fired) < 5:
        assert missed + len(fired) == len(expected)
    assert all(at_ms >= now_ms - catch_up for at_ms in fired)


def test_times_between_has_both_ends() -> None:
    assert times_between(Every(60), 60_000, 180_000, 100) == [60_000, 120_000, 180_000]
    assert times_between(Every(60), 60_000, 180_000, 2) == [60_000, 120_000]
    assert times_between(Every(60), 60_001, 119_999, 100) == []
    assert times_between(Every(60), 180_000, 60_000, 100) == []
