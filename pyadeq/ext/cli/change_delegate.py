"""`adeq change delegate`, `take-back` and `reassign`: requests that go to other reviewers."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Domain, Message, ThisDomain, ask, existing_changes
from pyadeq.ext.cli.change_listing import check_reviewer
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import YOU, Acting, By
from pyadeq.ext.cli.noun_arguments import DEFAULT
from pyadeq.ext.cli.running import Document, Read, with_client
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

Request = Annotated[int | None, typer.Option(min=1, max=100_000, metavar="N", help="The request. [default: yours]")]

Operation = StrEnum("Operation", ["add", "remove", "move", "dismiss"])
"""What an operator does with a request."""


@with_client
def delegate(
    adeq: Adeq,
    id: ChangeId,
    to: Annotated[
        str,
        typer.Option(metavar="ID", help="The person who answers in your place."),
        Read(lambda to: check_name("--to", to, "label")),
    ],
    request: Request = None,
    message: Message = "",
    by: Acting = YOU,
    domain: ThisDomain = DEFAULT,
) -> Document:
    """Let another person answer your request. It stays one request with one answer."""
    return _hand_on(adeq, domain, id, to=to, slot=request, reason=message or None, **by)


@with_client
def take_back(
    adeq: Adeq,
    id: ChangeId,
    request: Request = None,
    message: Message = "",
    by: Acting = YOU,
    domain: ThisDomain = DEFAULT,
) -> Document:
    """Take back a request that you have delegated, or give back one that was delegated to you."""
    return _hand_on(adeq, domain, id, slot=request, reason=message or None, **by)


def _hand_on(adeq: Adeq, changes: Any, id: str, **arguments: Any) -> Document:
    answer = ask(adeq, changes, "delegate", id=id, **arguments)
    if answer.status != "ok":
        of_target = answer.status == "not_eligible" and answer.reason in ("contributor", "answered")
        raise refusal(changes, id, answer, arguments["to"] if of_target else arguments["actor"])
    return Document(
        {"domain": changes.name, "id": id, "slot": answer.slot, "reviewer": answer.reviewer},
        f"{id}: {answer.reviewer} answers request {answer.slot} now",
    )


@with_client
def reassign(
    adeq: Adeq,
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
    actor: By = YOU,
    domain: Domain = "default",
) -> Document:
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
    if not message:
        raise ConfigError("--message: it is empty; say why")
    about = {"operation": operation.value, "slot": request, "reason": message, "actor": actor}
    named = reviewer and check_reviewer("--reviewer", reviewer)
    changes = existing_changes(adeq, domain)
    answer = ask(adeq, changes, "reassign", id=id, reviewer=named, **about)
    if answer.status != "ok":
        raise refusal(changes, id, answer, named or actor)
    done = {
        "add": "is added",
        "remove": "is removed",
        "move": f"is that of {named} now",
        "dismiss": "is open again",
    }
    return Document(
        {"domain": domain, "id": id, "slot": answer.slot, "state": answer.state},
        f"{id}: request {answer.slot} {done[operation.value]}; the change is {answer.state.upper()}",
    )
