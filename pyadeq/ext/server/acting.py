"""The actor in a change: the principal that has authenticated, whatever the request says of itself.

A token for one user acts as that user. Only the right `actor.any` lets a caller act for others; the step then stores
both names. Groups come from who has authenticated, too. Names of people have one form, small letters: `Ann` and `ann`
are one person, who has one vote.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

from pyadeq.errors import ConfigError
from pyadeq.ext.operations.rights import ACT, MOST_GROUPS
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.problems import Refused
from pyadeq.keys import check_name

PEOPLE: Final = ("actor", "principal")
"""The arguments that say who acts."""


def act(access: Access, given: dict[str, Any], takes: Container[str], person: str = "", *, reads: bool = False) -> None:
    """Put into the arguments of an operation who acts, and refuse those that say otherwise.

    takes: the names of the arguments that the operation has. person: the argument that names whose record it is.
    reads: it only reads, so who observes all users may name anybody.
    """
    given.pop("caller", None)
    own, anybody = access.acts_as, access.principal.may(ACT, access.name)
    for name in (*PEOPLE, *([person] if person else [])):
        if given.get(name) is not None:
            given[name] = _one_form(f"#/{name}", given[name])
    free = anybody or (reads and access.scope.user is None)
    if person and given[person] != own and not free:
        raise _refused(person, f"this is of another person; you are {own}")
    if "actor" in takes:
        _set_actor(access, given, anybody)
    if "groups" in takes:
        _set_groups(access, given, free, is_own=(given[person] if person else given["actor"]) == own)
    if given.get("proof") and not anybody:
        raise _refused("proof", "it is for services that have checked the login of another person")
    if "agent" in takes:
        agent = given.get("agent") or own
        if not anybody and agent != own and not agent.startswith(f"{own}/"):
            raise _refused("agent", f"you apply as {own}, or as {own}/<a name of the run>")
        given["agent"] = agent
        _set_caller(access, given, agent.partition("/")[0])


def _set_actor(access: Access, given: dict[str, Any], anybody: bool) -> None:
    own, sender = access.acts_as, access.principal.name.lower()
    actor, principal = given.get("actor"), given.get("principal")
    as_agent = sender != own and (given.get("kind") == "agent" or actor == sender)
    if as_agent:  # a token of an agent for a person: the person answers for the agent
        actor, principal = actor or sender, principal or own
    actor = actor or own
    allowed = {(own, None), (own, own), *([(sender, own)] if as_agent else [])}
    if (actor, principal) not in allowed and not anybody:
        at = "actor" if actor not in (own, sender) else "principal"
        raise _refused(at, f"you act as {own}")
    given["actor"] = _one_form("the name under which you act", actor)
    if principal is not None:
        given["principal"] = principal
    _set_caller(access, given, actor)


def _set_caller(access: Access, given: dict[str, Any], actor: str) -> None:
    sender = access.principal.name.lower()
    if sender != actor:
        given["caller"] = "".join(sender.split())  # an application may have principals with spaces, and scripts do not


def _set_groups(access: Access, given: dict[str, Any], free: bool, *, is_own: bool) -> None:
    own, named = access.principal.groups, given.get("groups")
    if not named:  # a query without groups has an empty list
        if is_own and len(own) > MOST_GROUPS:
            raise _refused("groups", f"you are in {len(own)}, and at most {MOST_GROUPS} can count: name those that do")
        given["groups"] = own if is_own else ()
    elif not free and not {*own}.issuperset(named):
        raise _refused("groups", f"you are in {', '.join(own) or 'none'}, as your token or your proxy says")


def _refused(name: str, why: str) -> Refused:
    return Refused(403, "FORBIDDEN", f"#/{name}: {why}; acting for others needs the right {ACT}")


def _one_form(what: str, text: str) -> str:
    try:
        return check_name(what, text, "label").lower()
    except ConfigError as error:
        raise Refused(400, "BAD_REQUEST", str(error)) from None
