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
