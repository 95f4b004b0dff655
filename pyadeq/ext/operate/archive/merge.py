"""Many parts as one list, in which each line is once. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pyadeq.ext.operate.archive.lines import Archived, Id, Key, Part, id_of


def merged(
    parts: Sequence[Part],
    lines: Callable[[Part], list[Archived]],
    twice: Callable[[Archived, Archived], object] | None,
) -> Iterator[Archived]:
    """Iterate over the lines of sorted parts, in the order of each stream. A line that was written twice comes once.

    Parts of one stream may overlap. Only those that do are in memory together. twice: gets lines with the same key.
    """
    waiting: dict[Key, Archived] = {}
    before: Part | None = None
    for part in parts:
        if before and before.stream != part.stream:
            yield from _taken(waiting, None)
        else:
            yield from _taken(waiting, id_of(part.first))
        before = part
        for one in lines(part):
            if (known := waiting.setdefault(one.key, one)) is not one and twice:
                twice(known, one)
    yield from _taken(waiting, None)


def _taken(waiting: dict[Key, Archived], before: Id | None) -> list[Archived]:
    """Take out the lines of events before this one, sorted; None: all."""
    keys = sorted(key for key in waiting if before is None or key[:2] < before)
    return [waiting.pop(key) for key in keys]
