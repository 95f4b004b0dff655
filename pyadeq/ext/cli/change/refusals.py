"""What it means that nothing was done with a change, and what to do next. `{d}` is the option for its domain."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from pyadeq.errors import AdeqError

NEXT = {
    "draft": "adeq change submit {id}{d} asks for its review",
    "submitted": "it waits for its risk or preview: adeq change assess {id}{d}",
    "reviewing": "adeq change show {id}{d} says who is awaited",
    "approved": "adeq change begin {id}{d} applies it",
    "applying": "adeq change cancel {id}{d} asks its applier to stop",
    "completed": "it is applied; put another change",
    "failed": "adeq change reopen {id}{d} makes it a draft again",
    "rejected": "adeq change reopen {id}{d} makes it a draft again",
    "cancelled": "put another change",
}
NOT_ELIGIBLE = {
    "not_reviewer": "{who} has no open request for it; adeq change show {id}{d} lists who has. Name your groups with "
    "--group",
    "contributor": "{who} has written it, and another person must do this",
    "agent": "its policy lets no agents answer",
    "answered": "{who} has another request of it, or has answered one; a person answers one",
    "not_answered": "nobody has answered this request, so there is no answer to dismiss; see adeq change show {id}{d}",
    "not_delegated": "{who} has not delegated a request of it; see adeq change show {id}{d}",
    "no_cascade": "{who} has it by a delegation without --cascade, and cannot delegate it on; take-back returns it",
    "no_request": "it has no such request; adeq change show {id}{d} lists them",
}
REFUSALS = {
    "not_found": "change: there is no {id!r} in domain {domain!r}; see adeq change ls{d}",
    "forbidden": "change: {who} has not written {id!r}, and only those who have may do this; see adeq change log "
    "{id}{d}",
    "exists": "change: {id!r} exists, with revision {rev}; add --rev {rev} for the next revision, or choose another id",
    "is_reviewer": "change: {who} has request {slot} of {id!r}, and who reviews does not write; another person may "
    "write it, or an operator may remove the request: adeq change reassign {id} remove --request {slot}{d}",
    "no_policy": "--policy: there is no policy of this name; see adeq change policy ls{d}",
    "unreachable": "--reviewer: {required} must approve, and {eligible} could answer, and contributors do not "
    "count; name more",
    "full": "change: {id!r} has no more place for this; see adeq change show {id}{d}",
    "held": "change: {agent} applies {id!r} already; see adeq change show {id}{d}",
    "not_locked": "--lock-rid: it does not hold {resource} alone for {domain}/{id}; take locks on all resources first",
    "lock_lost": "token: the lock of {resource} is lost, and so is the run of {id!r}; stop the work",
    "lost": "token: it is not that of a run of {id!r} that goes on; stop the work",
    "cycle": "--to: this person has the request of {id!r}, or had it before; name another",
    "too_deep": "--to: the request of {id!r} was delegated {depth} times already, as often as its policy allows",
}
REVIEWED = ("approved", "applying", "completed", "failed")


def in_domain(name: str) -> str:
    """The option that a command needs to find this domain."""
    return "" if name == os.environ.get("ADEQ_CHANGE_DOMAIN", "default") else f" -d {name}"


def moved(changes: Any, id: str, rev: int | None, now: int) -> AdeqError:
    """The error for another revision than the one that is there."""
    d = in_domain(changes.name)
    if rev is None or rev > now:
        return AdeqError(f"change: {id!r} has revision {now}, and no other; see adeq change show {id}{d}")
    return AdeqError(
        f"change: {id!r} has revision {now} now, not {rev}{_news(changes, id, rev)}. Nothing was done; see what is "
        f"different: adeq change diff {id} --since {rev}{d}"
    )


def _news(changes: Any, id: str, rev: int) -> str:
    """Return who changed which fields after a revision, for an error text. Empty if the log does not have it."""
    change = changes.get(id, log=1000)
    steps = [one for one in (change.log if change else ()) if one.event == "change.revised" and one.rev > rev]
    what = (name for one in steps for name in one.detail.removeprefix("changed=").split(","))
    return f": {_listed(one.by for one in steps)} changed {_listed(what)}" if steps else ""


def _listed(words: Iterable[str]) -> str:
    *first, last = dict.fromkeys(words)
    return f"{', '.join(first)} and {last}" if first else last


def refusal(changes: Any, id: str, answer: Any, who: str = "", rev: int | None = None) -> AdeqError:
    """The error for an answer that means that nothing was done. rev: the revision that was meant."""
    status, fields = answer.status, answer.fields
    names = {"id": id, "who": who, "domain": changes.name, "d": in_domain(changes.name), **fields}
    if status == "outdated":
        return moved(changes, id, rev, answer.rev)
    if status == "state":
        text = f"change: {{id!r}} is {answer.state.upper()}; {NEXT[answer.state]}"
    elif status == "not_eligible":
        text = f"change: {{id!r}}: {NOT_ELIGIBLE[answer.reason]}"
    elif status == "closed":
        text = f"change: {{id!r}} is {answer.state.upper()}{_decided(answer.state, fields)}, and the request is closed"
    else:
        text = REFUSALS.get(status, "change: {id!r}: " + status)
    return AdeqError(text.format(**names))


def _decided(state: str, fields: dict[str, Any]) -> str:
    """Return who has decided the review and why, for an error text. Empty if neither is known."""
    by, why = (str(fields.get(name) or "") for name in ("by", "why"))
    if state in REVIEWED:  # the reason is that of its run
        return f": {by} has decided its review" if by else ""
    return f"{by and f', by {by}'}{why and f' ({why})'}"
