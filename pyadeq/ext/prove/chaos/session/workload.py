"""What the clients of a chaos run do with sessions: log in, use, change, rotate and end them, several at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from typing import Any, Final

from pyadeq import Adeq
from pyadeq.asyncio import Session
from pyadeq.errors import SessionChanged, SessionRefused
from pyadeq.ext.prove.chaos.session.recorder import RecordedSessions
from pyadeq.ext.prove.chaos.workload import Client, tried

USERS: Final = ("ann", "bob", "cid", "dora")
CROWDED: Final = "crowd"  # who has as many sessions as allowed
LIMIT: Final = 3
TABS: Final = 3  # flows of one process
KNOWN: Final = 24  # ids that a process uses, also of sessions that have ended
_try = partial(tried, but=(SessionRefused, SessionChanged))


def bases(adeq: Adeq, realm: str) -> Iterator[str]:
    """The partitions that the clients use."""
    sessions = adeq.sessions(realm)
    found = dict(zip(sessions.tags, sessions.bases, strict=True))
    tags = {sha256(f"{realm}\0{user}".encode()).hexdigest()[:2] for user in (*USERS, CROWDED)}
    yield from (found[tag] for tag in sorted(tags))


def _sessions(client: Client) -> RecordedSessions:
    return client.noun(RecordedSessions)


async def visit(client: Client) -> None:
    """Use sessions in several flows, which know the same ids."""
    known: list[Session] = []
    await asyncio.gather(*(_browse(client, known) for _ in range(TABS)))


async def _browse(client: Client, known: list[Session]) -> None:
    number = 0
    while not client.stopped.is_set():
        number += 1
        chance = client.random.random()
        if not known or chance < 0.12:
            await _log_in(client, known)
        elif chance < 0.62:
            await _read(client, known)
        elif chance < 0.78:
            await _change(client, client.random.choice(known), number)
        elif chance < 0.88:
            await _rotate(client, known)
        else:
            await _log_out(client, client.random.choice(known))
        del known[:-KNOWN]
        await client.idle(client.random.random() * 0.08)


async def _log_in(client: Client, known: list[Session]) -> None:
    random, user = client.random, client.random.choice((*USERS, CROWDED, CROWDED))
    options: dict[str, Any] = {
        "idle": random.choice((1.0, 2.0, 60.0, 60.0)),
        "lifetime": random.choice((1.5, 4.0, 600.0)),
    }
    if user == CROWDED:
        options = {"limit": LIMIT, "when_full": random.choice(("end_oldest", "end_oldest", "refuse"))}
    if client.chance(0.3):
        options["expect"] = await _try(_sessions(client).user(user))
    made = await _try(_sessions(client).create(user, **options))
    if made is not None:
        known.append(made)
        for other in [one for one in known if one.user == user == CROWDED][-LIMIT - 1 :]:
            await _try(_sessions(client).get(other.id))


async def _read(client: Client, known: list[Session]) -> None:
    session = client.random.choice(known)
    found = await _try(_sessions(client).get(session.id, touch=client.chance(0.7)))
    if found is None and session in known and client.chance(0.5):
        known.remove(session)


async def _change(client: Client, session: Session, number: int) -> None:
    """Update a session as it was read; often twice from the same reading, of which one is refused."""
    read = await _try(_sessions(client).get(session.id))
    if read is None:
        return
    texts = [f"{client.name}.{number}.{id(read)}.{one}" for one in range(2 if client.chance(0.4) else 1)]
    await asyncio.gather(*(_try(_sessions(client).update(read, data=data)) for data in texts))
    await _try(_sessions(client).get(session.id, touch=False))


async def _rotate(client: Client, known: list[Session]) -> None:
    """Give a session another id, and use the older one, which may only read."""
    session = client.random.choice(known)
    rotated = await _try(_sessions(client).rotate(session, grace=client.random.choice((0, 0.5, 2))))
    if rotated is not None and not rotated.rotated:
        known.append(rotated)
    calls = (
        _sessions(client).get(session.id),
        _sessions(client).update(session, data="with an older id"),
        _sessions(client).rotate(session),
    )
    chosen = client.random.randrange(len(calls))
    for number, call in enumerate(calls):
        if number == chosen:
            await _try(call)
        else:
            call.close()


async def _log_out(client: Client, session: Session) -> None:
    """End a session, or others of the user, and look whether it has ended."""
    chance = client.random.random()
    if chance < 0.6:
        await _try(_sessions(client).revoke(session.id))
    elif chance < 0.8:
        entries = await _try(_entries(client, session.user))
        if entries:
            await _try(_sessions(client).revoke_handles(session.user, [client.random.choice(entries).handle]))
    elif session.user != CROWDED:
        keep = session.id if client.chance(0.5) else None
        await _try(_sessions(client).revoke_all(session.user, keep=keep))
    await _try(_sessions(client).get(session.id))


async def _entries(client: Client, user: str) -> list[Any]:
    return [entry async for entry in _sessions(client).iterate(user)]
