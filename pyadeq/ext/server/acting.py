"""Who acts in a change: the principal that has authenticated, whatever the request says of itself.

A token for one user acts as that user. Only the right `actor.any` lets a caller act for others; the step then stores
both names. Groups come from who has authenticated, too. Names of people have one form, small letters: `Ann` and `ann`
are one person, who has one vote.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final, NamedTuple

from pyadeq.errors import ConfigError
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.rights import ACT
from pyadeq.ext.server.tokens import owner_of

USER: Final = "user:"


class Who(NamedTuple):
    """Who asks. own: the name under which they act. sender: who has authenticated. anybody: whether they may act for
    others.
    """

    own: str
    sender: str
    anybody: bool


def who_asks(access: Access) -> Who:
    """Who asks. Refused if the user of a token can be no actor."""
    user, sender = access.scope.user, _name(access.principal.name, "the name of your principal")
    own = sender if user is None else _name(user, "the user of your token")
    return Who(own, sender, access.principal.may(ACT, access.name))


def act(access: Access, given: dict[str, Any], takes: Container[str], person: str = "") -> None:
    """Put into the arguments of a step who acts, and refuse those that say otherwise.

    takes: the names of the arguments that the step has. person: the argument that names whose record it is.
    """
    who = who_asks(access)
    for name, form in _FORMS.items():
        if given.get(name) is not None:
            given[name] = form(f"#/{name}", given[name])
    if person and who.own != _one_form(person, given) and not who.anybody:
        raise _refused(person, f"this is of another person; you are {who.own}")
    if "actor" in takes:
        _set_actor(who, given)
    if "groups" in takes:
        _set_groups(access, who, given)
    if given.get("proof") and not who.anybody:
        raise _refused("proof", "it is for services that have checked the login of another person")
    if "agent" in takes:
        agent = given.get("agent") or who.own
        if not who.anybody and agent != who.own and not agent.startswith(f"{who.own}/"):
            raise _refused("agent", f"you apply as {who.own}, or as {who.own}/<a name of the run>")
        given["agent"] = agent
        if agent != who.sender and not agent.startswith(f"{who.sender}/"):
            given["caller"] = who.sender


def _set_actor(who: Who, given: dict[str, Any]) -> None:
    actor, principal = given.get("actor"), given.get("principal")
    as_agent = who.sender != who.own and (given.get("kind") == "agent" or actor == who.sender)
    if as_agent:  # a token of an agent for a person: the person answers for the agent
        actor, principal = actor or who.sender, principal or who.own
    actor = actor or who.own
    allowed = {(who.own, None), (who.own, who.own), *([(who.sender, who.own)] if as_agent else [])}
    if (actor, principal) not in allowed and not who.anybody:
        at = "actor" if actor not in (who.own, who.sender) else "principal"
        raise _refused(at, f"you act as {who.own}")
    given["actor"] = actor
    if principal is not None:
        given["principal"] = principal
    if who.sender != actor:
        given["caller"] = who.sender


def _set_groups(access: Access, who: Who, given: dict[str, Any]) -> None:
    own, named = access.principal.groups, given.get("groups")
    if named is None:
        given["groups"] = own if given.get("actor") == who.own else ()
    elif not who.anybody and not {*own}.issuperset(named):
        raise _refused("groups", f"you are in {', '.join(own) or 'none'}, as your token or your proxy says")


def _refused(name: str, why: str) -> Refused:
    return Refused(403, "FORBIDDEN", f"#/{name}: {why}; acting for others needs the right {ACT}")


def _name(text: str, what: str) -> str:
    try:
        return owner_of(what, text)
    except ConfigError as error:
        raise Refused(403, "FORBIDDEN", f"{error}, because you act in changes by this name") from None


def _one_form(person: str, given: dict[str, Any]) -> str:
    given[person] = owner_of(f"#/{person}", given[person])
    return str(given[person])


def _reviewer(field: str, text: str) -> str:
    """A person in one form; a group as it is."""
    return f"{USER}{owner_of(field, text.removeprefix(USER))}" if text.startswith(USER) else text


def _reviewers(field: str, given: Any) -> list[Any]:
    return [_reviewer(field, one) if isinstance(one, str) else (_reviewer(field, one[0]), *one[1:]) for one in given]


_FORMS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    "actor": owner_of,
    "principal": owner_of,
    "to": owner_of,
    "reviewer": _reviewer,
    "reviewers": _reviewers,
    "escalate_to": _reviewers,
}
"""The arguments that name people."""
