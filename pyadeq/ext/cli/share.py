"""`adeq share`: how much of a queue with fair shares each user has beside the others."""

from __future__ import annotations

from typing import Annotated

import typer

from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, InQueue, InQueueOrNew
from pyadeq.ext.cli.shared.resolve import AnyQueue
from pyadeq.ext.cli.shared.running import Document, Lines, Read, with_client
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.keys import check_name

app = noun(NOUNS["share"])

User = Annotated[
    str,
    typer.Argument(metavar="USER", help="The user."),
    Read(lambda user: check_name("user", user, "label")),
]


@app.command()
@with_client
def ls(queue: InQueue = DEFAULT_QUEUE) -> Lines:
    """List the users with a weight other than the default 1."""
    found, fair = queue.shares.list(), queue.settings().fair
    return Lines(
        ({"user": user, "weight": weight} for user, weight in found.items()),
        ("user", "weight"),
        lambda one: (one["user"], f"{one['weight']:,g}"),
        right=["weight"],
        none=f"all users of queue {queue.name!r} have weight 1; adeq share set gives one another",
        note="" if fair else f"queue {queue.name!r} has no fair shares: {_switch(queue.name)}",
    )


@app.command("set")
@with_client
def set_(
    user: User,
    weight: Annotated[float, typer.Argument(metavar="WEIGHT", help="0.01 to 100; the default is 1.")],
    queue: InQueueOrNew = DEFAULT_QUEUE,
) -> Document:
    """Give a user a weight, and create the queue if it does not exist.

    A user with weight 2 starts two tasks for each task of a user with weight 1, while both have tasks waiting. The
    weight applies to tasks that are enqueued from now on, if the queue has fair shares: adeq queue configure --fair.
    """
    queue.shares.set(user, weight)
    return _weight(queue, user)


@app.command()
@with_client
def show(user: User, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Show the weight of a user."""
    return _weight(queue, user)


@app.command()
@with_client
def rm(user: User, queue: InQueue = DEFAULT_QUEUE) -> Document:
    """Give a user the default weight, 1, again."""
    queue.shares.set(user, 1)
    return _weight(queue, user)


def _weight(queue: AnyQueue, user: str) -> Document:
    weight, fair = queue.shares.get(user), queue.settings().fair
    unused = "" if fair else f"; it counts once shares are fair: {_switch(queue.name)}"
    value = {"queue": queue.name, "user": user, "weight": weight, "fair": fair}
    return Document(value, f"{user} has weight {weight:,g}{unused}")


def _switch(queue: str) -> str:
    return f"adeq queue configure {queue} --fair"
