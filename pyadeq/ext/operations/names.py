"""The names that there are of each noun."""

from __future__ import annotations

from typing import Final

from pyadeq.ext.operations.row import FOLDERS, Operation

OPERATIONS: Final = tuple(
    Operation(f"GET /{folder}", needs="observe", by_user="all", name=f"{noun}_names")
    for noun, folder in FOLDERS.items()
)
