"""`adeq scripts migrate`: what is stored moves to the layout of this release, while its clients are at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import typer
from redis.exceptions import ResponseError

from pyadeq import Adeq, Locks, Migration, library
from pyadeq.errors import AdeqError, TransportError
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.shared.resolve import (
    Only,
    existing,
    existing_domain,
    existing_queue,
    names_by_noun,
    parts,
    queue_or_new,
    stored_bases,
)
from pyadeq.ext.cli.shared.running import Document, Table, with_client
from pyadeq.ext.shared.finding import find_names
from pyadeq.ext.shared.layouts import newest_layouts

Move = Callable[[Callable[[int], object]], Migration]
EVENTS = "events"
HEADS = ["noun", "name", "before", "layout", "rewritten", "all"]


@with_client
def migrate(
    adeq: Adeq,
    queue: Annotated[list[str] | None, typer.Option("--queue", "-q", metavar="NAME", help="Only these queues.")] = None,
    domain: Annotated[
        list[str] | None, typer.Option("--domain", "-d", metavar="NAME", help="Only these lock domains.")
    ] = None,
    only: Only = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what has to be done.")] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Migrate even if workers of an older release are alive: they lose their tasks."),
    ] = False,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Search for names for at most this time.")
    ] = 60.0,
) -> Document:
    """Convert the stored data to the layout of this release: of everything, unless some names are given.

    Upgrade every client first: older releases are refused from then on, and there is no way back. Workers continue
    meanwhile. You can stop the command and repeat it at any time. `all` is true if all stored data has the new layout.
    Exits with 1 if something could not be converted.
    """
    complete = True
    named = names_by_noun(queue, domain, only)
    if not named:
        found = {noun: find_names(adeq, noun, timeout, scan=True) for noun in library().manifest["nouns"]}
        complete = all(one.complete for one in found.values())
        named = {noun: one.names for noun, one in found.items()}
    owners = [(noun, name) for noun, names in named.items() for name in names if noun != EVENTS]
    rows = [_queue(adeq, name, dry_run, force) for name in named.pop("queue", ())]
    rows += [_other(adeq, noun, name, dry_run) for noun, names in named.items() for name in names]
    rows += [row for noun, name in owners for row in _events(adeq, noun, name, dry_run)]
    left = [row for row in rows if "error" in row or not row["all"]]
    shown = [[*(row.get(head, "") for head in HEADS[:-1]), "yes" if row.get("all") else "NO"] for row in rows]
    table = Table(HEADS, shown, right=HEADS[2:5], spare=["before"])
    errors = [f"{row['name']}: {row['error']}" for row in rows if "error" in row]
    if not complete:
        errors.append(
            f"Not all keys were scanned within {timeout:g} s: raise --timeout, or use --queue, --domain and --only"
        )
    return Document(
        {"layouts": newest_layouts(), "complete": complete, "migrated": rows},
        table if rows else "nothing is stored",
        warning="\n\n".join(errors),
        failed=not complete or bool(left and not dry_run),
    )


def _queue(adeq: Adeq, name: str, dry_run: bool, force: bool) -> dict[str, Any]:
    """A row about a queue with its partitions."""

    def find() -> tuple[list[str], Move]:
        queue = existing_queue(adeq, name)
        return [part.base for part in parts(queue)], lambda tell: queue.admin.migrate(force=force, progress=tell)

    return _row(adeq, "queue", name, find, dry_run)


def _other(adeq: Adeq, noun: str, name: str, dry_run: bool) -> dict[str, Any]:
    """A row about one of any other noun."""

    def find() -> tuple[list[str], Move]:
        found = existing_domain(adeq, name) if noun == "lock" else existing(adeq, noun, name, f"adeq {noun} ls")
        migrate = found.admin.migrate if isinstance(found, Locks) else found.migrate
        return stored_bases(adeq, found), lambda tell: migrate(progress=tell)

    return _row(adeq, noun, name, find, dry_run)


def _events(adeq: Adeq, noun: str, name: str, dry_run: bool) -> Iterator[dict[str, Any]]:
    """Rows about the groups that read the events of one of a noun, or of its partitions."""
    own = adeq.noun(noun, name)
    bases = getattr(own, "bases", (own.base,))
    if noun == "queue":
        try:
            bases = [one.base for one in parts(queue_or_new(adeq, name))]
        except AdeqError:  # the row of the queue says it
            return
    for base in bases:
        if adeq.client.exists(f"{base}:events:config"):
            tag = base.removesuffix("}").rpartition("/")[2] if base != own.base else ""
            stream = f"{name}/{tag}" if tag else name

            def find(stream: str = stream, base: str = base) -> tuple[list[str], Move]:
                return [f"{base}:events"], lambda tell: adeq.events(noun, stream).migrate(progress=tell)

            yield _row(adeq, EVENTS, f"{noun}:{stream}", find, dry_run)


def _row(adeq: Adeq, noun: str, name: str, find: Callable[[], tuple[list[str], Move]], dry_run: bool) -> dict[str, Any]:
    """What is done, or is to be done. What cannot be moved does not keep the others from it."""
    row: dict[str, Any] = {"noun": noun, "name": name, "rewritten": 0}
    newest = newest_layouts()[noun]
    try:
        bases, move = find()
        before = _stored(adeq, bases)
        row["before"] = row["layout"] = min(layout for layout, _ in before)
        row["all"] = all(rewritten >= newest for _, rewritten in before)
        if not dry_run:
            with Bar(f"{noun} {name}", None, "rewritten") as bar:
                done = move(bar.update)
            row |= {"layout": done.layout, "rewritten": done.rewritten, "all": True}
    except TransportError as error:
        if not isinstance(error.__cause__, ResponseError):  # the server is away, and not only this forbidden
            raise
        row["error"] = str(error)
    except (AdeqError, ResponseError) as error:
        row["error"] = str(error)
    return row


def _stored(adeq: Adeq, bases: Sequence[str]) -> list[tuple[int, int]]:
    """The layout of each base, and that in which everything is. A partition that holds nothing has none to speak of."""
    found = [adeq.client.hmget(f"{base}:config", ["layout", "rewritten"]) for base in bases]
    return [(int(layout), int(rewritten or layout)) for layout, rewritten in found if layout] or [(0, 0)]
