"""What the demo shows while it runs: two lines that stay in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

REFRESH = 0.1  # seconds between two pictures on a terminal
LINE_EVERY = 1.0  # seconds between two lines elsewhere
BAR_WIDTH = 40


@dataclass(frozen=True)
class Progress:
    """How far it is. facts: what else there is to know, in the order of showing."""

    label: str
    done: int
    total: int
    facts: dict[str, int | str]


class View:
    """Shows progress on a console; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begun = monotonic()
        self._shown = -LINE_EVERY
        in_place = console.is_terminal and not console.is_dumb_terminal
        self._live = Live(console=console, auto_refresh=False, transient=True) if in_place else None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def update(self, progress: Progress) -> None:
        """Show how far it is, unless that was shown just now."""
        now = monotonic()
        if now - self._shown < (REFRESH if self._live else LINE_EVERY):
            return
        self._shown = now
        if self._live:
            self._live.update(_picture(progress, now - self._begun), refresh=True)
        else:
            self.say(f"{now - self._begun:5.1f} s  {_counted(progress):<28}{_facts(progress)}")

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()


def _picture(progress: Progress, seconds: float) -> RenderableType:
    line = Table.grid(padding=(0, 2))
    bar = ProgressBar(progress.total, progress.done, width=BAR_WIDTH)
    line.add_row(progress.label, bar, f"{progress.done:,} of {progress.total:,}", f"{seconds:.0f} s")
    return Group(line, Text(_facts(progress), style="dim", no_wrap=True, overflow="ellipsis"))


def _counted(progress: Progress) -> str:
    return f"{progress.label.lower()} {progress.done:,} of {progress.total:,}"


def _facts(progress: Progress) -> str:
    return "   ".join(f"{name} {value}" for name, value in progress.facts.items())
