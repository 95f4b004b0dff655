"""Progress of long work, on stderr: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyadeq.ext.shared.terminal import stderr

if TYPE_CHECKING:
    from rich.progress import Progress

LINE_EVERY = 5.0  # seconds between two lines where there is no terminal


class Bar:
    """How far it is; a context manager.

    total: of what `update` counts, bytes for instance; None if it is not known. thing: what is counted for people.
    """

    def __init__(self, label: str, total: int | None, thing: str) -> None:
        self._label, self._total, self._thing = label, total, thing
        self._first: int | None = None  # what was counted before we came
        self._console = stderr()
        self._begun = self._told = monotonic()
        self._progress: Progress | None = None
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TextColumn("{task.fields[facts]}"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._row = self._progress.add_task(label, total=total, facts="")

    def update(self, done: int, count: int | None = None) -> None:
        """Show it. count: how many things that is, where `done` counts something else."""
        count = done if count is None else count
        now = monotonic()
        if self._first is None:
            self._first = count
        speed = (count - self._first) / (now - self._begun) if now > self._begun else 0.0
        facts = f"{count:,} {self._thing}, {speed:,.0f}/s"
        if self._progress:
            self._progress.update(self._row, completed=done, facts=facts)
        elif now - self._told >= LINE_EVERY:
            self._told = now
            share = f" ({done / self._total:.0%})" if self._total else ""
            self._console.print(f"{self._label}: {facts}{share}", soft_wrap=True)

    def tell(self, line: str) -> None:
        """Print a line above it."""
        self._console.print(line, soft_wrap=True)

    def __enter__(self) -> Self:
        if self._progress:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._progress:
            self._progress.stop()
