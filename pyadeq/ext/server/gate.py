"""The gate between a request and what it is about: who asks, whether they may, and whether it exists."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Annotated, Any, Final, Literal

from fastapi import Depends, Path, Request

from pyadeq import library, tiers
from pyadeq.asyncio import Adeq
from pyadeq.ext.operations.rights import REVEAL, WEBHOOKS, Principal, Scope
from pyadeq.ext.operations.row import WRITERS
from pyadeq.ext.outgoing.patterns import QUEUES
from pyadeq.ext.server.etags import refuse_if_match
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.reads import ask
from pyadeq.keys import PATTERNS

Authenticate = Callable[[Request], Awaitable[Principal | None]]
"""Tells who makes a request; None if nobody that it knows."""

KNOWN_FOR: Final = 10.0
"""Seconds for which it is remembered that a name exists, and whether it has partitions."""
MOST_KNOWN: Final = 10_000
OWN: Final = "_"
"""How names begin that belong to the service itself. No path reaches them."""


class Gate:
    """The gate of one application: its client, who asks, and what exists."""

    def __init__(self, adeq: Adeq, authenticate: Authenticate) -> None:
        self.adeq = adeq
        self._authenticate = authenticate
        self._known: dict[tuple[str, str], tuple[float, Any]] = {}

    async def principal(self, request: Request) -> Principal:
        """Return the caller of the request. Refused if it is not known."""
        found = await self._authenticate(request)
        request.state.principal = found
        if found is None:
            how = "send a token: Authorization: Bearer adeq_…"
            raise Refused(401, "UNAUTHENTICATED", how, headers={"WWW-Authenticate": "Bearer"})
        refuse_if_match(request)
        return found

    async def find(self, noun: str, name: str, create: bool) -> Any | None:
        """One of a noun; None if it does not exist. create: also return one that does not exist yet."""
        key, now = (noun, name), monotonic()
        known = self._known.get(key)
        if known and known[0] > now:
            return known[1]
        found, exists = await self._look(noun, name)
        if exists:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = now + KNOWN_FOR, found
        return found if exists or create else None

    async def _look(self, noun: str, name: str) -> tuple[Any, bool]:
        adeq = self.adeq
        if noun == "queue" and adeq.slot is None:
            queue = adeq.partitioned(name)
            if len(await queue.partitions()) > 1:
                return queue, True
        found = adeq.noun(noun, name)
        bases = getattr(found, "bases", (found.base,))
        for base in bases:
            if await ask(adeq, "exists", f"{base}:config"):
                return found, True
        if noun == "queue" and await ask(
            adeq, "exists", f"{found.base}:workers"
        ):  # they may come before the first task
            return found, True
        return found, False


@dataclass(frozen=True)
class Access:
    """The access of a caller to one object of a noun, with the right that the operation needs.

    found: the object, such as a queue. scope: the scope that gives the right.
    """

    adeq: Adeq
    found: Any
    name: str
    principal: Principal
    scope: Scope

    @property
    def may_reveal(self) -> bool:
        """Whether what a tier hides may be shown."""
        return REVEAL in self.scope.rights

    @property
    def acts_as(self) -> str:
        """The name under which they act in changes."""
        return (self.scope.user or self.principal.name).lower()

    def words(self, filter: Mapping[str, object]) -> frozenset[str]:
        """The conditions that do not match a task whose tier hides them. That of the scope is no secret of others."""
        own = {"user"} if self.scope.user is not None else set()
        return frozenset() if self.may_reveal else tiers.words_of(filter.keys() - own)

    def with_right(self, right: str, *, by_user: bool = False) -> Access:
        """Return the access by a scope that has this right. Refused if there is none."""
        for scope in self.principal.scopes_of(self.name):
            if right in scope.rights and (by_user or scope.user is None):
                return replace(self, scope=scope)
        raise Refused(403, "FORBIDDEN", f"{self.principal.name} does not have the right {right} in {self.name!r}")


def field_of(noun: str) -> str:
    """What paths call the name of one of a noun: `queue`, `domain`, `realm` …"""
    return str(library().manifest["nouns"][noun]["field"])


def access(noun: str, *rights: str, create: bool = False, by_user: bool = False, feeds: bool = False) -> Any:
    """A dependency: the object that the path names, for somebody with one of these rights.

    create: one that does not exist is accepted; the operation creates it.
    by_user: the operation keeps to the user of the scope, if there is one. All others refuse such scopes.
    feeds: it puts tasks into a queue.
    """
    field = field_of(noun)

    async def find(request: Request, name: str) -> Access:
        return await enter(request, noun, name, *rights, create=create, by_user=by_user, feeds=feeds)

    # The annotations of this module are texts, and `field` is known only here.
    find.__annotations__ |= {
        "request": Request,
        "name": Annotated[str, Path(alias=field, json_schema_extra=described("name"))],
    }
    return Depends(find)


async def enter(
    request: Request,
    noun: str,
    name: str,
    *rights: str,
    create: bool = False,
    by_user: bool = False,
    feeds: bool = False,
) -> Access:
    """Find an object for somebody with one of these rights, as `access` does: for a name that is not in the path."""
    field = field_of(noun)
    gate: Gate = request.app.state.gate
    principal = await gate.principal(request)
    if noun == "queue" and name in QUEUES and (feeds or WRITERS.issuperset(rights)):
        raise Refused(403, "FORBIDDEN", f"queue {name!r}: only its service writes to it, as each of its tasks is sent")
    manages = any(WEBHOOKS in scope.rights for scope in principal.scopes)
    if noun == "queue" and name in QUEUES and "queue.operate" in rights and not manages:
        raise Refused(403, "FORBIDDEN", f"queue {name!r}: to change it, one needs the right {WEBHOOKS}, too")
    scopes = [] if name.startswith(OWN) else principal.scopes_of(name)
    fits = [scope for scope in scopes if scope.rights.intersection(rights) and (by_user or scope.user is None)]
    if not scopes:
        raise missing(field, name)
    if not fits:
        wanted = " or ".join(rights)
        raise Refused(403, "FORBIDDEN", f"{principal.name} does not have the right {wanted} in {field} {name!r}")
    found = await gate.find(noun, name, create)
    if found is None:
        raise missing(field, name)
    return Access(gate.adeq, found, name, principal, fits[0])


def described(kind: Literal["id", "name"]) -> dict[str, Any]:
    """What the description of the service says of an id or a name. Own checks refuse others, in clearer words."""
    pattern = PATTERNS[kind]
    assert isinstance(pattern, re.Pattern)
    return {"pattern": f"^{pattern.pattern}$"}


def missing(what: str, name: str) -> Refused:
    """The problem of what does not exist, or must not be known."""
    return Refused(404, "NOT_FOUND", f"there is no {what} {name!r}")
