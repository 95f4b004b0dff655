"""Draw docs/assets/board.png: the panels of the board, of an installation at work that Prometheus scrapes.

    python -m bench.board [--seconds 600]

The values come from the query API of Prometheus, in place of a Grafana server.
"""

from __future__ import annotations

import argparse
import math
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from PIL import Image

from pyadeq import EmbeddedServer
from pyadeq.ext.operate.metrics.board import MARKS, Drawn, panels
from pyadeq.ext.operate.metrics.rules import rules
from tests.conftest import free_port
from tests.prometheus import Exporter, Prometheus, Series

matplotlib.use("agg")
from matplotlib import pyplot

matplotlib.rcParams |= {"font.size": 7, "axes.spines.top": False, "axes.spines.right": False}
TARGET = Path(__file__).parents[1] / "docs/assets/board.png"
ACROSS = 3
POINTS = 200
RATES = 310.0  # seconds until the rates of five minutes are complete
LINES = 6  # a panel with more shows the highest
COLOURS = ("#3949ab", "#d1802c", "#4f8f58", "#8c5aa8", "#b5484d", "#5b8aa6")
UNITS = {"s": "s", "ops": "1/s", "bytes": "MB"}


def main(arguments: Sequence[str]) -> None:
    """Let it work, and draw the last part of it."""
    parser = argparse.ArgumentParser(prog="bench.board")
    parser.add_argument("--seconds", type=float, default=600.0)
    seconds = parser.parse_args(arguments).seconds
    with EmbeddedServer(port=free_port()) as server, tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "tests.installation", server.url]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            assert process.stdout
            process.stdout.readline()
            with (
                Exporter(server.url) as exporter,
                Prometheus(Path(folder), [exporter.port], interval="2s", rules=rules()) as prometheus,
            ):
                time.sleep(RATES + seconds)
                draw(prometheus, time.time() - seconds, seconds)
            process.send_signal(signal.SIGTERM)


def draw(prometheus: Prometheus, start: float, seconds: float) -> None:
    """Each panel with lines, and the marks in it."""
    drawn = [one for one in panels() if not one.as_list]
    marks = {one.labels["mark"]: one.samples[0][1] / 1000 - start for one in prometheus.query(MARKS)}
    down = math.ceil(len(drawn) / ACROSS)
    picture, places = pyplot.subplots(down, ACROSS, figsize=(3.6 * ACROSS, 1.9 * down), squeeze=False)
    for place, panel in zip(places.flat, drawn, strict=False):
        _panel(place, panel, prometheus, start, seconds)
        for text, at in marks.items():
            if at > 0:
                place.axvline(at / 60, color="#8c5aa8", linewidth=0.8, linestyle=":")
                place.annotate(text, (at / 60, 0.9), xycoords=("data", "axes fraction"), color="#8c5aa8")
    for place in places.flat[len(drawn) :]:
        place.axis("off")
    picture.tight_layout()
    picture.savefig(TARGET, dpi=100)
    with Image.open(TARGET) as full:  # few colours make it a quarter of the size
        small = full.convert("RGB").quantize(64)
    small.save(TARGET, optimize=True)
    pyplot.close(picture)


def _panel(place: Any, panel: Drawn, prometheus: Prometheus, start: float, seconds: float) -> None:
    found: list[tuple[str, Series]] = []
    for query in panel.queries:
        expression = query.expression.replace("$queue", "mail|imports|exports")
        for one in prometheus.query_range(expression, start, start + seconds, seconds / POINTS):
            name = re.sub(r"{{(\w+)}}", lambda match, of=one: of.labels.get(match[1], ""), query.legend)  # type: ignore[misc]
            found.append((name, one))
    found = sorted(found, key=lambda one: -_highest(one[1]))
    found = [one for one in found if _highest(one[1])] or found[:1]  # lines at 0 hide each other
    for colour, (name, series) in zip(COLOURS, found[:LINES], strict=False):
        scale = 1e6 if panel.unit == "bytes" else 1
        place.plot(
            [(at - start) / 60 for at, _ in series.samples],
            [value / scale for _, value in series.samples],
            label=name,
            color=colour,
            linewidth=1,
        )
    unit = f" ({UNITS[panel.unit]})" if panel.unit in UNITS else ""
    place.set_title(f"{panel.title}{unit}", loc="left", fontsize=8, fontweight="bold")
    place.set_xlim(0, seconds / 60)
    place.set_ylim(bottom=0)
    if found:
        place.legend(fontsize=5.5, frameon=False, loc="best")


def _highest(series: Series) -> float:
    return max((value for _, value in series.samples if not math.isnan(value)), default=0.0)


if __name__ == "__main__":
    main(sys.argv[1:])
