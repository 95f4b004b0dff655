"""What each role does with events, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.errors import UnknownGroup
from pyadeq.ext.prove.chaos.events.recorder import BOUND, RecordedEvents, namespace_of, stream_of
from pyadeq.ext.prove.chaos.events.workload import GROUPS, HOLD
from pyadeq.ext.prove.chaos.recorder import Recorder
from tests.simulation.clients import DOMAIN, Clients
from tests.simulation.steps import Step

CALM = 12.0  # seconds in which late copies of calls arrive


async def set_up(recorder: Recorder, adeq: Adeq) -> list[str]:
    """Make a namespace with a test clock, and groups that read its events; its base."""
    await adeq.config(namespace_of(DOMAIN)).configure(clock="test", events_max=BOUND)
    events: Any = stream_of(adeq, DOMAIN)
    await events.configure(clock="test")
    for group in GROUPS:
        await events.add(group)
    return [events.base]


async def look(to: Clients) -> None:
    """When no other call is on its way any more, `read_groups` reads all that is left."""
    await asyncio.sleep(CALM)


async def play(to: Clients, step: Step) -> None:
    """One step of an actor."""
    verb, options = step
    events = to.noun(RecordedEvents)
    match verb:
        case "write":
            names = [f"n{number}" for number in range(options["events"])]
            await to.adeq.config(namespace_of(DOMAIN)).set_many(dict.fromkeys(names, options["who"]))
        case "read":
            await _read(events, options)
        case "look":
            await events.groups()
        case "trim":
            await events.trim()
        case _:
            raise ValueError(verb)


async def _read(events: RecordedEvents, options: dict[str, Any]) -> None:
    group = options["group"]
    try:
        found = await events.read(group, limit=options["limit"], hold=HOLD)
        await asyncio.sleep(options["takes"])
        for _ in range({"ack": 1, "ack twice": 2, "forget": 0}[options["does"]]):
            await events.ack(group, found)
    except UnknownGroup:  # the server has lost it
        await events.add(group)
