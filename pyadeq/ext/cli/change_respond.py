"""`adeq change approve`, `reject`, `request-changes`, `abstain`, `retract` and `comment`: the answers of reviewers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq import ChangeAnswer
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.change_asking import ChangeId, Domain, Message, existing_changes, read_revision
from pyadeq.ext.cli.change_refusals import refusal
from pyadeq.ext.cli.change_who import YOU, Acting, GroupsOf
from pyadeq.ext.cli.running import Document, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq

Rev = Annotated[int | None, typer.Option(min=1, metavar="N", help="The revision that you have seen; always needed.")]
Digest = Annotated[
    str | None, typer.Option(metavar="HEX", help="Its digest, if you have it: the command compares it, too.")
]
Proof = Annotated[str | None, typer.Option(metavar="TEXT", help="What is known of your login, for the log.")]
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

    @with_client
    def respond(
        adeq: Adeq,
        id: ChangeId,
        rev: Rev = None,
        message: Message = "",
        request: Annotated[
            int | None, typer.Option(min=1, max=100_000, metavar="N", help="Only this request. [default: any of yours]")
        ] = None,
        digest: Digest = None,
        proof: Proof = None,
        groups: GroupsOf = YOU,
        by: Acting = YOU,
        domain: Domain = "default",
    ) -> Document:
        seen = check_rev(id, rev)
        changes = existing_changes(adeq, domain)
        change = read_revision(adeq, changes, id, seen, digest)
        about = {"id": id, "rev": seen, "digest": change["digest"], "action": action}
        item = ChangeAnswer(**about, slot=request or 0, reason=message)
        (answer,) = changes.respond([item], **by, groups=groups, proof=proof)
        if answer.status not in ("recorded", "approved", "rejected", "same"):
            raise refusal(changes, id, answer, by["actor"], seen)
        return _document(changes, about, answer, by["actor"])

    return respond


@with_client
def comment(
    adeq: Adeq,
    id: ChangeId,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="The comment.")],
    proof: Proof = None,
    by: Acting = YOU,
    domain: Domain = "default",
) -> Document:
    """Write a comment into the log of a change. Anybody may, in any state; it decides nothing."""
    if not message:
        raise ConfigError("--message: it is empty; say what the comment is")
    changes = existing_changes(adeq, domain)
    change = read_revision(adeq, changes, id, None)
    about = {"id": id, "rev": change["rev"], "digest": change["digest"], "action": "comment"}
    (answer,) = changes.respond([ChangeAnswer(**about, reason=message)], **by, proof=proof)
    if answer.status != "commented":
        raise refusal(changes, id, answer, by["actor"])
    return _document(changes, about, answer, by["actor"])


def check_rev(id: str, rev: int | None) -> int:
    """The revision that is meant. ConfigError if none is given."""
    if rev is None:
        raise ConfigError(f"--rev: name the revision that you have seen; adeq change show {id} shows it")
    return rev


def _document(changes: Any, about: dict[str, Any], answer: Any, actor: str) -> Document:
    id, rev, action = about["id"], about["rev"], about["action"]
    if answer.status == "commented":
        said = "the comment is in the log"
    elif answer.status == "same":
        said = f"{actor} has given this answer already; nothing was changed"
    else:
        said = f"the {ANSWERS[action]} of {actor} counts; the change is {answer.state.upper()}"
    value = {"domain": changes.name, "id": id, "rev": rev, "action": action, "actor": actor, "status": answer.status}
    return Document({**value, **answer.fields}, f"{id} revision {rev}: {said}")
