"""`adeq change put`: a draft, or the next revision of a change."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.asking import Domain, ask, existing_changes, read
from pyadeq.ext.cli.change.refusals import moved, refusal
from pyadeq.ext.cli.change.who import YOU, Acting
from pyadeq.ext.cli.shared.arguments import content_of_file, time_option
from pyadeq.ext.cli.shared.complete import change_ids
from pyadeq.ext.cli.shared.running import Document, with_client
from pyadeq.ids import new_ulid
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

KEPT = ("type", "version", "description", "resources", "rollback_strategy", "timeout", "priority")
KEPT_TOO = ("author_name", "team", "ticket_ref", "tags")  # metadata
FILES = "@FILE reads it from a file, @- from stdin."

Rollback = StrEnum("Rollback", ["none", "manual", "automatic"])
"""What brings back the state before, if the run fails."""


@with_client
def put(
    adeq: Adeq,
    id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The change. [default: a new id]", autocompletion=change_ids)
    ] = None,
    rev: Annotated[int | None, typer.Option(min=1, metavar="N", help="Write the revision after this one.")] = None,
    type: Annotated[str | None, typer.Option(metavar="NAME", help="What kind of change it is, such as deploy.")] = None,
    description: Annotated[
        str | None,
        typer.Option("--description", "-m", metavar="TEXT", help=f"What it does; its first line is the title. {FILES}"),
    ] = None,
    version: Annotated[str | None, typer.Option(metavar="TEXT", help="The version of the type.")] = None,
    parameters: Annotated[str | None, typer.Option(metavar="TEXT", help=f"What its applier needs. {FILES}")] = None,
    resource: Annotated[
        list[str] | None, typer.Option(metavar="TYPE:ID", help="A resource that it touches; repeat it for more.")
    ] = None,
    rollback: Annotated[Rollback | None, typer.Option(help="What a failed run needs. [default: none]")] = None,
    timeout: Annotated[float | None, time_option("How long its run may take. [default: as the setting says]")] = None,
    priority: Annotated[int | None, typer.Option(min=0, max=100, metavar="N", help="0 to 100. [default: 50]")] = None,
    author_name: Annotated[str | None, typer.Option(metavar="TEXT", help="The author's name, for people.")] = None,
    team: Annotated[str | None, typer.Option(metavar="NAME", help="The team.")] = None,
    ticket: Annotated[str | None, typer.Option(metavar="TEXT", help="The ticket.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A tag; repeat it for more.")] = None,
    by: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Create a draft; with --rev, write the next revision of a change. The domain is created if it does not exist.

    In a next revision, what is not given stays as it is, and a list that is given replaces the one before. Other
    content under review voids all answers. Tags, team, ticket and the author's name are no content, and void nothing.
    """
    if id is None and rev is not None:
        raise ConfigError("ID: name the change of --rev, or leave --rev out for a new change")
    name = new_ulid() if id is None else check_name("change", id)
    given: dict[str, Any] = {
        "type": type,
        "description": content_of("--description", description),
        "version": version,
        "parameters": content_of("--parameters", parameters),
        "resources": resource and [check_resource(one) for one in resource if one],
        "rollback_strategy": rollback and rollback.value,
        "timeout": timeout,
        "priority": priority,
        "author_name": author_name,
        "team": team,
        "ticket_ref": ticket,
        "tags": tag and [one for one in tag if one],
    }
    given = {field: value for field, value in given.items() if value is not None}
    if rev is None:
        for option, field in (("--type", "type"), ("--description", "description")):
            if not given.get(field):
                raise ConfigError(f"{option}: a new change needs one; to write a revision of a change, add --rev")
    if rev is not None:
        changes = existing_changes(adeq, domain)
        given = {**_current(adeq, changes, name, rev), **given}
    else:
        changes = adeq.noun("change", domain)
    given |= {"change_type": given.pop("type"), "team": given.get("team") or None}
    answer = ask(adeq, changes, "put", id=name, expect_rev=rev or 0, **given, **by)
    if answer.status not in ("created", "revised", "edited", "unchanged"):
        raise refusal(changes, name, answer, by["actor"], rev)
    fields = {field: value for field, value in answer.fields.items() if field != "now"}
    void = answer.status == "revised" and answer.state != "draft"
    more = f"; round {answer.round} begins, and earlier answers are void" if void else ""
    return Document(
        {"domain": domain, "id": name, "status": answer.status, **fields},
        f"{answer.status} {name} revision {answer.rev} ({answer.state.upper()}){more}",
    )


def _current(adeq: Any, changes: Any, id: str, rev: int) -> dict[str, Any]:
    """What a revision has, as put takes it."""
    found = read(adeq, changes, id)
    if found.change["rev"] != rev:
        raise moved(changes, id, rev, found.change["rev"])
    kept = {field: found.change.get(field) for field in (*KEPT, *KEPT_TOO)}
    kept = {field: list(value) if isinstance(value, tuple) else value for field, value in kept.items()}
    return {**{field: value for field, value in kept.items() if value}, "parameters": found.parameters}


def check_resource(text: str) -> str:
    """`<type>:<id>`. ConfigError for anything else."""
    type, _, id = text.partition(":")
    if not type or not id:
        raise ConfigError(f"--resource: {text!r} is not accepted; allowed: TYPE:ID, such as database:orders")
    check_name("--resource", type)
    return check_name("--resource", text, "id")


def content_of(option: str, text: str | None) -> bytes | None:
    """The bytes of an option: the text itself, or of @FILE what is in the file."""
    if text is None or not text.startswith("@"):
        return None if text is None else text.encode(errors="surrogateescape")
    return content_of_file(option, Path(text[1:]))
