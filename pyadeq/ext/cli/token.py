"""`adeq token`: who may use the service."""

from __future__ import annotations

import sys
import time
from math import inf
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigConflict
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.limit.words import Rate, rate
from pyadeq.ext.cli.shared.arguments import DURATION, duration
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.running import Document, Lines, Read, with_client
from pyadeq.ext.cli.shared.shown import cell, fields
from pyadeq.ext.cli.shared.tree import NOUNS, noun
from pyadeq.ext.server.tokens import NAMESPACE, Token, all_tokens, id_of, new_token, old_tokens, read_token, revoked
from pyadeq.keys import hint

NEVER = "never"
COLUMNS = ("id", "owner", "state", "rights", "names", "user", "groups", "rate", "expires", "created")

Id = Annotated[str, typer.Argument(metavar="ID", help="The token's id, or its text."), Read(id_of)]

app = noun(NOUNS["token"])


def lifetime(text: str) -> float:
    """A span of time in seconds; infinite for never."""
    return inf if text == NEVER else duration(text)


@app.command()
@with_client
def add(
    adeq: Adeq,
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="The person or program that uses it.")],
    right: Annotated[
        list[str],
        typer.Option(
            "--right",
            metavar="RIGHT",
            help="observer, producer, worker or operator: in all nouns; or in one, such as queue.produce. Repeat it.",
        ),
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="PATTERN", help="Names of queues, domains and namespaces, as mail-*. Repeat it. [all]"
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="Only tasks of this user; in changes it acts as this user.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="NAME", help="A group of the owner, who answers requests to it. Repeat it."),
    ] = None,
    requests: Annotated[
        Rate | None,
        typer.Option(
            "--rate", parser=rate, metavar="N/TIME", help="Its requests at each process of the service: 100/s."
        ),
    ] = None,
    expires: Annotated[
        float,
        typer.Option(parser=lifetime, metavar="TIME", help=f"After {DURATION}; or never."),
    ] = "90d",  # type: ignore[assignment]
    actor: By = YOU,
) -> Document:
    """Make a token, and print it. It is never shown again.

    The server has only its hash. Tokens that have expired are removed.
    """
    id, text, made = new_token(
        owner,
        right,
        names=name or ["*"],
        user=user,
        rate=requests,
        groups=group or (),
        lifetime=None if expires == inf else expires,
    )
    tokens = adeq.config(NAMESPACE)
    old = old_tokens({name: one.value for name, one in tokens.list().items()})
    tokens.set_many({id: made.encoded()}, remove=old, expect={id: 0}, actor=actor)
    return Document({"token": text, **_plain(id, made)}, lambda: _print(id, text, made))


def _print(id: str, text: str, made: Token) -> None:
    print(text)
    until = "never expires" if made.expires is None else f"expires {iso(made.expires)}"
    print(f"token {id} of {made.owner} {until}; keep it now: it is not shown again", file=sys.stderr)


@app.command()
@with_client
def ls(adeq: Adeq) -> Lines:
    """List tokens, the newest first. Revoked ones stay until they would have expired, or for a year."""
    return Lines(
        [_plain(id, token) for id, token in all_tokens(adeq.config(NAMESPACE).list())],
        COLUMNS,
        lambda row: [cell(column, row[column]) for column in COLUMNS],
        spare=["created", "rate", "groups", "user", "names", "expires", "rights"],
    )


@app.command()
@with_client
def show(adeq: Adeq, id: Id) -> Document:
    """Show what a token allows. Exits with 1 if there is none."""
    row = _plain(id, _known(adeq, id)[1])
    return Document(row, fields(row))


@app.command()
@with_client
def revoke(adeq: Adeq, id: Id, actor: By = YOU) -> Document:
    """End a token. Services refuse it at once, or after some seconds. This cannot be undone."""
    ended = end_token(adeq, id, actor)
    return Document(_plain(id, ended), f"revoked {id}, a token of {ended.owner}")


def end_token(adeq: Adeq, id: str, actor: str) -> Token:
    """Revoke a token, and return it as it is then. AdeqError if there is none."""
    tokens = adeq.config(NAMESPACE)
    while True:  # somebody else may write it at the same moment: at most once, because then it is revoked
        version, token = _known(adeq, id)
        if token.revoked is not None:
            return token
        ended = revoked(token)
        try:
            tokens.set(id, ended.encoded(), expect=version, actor=actor, reason="revoked")
        except ConfigConflict:
            continue
        return ended


def _known(adeq: Adeq, id: str) -> tuple[int, Token]:
    """The token of this id, and its version."""
    tokens = adeq.config(NAMESPACE)
    stored = tokens.get(id)
    token = stored and read_token(stored.value)
    if stored is None or token is None:
        raise AdeqError(f"ID: there is no token {id!r}{hint(id, [*tokens.list()])} See adeq token ls")
    return stored.version, token


def _plain(id: str, token: Token) -> dict[str, Any]:
    """A token without its hash."""
    shown = token.model_dump(mode="json", exclude={"hash"})
    times = {name: None if shown[name] is None else iso(shown[name]) for name in ("created", "expires", "revoked")}
    told = {"rate": token.rate and f"{token.rate.limit}/{token.rate.period:g}s"}
    return {"id": id, **shown, **told, **times, "state": token.state(time.time())}
