"""`adeq token`: who may use the service."""

from __future__ import annotations

import sys
import time
from math import inf
from typing import Annotated, Any

import typer

from pyadeq import Adeq, ConfigConflict
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import DURATION, duration
from pyadeq.ext.cli.change_who import Actor, actor_of
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, iso, print_json, print_lines, safe
from pyadeq.ext.cli.limit_words import Rate, rate
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import NOUNS, noun
from pyadeq.ext.server.tokens import NAMESPACE, Token, all_tokens, id_of, new_token, old_tokens, read_token, revoked
from pyadeq.keys import hint

NEVER = "never"
COLUMNS = ("id", "owner", "state", "rights", "names", "user", "groups", "rate", "expires", "created")

Id = Annotated[str, typer.Argument(metavar="ID", help="The token's id, or its text.")]

app = noun(NOUNS["token"])


def lifetime(text: str) -> float:
    """A span of time in seconds; infinite for never."""
    return inf if text == NEVER else duration(text)


@app.command()
def new(
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
    actor: Actor = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
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
    by = actor_of(actor)
    with connected(url) as adeq:
        tokens = adeq.config(NAMESPACE)
        old = old_tokens({name: one.value for name, one in tokens.all().items()})
        tokens.set_many({id: made.encoded()}, remove=old, expect={id: 0}, actor=by)
    if output != Format.table:
        print_json({"token": text, **_plain(id, made)}, output)
        return
    print(text)
    until = "never expires" if made.expires is None else f"expires {iso(made.expires)}"
    print(f"token {id} of {made.owner} {until}; keep it now: it is not shown again", file=sys.stderr)


@app.command()
def ls(url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """List tokens, the newest first. Revoked ones stay until they would have expired, or for a year."""
    with connected(url) as adeq:
        stored = adeq.config(NAMESPACE).all()
    rows = [_plain(id, token) for id, token in all_tokens(stored)]
    if output != Format.table:
        print_lines(rows, output)
        return
    print_rows(
        COLUMNS,
        [[_cell(row[column]) for column in COLUMNS] for row in rows],
        spare=["created", "rate", "groups", "user", "names", "expires", "rights"],
    )


@app.command()
def show(id: Id, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
    """Show what a token allows. Exits with 1 if there is none."""
    id = id_of(id)
    with connected(url) as adeq:
        row = _plain(id, _known(adeq, id)[1])
    if output != Format.table:
        print_json(row, output)
    else:
        print_fields([(name, _cell(value)) for name, value in row.items() if value is not None])


@app.command()
def revoke(
    id: Id,
    actor: Actor = None,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """End a token. Services refuse it at once, or after some seconds. This cannot be undone."""
    id, by = id_of(id), actor_of(actor)
    with connected(url) as adeq:
        ended = end_token(adeq, id, by)
    if output != Format.table:
        print_json(_plain(id, ended), output)
    else:
        print(f"revoked {id}, a token of {ended.owner}")


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
        raise AdeqError(f"ID: there is no token {id!r}{hint(id, [*tokens.all()])} See adeq token ls")
    return stored.version, token


def _plain(id: str, token: Token) -> dict[str, Any]:
    """A token without its hash."""
    shown = token.model_dump(mode="json", exclude={"hash"})
    times = {name: None if shown[name] is None else iso(shown[name]) for name in ("created", "expires", "revoked")}
    told = {"rate": token.rate and f"{token.rate.limit}/{token.rate.period:g}s"}
    return {"id": id, **shown, **told, **times, "state": token.state(time.time())}


def _cell(value: Any) -> str:
    return safe(", ".join(value) if isinstance(value, list) else "" if value is None else str(value))
