"""Codes in links of posts: each allows one action on one task, once, within a day.

A code is a session of the realm `_codes`, which the server has as a hash only. Its user is the endpoint of the post.
So it is no code to log in: the user of such a one is the id of a token.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from pyadeq.asyncio import Adeq
from pyadeq.ext.posts.content import ACTS

if TYPE_CHECKING:
    from pyadeq.models.session import Session

REALM: Final = "_codes"
LIFETIME: Final = 86_400.0
ACTOR: Final = "post:"
"""How the user of such a code begins, before the id of the endpoint. It is the source of what the code has done."""


class Allowed(NamedTuple):
    """What a code allows."""

    verb: str
    queue: str
    id: str


async def new_codes(adeq: Adeq, endpoint: str, queue: str, id: str) -> Mapping[str, str]:
    """Make a code for each action on a dead task. Of an endpoint, 1,000 codes are valid; a new one ends the oldest."""
    sessions = adeq.sessions(REALM)
    made = {}
    for verb in ACTS:
        data = json.dumps(Allowed(verb, queue, id))
        session = await sessions.create(f"{ACTOR}{endpoint}", data=data, idle=LIFETIME, lifetime=LIFETIME)
        made[verb] = session.id
    return made


def actor_of(session: Session | None, wanted: Allowed) -> str | None:
    """Return who acts by a code; None if it is no code, or one for something else."""
    if session is None or not session.user.startswith(ACTOR):
        return None
    try:
        allowed = Allowed(*json.loads(session.data))
    except (ValueError, TypeError):
        return None
    return session.user if allowed == wanted else None
