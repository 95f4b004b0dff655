"""`adeq lock graph`: who waits for whom."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import Edge, HeldLock, LockGraph
from pyadeq.ext.cli.lock.listing import mode_of
from pyadeq.ext.cli.shared.common import Format, Output
from pyadeq.ext.cli.shared.noun_arguments import DEFAULT, ThisDomain
from pyadeq.ext.cli.shared.running import Answer, Document, Lines, with_client
from pyadeq.ext.cli.shared.tables import print_rows

Picture = StrEnum("Picture", ["table", "mermaid", "dot"])
"""The form of the graph: rows, or text that other programs draw."""


@with_client
def graph(
    domain: ThisDomain = DEFAULT,
    format: Annotated[
        Picture, typer.Option(help="Rows, or text for Mermaid or Graphviz, whatever --output says.")
    ] = Picture.table,
    output: Output = Format.table,
) -> Answer:
    """Show which owners wait for which, and why: the other owner holds the resource, or waits ahead.

    Rows that follow from other rows are left out. Rows of a deadlock have its number. Deadlocks are ended when they are
    found, so few are seen here.
    """
    found = domain.inspect.graph()
    circles = found.cycles()
    if format != Picture.table:
        print(found.dot() if format == Picture.dot else found.mermaid(), end="")
        return None
    edges = _rows(found, circles)
    if output == Format.jsonl:
        return Lines(edges, ())
    value = {"domain": domain.name, "edges": edges, "deadlocks": list(map(_told, circles))}
    return Document(value, lambda: _print(found, circles))


def _rows(found: LockGraph, circles: list[list[Edge]]) -> list[dict[str, Any]]:
    numbers = {id(edge): number for number, circle in enumerate(circles, 1) for edge in circle}
    return [{**edge.model_dump(exclude={"domain"}), "deadlock": numbers.get(id(edge))} for edge in found.edges]


def _told(circle: list[Edge]) -> list[dict[str, Any]]:
    return [edge.model_dump(include={"owner", "mode", "resource", "permits"}) for edge in circle]


def _print(found: LockGraph, circles: list[list[Edge]]) -> None:
    heads = ("owner", "wants", "resource", "of", "who", "deadlock")
    marks = [str(row["deadlock"] or "") for row in _rows(found, circles)]
    rows = [
        (edge.owner, _mode(edge), edge.resource, edge.blocker, "holds it" if edge.held else "waits ahead", mark)
        for edge, mark in zip(found.edges, marks, strict=True)
    ]
    print_rows(heads, rows, right=["deadlock"])
    for number, circle in enumerate(circles, 1):
        print(f"\ndeadlock {number}: {_sentence(circle)}")


def _sentence(circle: list[Edge]) -> str:
    steps = [f"{edge.owner} waits for {edge.resource} ({_mode(edge)}) of {edge.blocker}" for edge in circle]
    return ", ".join(steps)


def _mode(edge: Edge) -> str:
    return mode_of(HeldLock(resource=edge.resource, mode=edge.mode, permits=edge.permits))
