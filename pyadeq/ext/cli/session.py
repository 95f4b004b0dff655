"""`adeq session`: who is logged in, and logins to end. Sessions are named by their handles, never by their ids."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Sessions
from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import Yes, confirm, many
from pyadeq.ext.cli.common import (
    DEFAULT_URL,
    FAILED,
    Format,
    Output,
    Url,
    connected,
    iso,
    print_json,
    print_lines,
    safe,
)
from pyadeq.ext.cli.complete import names_of
from pyadeq.ext.cli.resolve import existing, refuse_own
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import NOUNS, WITH_VALUE, Group
from pyadeq.ext.finding import find_names
from pyadeq.models.session import SessionEntry

COLUMNS = ("handle", "user", "name", "created", "active", "ends", "address", "agent")


class SessionGroup(Group):
    """The commands of sessions. Their options may come before the verb, too."""

    with_value = (*WITH_VALUE, "--realm")


app = typer.Typer(cls=SessionGroup, help=NOUNS["session"], no_args_is_help=True)
app.callback()(lambda: None)

Realm = Annotated[
    str,
    typer.Option(
        "--realm",
        metavar="NAME",
        envvar="ADEQ_SESSION_REALM",
        help="The session realm.",
        autocompletion=names_of("session"),
    ),
]
User = Annotated[str, typer.Argument(metavar="USER", help="The user.")]


@app.command()
def realms(
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Search for realms for at most this time.")
    ] = 10.0,
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the session realms of the server, and how many sessions they have.

    A server has no list of realms, so all its keys are scanned. This takes about a second for a million keys. The
    number has sessions that have ended in the last hour, too.
    """
    with connected(url) as adeq:
        found = find_names(adeq, "session", timeout)
        rows = [{"realm": name, "sessions": adeq.sessions(name).count()} for name in found.names]
    if output != Format.table:
        print_lines(rows, output)
    else:
        print_rows(["realm", "sessions"], [[*row.values()] for row in rows], right=["sessions"])
    if not found.complete:
        typer.echo(f"\nNot all keys were scanned within {timeout:g} s: raise --timeout", err=True)


@app.command()
def ls(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only those of this user.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, metavar="N", help="At most this number.")] = 100,
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the valid sessions of a user, or of all users."""
    with connected(url) as adeq:
        found = islice(_realm(adeq, realm).iterate(user), limit)
        if output != Format.table:
            print_lines(map(_plain, found), output)
        else:
            print_rows(COLUMNS, _rows(found), spare=["agent", "address", "name"])


@app.command()
def show(
    user: User,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="The session, as ls shows it.")],
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show a session of a user. Exits with 1 if there is no valid one with this handle."""
    with connected(url) as adeq:
        found = next((one for one in _realm(adeq, realm).iterate(user) if one.handle == handle), None)
    if found is None:
        raise AdeqError(f"{user} has no valid session {handle} in {realm}; see adeq session ls {user}")
    if output != Format.table:
        print_json({"realm": realm, **_plain(found)}, output)
    else:
        print_fields([(name, safe(str(value))) for name, value in _plain(found).items() if value != ""])


@app.command()
def revoke(
    user: User,
    handles: Annotated[list[str], typer.Argument(metavar="HANDLE...", help="The sessions, as ls shows them.")],
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """End sessions of a user. Exits with 1 if one of them had ended before."""
    with connected(url) as adeq:
        sessions = _realm(adeq, realm, writes=True)
        told = [
            answer
            for first in range(0, len(handles), 100)
            for answer in sessions.revoke_handles(user, handles[first : first + 100])
        ]
    rows = [
        {"handle": handle, "status": "revoked" if done else "gone"} for handle, done in zip(handles, told, strict=True)
    ]
    if output != Format.table:
        print_json({"realm": realm, "user": user, "sessions": rows}, output)
    else:
        print_rows(["handle", "status"], [[*row.values()] for row in rows])
    if not all(told):
        raise typer.Exit(FAILED)


@app.command("revoke-all")
def revoke_all(
    user: User,
    renew_authz: Annotated[
        bool, typer.Option("--renew-authz", help="The rights of the user have changed, too.")
    ] = False,
    yes: Yes = False,
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """End all sessions of a user. Sessions that are created later are valid."""
    with connected(url) as adeq:
        sessions = _realm(adeq, realm, writes=True)
        confirm(f"This ends all sessions of {user!r} in {realm!r}.", yes, "nothing was ended")
        told = sessions.revoke_all(user, renew_authz=renew_authz)
    if output != Format.table:
        print_json({"realm": realm, "user": user, "ended": told.ended}, output)
    else:
        print(f"{many(told.ended, 'session')} of {safe(user)} ended")


@app.command("renew-authz")
def renew_authz(
    user: User,
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Say that the rights of a user have changed. The programs then read them again."""
    with connected(url) as adeq:
        version = _realm(adeq, realm, writes=True).renew_authz(user)
    if output != Format.table:
        print_json({"realm": realm, "user": user, "authz_ver": version}, output)
    else:
        print(f"the rights of {safe(user)} have version {version:,}")


@app.command()
def sweep(
    realm: Realm = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Delete sessions whose lifetime is over. Logins do it, too: this is for a realm without logins."""
    with connected(url) as adeq:
        ended = _realm(adeq, realm, writes=True).sweep()
    if output != Format.table:
        print_json({"realm": realm, "ended": ended}, output)
    else:
        print(f"{many(ended, 'session')} deleted")


def _realm(adeq: Adeq, name: str, *, writes: bool = False) -> Sessions:
    """The realm. Those of a service are only looked at: their logins end with its tokens."""
    if writes:
        refuse_own("--realm", name)
    sessions: Sessions = existing(adeq, "session", name, "adeq session realms")
    return sessions


def _plain(found: SessionEntry) -> dict[str, Any]:
    times = {name: iso(getattr(found, name)) for name in ("created", "active", "ends")}
    return {**found.model_dump(), **times}


def _rows(found: Iterator[SessionEntry]) -> Iterator[list[str]]:
    for one in found:
        plain = _plain(one)
        yield [safe(str(plain[name])) for name in COLUMNS]
