"""Limits as options take them and as tables tell them: `10/1m`, `10 in 1 min, burst 3`."""

from __future__ import annotations

from typing import NamedTuple

import typer

from pyadeq import Limit
from pyadeq.ext.cli.shared.arguments import DURATION, UNITS, duration

RATE = f"a number of tasks per period, 10/1m or 5/s; TIME is {DURATION}"
MOST = 1_000_000
SHORTEST, LONGEST = 0.001, 31 * 86400.0  # seconds
DENSEST = 100_000  # starts in a second
# A unit as tables have it, in seconds, and how many of them make the next.
SPANS = (("s", 1, 60), ("min", 60, 60), ("h", 3600, 24), ("d", 86400, 1))
NEARLY = 1e-9  # of a rate of 1; the time between two starts is stored in millionths of a millisecond


class Rate(NamedTuple):
    """A number of starts in a period in seconds."""

    starts: int
    period: float


def rate(text: str) -> Rate:
    """`10/1m`, or `5/s`."""
    count, _, span = text.partition("/")
    span = span.strip()
    try:
        found = Rate(int(count), float(UNITS[span]) if span and span in UNITS else duration(span))
    except (ValueError, typer.BadParameter):
        raise typer.BadParameter(f"{text!r} is not accepted; allowed: {RATE}") from None
    most = min(MOST, found.period * DENSEST)
    if not 1 <= found.starts <= most or not SHORTEST <= found.period <= LONGEST:
        raise typer.BadParameter(f"{text!r} is not accepted; allowed: 1 to {MOST} in 1ms to 31d, 100 in 1ms at most")
    return found


def at_a_time(limit: Limit) -> str:
    """How many may run at a time, or nothing."""
    return "" if limit.concurrency is None else f"{limit.concurrency:,}"


def rate_words(limit: Limit) -> str:
    """`10 in 1 min, burst 3`, or nothing."""
    if limit.rate is None:
        return ""
    burst = limit.burst or 1
    starts, words = _rate(limit.rate, burst)
    return f"{starts} in {words}" + ("" if starts == f"{burst:,}" else f", burst {burst:,}")


def policy_of(limit: Limit) -> str:
    """The policy as the option takes it."""
    return limit.policy.replace("_", "-")


def rule_words(limit: Limit) -> str:
    """`2 at a time, 10 in 1 min; reject`."""
    parts = [f"{at_a_time(limit)} at a time" if limit.concurrency is not None else "", rate_words(limit)]
    return f"{', '.join(filter(None, parts))}; {policy_of(limit)}"


def _rate(rate: float, burst: int) -> tuple[str, str]:
    """How many start, and in which time. A rate may have been given in many ways: the one that is easiest to read."""
    for word, seconds, of_next in reversed(SPANS):  # as it was given where no burst was, if that is a plain time
        if (count := _whole(burst / rate / seconds, rate)) and of_next % count == 0:
            return f"{burst:,}", f"{count} {word}"
    for word, seconds, _ in SPANS:
        if 0 < (starts := _whole(rate * seconds, rate)) <= MOST:
            return f"{starts:,}", f"1 {word}"
    for word, seconds, _ in reversed(SPANS):
        if count := _whole(burst / rate / seconds, rate):
            return f"{burst:,}", f"{count} {word}"
    return (f"{rate:,.6g}", "1 s") if rate > 1 else ("1", f"{1 / rate:,.6g} s")


def _whole(number: float, rate: float) -> int:
    """The whole number that this is, as exactly as the rate is stored; 0 if it is none."""
    return round(number) if abs(number - round(number)) <= NEARLY * max(rate, 1) * number else 0
