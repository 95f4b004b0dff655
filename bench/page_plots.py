"""The pictures of docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

from bench.page_figures import LIFE, OWN, Json, figure
from bench.peers.environments import OURS

matplotlib.use("agg")
from matplotlib import pyplot

# equal figures give equal bytes
matplotlib.rcParams |= {"svg.hashsalt": "pyadeq", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
START, MOST_MS = "enqueue to start", 12
STRONG, PALE, LINES = "#3949ab", "#b8bfd8", ("#3949ab", "#d1802c", "#4f8f58", "#8c5aa8", "#b5484d")


def draw(found: dict[str, Any], folder: Path) -> None:
    """Write one SVG file for each picture."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures: dict[str, Callable[[dict[str, Any]], Any]] = {"peers": peers, "shard": shard, "growth": growth}
    for name, make in pictures.items():
        picture = make(found)
        picture.tight_layout()
        picture.savefig(folder / f"{name}.svg", metadata={"Date": None})
        pyplot.close(picture)


def peers(found: dict[str, Any]) -> Any:
    """Bars, each panel with the best at the top."""
    results = found["peers"]["results"]
    panels: list[tuple[str, Callable[[Json], float | None], bool]] = [
        ("tasks per second", lambda one: at(one, "per_second", "median"), True),
        ("bulk enqueue, tasks per second", lambda one: at(one, "enqueue_per_second", "median"), True),
        ("server CPU per task, µs", lambda one: at(one, "server", "whole", "us", "median"), False),
        (
            f"{START}: p50 (bar) and p99 (line), ms, at most {MOST_MS} shown",
            lambda one: at(one, "start_ms", "p50"),
            False,
        ),
    ]
    picture, places = pyplot.subplots(2, 2, figsize=(10, 7.6))
    for place, (title, value, more_is_better) in zip(places.flat, panels, strict=True):
        rows = [(number, one) for one in results if (number := value(one)) is not None]
        rows.sort(key=lambda row: row[0], reverse=not more_is_better)
        names = [one["peer"] for _, one in rows]
        place.barh(names, [number for number, _ in rows], color=[STRONG if name == OURS else PALE for name in names])
        ends = [
            waited(place, row, one) if title.startswith(START) else told(place, row, rows[row][0])
            for row, (_, one) in enumerate(rows)
        ]
        place.set_title(title, fontsize=9, loc="left")
        place.set_xlim(0, 1.2 * max(ends))
    return picture


def told(place: Any, row: int, number: float) -> float:
    """Write the number beside its bar; return where the bar ends."""
    place.text(number, row, f" {number:,.0f}" if number >= 100 else f" {number:.1f}", va="center", fontsize=8)
    return number


def waited(place: Any, row: int, one: Json) -> float:
    """Write p50 and p99, with a line from one to the other; return where it ends."""
    p50, p99 = one["start_ms"]["p50"], one["start_ms"]["p99"]
    end = float(min(p99, MOST_MS))
    place.plot([min(p50, end), end], [row, row], color="#555555", linewidth=1)
    place.text(end, row, f" {p50:.1f} / {p99:.1f}", va="center", fontsize=8)
    return end


def at(one: Json, *names: str) -> float | None:
    """The nested number under these names; None if it is missing."""
    found: Any = one
    for name in names:
        found = found.get(name, {})
    return float(found) if found != {} else None


def shard(found: dict[str, Any]) -> Any:
    """Microseconds per task by batch size, for each engine."""
    picture, place = pyplot.subplots(figsize=(7, 3.6))
    batches = (1, 10, 100, 500)
    width = 0.8 / len(OWN)
    for number, (name, words) in enumerate(OWN.items()):
        figures = [figure(found[name], "cost", LIFE, batch=batch) for batch in batches]
        heights = [min(one["values"]) for one in figures]
        spread = [[0.0] * len(figures), [max(one["values"]) - min(one["values"]) for one in figures]]
        left = [index + number * width for index in range(len(batches))]
        bars = place.bar(left, heights, width, yerr=spread, label=words, color=LINES[number], ecolor="#555555")
        place.bar_label(bars, [f"{height:.0f}" for height in heights], fontsize=8, padding=2)
    place.set_xticks([index + width for index in range(len(batches))], [str(batch) for batch in batches])
    place.set_xlabel("tasks per call")
    place.set_ylabel("server CPU per task, µs")
    place.legend(frameon=False)
    return picture


def growth(found: dict[str, Any]) -> Any:
    """Microseconds per task by the number of other tasks."""
    picture, place = pyplot.subplots(figsize=(7, 3.6))
    labels = {
        "backlog": "waiting",
        "delayed": "delayed",
        "running": "running",
        "kept": "ended and kept; each new one deletes an older one",
    }
    for number, (name, words) in enumerate(labels.items()):
        some = [one for one in found["valkey"]["figures"] if one["subject"] == "growth" and one["by"].get(name, 0) > 0]
        place.plot(
            [one["by"][name] for one in some],
            [one["median"] for one in some],
            marker="o",
            label=words,
            color=LINES[number],
        )
    place.set_xscale("log")
    place.set_ylim(0)
    place.set_xlabel("number of other tasks")
    place.set_ylabel("server CPU per task, µs")
    place.legend(frameon=False)
    return picture
