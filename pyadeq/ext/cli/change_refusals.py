"""What it means that nothing was done with a change, and what to do next."""

from __future__ import annotations

from typing import Any

from pyadeq.errors import AdeqError

NEXT = {
    "draft": "adeq change submit asks for its review",
    "submitted": "it waits for its risk or preview: adeq change assess",
    "reviewing": "adeq change show says who is awaited",
    "approved": "adeq change begin applies it",
    "applying": "adeq change cancel asks its applier to stop",
    "completed": "it is applied; put another change",
    "failed": "adeq change reopen makes it a draft again",
    "rejected": "adeq change reopen makes it a draft again",
    "cancelled": "put another change",
}
NOT_ELIGIBLE = {
    "not_reviewer": "{who} has no open request for it; adeq change show lists who has. Name your groups with --group",
    "contributor": "{who} has written it, and another person must answer",
    "agent": "its policy lets no agents answer",
    "answered": "{who} has another request of it, or has answered one; a person answers one",
    "not_answered": "nobody has answered this request, so there is no answer to dismiss; see adeq change show {id}",
    "not_delegated": "{who} has not delegated a request of it; see adeq change show {id}",
    "no_cascade": "{who} has it by a delegation without --cascade, and cannot delegate it on; take-back returns it",
    "no_request": "it has no such request; adeq change show {id} lists them",
}
REFUSALS = {
    "not_found": "change: there is no {id!r} in domain {domain!r}; see adeq change ls",
    "forbidden": "change: {who} has not written {id!r}, and only those who have may do this; see adeq change log {id}",
    "exists": "change: {id!r} exists, with revision {rev}; add --rev {rev} for the next revision, or choose another id",
    "is_reviewer": "change: {who} has request {slot} of {id!r}, and who reviews does not write; another person may "
    "write it, or an operator may remove the request: adeq change reassign",
    "no_policy": "--policy: there is no policy of this name; see adeq change policy ls",
    "unreachable": "--reviewer: {required} must approve, and {eligible} could answer, and contributors do not "
    "count; name more",
    "full": "change: {id!r} has no more place for this; see adeq change show {id}",
    "held": "change: {agent} applies {id!r} already; see adeq change show {id}",
    "not_locked": "--lock-rid: it does not hold {resource} alone for {domain}/{id}; take locks on all resources first",
    "lock_lost": "token: the lock of {resource} is lost, and so is the run of {id!r}; stop the work",
    "lost": "token: it is not that of a run of {id!r} that goes on; stop the work",
    "cycle": "--to: this person has the request of {id!r}, or had it before; name another",
    "too_deep": "--to: the request of {id!r} was delegated {depth} times already, as often as its policy allows",
}


def moved(id: str, rev: int | None, now: int) -> AdeqError:
    """The error for another revision than the one that is there."""
    if rev is None or rev > now:
        return AdeqError(f"change: {id!r} has revision {now}, and no other; see adeq change show {id}")
    return AdeqError(
        f"change: {id!r} has revision {now} now, not {rev}, and nothing was done; see what is new: "
        f"adeq change diff {id} --since {rev}"
    )


def refusal(changes: Any, id: str, answer: Any, who: str = "", rev: int | None = None) -> AdeqError:
    """The error for an answer that means that nothing was done. rev: the revision that was meant."""
    status, fields = answer.status, answer.fields
    if status == "outdated":
        return moved(id, rev, answer.rev)
    if status == "state":
        return AdeqError(f"change: {id!r} is {answer.state.upper()}; {NEXT[answer.state]}")
    if status == "not_eligible":
        return AdeqError(f"change: {id!r}: {NOT_ELIGIBLE[answer.reason].format(who=who, id=id)}")
    if status == "closed":
        by, why = (fields.get(name) for name in ("by", "why"))
        text = f"{f', by {by}' if by else ''}{f' ({why})' if why else ''}"
        return AdeqError(f"change: {id!r} is {answer.state.upper()}{text}; the request is closed")
    return AdeqError(
        REFUSALS.get(status, "change: {id!r}: " + status).format(id=id, who=who, domain=changes.name, **fields)
    )
