"""`adeq bench`: what this machine and this server can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import Format, Output, connected, print_json
from pyadeq.ext.cli.shared.progress import LINE_EVERY
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.prove.bench import SUBJECTS, Figure, Report, draw, run
from pyadeq.ext.shared.terminal import stderr

Subject = StrEnum("Subject", {name: name for name in SUBJECTS})  # type: ignore[misc]
QUICK = ("cost", "drain", "latency")


def bench(
    subjects: Annotated[
        list[Subject] | None, typer.Argument(metavar="[SUBJECT]...", help=f"{', '.join(SUBJECTS)}; or all of them.")
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="All subjects; this takes minutes.")] = False,
    tasks: Annotated[int, typer.Option(min=2000, help="Tasks in each measurement.")] = 20_000,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Rounds of each measurement; the median counts.")] = 5,
    persist: Annotated[
        bool, typer.Option("--persist/--no-persist", help="With an append-only file, flushed every second, or without.")
    ] = True,
    engine: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            metavar="FILE",
            help="The program of the private server. [default: the wheel's]",
        ),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Measure this server instead of a private one. It should have no other work."),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            min=0,
            help="For growth and changes: the most stored tasks or changes. They use at most half of the memory.",
        ),
    ] = 1_000_000,
    plots: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the figures there, as PNG files.")] = None,
    output: Output = Format.table,
) -> None:
    """Measure the cost of a task, the throughput and latency of a worker, and more.

    By default, it measures cost, drain and latency on a private server. Each figure is the median of its rounds.
    `floor` is the cost of plain Redis commands that move the same data in the same rounds. `ratio` is a figure divided
    by its floor. The queues for the measurement are created and deleted. Measure on a machine without other work:
    `load` is its load before the measurement.
    """
    if all and subjects:
        raise ConfigError("--all: leave it out if you name subjects")
    if engine is not None and url is not None:
        raise ConfigError("--engine: leave it out with --url, which names a running server")
    names = list(SUBJECTS) if all else [one.value for one in subjects] if subjects else list(QUICK)
    with connected(url) if url else nullcontext(), _told() as tell:  # errors of the connection are shown as usual
        report = run(
            list(dict.fromkeys(names)),
            url=url,
            persistent=persist,
            engine=engine,
            tasks=tasks,
            rounds=rounds,
            most=most,
            tell=tell,
        )
    if plots is not None:
        drawn = draw(report, plots)
    if output != Format.table:
        print_json(report.model_dump(mode="json"), output)
        return
    _print(report)
    if plots is not None:
        print("\n" + "\n".join(str(file) for file in drawn))


@contextmanager
def _told() -> Iterator[Callable[[str], None]]:
    """What is measured now, on stderr: in place on a terminal, elsewhere a line every few seconds."""
    console = stderr()
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    last = monotonic()

    def tell(words: str) -> None:
        nonlocal last
        if monotonic() - last >= LINE_EVERY:
            last = monotonic()
            console.print(words, soft_wrap=True)

    yield tell


def _print(report: Report) -> None:
    about = f"{report.engine}, persistence: {report.persistence}; pyadeq {report.pyadeq}, Python {report.python}"
    print(f"{about}\n{report.machine}, load {report.load_before} before; {report.rounds} rounds\n")
    right = ["median", "lowest", "highest", "× floor", "commands"]
    rows = [_row(figure) for figure in report.figures]
    print_rows(["subject", "what", "at", *right, "unit"], rows, right=right, spare=["highest", "lowest", "commands"])
    if report.left_out:
        print("\n" + "\n".join(f"left out: {words}" for words in report.left_out))


def _row(figure: Figure) -> tuple[str, ...]:
    at = ", ".join(
        f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in figure.by.items()
    )
    lowest, highest = (_number(pick(figure.values)) for pick in (min, max))
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    commands = "" if figure.commands is None else f"{figure.commands:,.1f}"
    return figure.subject, figure.what, at, _number(figure.median), lowest, highest, ratio, commands, figure.unit


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
