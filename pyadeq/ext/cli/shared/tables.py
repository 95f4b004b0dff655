"""Tables that fit: columns that say least are left out first, then long texts are cut. `-o wide` shows everything."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from textwrap import wrap
from typing import TYPE_CHECKING

from pyadeq.ext.cli.shared.common import PLACE
from pyadeq.ext.shared.columns import FIRST, GAP, PROSE, SHORTEST, cut, total
from pyadeq.ext.shared.terminal import stdout

if TYPE_CHECKING:  # most answers as JSON need no rich
    from rich.text import Text

CHUNK = 1000  # rows whose widths are made to fit each other
PIPE_WIDTH = 80  # columns of a file or pipe, unless COLUMNS says otherwise


def print_rows(
    names: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[str] = (),
    spare: Sequence[str] = (),
    styles: Mapping[str, str] | None = None,
) -> None:
    """Print any number of rows, a thousand at a time. The first column is never cut: it is what others are found by. A
    row in which it is very long may exceed the limit.

    right: columns of numbers, which are not cut either. spare: columns to leave out, in this order, until the rest
    fits; those without any value go first. styles: of cells on a terminal, by their text in lower case.
    """
    console, rest, limit = stdout(), (_texts(row, len(names)) for row in rows), _limit()
    chunk = list(islice(rest, CHUNK))
    kept = _columns(names, chunk, spare, limit)
    heads = [names[column] for column in kept]
    widths = [0] * len(kept)
    while True:
        cells = [[row[column] for column in kept] for row in chunk]
        first = not any(widths)
        natural = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        widths = cut(heads, [max(pair) for pair in zip(widths, natural, strict=True)], right, limit)
        if first:
            console.print(_line(heads, heads, widths, right), style="bold", soft_wrap=True, markup=False, emoji=False)
        for row in cells:
            if styles and console.is_terminal:
                console.print(_styled(row, heads, widths, right, styles), soft_wrap=True)
            else:
                print(_line(row, heads, widths, right))
        if not (chunk := list(islice(rest, CHUNK))):
            return


def print_fields(fields: Iterable[tuple[str, object]], heads: tuple[str, str] = ("field", "value")) -> None:
    """Print names and values. On a terminal long values go on in the next line; elsewhere each is one line."""
    rows = [(name, str(value)) for name, value in fields]
    console = stdout()
    width = max(len(name) for name, _ in [heads, *rows])
    head = f"{heads[0]:<{width}}{GAP}{heads[1]}"
    console.print(head, style="bold", soft_wrap=True, markup=False, emoji=False)
    left = max(console.width - width - len(GAP), SHORTEST)
    for name, value in rows:
        lines = wrap(value, left, break_on_hyphens=False) if console.is_terminal and not PLACE.wide else [value]
        for number, line in enumerate(lines or [""]):
            print(f"{'' if number else name:<{width}}{GAP}{line}".rstrip())


def _texts(row: Sequence[object], count: int) -> list[str]:
    """The cells of a row; those that are missing at its end are empty."""
    return [*map(str, row), *[""] * (count - len(row))]


def _limit() -> float:
    if PLACE.wide:
        return inf
    console = stdout()
    given = os.environ.get("COLUMNS", "")
    return console.width if console.is_terminal else int(given) if given.isdecimal() and int(given) else PIPE_WIDTH


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]], spare: Sequence[str], limit: float) -> list[int]:
    """The columns to print, by their numbers."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    empty = [name for n, name in enumerate(names) if n and rows and not any(row[n] for row in rows)]
    least = [min(widths[0], FIRST), *widths[1:-1], min(widths[-1], max(len(names[-1]), PROSE))]
    kept = list(range(len(names)))
    spare = [one for one in spare if one in names]
    for name in dict.fromkeys([*(one for one in spare if one in empty), *empty, *spare]):
        needed = widths if name in empty else least  # the last column may be cut for others, unless they are empty
        if total([needed[n] for n in kept]) <= limit:
            continue
        kept.remove(names.index(name))
    return kept


def _line(cells: Sequence[str], heads: Sequence[str], widths: Sequence[int], right: Sequence[str]) -> str:
    padded = [
        f"{cell[: width - 1]}…"
        if len(cell) > width and column
        else cell.rjust(width)
        if head in right
        else cell.ljust(width)
        for column, (cell, head, width) in enumerate(zip(cells, heads, widths, strict=True))
    ]
    return GAP.join(padded).rstrip()


def _styled(
    cells: Sequence[str], heads: Sequence[str], widths: Sequence[int], right: Sequence[str], styles: Mapping[str, str]
) -> Text:
    from rich.text import Text

    text, start = Text(_line(cells, heads, widths, right)), 0
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        text.stylize(styles.get(cell.lower(), ""), start, start + width)
        start += (width if column else max(width, len(cell))) + len(GAP)
    return text
