"""`adeq lock capacity`: how many permits resources give."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq import Adeq, Capacity, Locks
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.shared.arguments import Domain, Resource, time_option
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, ThisDomain
from pyadeq.ext.cli.shared.running import Document, Lines, with_client
from pyadeq.ext.cli.shared.shown import ago, plain, span
from pyadeq.ext.cli.shared.tree import noun

app = noun("Capacities: how many permits resources give.")
BATCH = 100  # resources asked for in one pipeline


@app.command()
@with_client
def ls(adeq: Adeq, domain: ThisDomain = DEFAULT) -> Lines:
    """List the resources with a capacity: how many permits are in use, and which requests wait.

    `draining`: no more permits are given. `offline`: no permits are given until the overdue heartbeat comes.
    """
    return Lines(
        _rows(adeq, domain),
        ("resource", "max", "used", "waiting", "status", "heartbeat", "silent"),
        lambda row: row[1],
        lambda row: row[0],
        right=["max", "used", "waiting", "heartbeat", "silent"],
        spare=["silent"],
    )


def _rows(adeq: Adeq, locks: Locks) -> list[tuple[dict[str, object], tuple[str, ...]]]:
    """Return each capacity as a row for programs and a row for people, by name."""
    names = sorted(name.decode() for name, _ in adeq.client.hscan_iter(f"{locks.base}:capacity"))
    rows: list[tuple[dict[str, object], tuple[str, ...]]] = []
    for start in range(0, len(names), BATCH):
        with adeq.pipeline() as pipe:
            asked = [pipe.add(locks.calls.show(name, 1)) for name in names[start:][:BATCH]]
        for found in (answer.value for answer in asked):
            if capacity := found.capacity:  # not removed in between
                row = {"resource": found.resource, "waiting": found.waiting, **plain(capacity)}
                times = (ago(found.now, capacity.heartbeat), span(capacity.silent)) if capacity.silent else ("", "")
                counts = (f"{capacity.max:,}", f"{capacity.used:,}", f"{found.waiting:,}")
                rows.append((row, (found.resource, *counts, capacity.status, *times)))
    return rows


@app.command()
@with_client
def show(resource: Resource, domain: ThisDomain = DEFAULT) -> Document:
    """Show the capacity of a resource. `adeq lock show` also has its holders and waiters."""
    found = domain.get(resource, 1)
    if found.capacity is None:
        raise _no_capacity(resource, domain)
    about = {"domain": domain.name, "resource": resource, "waiting": found.waiting}
    words = f"{resource}: {capacity_words(found.capacity, found.now)}; {found.waiting:,} waiting"
    return Document({**about, **plain(found.capacity)}, words)


@app.command("set")
@with_client
def set_(
    adeq: Adeq,
    resource: Resource,
    max: Annotated[int, typer.Argument(metavar="MAX", help="The number of permits.")],
    silent: Annotated[
        float,
        time_option("No permits are given after this time without a heartbeat; 0: no heartbeat is needed."),
    ] = "0",  # type: ignore[assignment]
    domain: Domain = "default",
) -> Document:
    """Set the number of permits of a resource, and create its domain if it does not exist. This ends `drain`.

    Permits in use stay in use, even if there are more than MAX.
    """
    locks = adeq.locks(domain)
    locks.capacities.set(resource, max, silent=silent)
    capacity = locks.get(resource, 1).capacity
    return Document(
        {"domain": domain, "resource": resource, **(plain(capacity) if capacity else {})},
        f"{resource} gives up to {max:,} permits" + (f", {_out(capacity.used)}" if capacity else ""),
    )


@app.command()
@with_client
def drain(resource: Resource, domain: ThisDomain = DEFAULT) -> Document:
    """Give no more permits of a resource until `set`. Permits in use stay; waiting requests are refused."""
    status = domain.capacities.drain(resource)
    if status == "no_capacity":
        raise _no_capacity(resource, domain)
    capacity = domain.get(resource, 1).capacity
    used = capacity.used if capacity else 0
    return Document(
        {"domain": domain.name, "resource": resource, "status": status, "used": used},
        f"{resource} gives no more permits, {_out(used)}",
    )


@app.command()
@with_client
def rm(resource: Resource, domain: ThisDomain = DEFAULT) -> Document:
    """Remove the capacity of a resource. Exits with 1 while permits are in use: `drain` it first."""
    status = domain.capacities.remove(resource)
    if status == "no_capacity":
        raise _no_capacity(resource, domain)
    if status == "in_use":
        raise AdeqError(
            f"resource: permits of {resource!r} are in use; drain it and wait, or take them away with "
            "adeq lock force-release"
        )
    value = {"domain": domain.name, "resource": resource, "status": status}
    return Document(value, f"{resource} no longer has a capacity")


def capacity_words(capacity: Capacity, now: float) -> str:
    """`1 of 4 permits are out; active`."""
    heard = f", heartbeat {ago(now, capacity.heartbeat)}, due every {span(capacity.silent)}" if capacity.silent else ""
    return f"{capacity.used:,} of {capacity.max:,} permits are in use; {capacity.status}{heard}"


def _out(used: int) -> str:
    return f"{used:,} {'is' if used == 1 else 'are'} in use"


def _no_capacity(resource: str, domain: Locks) -> AdeqError:
    return AdeqError(f"resource: {resource!r} has no capacity in domain {domain.name!r}; see adeq lock capacity ls")
