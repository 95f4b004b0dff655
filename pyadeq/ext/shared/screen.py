"""The terminal, as rich writes to it."""

from __future__ import annotations

from typing import Any

from rich.console import Console


class Screen(Console):
    """A console without automatic colours. A reader that goes away is left to `run`, which exits with 0."""

    def __init__(self, **options: Any) -> None:
        super().__init__(highlight=False, **options)

    def on_broken_pipe(self) -> None:
        """Do not exit with 1, as rich would."""
        raise BrokenPipeError
