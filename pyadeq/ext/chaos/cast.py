"""The roles of clients in a chaos run, and how many of each there are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from pyadeq.ext.chaos.change import workload as changes
from pyadeq.ext.chaos.rate import workload as rates
from pyadeq.ext.chaos.session import workload as sessions
from pyadeq.ext.chaos.workload import ROLES as OTHERS
from pyadeq.ext.chaos.workload import Client, operate

CAST: Final[Mapping[str, int]] = {
    "producer": 3, "worker": 3, "owner": 2, "operator": 1, "proposer": 1, "voter": 2, "applier": 2, "sweeper": 1,
    "visitor": 2, "caller": 2,
}  # fmt: skip
FREEZABLE: Final = ("worker", "owner", "voter", "applier", "sweeper", "changer", "visitor", "caller", "guest", "helper")
"""Clients that hold leases, or others that may stand still."""


async def be_guest(client: Client) -> None:
    """Sessions and rates in one process."""
    await asyncio.gather(sessions.visit(client), rates.call(client))


async def help_out(client: Client) -> None:
    """All that has no process of its own."""
    await asyncio.gather(operate(client), changes.take_part(client), be_guest(client))


ROLES: Final[Mapping[str, Callable[[Client], Awaitable[None]]]] = {
    **OTHERS,
    **changes.ROLES,
    "visitor": sessions.visit,
    "caller": rates.call,
    "guest": be_guest,
    "helper": help_out,
}


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
