"""The names that there are of each noun."""

from __future__ import annotations

from typing import Final

from pyadeq import library
from pyadeq.ext.operations.row import FOLDERS, Operation

COUNTED: Final = ("queue", "lock")
"""Nouns whose list at a terminal, by hand, says what is in each."""


def _names(noun: str, folder: str) -> Operation:
    listed = Operation(f"GET /{folder}", needs="observe", by_user="all", name=f"{noun}_names")
    field = library().manifest["nouns"][noun]["field"]
    return listed if noun in COUNTED else listed.at_terminal(f"{noun} {field}s")


OPERATIONS: Final = tuple(_names(noun, folder) for noun, folder in FOLDERS.items())
