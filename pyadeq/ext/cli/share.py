"""`adeq share`: how much of a queue with fair shares each user has beside the others."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json, print_lines
from pyadeq.ext.cli.resolve import existing_queue, queue_or_new
from pyadeq.ext.cli.tables import print_rows
from pyadeq.ext.cli.tree import NOUNS, noun
from pyadeq.ext.cli.worker_look import DEFAULT_QUEUE, QueueOption
from pyadeq.keys import check_name

app = noun(NOUNS["share"])

User = Annotated[str, typer.Argument(metavar="USER", help="The user.")]


@app.command()
def ls(queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List the users with a weight other than the default 1."""
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
    user: User,
    weight: Annotated[float, typer.Argument(metavar="WEIGHT", help="0.01 to 100; the default is 1.")],
    queue: QueueOption = DEFAULT_QUEUE,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Give a user a weight, and create the queue if it does not exist.

    A user with weight 2 starts two tasks for each task of a user with weight 1, while both have tasks waiting. The
    weight applies to tasks that are enqueued from now on, if the queue has fair shares: adeq queue configure --fair.
    """
    check_name("user", user, "label")
    with connected(url) as adeq:
        there = queue_or_new(adeq, queue)
        there.shares.set(user, weight)
        given, fair = there.shares.get(user), there.settings().fair
    _answer(queue, user, given, fair, output)


@app.command()
def show(user: User, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show the weight of a user."""
    check_name("user", user, "label")
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        weight, fair = there.shares.get(user), there.settings().fair
    _answer(queue, user, weight, fair, output)


@app.command()
def rm(user: User, queue: QueueOption = DEFAULT_QUEUE, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Give a user the default weight, 1, again."""
    check_name("user", user, "label")
    with connected(url) as adeq:
        there = existing_queue(adeq, queue)
        there.shares.set(user, 1)
        weight, fair = there.shares.get(user), there.settings().fair
    _answer(queue, user, weight, fair, output)


def _answer(queue: str, user: str, weight: float, fair: bool, output: Format) -> None:
    if output != Format.table:
        print_json({"queue": queue, "user": user, "weight": weight, "fair": fair}, output)
    else:
        unused = "" if fair else f"; it counts once shares are fair: {_switch(queue)}"
        print(f"{user} has weight {weight:,g}{unused}")


def _switch(queue: str) -> str:
    return f"adeq queue configure {queue} --fair"
