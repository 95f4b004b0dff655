"""`adeq demo`: real work, or real approvals, on a private server, and the proof that all is well."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from pyadeq.embedded import find_binary
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.shared.common import FAILED, Format, Output, print_json
from pyadeq.ext.prove.demo.approvals import run_approvals
from pyadeq.ext.prove.demo.approvals_plan import DOMAIN, SLOT
from pyadeq.ext.prove.demo.plan import QUEUE
from pyadeq.ext.prove.demo.report import Report, print_proof, print_report
from pyadeq.ext.prove.demo.run import run_demo
from pyadeq.ext.prove.demo.view import View
from pyadeq.ext.shared.terminal import stderr, stdout


def demo(
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the server's data in DIR.")] = None,
    limit: Annotated[int | None, typer.Option(min=40, help="Parse only this many files, the largest.")] = None,
    approvals: Annotated[
        bool, typer.Option("--approvals", help="Review and apply ten changes, and kill an applier.")
    ] = False,
    board: Annotated[
        bool, typer.Option("--board", help="Serve the board of an installation at work, until Ctrl-C.")
    ] = False,
    output: Output = Format.table,
) -> None:
    """Parse Python's standard library with two workers, kill one half-way, and prove that nothing was lost.

    With --approvals, agents propose changes, people review them, and appliers apply what was approved; the proof says
    that they did no more than that. This takes less than a minute. Exits with 1 if the proof fails.

    With --board, it proves nothing: it prints a link to the board, and works until Ctrl-C. Needs the extras schedules
    and server.
    """
    if approvals and board:
        raise ConfigError("--board: it is not for --approvals; leave one of them out")
    if approvals and limit is not None:
        raise ConfigError("--limit: it is of the files to parse, and --approvals parses none; leave one of them out")
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise ConfigError(f"--keep: {str(keep)!r} is not empty; name an empty directory, or a new one")
    if board:
        _serve_board(keep, limit)
        return
    with View(stderr()) as view:
        report = run_approvals(view.say, keep=keep) if approvals else run_demo(view, keep=keep, limit=limit)
    if output != Format.table:
        print_json(report.model_dump(mode="json"), output)
    else:
        if isinstance(report, Report):
            print_report(stdout(), report)
        else:
            print_proof(stdout(), report.proof)
        if keep is not None:
            look = (
                f"--slot {SLOT} change ls --domain {DOMAIN} --state completed" if approvals else f"queue stats {QUEUE}"
            )
            _print_how_to_look(keep, look)
    if not report.ok:
        raise typer.Exit(FAILED)


def _serve_board(keep: Path | None, limit: int | None) -> None:
    try:
        from pyadeq.ext.prove.demo.board import run_board
    except ModuleNotFoundError as error:
        raise ConfigError(f'--board: {error.name} is missing; pip install "pyadeq[server]"') from None
    run_board(lambda text: print(text, flush=True), keep=keep, limit=limit)


def _print_how_to_look(keep: Path, look: str) -> None:
    data, url = shlex.quote(str(keep.absolute())), "redis://127.0.0.1:6390"
    print(f"\nThe data is in {keep}. To look at it:")
    print(f"  {find_binary()} --dir {data} --appendonly yes --save '' --port 6390 --daemonize yes")
    print(f"  adeq {look} --url {url}")
