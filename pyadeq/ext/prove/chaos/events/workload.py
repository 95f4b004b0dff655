"""What the clients of a chaos run do with events: write some, and read them in a quick and a slow group."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from pyadeq import Adeq
from pyadeq.errors import AdeqError, DurabilityError, TransportError, UnknownGroup
from pyadeq.ext.prove.chaos.events.recorder import BOUND, RecordedEvents, namespace_of, stream_of
from pyadeq.ext.prove.chaos.workload import Client, Scene

GROUPS: Final = ("quick", "slow")
HOLD: Final = 1.0  # seconds
PACE: Final = 20.0  # steps a second


def set_up(adeq: Adeq, scene: Scene) -> None:
    """Let the stream be short, so that a slow group loses events."""
    adeq.config(namespace_of(scene.domain)).configure(events_max=BOUND)
    for group in GROUPS:
        stream_of(adeq, scene.domain).add(group)


async def follow(client: Client) -> None:
    """Write and read."""
    events, config = client.noun(RecordedEvents), client.adeq.config(namespace_of(client.scene.domain))
    while not client.stopped.is_set():
        chance = client.random.random()
        try:
            if chance < 0.5:
                await config.set_many(dict.fromkeys("abcde", client.name))
            elif chance < 0.9:
                await _read(client, events, "quick")
            elif chance < 0.92:
                await _read(client, events, "slow")
            else:
                await events.groups()
        except UnknownGroup:  # the server has lost it
            await _register(events)
        except (TransportError, DurabilityError):
            pass
        await client.idle(client.random.expovariate(PACE))


async def _read(client: Client, events: RecordedEvents, group: str) -> None:
    """Read and acknowledge; sometimes the work is not done in time, and sometimes an acknowledgement comes twice."""
    found = await events.read(group, limit=client.random.choice([1, 10, 30]), hold=HOLD)
    if client.chance(0.1):
        await client.idle(HOLD * 1.5)
    if client.chance(0.1):
        return
    for _ in range(2 if client.chance(0.1) else 1):
        await events.ack(group, found)


async def _register(events: RecordedEvents) -> None:
    with suppress(AdeqError):  # the namespace may be lost, too, until the next write
        for group in GROUPS:
            await events.add(group)
