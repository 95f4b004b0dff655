"""Cron beside an oracle that looks at every minute, wherever and whenever clocks have changed in an unusual way."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import takewhile
from zoneinfo import ZoneInfo, available_timezones

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from pyadeq import Cron
from pyadeq._core.queue.timing import times
from tests.quick import examples

DAY, MINUTE = 86_400, 60
FROM, TO, STEP = 2000, 2030, 5 * DAY


def offset(zone: ZoneInfo, at: int) -> int:
    delta = datetime.fromtimestamp(at, zone).utcoffset()
    assert delta is not None
    return round(delta.total_seconds())


def changes(zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    """When its clocks changed, and by how many seconds."""
    begin, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (FROM, TO))
    before = offset(zone, begin)
    for at in range(begin, end, STEP):
        after = offset(zone, at + STEP)
        if before != after:
            low, high = at, at + STEP
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(zone, middle) == before else (low, middle)
            yield high, after - before
        before = after


def is_unusual(zone: ZoneInfo, at: int, by: int) -> bool:
    """Neither by an hour, nor at a full hour of the day: by half an hour, by a day, at a minute past midnight."""
    local = datetime.fromtimestamp(at - 1, zone) + timedelta(seconds=1)
    return abs(by) != 3600 or local.minute != 0 or local.hour == 0


@cache
def unusual() -> list[tuple[str, int]]:
    """Zones and moments; of zones that always change together, one."""
    found: dict[tuple[int, int, int], tuple[str, int]] = {}
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        for at, by in changes(zone):
            if is_unusual(zone, at, by):
                found.setdefault((at, by, offset(zone, at)), (name, at))
    return sorted(found.values())


def expected(cron: Cron, begin: int, end: int) -> list[int]:
    """By the rules that Cron's docstring has: every minute is looked at."""
    zone = ZoneInfo(cron.tz)
    parts = cron.expression.split()
    fields = CronSim(cron.expression, datetime(2000, 1, 1, tzinfo=UTC))

    def fits(wall: datetime) -> bool:
        return (
            wall.minute in fields.minutes
            and wall.hour in fields.hours
            and wall.month in fields.months
            and fields.match_day(wall.date())
        )

    if parts[0].startswith("*") or parts[1].startswith("*"):
        walls = ((at, datetime.fromtimestamp(at, zone)) for at in range(begin, end, MINUTE))
        return [at for at, wall in walls if fits(wall)]
    found = set()
    wall = datetime.fromtimestamp(begin, zone).replace(tzinfo=None) - timedelta(days=2)
    for _ in range((end - begin + 4 * DAY) // MINUTE):
        wall += timedelta(minutes=1)
        if fits(wall):
            there = wall.replace(tzinfo=zone, fold=0)
            while there.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != there.replace(tzinfo=None):
                there += timedelta(minutes=1)  # left out: right after
            found.add(int(there.timestamp()))
    return sorted(at for at in found if begin <= at < end)


EXPRESSIONS = (
    "* * * * *",
    "*/15 * * * *",
    "15 * * * *",
    "45 * * * *",
    "5,35 * * * *",
    "*/10 2,3 * * *",
    "*/20 0 * * *",
    "*/7 0-3,22-23 * * *",
    "0 * * * *",
    "10 */2 * * *",
    "15 2 * * *",
    "45 1 * * *",
    "0,30 0 * * *",
    "40 0-3 * * *",
)


def test_there_are_unusual_changes() -> None:
    names = {name for name, _ in unusual()}
    assert len(unusual()) > 100
    assert {"Australia/LHI", "Antarctica/Troll", "Asia/Pyongyang", "America/Caracas", "Pacific/Apia"} <= names


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_on_lord_howe_no_time_is_left_out_or_comes_twice(expression: str) -> None:
    cron = Cron(expression, "Australia/Lord_Howe")
    for date in ("2026-04-04", "2026-10-03"):
        begin = int(datetime.fromisoformat(date).replace(tzinfo=ZoneInfo(cron.tz)).timestamp())
        assert found(cron, begin, begin + 3 * DAY) == expected(cron, begin, begin + 3 * DAY)


def found(cron: Cron, begin: int, end: int) -> list[int]:
    return [at // 1000 for at in takewhile(lambda at: at < end * 1000, times(cron, begin * 1000 - 1))]


@pytest.mark.slow
@settings(max_examples=examples(150, 500))
@given(
    where=st.deferred(lambda: st.sampled_from(unusual())),
    expression=st.sampled_from(EXPRESSIONS),
    ahead=st.integers(1, 30 * 60),
)
def test_around_every_unusual_change(where: tuple[str, int], expression: str, ahead: int) -> None:
    """ahead: by how many minutes the search begins before the change, or at it."""
    name, change = where
    cron = Cron(expression, name)
    begin, end = change - ahead * MINUTE, change + DAY
    begin -= begin % MINUTE
    assert found(cron, begin, end) == expected(cron, begin, end)
