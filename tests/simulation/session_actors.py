"""What each role does with sessions, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from hashlib import sha256
from typing import Any

from pyadeq.asyncio import Adeq, Session
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.recorder import Recorder
from pyadeq.ext.prove.chaos.session.recorder import RecordedSessions
from tests.simulation.clients import DOMAIN, Clients
from tests.simulation.session_story import USERS
from tests.simulation.steps import Step

CALM, IDLE = 12.0, 3.5  # seconds
Cookies = dict[str, list[Session]]
"""The sessions that browsers have, by name; the newest is last. All actors use them: they are in Clients.shared."""


async def set_up(recorder: Recorder, adeq: Adeq) -> list[str]:
    """Give the partitions of all users a test clock; their bases."""
    sessions = adeq.sessions(DOMAIN)
    tags = {sha256(f"{DOMAIN}\0{user}".encode()).hexdigest()[:2] for user in USERS}
    for tag in sorted(tags):
        await adeq.send(sessions.part(tag).build("configure", clock="test"))
    return [base for tag, base in zip(sessions.tags, sessions.bases, strict=True) if tag in tags]


async def look(to: Clients) -> None:
    """When no other call is on its way any more, look at all that there is, and again after the shorter idle times."""
    cookies: Cookies = to.shared
    for seconds in (CALM, IDLE):
        await asyncio.sleep(seconds)
        for session in [one for own in cookies.values() for one in own]:
            with suppress(AdeqError):
                await to.noun(RecordedSessions).get(session.id, touch=False)


async def play(to: Clients, step: Step) -> None:
    """One step of an actor."""
    verb, options = step
    sessions, cookies = to.noun(RecordedSessions), to.shared
    if verb == "log in":
        expect = await sessions.user(options["login"]["user"]) if options["expects"] else None
        made = await sessions.create(**options["login"], expect=expect)
        cookies.setdefault(options["cookie"], []).append(made)
        return
    known = cookies.get(options["cookie"])
    if not known:
        return
    session = known[-1]
    match verb:
        case "use":
            await sessions.get(session.id, touch=options["touch"])
        case "update":
            await _update(sessions, session, options)
        case "rotate":
            rotated = await sessions.rotate(session, grace=options["grace"])
            if rotated and not rotated.rotated:
                known.append(rotated)
        case "use older":
            await _use_older(sessions, known[-2:][0], options["by"])
        case "revoke":
            await sessions.revoke(session.id)
            await sessions.get(session.id)
        case "revoke by handle":
            await sessions.revoke_handles(session.user, [session.handle])
        case "revoke all":
            kept = {None: None, "newest": session.id, "older": known[-2:][0].id}[options["keeps"]]
            await sessions.revoke_all(options["user"], keep=kept)
        case _:
            raise ValueError(verb)


async def _update(sessions: RecordedSessions, session: Session, options: dict[str, Any]) -> None:
    read = await sessions.get(session.id)
    if read:
        await asyncio.sleep(options["thinks"])
        await sessions.update(read, data=options["data"])
        await sessions.get(session.id, touch=False)


async def _use_older(sessions: RecordedSessions, session: Session, by: str) -> None:
    if by == "get":
        await sessions.get(session.id)
    elif by == "update":
        read = await sessions.get(session.id)
        await sessions.update(read or session, data="by an older id")
    else:
        await sessions.rotate(session)
