"""`adeq change delegation`: for a time, another person answers the requests of a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import moment_ahead
from pyadeq.ext.cli.change_asking import Domain, ThisDomain, ask, existing_changes
from pyadeq.ext.cli.change_who import YOU, Acting, Actor, actor_of
from pyadeq.ext.cli.change_words import plain
from pyadeq.ext.cli.common import iso
from pyadeq.ext.cli.noun_arguments import DEFAULT
from pyadeq.ext.cli.running import Document, Lines, Options, Read, with_client
from pyadeq.ext.cli.tree import noun
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

app = noun("Delegations: for a time, another person answers the requests of a person.")
REFUSED = {
    "cycle": "--to: {to} delegates to {user}, directly or through others; name another person",
    "full": "delegation: {user} has 16 delegations, which is the most; remove one: adeq change delegation rm",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="The delegation.")]
Names = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="The delegations."),
    Read(lambda names: [check_name("delegation", name) for name in names]),
]
User = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Whose requests. [default: the one of --as, or your user name]"),
    Read(lambda user: user if user is None else check_name("--user", user, "label")),
]


def whose(user: User = None, actor: Actor = None) -> str:
    """The person whose delegations are meant."""
    return user or actor_of(actor)


Person = Annotated[str, Options(whose)]


def moment_option(help: str, *names: str) -> Any:
    """An option that takes a point in time."""
    return typer.Option(*names, parser=moment_ahead, metavar="WHEN", help=help)


@app.command("set")
@with_client
def set_(
    adeq: Adeq,
    name: Name,
    to: Annotated[str, typer.Option(metavar="ID", help="The person who answers.")],
    since: Annotated[float | None, moment_option("When it begins. [default: now]", "--from")] = None,
    until: Annotated[float | None, moment_option("When it ends. [default: never]")] = None,
    type: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only changes of this type; repeat it for more.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only changes with this tag; repeat it for more.")
    ] = None,
    resource: Annotated[
        list[str] | None, typer.Option(metavar="TYPE:ID", help="Only changes to this resource; repeat it for more.")
    ] = None,
    risk_above: Annotated[
        int | None, typer.Option(min=0, max=100, metavar="N", help="Only changes with a risk above this.")
    ] = None,
    risk_below: Annotated[
        int | None, typer.Option(min=0, max=101, metavar="N", help="Only changes with a risk below this.")
    ] = None,
    cascade: Annotated[bool, typer.Option("--cascade", help="Go on by the delegations of that person.")] = False,
    inactive: Annotated[bool, typer.Option("--inactive", help="Store it without an effect.")] = False,
    user: User = None,
    by: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Store a delegation as a whole. Open requests move at once, and move back when it ends.

    Of several that fit a change, the first by name decides. WHEN is a span of time from now, such as 14d, an ISO 8601
    time with a zone, or seconds since the epoch.
    """
    whose = by["actor"] if user is None else user
    given: dict[str, Any] = {
        "to": check_name("--to", to, "label"),
        "from_ms": since and round(since * 1000),
        "until_ms": until and round(until * 1000),
        "types": [check_name("--type", one) for one in type or ()] or None,
        "tags": [check_name("--tag", one, "label") for one in tag or ()] or None,
        "resources": [check_name("--resource", one, "id") for one in resource or ()] or None,
        "risk_above": risk_above,
        "risk_below": risk_below,
        "cascade": cascade or None,
        "inactive": inactive or None,
    }
    item = {"name": check_name("delegation", name), **{field: one for field, one in given.items() if one is not None}}
    changes = existing_changes(adeq, domain)
    (answer,) = ask(adeq, changes, "set_delegations", user=whose, item=[item], **by).items
    if answer.status in REFUSED:
        raise AdeqError(REFUSED[answer.status].format(to=to, user=whose))
    return Document(
        {"domain": domain, "user": whose, "delegation": name, "status": answer.status},
        f"{'unchanged' if answer.status == 'same' else 'stored'} {name}: {to} answers for {whose}",
    )


@app.command()
@with_client
def ls(adeq: Adeq, user: Person = YOU, domain: ThisDomain = DEFAULT) -> Lines:
    """List the delegations of a person."""
    answer = ask(adeq, domain, "get_delegations", user=user)
    return Lines(
        answer.items,
        ("delegation", "to", "from", "until", "only"),
        _row,
        _as_json,
        spare=["from", "until"],
        note=f"Others answer {answer.away:,} open requests of {user}" if answer.away else "",
    )


@app.command()
@with_client
def show(adeq: Adeq, name: Name, user: Person = YOU, domain: ThisDomain = DEFAULT) -> Document:
    """Show all fields of a delegation."""
    entries = ask(adeq, domain, "get_delegations", user=user).items
    found = next((one for one in entries if one.name == name), None)
    if found is None:
        text = f"adeq change delegation ls --user {user}"
        raise AdeqError(f"delegation: {user} has none with the name {name!r} in domain {domain.name!r}; see {text}")
    rows = {field: text for field, value in sorted(found.delegation.items()) if (text := _shown(field, value))}
    return Document(_as_json(found), {"name": name, "user": user, **rows})


@app.command()
@with_client
def rm(adeq: Adeq, names: Names, user: User = None, by: Acting = YOU, domain: ThisDomain = DEFAULT) -> Lines:
    """Remove delegations. Open requests move back.

    Exits with 1 if there is no such delegation.
    """
    items = [{"name": name, "remove": True} for name in names]
    answers = ask(adeq, domain, "set_delegations", user=by["actor"] if user is None else user, item=items, **by).items
    rows = [{"delegation": name, "status": answer.status} for name, answer in zip(names, answers, strict=True)]
    return Lines(rows, ("delegation", "status"), failed=any(row["status"] != "removed" for row in rows))


def _as_json(one: Any) -> dict[str, Any]:
    return {"delegation": one.name, **plain(one.delegation)}


def _row(one: Any) -> tuple[str, ...]:
    shown = {field: _shown(field, value) for field, value in one.delegation.items()}
    only = [shown[field] for field in ("types", "tags", "resources") if shown[field]]
    only += [f"risk > {shown['risk_above']}"] if shown["risk_above"] else []
    only += [f"risk < {shown['risk_below']}"] if shown["risk_below"] else []
    only += ["cascade"] if shown["cascade"] == "yes" else []
    only += ["inactive"] if shown["active"] == "no" else []
    return one.name, shown["to"], shown["from"], shown["until"], ", ".join(only)


def _shown(field: str, value: Any) -> str:
    if field in ("from", "until"):
        return iso(value)[:16] + "Z" if value else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(value)
    return "" if value in (None, -1) else str(value)
