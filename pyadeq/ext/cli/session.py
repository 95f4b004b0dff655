"""`adeq session`: who is logged in, and logins to end. Sessions are named by their handles, never by their ids."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import Yes, confirm, many, not_all, search_option
from pyadeq.ext.cli.common import iso, safe
from pyadeq.ext.cli.noun_arguments import DEFAULT, name_option, named, not_own, noun_with
from pyadeq.ext.cli.running import Document, Lines, each, with_client
from pyadeq.ext.shared.finding import find_names
from pyadeq.models.session import SessionEntry

if TYPE_CHECKING:
    from pyadeq import Adeq, Sessions

COLUMNS = ("handle", "user", "name", "created", "active", "ends", "address", "agent")


app = noun_with("session", "--realm")

REALM, REALM_OF = name_option("session"), named("session", "adeq session realms")
Realm = Annotated["Sessions", REALM, REALM_OF]
OwnRealm = Annotated["Sessions", REALM, not_own("session"), REALM_OF]  # logins of a service end with its tokens
User = Annotated[str, typer.Argument(metavar="USER", help="The user.")]


@app.command()
@with_client
def realms(adeq: Adeq, timeout: Annotated[float, search_option("realms")] = 10.0) -> Lines:
    """List the session realms of the server, and how many sessions they have.

    A server has no list of realms, so all its keys are scanned. This takes about a second for a million keys. The
    number has sessions that have ended in the last hour, too.
    """
    found = find_names(adeq, "session", timeout)
    rows = [{"realm": name, "sessions": adeq.sessions(name).count()} for name in found.names]
    return Lines(rows, ["realm", "sessions"], right=["sessions"], warning=not_all(found, timeout))


@app.command()
@with_client
def ls(
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="Only those of this user.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10**9, metavar="N", help="At most this number.")] = 100,
    realm: Realm = DEFAULT,
) -> Lines:
    """List the valid sessions of a user, or of all users."""
    return Lines(islice(realm.iterate(user), limit), COLUMNS, _row, _plain, spare=["agent", "address", "name"])


@app.command()
@with_client
def show(
    user: User,
    handle: Annotated[str, typer.Argument(metavar="HANDLE", help="The session, as ls shows it.")],
    realm: Realm = DEFAULT,
) -> Document:
    """Show a session of a user. Exits with 1 if there is no valid one with this handle."""
    found = next((one for one in realm.iterate(user) if one.handle == handle), None)
    if found is None:
        raise AdeqError(f"{user} has no valid session {handle} in {realm.name}; see adeq session ls {user}")
    plain = _plain(found)
    return Document(
        {"realm": realm.name, **plain}, {name: safe(str(value)) for name, value in plain.items() if value != ""}
    )


@app.command()
@with_client
def revoke(
    user: User,
    handles: Annotated[list[str], typer.Argument(metavar="HANDLE...", help="The sessions, as ls shows them.")],
    realm: OwnRealm = DEFAULT,
) -> Document:
    """End sessions of a user. Exits with 1 if one of them had ended before."""
    told = [
        answer
        for first in range(0, len(handles), 100)
        for answer in realm.revoke_handles(user, handles[first : first + 100])
    ]
    rows = [
        {"handle": handle, "status": "revoked" if done else "gone"} for handle, done in zip(handles, told, strict=True)
    ]
    return each({"realm": realm.name, "user": user, "sessions": rows}, "revoked")


@app.command("revoke-all")
@with_client
def revoke_all(
    user: User,
    renew_authz: Annotated[
        bool, typer.Option("--renew-authz", help="The rights of the user have changed, too.")
    ] = False,
    yes: Yes = False,
    realm: OwnRealm = DEFAULT,
) -> Document:
    """End all sessions of a user. Sessions that are created later are valid."""
    confirm(f"This ends all sessions of {user!r} in {realm.name!r}.", yes, "nothing was ended")
    ended = realm.revoke_all(user, renew_authz=renew_authz).ended
    return Document(
        {"realm": realm.name, "user": user, "ended": ended}, f"{many(ended, 'session')} of {safe(user)} ended"
    )


@app.command("renew-authz")
@with_client
def renew_authz(user: User, realm: OwnRealm = DEFAULT) -> Document:
    """Say that the rights of a user have changed. The programs then read them again."""
    version = realm.renew_authz(user)
    return Document(
        {"realm": realm.name, "user": user, "authz_ver": version},
        f"the rights of {safe(user)} have version {version:,}",
    )


@app.command()
@with_client
def sweep(realm: OwnRealm = DEFAULT) -> Document:
    """Delete sessions whose lifetime is over. Logins do it, too: this is for a realm without logins."""
    ended = realm.sweep()
    return Document({"realm": realm.name, "ended": ended}, f"{many(ended, 'session')} deleted")


def _plain(found: SessionEntry) -> dict[str, Any]:
    times = {name: iso(getattr(found, name)) for name in ("created", "active", "ends")}
    return {**found.model_dump(), **times}


def _row(found: SessionEntry) -> list[str]:
    plain = _plain(found)
    return [safe(str(plain[name])) for name in COLUMNS]
