"""Charts as SVG, in the colours of the style sheet. Each has a text for those who do not see it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from itertools import pairwise
from typing import Final

from pyadeq.asyncio import Annotation, HistoryPoint
from pyadeq.ext.server.board.words import rate as in_words

WIDTH: Final = 120
HEIGHT: Final = 24


def spark(values: Sequence[float], label: str) -> str:
    """HTML: a line of some values, 0 at the bottom and the largest at the top."""
    top = max(values, default=0.0)
    if not values or top <= 0:
        return f'<span class="quiet" title="{escape(label)}">–</span>'
    step = WIDTH / max(len(values) - 1, 1)
    heights = [HEIGHT - 1 - value / top * (HEIGHT - 2) for value in values]
    points = " ".join(f"{at * step:.1f},{height:.1f}" for at, height in enumerate(heights))
    text = escape(f"{label}: now {values[-1]:.3g}, at most {top:.3g}")
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text}">'
        f'<title>{text}</title><polyline points="{points}"/></svg>'
    )


# Where each state of a task is drawn, and which may follow.
_BOXES: Final = {
    "delayed": (0, 0),
    "blocked": (0, 2),
    "ready": (1, 1),
    "running": (2, 1),
    "stalled": (2, 2),
    "completed": (3, 0),
    "cancelled": (3, 1),
    "dead": (3, 2),
}
_ARROWS: Final = (
    ("delayed", "ready"),
    ("blocked", "ready"),
    ("ready", "running"),
    ("running", "completed"),
    ("running", "cancelled"),
    ("running", "dead"),
    ("running", "stalled"),
)
_BOX: Final = (88, 26)


def states(now: str) -> str:
    """HTML: the states of a task, with the one that it has now."""
    wide, high = _BOX

    def place(name: str) -> tuple[int, int]:
        across, down = _BOXES[name]
        return across * 136 + 1, down * 42 + 1

    parts = []
    for before, after in _ARROWS:
        (x, y), (to_x, to_y) = place(before), place(after)
        if x == to_x:
            path = f"M{x + wide / 2} {y + high}V{to_y - 2}"
        else:
            path = f"M{x + wide} {y + high / 2}L{to_x - 2} {to_y + high / 2}"
        parts.append(f'<path d="{path}" marker-end="url(#tip)"/>')
    for name in _BOXES:
        x, y = place(name)
        here = ' class="now"' if name == now else ""
        parts.append(
            f'<g{here}><rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6"/>'
            f'<text x="{x + wide / 2}" y="{y + 18}">{name}</text></g>'
        )
    label = f"State: {escape(now)}"
    return (
        f'<svg class="machine" viewBox="0 0 {136 * 3 + wide + 2} {42 * 2 + high + 2}" role="img" aria-label="{label}">'
        f'<title>{label}</title><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" '
        f'orient="auto"><path d="M0 0L6 3L0 6z"/></marker>{"".join(parts)}</svg>'
    )


FLOWS: Final = ("enqueued", "completed", "retried", "dead")
"""Lines of the chart of a queue. The style sheet draws each in its own way, as `.line-<name>`."""
_WIDE, _HIGH, _LEFT, _TOP, _BOTTOM = 800, 230, 46, 14, 24
_STEPS: Final = (300, 600, 3600, 4 * 3600, 86_400, 5 * 86_400)
"""Seconds between the times below a chart; the first one that gives at most seven."""


def flow(points: Sequence[HistoryPoint], marks: Sequence[Annotation], since: float, now: float, label: str) -> str:
    """HTML: how often things happened in a second, with lines where marks are. Times are in UTC."""
    span = max(now - since, 1.0)
    top = _ceiling(max((one.rate(name) for one in points for name in FLOWS), default=0.0))

    def x(at: float) -> float:
        return _LEFT + (_WIDE - _LEFT - 8) * min(max((at - since) / span, 0.0), 1.0)

    def y(rate: float) -> float:
        return _TOP + (_HIGH - _TOP - _BOTTOM) * (1 - rate / top)

    parts = []
    for part in range(5):
        rate = top * part / 4
        parts.append(f'<path class="grid" d="M{_LEFT} {y(rate):.1f}H{_WIDE - 8}"/>')
        parts.append(f'<text class="n" x="{_LEFT - 6}" y="{y(rate) + 4:.1f}">{rate:g}</text>')
    step = next((one for one in _STEPS if span / one <= 7), _STEPS[-1])
    first = int(since // step + 1) * step
    for at in range(first, int(now) + 1, step):  # at most 7
        moment = datetime.fromtimestamp(at, UTC)
        text = f"{moment:%b %d}" if step >= 86_400 else f"{moment:%H:%M}"
        parts.append(f'<path class="grid" d="M{x(at):.1f} {_HIGH - _BOTTOM}v4"/>')
        parts.append(f'<text x="{x(at):.1f}" y="{_HIGH - 6}">{text}</text>')
    for number, mark in enumerate(marks, 1):
        parts.append(f'<path class="mark" d="M{x(mark.at):.1f} {_TOP}V{_HIGH - _BOTTOM}"/>')
        parts.append(f'<text x="{x(mark.at):.1f}" y="{_TOP - 3}">{number}</text>')
    for name in FLOWS:
        line = " ".join(f"{x(one.at):.1f},{y(one.rate(name)):.1f}" for one in points)
        parts.append(f'<polyline class="line-{name}" points="{line}"/>')
    wide = (_WIDE - _LEFT) * min((b.at - a.at for a, b in pairwise(points)), default=span) / span
    parts += [_reading(one, x(one.at), wide) for one in points]
    text = escape(label)
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{text}"><title>{text}</title>'
        f"{''.join(parts)}</svg>"
    )


def _reading(point: HistoryPoint, x: float, wide: float) -> str:
    """What is under the pointer at a point: a line, and the values as its title. A script gives it to the keyboard."""
    moment = f"{datetime.fromtimestamp(point.at, UTC):%b %d, %H:%M} UTC"
    values = ", ".join(f"{name} {in_words(point.rate(name))}" for name in FLOWS)
    high = _HIGH - _TOP - _BOTTOM
    return (
        f'<g class="at" data-id="{point.at:.0f}"><title>{moment}: {values}</title>'
        f'<rect x="{x - wide / 2:.1f}" y="{_TOP}" width="{wide:.1f}" height="{high}"/>'
        f'<path d="M{x:.1f} {_TOP}v{high}"/></g>'
    )


def key(name: str) -> str:
    """HTML: a piece of a line, for the legend."""
    line = f'<polyline class="line-{name}" points="0,5 34,5"/>'
    return f'<svg class="key" viewBox="0 0 34 10" aria-hidden="true">{line}</svg>'


def _ceiling(value: float) -> float:
    """The least of 1, 2, 4 and 10 times a power of ten that is not below a value: it has four round parts."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(size * factor for factor in (1, 2, 4, 10, 20) if size * factor >= value)
