"""The events that a caller may see: of which object, of which partitions, and with which role.

Events say what has happened to which task, change, session and so on, and never their contents; see `pyadeq.tiers`.
They do not say whose a task is. So for a scope of one user the server is asked, see `event_streams`. Such a scope gets
only the live events of tasks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request

from pyadeq.asyncio import Events, PartitionedQueue
from pyadeq.ext.operations import ALL
from pyadeq.ext.operations.rights import REVEAL, Principal
from pyadeq.ext.server.gate import OWN, Gate, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.reads import ask
from pyadeq.ext.shared.finding import nouns_with_events

MOST_MERGED: Final = 32
"""Partitions whose events one stream may have. Each costs the process a connection to the server."""
WHOLE: Final = "-"
"""The tag of the stream without partitions."""


@dataclass(frozen=True)
class Reading:
    """Access to the events of one of a noun, or of one of its partitions. noun, name: as in the path.

    streams: by the tags of their partitions. events: those of all of them, or of the only one. users: of whose tasks
    they may be; None: all events. stored: whether the noun has been used.
    """

    gate: Gate
    noun: str
    name: str
    principal: Principal
    streams: dict[str, Events]
    events: Events
    users: frozenset[str] | None
    stored: bool = True

    @property
    def reveals(self) -> bool:
        """Whether what tiers hide may be shown."""
        own = self.name.partition("/")[0]
        return any(REVEAL in scope.rights and scope.user is None for scope in self.principal.scopes_of(own))


def reading(id: str, merged: bool = False, unused: bool = False) -> Any:
    """A dependency: the events that the path names, for somebody who may see them, and has the roles of the operation.

    A queue without a partition means all its partitions. merged: so does each other name, and all are read as one.
    unused: the name may be one that is not used yet.
    """
    operation = ALL[id]
    role, by_user = operation.also.removeprefix("events."), operation.by_user != "refused"

    async def find(
        request: Request,
        noun: Annotated[str, Path(description="Such as `queue`.")],
        name: Annotated[
            str,
            Path(description="A name. With partitions `name%2Fpartition`; `name%2F` is the one before all partitions."),
        ],
    ) -> Reading:
        gate: Gate = request.app.state.gate
        principal = await gate.principal(request)
        own, slash, tag = name.partition("/")
        if noun not in nouns_with_events():
            raise missing("noun", noun)
        users = check(principal, noun, own, role, by_user)
        found, there, stored = await _look(gate, noun, own, unused)
        if not there:
            raise missing(noun, own)
        of = name if tag else own
        if slash or len(there) == 1:
            there = [of] if of in there else []
            if not there:
                raise missing(noun, name)
        elif len(there) > MOST_MERGED if merged else not isinstance(found, PartitionedQueue):
            each = ", ".join(one if "/" in one else f"{one}/" for one in sorted(there)[:10])
            raise Refused(400, "BAD_REQUEST", f"{noun} {own!r} has partitions; read the events of each: {each} …")
        streams = {one.partition("/")[2] or WHOLE: gate.adeq.events(noun, one) for one in there}
        of_all = isinstance(found, PartitionedQueue) and len(streams) > 1
        events = found.events if of_all else next(iter(streams.values()))
        return Reading(gate, noun, name, principal, streams, events, users, stored)

    find.__annotations__ |= {"request": Request}
    return Depends(find)


def check(principal: Principal, noun: str, name: str, role: str, by_user: bool) -> frozenset[str] | None:
    """Refuse somebody who may not see the events, or does not have the role.

    Returns the users of whose tasks they may see events, which is only allowed `by_user`; None: all events.
    """
    scopes = [] if name.startswith(OWN) else principal.scopes_of(name)
    if not scopes:
        raise missing(noun, name)
    rights = {right for scope in scopes if scope.user is None for right in scope.rights}
    users = frozenset(scope.user for scope in scopes if scope.user is not None and f"{noun}.observe" in scope.rights)
    for right in (f"{noun}.observe", *([f"events.{role}"] if role else [])):
        if right not in rights:
            if by_user and noun == "queue" and users:
                return users
            why = f"{principal.name} does not have the right {right} in {noun} {name!r}"
            raise Refused(403, "FORBIDDEN", f"{why}, or only for one user")
    return None


async def streams_of(gate: Gate, noun: str, name: str) -> list[str]:
    """The names of the streams of an object: its own, or those of its partitions. [] if there is none."""
    return (await _look(gate, noun, name))[1]


async def _look(gate: Gate, noun: str, name: str, unused: bool = False) -> tuple[Any, list[str], bool]:
    """The object, the names of its streams, and whether it is stored. If not, it must be `unused` or have groups."""
    found: Any = await gate.find(noun, name, False)
    stored = found is not None
    if not stored:
        found = await gate.find(noun, name, True)
        if not unused and not await ask(gate.adeq, "exists", f"{found.base}:events:groups"):
            return None, [], False
    if isinstance(found, PartitionedQueue):
        bases = [one.base for one in await found.partitions()]
    else:
        bases = list(getattr(found, "bases", (found.base,)))
    return found, [base.rpartition(":")[2].removesuffix("}") for base in bases], stored
