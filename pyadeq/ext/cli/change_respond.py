"""`adeq change approve`, `reject`, `request-changes`, `abstain`, `retract` and `comment`: the answers of reviewers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from pyadeq import ChangeAnswer
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Domain, Message, existing_changes, read_revision
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import Actor, Groups, Kind, Principal, groups_of, who
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json

Rev = Annotated[int | None, typer.Option(min=1, metavar="N", help="The revision that you have seen; always needed.")]
Digest = Annotated[
    str | None, typer.Option(metavar="HEX", help="Its digest, if you have it: the command compares it, too.")
]
ANSWERS = {
    "approve": "approval",
    "reject": "rejection",
    "request_changes": "request for changes",
    "abstain": "abstention",
    "retract": "retraction",
}
HELP = {
    "approve": "Approve a revision. Nothing is done if the change has another revision by now.",
    "reject": "Reject a revision. How many rejections end a review is said by its policy: mostly one.",
    "request_changes": "Ask for another revision. Until you answer again, the change cannot be approved.",
    "abstain": "Close your request without a vote.",
    "retract": "Take your answer back. If the change is APPROVED by now, a new round of its review begins.",
}


def answering(action: str) -> Callable[..., None]:
    """The function of a command that answers a request."""

    def respond(
        id: ChangeId,
        rev: Rev = None,
        message: Message = "",
        request: Annotated[
            int | None, typer.Option(min=1, max=100_000, metavar="N", help="Only this request. [default: any of yours]")
        ] = None,
        digest: Digest = None,
        proof: Annotated[
            str | None, typer.Option(metavar="TEXT", help="What is known of your login, for the log.")
        ] = None,
        group: Groups = None,
        actor: Actor = None,
        principal: Principal = None,
        kind: Kind = None,
        domain: Domain = "default",
        url: Url = DEFAULT_URL,
        output: Output = Format.table,
    ) -> None:
        by = {**who(actor, principal, kind), "groups": groups_of(group), "proof": proof}
        seen = check_rev(id, rev)
        with connected(url) as adeq:
            changes = existing_changes(adeq, domain)
            change = read_revision(adeq, changes, id, seen, digest)
            item = {
                "id": id,
                "rev": seen,
                "digest": change["digest"],
                "action": action,
                "slot": request or 0,
                "reason": message,
            }
            (answer,) = changes.respond([ChangeAnswer(**item)], **by)
        if answer.status not in ("recorded", "approved", "rejected", "same"):
            raise refusal(changes, id, answer, by["actor"], seen)
        _print(domain, item, answer, by["actor"], output)

    return respond


def comment(
    id: ChangeId,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The comment.")],
    proof: Annotated[str | None, typer.Option(metavar="TEXT", help="What is known of your login, for the log.")] = None,
    actor: Actor = None,
    principal: Principal = None,
    kind: Kind = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Write a comment into the log of a change. Anybody may, in any state; it decides nothing."""
    if not message:
        raise ConfigError("--message: it is empty; say what the comment is")
    by = {**who(actor, principal, kind), "proof": proof}
    with connected(url) as adeq:
        changes = existing_changes(adeq, domain)
        change = read_revision(adeq, changes, id, None)
        item = {"id": id, "rev": change["rev"], "digest": change["digest"], "action": "comment", "reason": message}
        (answer,) = changes.respond([ChangeAnswer(**item)], **by)
    if answer.status != "commented":
        raise refusal(changes, id, answer, by["actor"])
    _print(domain, item, answer, by["actor"], output)


def check_rev(id: str, rev: int | None) -> int:
    """The revision that is meant. ConfigError if none is given."""
    if rev is None:
        raise ConfigError(f"--rev: name the revision that you have seen; adeq change show {id} shows it")
    return rev


def _print(domain: str, item: dict[str, Any], answer: Any, actor: str, output: Format) -> None:
    id, rev, action = item["id"], item["rev"], item["action"]
    if output != Format.table:
        about = {"domain": domain, "id": id, "rev": rev, "action": action, "actor": actor}
        print_json({**about, "status": answer.status, **answer.fields}, output)
    elif answer.status == "commented":
        print(f"{id} revision {rev}: the comment is in the log")
    elif answer.status == "same":
        print(f"{id} revision {rev}: {actor} has given this answer already; nothing was changed")
    else:
        print(f"{id} revision {rev}: the {ANSWERS[action]} of {actor} counts; the change is {answer.state.upper()}")
