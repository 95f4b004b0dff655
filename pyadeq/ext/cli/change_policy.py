"""`adeq change policy`: who has to approve a change, and what happens if nobody answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import Adeq
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.change_asking import Domain, ask
from pyadeq.ext.cli.change_listing import check_reviewer
from pyadeq.ext.cli.change_who import YOU, By
from pyadeq.ext.cli.complete import policy_names
from pyadeq.ext.cli.running import Document, Read, with_client
from pyadeq.ext.cli.tree import noun
from pyadeq.keys import check_name

app = noun("Policies: who has to approve a change, and what happens if nobody answers.")

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The policy.", autocompletion=policy_names),
    Read(lambda name: check_name("policy", name)),
]

Needs = StrEnum("Needs", ["none", "risk", "preview", "both"])
"""What must be assessed before people are asked."""
Steps = StrEnum("Steps", ["approved", "rejected", "changes_requested", "completed", "failed", "cancelled"])
"""The steps of a change that a task may follow."""
OnTimeout = StrEnum("OnTimeout", ["reject", "approve"])
"""What happens to a change whose review has taken too long."""


@app.command("set")
@with_client
def set_(
    adeq: Adeq,
    name: Name,
    required: Annotated[int, typer.Option(min=1, max=32, metavar="N", help="How many approvals a change needs.")],
    rejections: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=32,
            metavar="N",
            help="How many rejections reject; 0: only if the approvals are out of reach. [default: 1]",
        ),
    ] = None,
    reviewer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHO", help="user:ID, or group:NAME for one member; asked for each change. Repeat it for more."
        ),
    ] = None,
    needs: Annotated[
        Needs | None, typer.Option(help="What must be assessed before people are asked. [default: none]")
    ] = None,
    timeout: Annotated[float | None, time_option("How long a review may take. [default: as the setting says]")] = None,
    on_timeout: Annotated[OnTimeout | None, typer.Option(help="What follows then. [default: reject]")] = None,
    timeout_approve_below: Annotated[
        int | None, typer.Option(min=1, max=101, metavar="N", help="With --on-timeout approve: only risks below this.")
    ] = None,
    remind: Annotated[float | None, time_option("Time between two reminders. [default: none]")] = None,
    escalate: Annotated[
        float | None, time_option("Without a decision, also ask the next one of --escalate-to.")
    ] = None,
    escalate_to: Annotated[
        list[str] | None, typer.Option(metavar="WHO", help="user:ID or group:NAME; repeat it for up to 3 levels.")
    ] = None,
    auto_below: Annotated[
        int | None, typer.Option(min=0, max=101, metavar="N", help="Approve risks below this without people.")
    ] = None,
    deny_tag: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Never without people with this tag; repeat it for more.")
    ] = None,
    contributors_may_vote: Annotated[
        bool, typer.Option("--contributors-may-vote", help="Who has written a change may approve it.")
    ] = False,
    agents_may_vote: Annotated[
        bool, typer.Option("--agents-may-vote", help="Agents may answer, for their person.")
    ] = False,
    approval: Annotated[float | None, time_option("How long an approval lasts. [default: 7d]")] = None,
    max_attempts: Annotated[
        int | None, typer.Option(min=1, max=100, metavar="N", help="How often its run may fail. [default: 3]")
    ] = None,
    delegation_depth: Annotated[
        int | None,
        typer.Option(min=0, max=4, metavar="N", help="How often a request may be delegated. [default: 3]"),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STEP=KIND",
            help="The task that follows a step: approved, rejected, changes_requested, completed, failed or cancelled. "
            "Also with lane and priority: approved=KIND,LANE,5. Repeat it for more.",
        ),
    ] = None,
    actor: By = YOU,
    domain: Domain = "default",
) -> Document:
    """Store a policy as a whole: what is not given has its default. The domain is created if it does not exist.

    A change keeps the policy that it was submitted with, whatever happens to the policy later. Tasks go to the queue of
    adeq change configure --follow-queue.
    """
    given: dict[str, Any] = {
        "required": required,
        "rejections": rejections,
        "reviewers": [check_reviewer("--reviewer", one) for one in reviewer or ()] or None,
        "needs": needs and needs.value,
        "timeout": timeout,
        "on_timeout": on_timeout and on_timeout.value,
        "timeout_approve_below": timeout_approve_below,
        "remind": remind,
        "escalate": escalate,
        "escalate_to": [check_reviewer("--escalate-to", one) for one in escalate_to or ()] or None,
        "auto_below": auto_below,
        "deny_tags": [check_name("--deny-tag", one, "label") for one in deny_tag or ()] or None,
        "contributors_may_vote": contributors_may_vote or None,
        "agents_may_vote": agents_may_vote or None,
        "approval": approval,
        "max_attempts": max_attempts,
        "delegation_depth": delegation_depth,
        **_tasks(task),
    }
    if (escalate is None) != (not escalate_to):
        raise ConfigError("--escalate: it goes with --escalate-to; give both, or none")
    if on_timeout == OnTimeout.approve and timeout_approve_below is None:
        raise ConfigError("--timeout-approve-below: name the risk below which a timeout approves")
    item = {"name": name, **{field: value for field, value in given.items() if value is not None}}
    (answer,) = ask(adeq, adeq.noun("change", domain), "set_policies", actor=actor, item=[item]).items
    return Document(
        {"domain": domain, "policy": name, "status": answer.status, "version": answer.version},
        f"{'unchanged' if answer.status == 'same' else 'stored'} {name}@{answer.version}",
    )


def _tasks(given: list[str] | None) -> dict[str, Any]:
    """`<step>=<kind>[,<lane>[,<priority>]]`, as the script takes them."""
    found: dict[str, Any] = {}
    for text in given or ():
        step, _, rest = text.partition("=")
        kind, lane, priority, *more = [*rest.split(","), "", ""]
        step = step.replace("-", "_")
        if step not in Steps.__members__ or not kind or any(more) or not (priority or "5").isdecimal():
            allowed = f"STEP=KIND or STEP=KIND,LANE,PRIORITY; steps: {', '.join(Steps)}"
            raise ConfigError(f"--task: {text!r} is not accepted; allowed: {allowed}")
        found[f"{step}_kind"] = check_name("--task", kind, "label")
        if lane:
            found[f"{step}_lane"] = check_name("--task", lane, "lane")
        if priority:
            found[f"{step}_priority"] = int(priority)
    return found
