"""What Python knows of a setting. `pyadeq.models.settings` has all of them."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Setting(NamedTuple):
    """A setting of a queue or a lock domain.

    name: its name in Python. `backoff.base` is a field of the setting `backoff`.
    wire: its name in the scripts. They have seconds in ms, and ratios in percent.
    default: None if it has none.
    doc: what it means.
    least, most: the limits of a number.
    words: what an enum may be.
    label: what the form on the board calls it. If it is empty, the form does not have it.
    """

    name: str
    wire: str
    kind: Literal["seconds", "ratio", "int", "bool", "enum"]
    default: float | str | None
    doc: str
    least: float = 0
    most: float = 0
    words: tuple[str, ...] = ()
    label: str = ""

    @property
    def otherwise(self) -> str:
        """What applies if the setting is not set and has no default."""
        return self.doc.partition("not set: ")[2]
