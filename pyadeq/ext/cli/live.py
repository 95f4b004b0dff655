"""A picture that stays in place on a terminal; lines, one for each change, elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyadeq.ext.cli.common import stdout

if TYPE_CHECKING:
    from rich.console import RenderableType


class Live:
    """Shows one thing that changes, on stdout; a context manager. The last picture stays."""

    def __init__(self) -> None:
        from rich import live

        console = stdout()
        in_place = console.is_terminal and not console.is_dumb_terminal
        self._live = live.Live(console=console, auto_refresh=False) if in_place else None
        self._line = ""

    def show(self, picture: RenderableType, line: str) -> None:
        """Show it: the picture on a terminal, else the line unless it is the last one again."""
        if self._live:
            self._live.start()  # once; a watch that answers as JSON never comes here
            self._live.update(picture, refresh=True)
        elif line != self._line:
            print(line, flush=True)
        self._line = line

    def say(self, line: str) -> None:
        """Print a line that stays, above the picture."""
        if self._live:
            self._live.console.print(line, soft_wrap=True, markup=False, emoji=False)
        else:
            print(line, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
