"""Draw the picture of docs/guides/traces.md from the spans of tests/embedding/test_chain.py: docs/assets/chain.svg.

python docs/_gen/chain.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
from matplotlib import pyplot
from matplotlib.patches import Patch

HERE = Path(__file__).parent
TARGET = HERE.parent / "assets/chain.svg"
LINE: dict[str, Any] = {"color": "#888888", "linewidth": 1, "zorder": 1}
COLOURS = {"Python": "#3949ab", "TypeScript": "#d1802c", "Go": "#4f8f58"}

# equal spans give equal bytes
matplotlib.rcParams |= {"svg.hashsalt": "pyadeq", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def main() -> None:
    """Write the picture: a bar for each span, and a line from its parent."""
    spans = json.loads((HERE / "chain.json").read_text())
    end = max(span["end_ms"] for span in spans)
    picture, place = pyplot.subplots(figsize=(8, 3.4))
    for row, span in enumerate(spans):
        start, length = span["start_ms"], span["end_ms"] - span["start_ms"]
        shown = max(length, end / 150)
        if row:  # from its parent, the row above
            parent = spans[row - 1]
            place.plot([min(start, parent["end_ms"]), start, start], [row - 1, row - 1, row], **LINE)
        place.barh(row, shown, left=start, height=0.55, color=COLOURS[span["language"]], zorder=2)
        text = f"{length:.1f} ms"
        place.text(start + shown + end / 100, row - 0.05, text, va="bottom", fontsize=8, color="#555555")
    place.set_yticks(range(len(spans)), [span["name"] for span in spans])
    place.invert_yaxis()
    place.set_xlim(0, 1.15 * end)
    place.set_xlabel("milliseconds since the first span began")
    handles = [Patch(color=colour) for colour in COLOURS.values()]
    place.legend(handles, list(COLOURS), loc="upper right", frameon=False)
    picture.tight_layout()
    picture.savefig(TARGET, metadata={"Date": None})
    pyplot.close(picture)


if __name__ == "__main__":
    main()
