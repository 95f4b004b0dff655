"""Asking a change domain: how it and its changes are named on the command line, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.change.refusals import moved, refusal
from pyadeq.ext.cli.shared.complete import change_ids
from pyadeq.ext.cli.shared.noun_arguments import name_option
from pyadeq.ext.cli.shared.resolve import existing
from pyadeq.ext.cli.shared.running import Found, Read
from pyadeq.keys import check_name

Domain = Annotated[str, name_option("change")]
ChangeId = Annotated[
    str,
    typer.Argument(metavar="ID", help="The change.", autocompletion=change_ids),
    Read(lambda id: check_name("change", id)),
]
Digest = Annotated[
    str | None, typer.Option(metavar="HEX", help="Its digest, if you have it: the command compares it, too.")
]


def existing_changes(adeq: Adeq, domain: str) -> Any:
    """The change domain. AdeqError, with the domains that exist, if there is none of that name."""
    return existing(adeq, "change", domain, "adeq change domains", "adeq change policy set, which makes one")


ThisDomain = Annotated[Any, Domain.__metadata__[0], Found(existing_changes)]


def ask(adeq: Adeq, changes: Any, verb: str, **arguments: Any) -> Any:
    """The answer of a script."""
    return adeq.send(changes.calls.build(verb, **arguments))


def pages(adeq: Adeq, changes: Any, verb: str, **filter: Any) -> Iterator[Any]:
    """The answers of a script that lists, page by page."""
    cursor = None
    while True:
        page = ask(adeq, changes, verb, cursor=cursor, **filter)
        yield page
        if not (cursor := page.cursor):
            return


def read(adeq: Adeq, changes: Any, id: str, **options: Any) -> Any:
    """A change, and the time of its domain as `now`. AdeqError if there is none with this id."""
    check_name("change", id)
    answer = ask(adeq, changes, "get", item=[id], **options)
    (found,) = answer.items
    if found.status == "not_found":
        raise refusal(changes, id, found)
    found.fields["now"] = answer.now
    return found


def read_revision(adeq: Adeq, changes: Any, id: str, rev: int | None, digest: str | None = None) -> Any:
    """The fields of a change, if this is its revision, and its digest, if that is given. Otherwise AdeqError."""
    change = read(adeq, changes, id).change
    if rev not in (None, change["rev"]):
        raise moved(changes, id, rev, change["rev"])
    if digest not in (None, change["digest"]):
        raise AdeqError(
            f"--digest: {digest} is not that of revision {change['rev']} of {id!r}, which is {change['digest']}; "
            f"read it again: adeq change show {id}"
        )
    return change


def check_rev(id: str, rev: int | None) -> int:
    """The revision that is meant. ConfigError if none is given."""
    if rev is None:
        raise ConfigError(f"--rev: name the revision that you have seen; adeq change show {id} shows it")
    return rev
