"""Options by their names: those that there are not, and what was meant by them."""

from __future__ import annotations

from collections.abc import Iterable

from pyadeq.keys import hint


def checked_options(
    given: Iterable[str], allowed: Iterable[str], *, required: Iterable[str] = (), besides: Iterable[str] = ()
) -> None:
    """TypeError that says what can be given, for an option that there is not, or one that is missing."""
    names = [*besides, *allowed]
    for name in given:
        if name not in names:
            raise TypeError(f"{name}: there is no such option{hint(name, names)} Allowed: {', '.join(names)}")
    for name in required:
        if name not in given:
            raise TypeError(f"{name}: it is required. Options: {', '.join(names)}")
