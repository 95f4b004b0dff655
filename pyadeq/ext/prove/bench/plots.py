"""A picture of each subject; it needs matplotlib, which the extra `bench` brings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyadeq.errors import ConfigError
from pyadeq.ext.prove.bench.figures import Figure, Report

COLOURS = ("#3b6ea5", "#d1802c", "#4f8f58", "#8c5aa8", "#b5484d")
NEEDED = "plots need the extra `bench`: pip install 'pyadeq[bench]'"


def draw(report: Report, folder: Path) -> list[Path]:
    """Write `<subject>.png` for each subject that has more than one figure; the files."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ConfigError(NEEDED) from error
    pyplot.switch_backend("agg")
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for subject in dict.fromkeys(figure.subject for figure in report.figures):
        some = [figure for figure in report.figures if figure.subject == subject]
        if len(some) < 2:
            continue
        groups = _groups(some)
        size = (4.2 * len(groups) + 1.5, max(4, 0.25 * max(map(len, groups.values()))))
        figure, axes = pyplot.subplots(1, len(groups), figsize=size, squeeze=False)
        for place, (name, lines) in zip(axes[0], groups.items(), strict=True):
            _bars(place, name, lines)
        figure.suptitle(f"{subject}: {report.engine}, pyadeq {report.pyadeq}, {report.machine}", fontsize=9)
        figure.tight_layout()
        files.append(folder / f"{subject}.png")
        figure.savefig(files[-1], dpi=130)
        pyplot.close(figure)
    return files


def _groups(figures: Sequence[Figure]) -> dict[str, dict[str, list[Figure]]]:
    """One chart for each thing that is varied; in it one row of bars for each thing that is measured."""
    groups: dict[str, dict[str, list[Figure]]] = {}
    for figure in figures:
        varied = ", ".join(figure.by) or figure.unit
        groups.setdefault(varied, {}).setdefault(figure.what, []).append(figure)
    if len(groups) > 1:  # floors are lines of the first chart, not a chart of their own
        plain = {name: lines for name, lines in groups.items() if any(one.by for own in lines.values() for one in own)}
        groups = plain or groups
    return groups


def _bars(place: Any, name: str, lines: dict[str, list[Figure]]) -> None:
    longest = max(lines.values(), key=len)
    single = not longest[0].by
    labels = list(lines) if single else [" / ".join(f"{value:,}" for value in one.by.values()) for one in longest]
    if single:
        figures = [own[0] for own in lines.values()]
        place.barh(range(len(figures)), [one.median for one in figures], color=COLOURS[0])
        place.set_yticks(range(len(figures)), labels)
        place.invert_yaxis()
        place.set_xlabel(figures[0].unit)
        return
    width = 0.8 / len(lines)
    for number, (what, own) in enumerate(lines.items()):
        at = [index + number * width for index in range(len(own))]
        low = [one.median - min(one.values) for one in own]
        high = [max(one.values) - one.median for one in own]
        colour = COLOURS[number % len(COLOURS)]
        place.bar(at, [one.median for one in own], width, yerr=[low, high], label=what, color=colour, ecolor="#555555")
    place.set_xticks([index + width * (len(lines) - 1) / 2 for index in range(len(labels))], labels)
    place.set_xlabel(name)
    place.set_ylabel(longest[0].unit)
    place.set_ylim(0, 1.25 * max(max(one.values) for own in lines.values() for one in own))
    place.legend(fontsize=7)
