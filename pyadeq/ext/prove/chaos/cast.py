"""The roles of clients in a chaos run, and how many of each there are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from pyadeq.ext.prove.chaos.part import Play
from pyadeq.ext.prove.chaos.parts import PARTS
from pyadeq.ext.prove.chaos.workload import ROLES as OTHERS
from pyadeq.ext.prove.chaos.workload import Client, operate

CAST: Final[Mapping[str, int]] = {
    "producer": 3, "worker": 3, "owner": 2, "operator": 1,
    **{role: count for part in PARTS.values() for role, count in part.cast.items()},
}  # fmt: skip
_CHANGES: Final = "change"  # which has much to do, and so processes of its own also in a small cast


async def be_guest(client: Client) -> None:
    """Play the roles of sessions, rates and so on in one process."""
    await asyncio.gather(*(part.play(client) for word, part in PARTS.items() if word != _CHANGES))


async def help_out(client: Client) -> None:
    """Play all roles that have no process of their own."""
    await asyncio.gather(operate(client), PARTS[_CHANGES].play(client), be_guest(client))


ROLES: Final[Mapping[str, Play]] = {
    **OTHERS,
    **{role: play for part in PARTS.values() for role, play in part.roles.items()},
    "changer": PARTS[_CHANGES].play,
    "guest": be_guest,
    "helper": help_out,
}
STEADY: Final = ("producer", "operator", "proposer")
"""Clients that hold nothing; so none of them is made to stand still."""
FREEZABLE: Final = tuple(role for role in ROLES if role not in STEADY)


def cast_of(clients: int) -> dict[str, int]:
    """So many processes, at least four, in their roles. With fewer than eight, one of them does several things."""
    if clients < 8:
        others, cast = 1, {"helper": 1}
    else:
        others = clients // 4
        cast = {"operator": 1, "changer": others - others // 2, "guest": others // 2}
    rest = clients - sum(cast.values())
    owners = max(1, rest // 4)
    workers = max(1, (rest - owners) // 2)
    return {"producer": rest - owners - workers, "worker": workers, "owner": owners, **cast}
