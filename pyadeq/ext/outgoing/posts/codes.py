"""Codes in links of posts: each allows one action on one death of a task, once, within a day.

A code is a session of the realm `_codes`. The server has only its hash. Its user is the endpoint of the post. So it
cannot be used to log in: the user of a login code is the id of a token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, SessionChanged
from pyadeq.ext.outgoing.posts.content import ACTS
from pyadeq.ext.outgoing.times import aio_server_time
from pyadeq.models.queue import TaskView

if TYPE_CHECKING:
    from pyadeq.models.session import Session

REALM: Final = "_codes"
LIFETIME: Final = 86_400.0
ACTING: Final = 60.0
"""Seconds after which an action that has not ended is taken for failed."""
ACTOR: Final = "post:"
"""How the user of such a code begins, before the id of the endpoint. It is the source of what the code has done."""


class Allowed(NamedTuple):
    """What a code allows."""

    verb: str
    queue: str
    id: str


async def new_codes(adeq: Adeq, endpoint: str, queue: str, task: TaskView) -> Mapping[str, str]:
    """Make a code for each action on a dead task. Of an endpoint, 1,000 codes are valid; a new one ends the oldest."""
    sessions = adeq.sessions(REALM)
    made = {}
    for verb in ACTS:
        data = json.dumps([*Allowed(verb, queue, task.id), task.ended])
        session = await sessions.create(f"{ACTOR}{endpoint}", data=data, idle=LIFETIME, lifetime=LIFETIME)
        made[verb] = session.id
    return made


def is_for(session: Session | None, wanted: Allowed) -> bool:
    """Whether this is a code, and one for this action."""
    return session is not None and session.user.startswith(ACTOR) and _read(session)[:3] == [*wanted]


def is_of(session: Session, task: TaskView) -> bool:
    """Whether the task is still as the code found it. If it has died again since, that is for another code."""
    return task.state == "dead" and _read(session)[3:4] == [task.ended]


async def begin(adeq: Adeq, session: Session) -> Session | None:
    """Keep other clicks of the same link away; None if another one acts now, or has acted.

    A process may die before it ends what it has begun. So another click may begin after a minute.
    """
    now, since = await aio_server_time(adeq), _read(session)[4:]
    if since and now - since[0] < ACTING:
        return None
    try:
        return await adeq.sessions(REALM).update(session, data=json.dumps([*_read(session)[:4], now]))
    except SessionChanged:
        return None


async def end(adeq: Adeq, session: Session, *, acted: bool) -> None:
    """Use the code up if it has acted. Otherwise let it be used again."""
    sessions = adeq.sessions(REALM)
    with suppress(AdeqError):  # the server is away: it can be used again in a minute, for the same death only
        if acted:
            await sessions.revoke(session.id)
        else:
            await sessions.update(session, data=json.dumps(_read(session)[:4]))


def _read(session: Session) -> list[Any]:
    try:
        found = json.loads(session.data)
    except ValueError:
        return []
    return found if isinstance(found, list) else []
