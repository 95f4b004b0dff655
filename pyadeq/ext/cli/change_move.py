"""`adeq change submit`, `withdraw`, `cancel` and `reopen`: what the author of a change does with it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.change_asking import ChangeId, Domain, ask, existing_changes, read_revision
from pyadeq.ext.cli.change_listing import check_reviewer
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import YOU, Acting
from pyadeq.ext.cli.complete import policy_names
from pyadeq.ext.cli.running import Document, with_client
from pyadeq.keys import check_name

if TYPE_CHECKING:
    from pyadeq import Adeq

PriorityName = StrEnum("PriorityName", ["low", "normal", "high", "urgent"])
"""How urgent a review is."""


@with_client
def submit(
    adeq: Adeq,
    id: ChangeId,
    policy: Annotated[str, typer.Option(metavar="NAME", help="The policy of the review.", autocompletion=policy_names)],
    rev: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The revision. [default: the current one]")
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHO", help="user:ID, or group:NAME for one member; with those of the policy. Repeat it for more."
        ),
    ] = None,
    priority: Annotated[
        PriorityName, typer.Option(case_sensitive=False, help="How urgent the review is.")
    ] = PriorityName.normal,
    timeout: Annotated[float | None, time_option("How long it may take. [default: as the policy says]")] = None,
    by: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Ask for the review of a draft.

    A change whose policy needs a risk or a preview waits for it, as SUBMITTED. If the policy lets low risks pass, it
    may be APPROVED at once. Reviewers that have written the change are left out.
    """
    check_name("--policy", policy)
    items = [{"reviewer": check_reviewer("--reviewer", one)} for one in reviewer or ()]
    changes = existing_changes(adeq, domain)
    wanted = read_revision(adeq, changes, id, rev)["rev"]
    answer = ask(
        adeq,
        changes,
        "submit",
        id=id,
        rev=wanted,
        policy=policy,
        priority=priority.value,
        timeout=timeout,
        item=items,
        **by,
    )
    if answer.status not in ("submitted", "reviewing", "approved"):
        raise refusal(changes, id, answer, by["actor"], wanted)
    about = {"domain": domain, "id": id, "state": answer.status}
    waits = {"submitted": "; it waits for its risk or preview: adeq change assess", "approved": ", by its policy"}
    return Document(
        {**about, "rev": answer.rev, "round": answer.round, "digest": answer.digest},
        f"{id} revision {answer.rev} is {answer.status.upper()}{waits.get(answer.status, '')}",
    )
