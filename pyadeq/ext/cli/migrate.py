"""`adeq scripts migrate`: what is stored moves to the layout of this release, while its clients are at work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Locks, Queue, library
from pyadeq.errors import AdeqError, LayoutError, TransportError
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    columns,
    connected,
    print_json,
    stdout,
)
from pyadeq.ext.cli.partitions import named, parts
from pyadeq.ext.cli.progress import Bar
from pyadeq.ext.doctor import find_domains, find_queues

HEADS = ["noun", "name", "before", "layout", "rewritten", "error"]


def migrate(
    queue: Annotated[list[str] | None, typer.Option("--queue", "-q", metavar="NAME", help="Only these queues.")] = None,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", "-d", metavar="NAME", help="Only these lock domains.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what there is to do.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Even though workers of an older release are alive: they lose their tasks.")
    ] = False,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Look for names for so long.")] = 60.0,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Bring what is stored to the layout of this release: of all queues and lock domains, unless some are named.

    First upgrade every client: older releases are refused from then on, and there is no way back. Workers go on
    meanwhile. It can be stopped, and said again, at any time. Exits with 1 if something is left to do.
    """
    layout = int(library().manifest["layout"])
    with connected(url) as adeq:
        complete = True
        if not queue and not domain:
            queues, domains = find_queues(adeq, timeout), find_domains(adeq, timeout)
            queue, domain, complete = queues.names, domains.names, queues.complete and domains.complete
        rows = [_move(*one, dry_run, force) for one in _named(adeq, queue or [], domain or [])]
    left = [row for row in rows if row["layout"] != layout or "error" in row]
    if output != Format.table:
        print_json({"layout": layout, "complete": complete, "migrated": rows}, output)
    elif rows:
        shown = [[row.get(head, "") for head in HEADS if head != "error"] for row in rows]
        stdout().print(columns(HEADS[:-1], shown, right=HEADS[2:-1]))
    else:
        print(f"there is nothing stored; this release has layout {layout}")
    for row in rows:
        if "error" in row:
            typer.echo(f"\n{row['name']}: {row['error']}", err=True)
    if not complete:
        typer.echo(f"\nNot all keys were looked at within {timeout:g} s: --timeout, or --queue and --domain", err=True)
    if not complete or (left and not dry_run):
        raise typer.Exit(FAILED)


def _named(adeq: Adeq, queues: list[str], domains: list[str]) -> Iterator[tuple[str, Queue | Locks]]:
    """Each partition for itself: so it is seen where the work is."""
    for name in queues:
        try:
            found = parts(named(adeq, name))
        except LayoutError:  # which the queue itself will say
            found = [adeq.queue(name)]
        for queue in found:
            yield "queue", queue
    for name in domains:
        yield "lock", adeq.locks(name)


def _move(noun: str, what: Queue | Locks, dry_run: bool, force: bool) -> dict[str, Any]:
    """A row about a queue or a domain; one that cannot be moved does not keep the others from it."""
    row: dict[str, Any] = {"noun": noun, "name": what.name}
    try:
        row["before"] = row["layout"] = _layout(what)
        row["rewritten"] = 0
        if not dry_run:
            with Bar(f"{noun} {what.name}", None, "rewritten") as bar:
                done = (
                    what.migrate(force=force, progress=bar.update)
                    if isinstance(what, Queue)
                    else what.migrate(progress=bar.update)
                )
            row |= {"layout": done.layout, "rewritten": done.rewritten}
    except TransportError:
        raise
    except AdeqError as error:
        row |= {"layout": row.get("layout"), "error": str(error)}
    return row


def _layout(what: Queue | Locks) -> int:
    return (what.settings() if isinstance(what, Queue) else what.stats().settings).layout
