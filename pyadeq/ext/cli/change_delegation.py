"""`adeq change delegation`: for a time, another person answers the requests of a person."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pyadeq.errors import AdeqError
from pyadeq.ext.cli.arguments import moment_ahead
from pyadeq.ext.cli.change_asking import Domain, ask, existing_changes
from pyadeq.ext.cli.change_who import Actor, Kind, Principal, actor_of, who
from pyadeq.ext.cli.change_words import plain
from pyadeq.ext.cli.common import DEFAULT_URL, FAILED, Format, Output, Url, connected, iso, print_json, print_lines
from pyadeq.ext.cli.tables import print_fields, print_rows
from pyadeq.ext.cli.tree import noun
from pyadeq.keys import check_name

app = noun("Delegations: for a time, another person answers the requests of a person.")
REFUSED = {
    "cycle": "--to: {to} delegates to {user}, directly or through others; name another person",
    "full": "delegation: {user} has 16 delegations, which is the most; remove one: adeq change delegation rm",
}

Name = Annotated[str, typer.Argument(metavar="NAME", help="The delegation.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The delegations.")]
User = Annotated[
    str | None, typer.Option(metavar="ID", help="Whose requests. [default: the one of --as, or your user name]")
]


def moment_option(help: str, *names: str) -> Any:
    """An option that takes a point in time."""
    return typer.Option(*names, parser=moment_ahead, metavar="WHEN", help=help)


@app.command("set")
def set_(
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
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Store a delegation as a whole. Open requests move at once, and move back when it ends.

    Of several that fit a change, the first by name decides. WHEN is a span of time from now, such as 14d, an ISO 8601
    time with a zone, or seconds since the epoch.
    """
    by = who(actor, principal, kind)
    whose = by["actor"] if user is None else check_name("--user", user, "label")
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
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        (answer,) = ask(adeq, changes, "set_delegations", user=whose, item=[item], **by).items
    if answer.status in REFUSED:
        raise AdeqError(REFUSED[answer.status].format(to=to, user=whose))
    if output != Format.table:
        print_json({"domain": domain, "user": whose, "delegation": name, "status": answer.status}, output)
    else:
        print(f"{'unchanged' if answer.status == 'same' else 'stored'} {name}: {to} answers for {whose}")


@app.command()
def ls(
    user: User = None,
    actor: Actor = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """List the delegations of a person."""
    whose, found, away = _read(domain, url, user, actor)
    if output != Format.table:
        print_lines((_as_json(one) for one in found), output)
        return
    heads = ("delegation", "to", "from", "until", "only")
    print_rows(heads, [_row(one) for one in found], spare=["from", "until"])
    if away:
        typer.echo(f"\nOthers answer {away:,} open requests of {whose}", err=True)


@app.command()
def show(
    name: Name,
    user: User = None,
    actor: Actor = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show all fields of a delegation."""
    whose, entries, _ = _read(domain, url, user, actor)
    found = next((one for one in entries if one.name == name), None)
    if found is None:
        text = f"adeq change delegation ls --user {whose}"
        raise AdeqError(f"delegation: {whose} has none with the name {name!r} in domain {domain!r}; see {text}")
    if output != Format.table:
        print_json(_as_json(found), output)
        return
    rows = [(field, _shown(field, value)) for field, value in sorted(found.delegation.items())]
    print_fields([("name", name), ("user", whose), *((field, text) for field, text in rows if text)])


@app.command()
def rm(
    names: Names,
    user: User = None,
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Remove delegations. Open requests move back.

    Exits with 1 if there is no such delegation.
    """
    by = who(actor, principal, kind)
    whose = by["actor"] if user is None else check_name("--user", user, "label")
    items = [{"name": check_name("delegation", name), "remove": True} for name in names]
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        answers = ask(adeq, changes, "set_delegations", user=whose, item=items, **by).items
    rows = [{"delegation": name, "status": answer.status} for name, answer in zip(names, answers, strict=True)]
    if output != Format.table:
        print_lines(rows, output)
    else:
        print_rows(("delegation", "status"), [tuple(row.values()) for row in rows])
    if any(answer.status != "removed" for answer in answers):
        raise typer.Exit(FAILED)


def _read(domain: str, url: str, user: str | None, actor: str | None) -> tuple[str, list[Any], int]:
    """The person, its delegations, and how many of its open requests others answer."""
    whose = actor_of(actor) if user is None else check_name("--user", user, "label")
    with connected(url) as adeq:
        answer = ask(adeq, existing_changes(adeq, domain), "get_delegations", user=whose)
    return whose, answer.items, answer.away


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
