"""Columns that fit into a width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from pyadeq.ext.shared.terminal import stdout

if TYPE_CHECKING:  # most answers as JSON need no rich
    from rich.table import Table

GAP = "  "
PROSE = 16  # characters of the last column that are worth a column
SHORTEST = 8  # characters of a text that is cut
FIRST = 32  # characters of the first column in all rows, if there is no room for longer ones


def columns(names: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> Table:
    """A table for a picture that stays in place. Long texts are cut first. A long id goes on in the next line."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    texts = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(map(Text, names), *texts, strict=True)]
    widths = cut(names, [min(widths[0], FIRST), *widths[1:]], right, stdout().width)
    for name, width in zip(names, widths, strict=True):
        first = name == names[0]
        table.add_column(
            name,
            width=width,
            justify="right" if name in right else "left",
            no_wrap=not first,
            overflow="fold" if first else "ellipsis",
        )
    for row in texts:
        table.add_row(*row)
    return table


def cut(heads: Sequence[str], widths: list[int], right: Sequence[str], limit: float) -> list[int]:
    """Widths that fit, if texts that may be cut are cut: the last column to PROSE, then the longest of all.

    Before that, the first column has FIRST, and longer cells of it exceed their width.
    """
    if (excess := total(widths) - limit) > 0 and heads[-1] not in right and len(heads) > 1:
        widths[-1] = int(max(widths[-1] - excess, min(widths[-1], max(len(heads[-1]), PROSE))))
    if (excess := total(widths) - limit) > 0:
        widths[0] = int(max(widths[0] - excess, min(widths[0], FIRST)))
    while (excess := total(widths) - limit) > 0:
        texts = [n for n in range(1, len(heads)) if heads[n] not in right and widths[n] > max(len(heads[n]), SHORTEST)]
        if not texts:
            break
        longest, *others = sorted(texts, key=lambda n: -widths[n])
        least = max(len(heads[longest]), SHORTEST, *(widths[n] - 1 for n in others[:1]))
        widths[longest] = int(max(widths[longest] - excess, min(least, widths[longest] - 1)))
    return widths


def total(widths: Sequence[int]) -> int:
    """How many characters a line has, with its gaps."""
    return sum(widths) + len(GAP) * (len(widths) - 1)
