"""Charts as SVG, in the colours of the style sheet. Each has a text for those who do not see it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

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
