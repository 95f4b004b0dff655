"""`adeq change delegate`, `take-back` and `reassign`: requests that go to other reviewers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Domain, Message, ask, existing_changes
from pyadeq.ext.cli.change_listing import check_reviewer
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import Actor, Kind, Principal, actor_of, who
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.keys import check_name

Request = Annotated[int | None, typer.Option(min=1, max=100_000, metavar="N", help="The request. [default: yours]")]


class Operation(StrEnum):
    """What an operator does with a request."""

    add = "add"
    remove = "remove"
    move = "move"
    dismiss = "dismiss"


def delegate(
    id: ChangeId,
    to: Annotated[str, typer.Option(metavar="ID", help="The person who answers in your place.")],
    request: Request = None,
    message: Message = "",
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Let another person answer your request. It stays one request with one answer."""
    by = who(actor, principal, kind)
    _hand_on(
        id,
        {"to": check_name("--to", to, "label"), "slot": request, "reason": message or None, **by},
        domain,
        url,
        output,
    )


def take_back(
    id: ChangeId,
    request: Request = None,
    message: Message = "",
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Take back a request that you have delegated, or give back one that was delegated to you."""
    by = who(actor, principal, kind)
    _hand_on(id, {"slot": request, "reason": message or None, **by}, domain, url, output)


def _hand_on(id: str, arguments: dict[str, Any], domain: str, url: str, output: Format) -> None:
    check_name("change", id)
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        answer = ask(adeq, changes, "delegate", id=id, **arguments)
    if answer.status != "ok":
        of_target = answer.status == "not_eligible" and answer.reason in ("contributor", "answered")
        raise refusal(changes, id, answer, arguments["to"] if of_target else arguments["actor"])
    if output != Format.table:
        print_json({"domain": domain, "id": id, "slot": answer.slot, "reviewer": answer.reviewer}, output)
    else:
        print(f"{id}: {answer.reviewer} answers request {answer.slot} now")


def reassign(
    id: ChangeId,
    operation: Annotated[
        Operation,
        typer.Argument(
            metavar="add|remove|move|dismiss", help="dismiss: an answer, so that the request is open again."
        ),
    ],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Why, for the log.")],
    request: Annotated[
        int | None, typer.Option(min=1, max=100_000, metavar="N", help="The request; not with add.")
    ] = None,
    reviewer: Annotated[
        str | None, typer.Option(metavar="WHO", help="With add and move: user:ID, or group:NAME for one member.")
    ] = None,
    actor: Actor = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Add, remove or move a request of a review, or dismiss an answer. This is for operators, and needs a reason.

    adeq change show lists the requests of a change.
    """
    wanted = operation in (Operation.add, Operation.move)
    if wanted != (reviewer is not None):
        raise ConfigError(
            f"--reviewer: it goes with add and move, {'and is needed' if wanted else 'not with'} {operation.value}"
        )
    if operation == Operation.add and request is not None:
        raise ConfigError("--request: add makes a new one; leave it out")
    if operation != Operation.add and request is None:
        raise ConfigError(f"--request: name the request; adeq change show {id} lists them")
    check_name("change", id)
    if not message:
        raise ConfigError("--message: it is empty; say why")
    operator = actor_of(actor)
    about = {"operation": operation.value, "slot": request, "reason": message, "actor": operator}
    named = reviewer and check_reviewer("--reviewer", reviewer)
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        answer = ask(adeq, changes, "reassign", id=id, reviewer=named, **about)
    if answer.status != "ok":
        raise refusal(changes, id, answer, named or operator)
    if output != Format.table:
        print_json({"domain": domain, "id": id, "slot": answer.slot, "state": answer.state}, output)
    else:
        done = {
            "add": "is added",
            "remove": "is removed",
            "move": f"is that of {named} now",
            "dismiss": "is open again",
        }
        print(f"{id}: request {answer.slot} {done[operation.value]}; the change is {answer.state.upper()}")
