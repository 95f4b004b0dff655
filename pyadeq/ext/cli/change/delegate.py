"""`adeq change delegate`, `take-back` and `reassign`: requests that go to other reviewers."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change.asking import ChangeId, Domain, ask, existing_changes
from pyadeq.ext.cli.change.listing import check_reviewer
from pyadeq.ext.cli.change.refusals import refusal
from pyadeq.ext.cli.change.who import YOU, By
from pyadeq.ext.cli.shared.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq


Operation = StrEnum("Operation", ["add", "remove", "move", "dismiss"])
"""What an operator does with a request."""


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
