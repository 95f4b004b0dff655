"""`adeq doctor`: is the server fit to keep tasks?"""

from __future__ import annotations

import re
import shlex
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pyadeq.ext.cli.shared.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, print_json, shown_url
from pyadeq.ext.cli.shared.complete import queue_names
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.operate.doctor import Damage, Report, examine, inspect
from pyadeq.ext.shared.terminal import stdout
from pyadeq.keys import check_name

OURS = re.compile(r"\badeq (?:doctor|lock|queue|scripts) ")
STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red", "unknown": "magenta"}


def doctor(
    context: typer.Context,
    queues: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUEUE]...", help="Queues to check. [default: all]", autocompletion=queue_names),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair",
            help="Repair tasks that are in no set, or in several, and correct other entries. Nothing else.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --repair: only count the damage.")] = False,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Check a server, and say what to change, why and how. Changes nothing without --repair.

    On a cluster, it checks only the node of the URL, so run it for each node. With --repair, it scans all keys, with
    --cluster those of all primaries, and tasks return to their old places. Workers may run during the repair. You can
    stop the command and run it again at any time.

    Exits with 1 if something loses tasks or stops work. Exits with 0 if there are only warnings, or checks for which
    this user lacks rights.
    """
    names = [check_name("queue", name) for name in queues or []]
    if dry_run and not repair:
        raise typer.BadParameter("goes with --repair; without it, nothing is changed anyway", param_hint="--dry-run")
    if repair:
        return _repair(url, names, dry_run, output)
    with connected(url, cluster=False) as adeq:
        report = examine(adeq, names)
    source = context.get_parameter_source("url")
    if source and source.name == "COMMANDLINE":  # what the environment says holds for those commands too
        _name_server(report, url)
    if output != Format.table:
        print_json({"server": shown_url(url), **report.model_dump()}, output)
    else:
        print_report(stdout(), report)
    if not report.ok:
        raise typer.Exit(FAILED)


def _repair(url: str, names: list[str], dry_run: bool, output: Format) -> None:
    """Put tasks back where they belong, and print what was found in each queue."""
    with connected(url) as adeq, Bar("doctor", None, "keys") as bar:
        damages = inspect(adeq, names, repair=not dry_run, progress=bar.update).damages
    if output != Format.table:
        rows = [damage.model_dump() for damage in damages]
        print_json({"server": shown_url(url), "dry_run": dry_run, "queues": rows}, output)
    elif damages:
        counts = ["tasks", "lost", "twice", "leases", "lines", "lanes", "runs", "repaired"]
        shown = [[one.queue, *(f"{getattr(one, name):,}" for name in counts), _states(one)] for one in damages]
        print_rows(["queue", *counts, "now"], shown, right=counts, spare=["runs", "lanes", "lines", "leases"])
    else:
        print("no queue was found")
    for one in damages:
        if one.error:
            typer.echo(f"\n{one.queue}: {one.error}", err=True)
    if any(one.error or (dry_run and one.found) for one in damages):
        raise typer.Exit(FAILED)


def _states(damage: Damage) -> str:
    """Return the states of the repaired tasks, each with its count, as one text."""
    return ", ".join(f"{count:,} {state}" for state, count in sorted(damage.now.items()))


def _name_server(report: Report, url: str) -> None:
    """Let the commands of ours that are advised go to the same server. A user and a password are to be filled in."""
    shown = shown_url(url)
    if "@" in url.partition("?")[0]:
        shown = shown.replace("://", "://USER:PASSWORD@", 1)
    for check in report.checks:
        check.how = [f"{line} --url {shlex.quote(shown)}" if OURS.search(line) else line for line in check.how]


def print_report(console: Console, report: Report) -> None:
    """Print the checks as a table, with advice under those that need it."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for check in report.checks:
        text = Text(check.found)
        if check.why:
            text.append(f"\n{check.why}", style="dim")
        for line in check.how:
            text.append("\n  ").append(line, style="cyan")
        mark = check.status.upper() if check.status == "fail" else check.status
        table.add_row(Text(mark, style=STYLES[check.status]), check.name, text)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():  # rich fills lines with spaces
        print(line.rstrip())
    words = ((report.count("ok"), "ok"), (report.count("warn"), "to change"), (report.count("fail"), "failed"))
    found = [f"{count} {word}" for count, word in words if count]
    if unknown := report.count("unknown"):
        found.append(f"{unknown} unknown, because this user lacks rights")
    console.print("\n" + ", ".join(found))
