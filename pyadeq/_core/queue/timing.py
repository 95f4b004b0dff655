"""When a schedule fires: the times of a cron expression or an interval, or one moment; in ms since the epoch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pyadeq._core.kernel.options import unfit
from pyadeq._importing import IMPORTING
from pyadeq.errors import BadArgument, ConfigError
from pyadeq.models.base import Moment, to_epoch_ms, to_ms
from pyadeq.models.schedule import At, Cron, Every, Timing

SHORTEST_PERIOD_MS = 100
DAY = 86_400
_EPOCH = date(1970, 1, 1)
CALENDAR_END_MS = 4_102_444_800_000  # 2100: later times are not computed


def timing_text(timing: Timing) -> bytes:
    """Encode a timing. Equal timings have equal bytes, so `put` of the same schedule changes nothing."""
    fields: dict[str, Any]
    check_timing(timing)
    match timing:
        case Cron():
            fields = {"cron": " ".join(timing.expression.split()), "tz": timing.tz}
        case Every():
            fields = {"every_ms": to_ms("period", timing.period), "offset_ms": to_ms("offset", timing.offset)}
        case At():
            fields = {"at_ms": to_epoch_ms("moment", timing.moment)}
    for name in ("start", "until"):
        if (moment := getattr(timing, name, None)) is not None:
            fields[f"{name}_ms"] = to_epoch_ms(name, moment)
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def read_timing(text: bytes) -> Timing | None:
    """The timing of a stored text; None for one that this release does not know."""
    try:
        fields = json.loads(text)
        ends = {name: fields[f"{name}_ms"] / 1000 for name in ("start", "until") if f"{name}_ms" in fields}
        if "cron" in fields:
            return Cron(expression=fields["cron"], tz=fields["tz"], **ends)
        if "every_ms" in fields:
            return Every(period=fields["every_ms"] / 1000, offset=fields["offset_ms"] / 1000, **ends)
        return At(moment=fields["at_ms"] / 1000)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def times(timing: Timing, after_ms: int) -> Iterator[int]:
    """The times later than after_ms, in order; there may be no end of them, or none."""
    match timing:
        case At():
            moment_ms = to_epoch_ms("moment", timing.moment)
            return iter([moment_ms] if moment_ms > after_ms else [])
        case Every():
            reckoned = _every(timing, after_ms)
        case _:
            reckoned = _cron(timing, after_ms)
    return _within(timing, reckoned)


def next_time(timing: Timing, after_ms: int) -> int:
    """The first time later than after_ms; 0 if there is none."""
    return next(times(timing, after_ms), 0)


def _within(timing: Cron | Every, reckoned: Iterator[int]) -> Iterator[int]:
    until_ms = CALENDAR_END_MS if timing.until is None else to_epoch_ms("until", timing.until)
    for at_ms in reckoned:
        if at_ms > until_ms:
            return
        yield at_ms


def _since(timing: Cron | Every, after_ms: int) -> int:
    """The moment after which a timing begins: just before its start, if it has one."""
    return after_ms if timing.start is None else max(after_ms, to_epoch_ms("start", timing.start) - 1)


def _every(timing: Every, after_ms: int) -> Iterator[int]:
    period_ms, offset_ms = to_ms("period", timing.period), to_ms("offset", timing.offset)
    at_ms = (_since(timing, after_ms) - offset_ms) // period_ms * period_ms + offset_ms
    while True:
        at_ms += period_ms
        yield at_ms


def _cron(timing: Cron, after_ms: int) -> Iterator[int]:
    since_ms = _since(timing, after_ms)
    zone = ZoneInfo(timing.tz)
    try:
        since = datetime.fromtimestamp(since_ms / 1000, UTC)
        fields = _cronsim().CronSim(timing.expression, since.astimezone(zone))
        if fields.fixup_tz is None:
            yield from (at * 1000 for at in _wall_clock(fields, zone, since_ms // 1000 + 1))
            return
        for moment in fields:
            at_ms = round(moment.timestamp() * 1000)
            if at_ms > since_ms:  # in a repeated hour, cronsim may return times of the first hour, which are over
                yield at_ms
    except (OverflowError, ValueError):  # beyond what a calendar can say
        return


def _wall_clock(fields: Any, zone: ZoneInfo, begin: int) -> Iterator[int]:
    """Every second since the epoch, from begin on, at which a clock on the wall shows what the fields say.

    fields: an expression as cronsim has read it. cronsim's own search steps by whole hours of real time, so it misses
    times where clocks change by half an hour.
    """
    hours, minutes, seconds = sorted(fields.hours), sorted(fields.minutes), sorted(fields.seconds)
    for start, end, offset in _even_parts(zone, begin):
        # The time on the wall, counted like seconds since the epoch. Within a part it is always offset seconds ahead.
        wall, wall_end = start + offset, end + offset
        for day in range(wall // DAY, (wall_end - 1) // DAY + 1):
            date = _EPOCH + timedelta(days=day)
            if date.month not in fields.months or not fields.match_day(date):
                continue
            for hour in hours:
                at_hour = day * DAY + hour * 3600
                if at_hour + 3600 <= wall or at_hour >= wall_end:
                    continue
                for minute in minutes:
                    at_minute = at_hour + minute * 60
                    if at_minute + 60 <= wall or at_minute >= wall_end:
                        continue
                    yield from (at_minute + one - offset for one in seconds if wall <= at_minute + one < wall_end)


def _even_parts(zone: ZoneInfo, start: int) -> Iterator[tuple[int, int, int]]:
    """Yield periods of at most a day, from start to the end of the calendar, each with one UTC offset; in seconds.

    Clocks do not change twice within a day.
    """
    offset = _offset(zone, start)
    while start * 1000 < CALENDAR_END_MS:
        end = start + DAY
        later = _offset(zone, end)
        if later != offset:
            before = start
            while end - before > 1:
                middle = (before + end) // 2
                before, end = (middle, end) if _offset(zone, middle) == offset else (before, middle)
        yield start, end, offset
        start, offset = end, later


def _offset(zone: ZoneInfo, at: int) -> int:
    delta = datetime.fromtimestamp(at, zone).utcoffset()
    assert delta is not None
    return delta // timedelta(seconds=1)


def _cronsim() -> Any:
    try:
        with IMPORTING:
            import cronsim
    except ImportError:
        raise ConfigError("cron expressions need an extra: pip install 'pyadeq[schedules]'") from None
    return cronsim


def check_timing(timing: Timing) -> None:
    """Refuse a value that is not a timing, or a timing that is impossible."""
    match timing:
        case Cron():
            _check_cron(timing.expression, timing.tz)
        case Every():
            if to_ms("period", timing.period) < SHORTEST_PERIOD_MS:
                raise unfit("period", timing.period, "0.1 seconds and more")
        case At():
            _check_moment("moment", timing.moment)
            return
        case _:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"timing must be a Cron, Every or At, got {type(timing).__name__}")
    start, until = timing.start, timing.until
    for name, moment in (("start", start), ("until", until)):
        if moment is not None:
            _check_moment(name, moment)
    if start is not None and until is not None and to_epoch_ms("start", start) > to_epoch_ms("until", until):
        raise unfit("until", until, "what is not before start")


def _check_moment(name: str, moment: Moment) -> None:
    if not 0 < to_epoch_ms(name, moment) < CALENDAR_END_MS:
        raise unfit(name, moment, "a datetime, or seconds since the epoch, from 1970 to 2099")


def _check_cron(expression: str, tz: str) -> None:
    cronsim = _cronsim()
    if not isinstance(expression, str):
        raise unfit("expression", expression, "a text like '0 3 * * *'")
    try:
        zone = ZoneInfo(tz)
    except (ValueError, OSError, KeyError, TypeError):
        raise unfit("tz", tz, "a time zone that this machine knows, Europe/Berlin for instance") from None
    try:
        next(cronsim.CronSim(expression, datetime.now(zone)))
    except cronsim.CronSimError as problem:
        allowed = f"five fields (minute hour day month weekday), or six with seconds first ({problem})"
        raise unfit("expression", expression, allowed) from None
    except (StopIteration, OverflowError):
        raise unfit("expression", expression, "one that comes some day") from None
