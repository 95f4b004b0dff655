"""A picture that stays in place on a terminal; lines, one for each change, elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from math import inf
from time import monotonic, sleep
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pyadeq.ext.cli.shared.common import Format, as_json
from pyadeq.ext.cli.shared.running import Document
from pyadeq.ext.shared.terminal import stdout

if TYPE_CHECKING:
    from rich.console import RenderableType

Look = TypeVar("Look")


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


def again(
    look: Callable[[], Look], interval: float, seconds: float | None, ended: Callable[[Look], bool] = lambda _: False
) -> Iterator[Look]:
    """Looks at something that changes, for that many seconds or until it has ended; without either, for ever."""
    until = inf if seconds is None else monotonic() + seconds
    while True:
        found = look()
        yield found
        if ended(found) or monotonic() >= until:
            return
        sleep(max(min(interval, until - monotonic()), 0))


def watched(
    looks: Iterable[Look],
    output: Format,
    picture: Callable[[Look], RenderableType],
    line: Callable[[Look], str],
    plain: Callable[[Look], Any],
) -> Document | None:
    """Show the looks as they come, until Ctrl-C; with -o json, the last one is the answer."""
    last: Look | None = None
    with Live() as live, suppress(KeyboardInterrupt):
        for last in looks:
            if output == Format.table:
                live.show(picture(last), line(last))
            elif output == Format.jsonl:
                print(as_json(plain(last)), flush=True)
    return None if output != Format.json or last is None else Document(plain(last))
