"""`adeq lock`: hold a lock, see who holds what and who waits for it, and take it away."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from pyadeq import Adeq, LockView, RequestView
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.lock import capacity as lock_capacity
from pyadeq.ext.cli.lock import force_release as lock_force_release
from pyadeq.ext.cli.lock import graph as lock_graph
from pyadeq.ext.cli.lock import hold as lock_hold
from pyadeq.ext.cli.lock import offline as lock_offline
from pyadeq.ext.cli.lock import watch as lock_watch
from pyadeq.ext.cli.lock.listing import lock_of, mode_of, request_lines
from pyadeq.ext.cli.shared import settings
from pyadeq.ext.cli.shared.arguments import Most, Resource, not_all, search_option
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, ThisDomain
from pyadeq.ext.cli.shared.running import Document, Lines, Table, with_client
from pyadeq.ext.cli.shared.shown import ago, ahead, plain, span
from pyadeq.ext.cli.shared.tables import print_rows
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.shared.finding import find_domains
from pyadeq.ext.shared.terminal import safe, stdout
from pyadeq.keys import check_name

app = noun(NOUNS["lock"])
COUNTS = ("held", "waiting", "unchecked", "ended", "capacities")
BATCH = 100  # domains asked for in one pipeline

for verb in (lock_hold.run, lock_hold.acquire, lock_hold.renew, lock_hold.release):
    app.command()(verb)

Stand = StrEnum("Stand", ["held", "waiting"])
"""The kinds of requests: those that hold locks, and those that wait."""


@app.command()
@with_client
def domains(adeq: Adeq, timeout: Annotated[float, search_option("domains")] = 10.0) -> Lines:
    """List the lock domains of the server, and how many requests hold and wait in each.

    A server has no list of them, so all its keys are scanned. This takes about a second for a million keys.
    """
    found = find_domains(adeq, timeout)
    heads = ["domain", *COUNTS]
    return Lines(
        [row for start in range(0, len(found.names), BATCH) for row in _counts(adeq, found.names[start:][:BATCH])],
        heads,
        lambda row: [row.get(head, "unreadable" if head == "held" else "") for head in heads],
        right=COUNTS,
        spare=["ended", "unchecked", "capacities"],
        warning=not_all(found, timeout),
    )


def _counts(adeq: Adeq, names: list[str]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    with adeq.pipeline() as pipe:
        asked = [(name, pipe.add(adeq.locks(name).calls.stats())) for name in names]
    for name, answer in asked:
        try:
            stats = answer.value
        except AdeqError as error:  # one that cannot be read does not hide the others
            rows.append({"domain": name, "error": str(error)})
        else:
            rows.append({"domain": name, **{count: getattr(stats, count) for count in COUNTS}})
    return rows


@app.command()
@with_client
def ls(
    domain: ThisDomain = DEFAULT,
    type: Annotated[str | None, typer.Option(metavar="NAME", help="Only resources `NAME:…`.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="ID", help="Only requests of this owner.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="ID", help="Only requests of this agent.")] = None,
    state: Annotated[Stand | None, typer.Option(help="Only holders, or only waiters.")] = None,
    most: Most = None,
) -> Lines:
    """List holders and waiters by resource, waiters in order.

    A request for several locks has a row for each of them, and is one object in JSON. `granted` is a lock that was
    handed over and not fetched yet. `until` is the end of a lease, or of a wait.
    """
    return request_lines(
        domain,
        most,
        type=type and check_name("--type", type),
        owner=owner,
        agent=agent,
        state=state.value if state else "all",
    )


@app.command()
@with_client
def show(
    resource: Resource,
    domain: ThisDomain = DEFAULT,
    limit: Annotated[int, typer.Option(min=1, max=500, help="List at most this many holders and waiters.")] = 100,
) -> Document:
    """Show a resource: its holders and until when, its waiters in order, and its capacity if it has one.

    A resource that was never requested is free.
    """
    found = domain.get(resource, limit)
    more = found.held > len(found.holders) or found.waiting > len(found.waiters)
    note = "There are more: --limit N, or adeq lock ls --all" if more else ""
    return Document({"domain": domain.name, **plain(found)}, lambda: _print(found), note)


def _print(found: LockView) -> None:
    console, now = stdout(), found.now
    held = f"held by {found.held:,}" if found.held else "free"
    console.print(f"{found.resource} is {held}" + (f", {found.waiting:,} waiting" if found.waiting else ""))
    if found.capacity:
        console.print(lock_capacity.capacity_words(found.capacity, now))
    if found.holders:
        heads = ["owner", "mode", "fence", "since", "until", "ttl", "state", "agent", "purpose"]
        console.print()
        print_rows(
            heads,
            [_holder(found, one) for one in found.holders],
            right=heads[2:6],
            spare=["ttl", "agent", "fence", "state"],
        )
    if found.waiters:
        heads = ["place", "owner", "mode", "priority", "since", "until", "poll by", "agent", "purpose"]
        console.print()
        print_rows(
            heads,
            [_waiter(found, one) for one in found.waiters],
            right=["place", *heads[3:7]],
            spare=["poll by", "agent", "priority"],
        )


def _holder(found: LockView, one: RequestView) -> tuple[str, ...]:
    lock = lock_of(one, found.resource)
    since, until = ago(found.now, one.granted or one.since), ahead(found.now, one.deadline)
    about = one.owner, mode_of(lock), str(lock.fence), since, until, span(one.ttl), one.state, one.agent
    return *about, safe(one.purpose)


def _waiter(found: LockView, one: RequestView) -> tuple[str, ...]:
    lock = lock_of(one, found.resource)
    times = ago(found.now, one.since), ahead(found.now, one.until), ahead(found.now, one.deadline)
    return str(one.place), one.owner, mode_of(lock), str(one.priority), *times, one.agent, safe(one.purpose)


@app.command()
@with_client
def stats(domain: ThisDomain = DEFAULT) -> Document:
    """Show how many requests hold and wait in a domain, and how many are remembered."""
    found = domain.stats()
    rows = [(name, getattr(found, name)) for name in COUNTS]
    return Document({"domain": domain.name, **plain(found)}, Table(["what", "count"], rows, right=["count"]))


app.command()(lock_graph.graph)
app.command("force-release")(lock_force_release.force_release)
app.command()(lock_offline.offline)
app.command()(lock_watch.watch)
app.add_typer(lock_capacity.app, name="capacity")
app.command("configure")(settings.configure_domain)
