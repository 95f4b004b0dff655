"""The people and groups that a call names, and the caller."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Required, TypeAlias, TypedDict

from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_options, unfit
from pyadeq.errors import BadArgument
from pyadeq.models.change import Change, ChangeRef, InboxEntry, PersonKind

Seen: TypeAlias = Change | InboxEntry | ChangeRef | Result
"""A revision that the caller has seen, or the answer to the put that made it."""


NAMED: Final = ("actor", "principal", "author", "user", "reviewer", "to", "reviewers", "escalate_to")
"""The arguments and fields that name people or groups."""
REVIEWERS: Final = ("reviewer", "reviewers", "escalate_to")
"""The arguments and fields that name a person as `user:<id>`, or a group."""
PERSON: Final = "user:"
HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that nobody sees. Two names that differ only in them look like one person, and would be two voters."""


class Who(TypedDict, total=False):
    """The caller of a step. The server cannot check it: your program has to authenticate the caller.

    actor: a person, or an agent.
    principal: the person who answers for an agent, and has to be given for one.
    kind: by default `agent` if there is a principal other than the actor, otherwise `person`.
    caller: who has sent the call for the actor, such as a service that acts for a person. For the log; None: the actor.
    """

    actor: Required[str]
    principal: str | None
    kind: PersonKind | None
    caller: str | None


class Voter(Who, total=False):
    """The caller who answers a request.

    groups: those of the actor, at most 32. One person of a group may answer a request to `group:<name>`.
    proof: what your program knows of the person's login, for the log; at most 200 bytes.
    """

    groups: Sequence[str]
    proof: str


def in_one_form(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with the names of people in small letters, also in its items.

    So `Ann` and `ann` are one person, who has one vote, whichever client sends the call. Groups stay as they are. Names
    with invisible characters are refused. The scripts refuse them, too.
    """
    found = dict(arguments)
    for name in NAMED:
        value = found.get(name)
        if isinstance(value, str):
            found[name] = _one_form(name, value)
        elif isinstance(value, list | tuple):
            found[name] = [_one_form(name, one) if isinstance(one, str) else one for one in value]
    if isinstance(items := found.get("item"), list | tuple):
        found["item"] = [in_one_form(one) if isinstance(one, Mapping) else one for one in items]
    return found


def _one_form(field: str, name: str) -> str:
    if HIDDEN.search(name):
        raise unfit(field, name, "a name without invisible characters, such as U+00AD or U+200B")
    of_group = field in REVIEWERS and not name.startswith(PERSON)
    return name if of_group else name.lower()


def identified(given: Mapping[str, Any], options: Iterable[str] = Who.__annotations__) -> dict[str, Any]:
    """The arguments that say who makes a call. An agent without a principal is refused."""
    checked_options(given, options, required=("actor",))
    actor, principal, kind = given["actor"], given.get("principal"), given.get("kind")
    if kind is None:
        kind = "agent" if principal not in (None, "", actor) else "person"
    if kind == "agent" and principal in (None, "", actor):
        raise unfit("principal", principal, f"the person who answers for the agent {actor}")
    if kind == "person" and principal not in (None, "", actor):
        raise unfit("principal", principal, f"none, because the person {actor} answers for itself; or kind='agent'")
    return {**given, "principal": principal or None, "kind": kind}


def identified_voter(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the arguments that say who answers, as `identified` does; groups and a proof are allowed, too."""
    return identified(given, Voter.__annotations__)


def revision(seen: Seen) -> dict[str, Any]:
    """The arguments that name a revision."""
    id, rev, digest = (getattr(seen, name, None) for name in ("id", "rev", "digest"))
    if isinstance(seen, str) or id is None or rev is None or digest is None:
        what = f"seen: {type(seen).__name__} is not accepted"
        allowed = "the Change or InboxEntry that was read, or ChangeRef(id, rev, digest), for it says which revision"
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}; allowed: {allowed}")
    return {"id": id, "rev": rev, "digest": digest}
