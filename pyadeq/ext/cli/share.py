"""`adeq share`: how much of a queue with fair shares each user has beside the others."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json, print_lines, print_rows
from pyadeq.ext.cli.resolve import existing_queue, queue_or_new
from pyadeq.ext.cli.worker_look import DEFAULT_QUEUE, QueueOption
from pyadeq.keys import check_name

app = typer.Typer(help="Fair shares: how much each user has beside the others.", no_args_is_help=True)


@app.callback()
def noun() -> None:
    """Fair shares: how much each user has beside the others."""


@app.command()
def ls(queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List the users whose weight is not 1, which everybody has."""
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        found, fair = there.shares.all(), there.settings().fair
    if output != Format.table:
        print_lines(({"user": user, "weight": weight} for user, weight in found.items()), output)
        return
    print_rows(("user", "weight"), ((user, f"{weight:,g}") for user, weight in found.items()), right=["weight"])
    if not found:
        typer.echo(f"\nall users of queue {queue!r} have weight 1; adeq share set gives one another", err=True)
    if not fair:
        typer.echo(f"\nqueue {queue!r} has no fair shares: {_switch(queue)}", err=True)


@app.command("set")
def set_(
    user: Annotated[str, typer.Argument(metavar="USER", help="The user.")],
    weight: Annotated[float, typer.Argument(metavar="WEIGHT", help="0.01 to 100; 1 is what everybody has.")],
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Give a user a weight, and make the queue if there is none.

    With 2 it starts two tasks for each of one with 1, while both have some in line. It holds for tasks that are
    enqueued from now on, where the queue has fair shares: adeq queue configure --fair.
    """
    check_name("user", user, "id")
    with connected(url) as adeq:
        there = queue_or_new(adeq, queue)
        there.shares.set(user, weight)
        given, fair = there.shares.get(user), there.settings().fair
    if output != Format.table:
        print_json({"queue": queue, "user": user, "weight": given, "fair": fair}, output)
    else:
        print(f"{user} has weight {given:,g}" + ("" if fair else f"; it counts once shares are fair: {_switch(queue)}"))


def _switch(queue: str) -> str:
    return f"adeq queue configure {queue} --fair"
