"""What the clients of a chaos run do with configs: write the same names, read them, and watch them in a snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, Final

from pyadeq import Adeq
from pyadeq.asyncio import ConfigSnapshot
from pyadeq.errors import BadArgument, ConfigConflict, TransportError
from pyadeq.ext.prove.chaos.config.recorder import RecordedConfig
from pyadeq.ext.prove.chaos.workload import PAUSE, Client, Scene, tried

NAMES: Final = ("red", "blue", "green", "left", "right")
TOGETHER: Final = ("left", "right")  # which are often written by one call
FLOWS: Final = 2  # of one process
PACE: Final = 6.0  # steps a second of each
POLL: Final = 0.5  # seconds
PATIENCE: Final = 8.0  # seconds in which a snapshot has to learn of the last write
REMOVED: Final = 1.0  # seconds for which a removal is known
_try = partial(tried, but=(ConfigConflict,))


def set_up(adeq: Adeq, scene: Scene) -> None:
    """Let the namespace keep all events, and forget removed names soon."""
    adeq.config(scene.domain).configure(events_max=10_000_000, removed=REMOVED)


async def edit(client: Client) -> None:
    """Write, read and watch, in several flows."""
    config, calls = client.noun(RecordedConfig), count(1)
    snapshot = config.watch(poll=POLL)
    await snapshot.start(wait=0)
    await asyncio.gather(*(_flow(client, snapshot, calls) for _ in range(FLOWS)))
    await _catch_up(config, snapshot, client.name)


async def _flow(client: Client, snapshot: ConfigSnapshot, calls: Iterator[int]) -> None:
    random, config = client.random, client.noun(RecordedConfig)
    while not client.stopped.is_set():
        chance, name = random.random(), random.choice(NAMES)
        who = f"{client.name}.{next(calls)}"  # whose call it is: of no other
        if chance < 0.3:
            await _replace(client, name, who, calls)
        elif chance < 0.4:
            await _try(config.set(name, who, actor=who))
        elif chance < 0.5:
            await _write_together(client, snapshot, who)
        elif chance < 0.6:
            await _remove(client, name, who)
        elif chance < 0.65:
            await _revert(config, name, who)
        elif chance < 0.85:
            await _try(config.get_many(random.sample(NAMES, random.randint(1, len(NAMES)))))
        else:
            await config.see(snapshot, client.name)
        await client.idle(random.expovariate(PACE))


async def _replace(client: Client, name: str, who: str, calls: Iterator[int]) -> None:
    """Write what was read, if it is as it was; often twice at the same time, of which one is refused."""
    config = client.noun(RecordedConfig)
    with suppress(TransportError):
        found = await config.get(name)
        expect = 0 if found is None else found.version
        actors = [who, f"{client.name}.{next(calls)}"][: 2 if client.chance(0.4) else 1]
        await asyncio.gather(*(_try(config.set(name, one, expect=expect, actor=one)) for one in actors))


async def _write_together(client: Client, snapshot: ConfigSnapshot, who: str) -> None:
    """Write two names at once; sometimes only if they are as the snapshot shows them, or one of them is removed."""
    config = client.noun(RecordedConfig)
    known = {name: found.version if (found := snapshot.get(name)) else 0 for name in TOGETHER}
    expect = known if client.chance(0.5) else None
    removed = TOGETHER[1:] if client.chance(0.2) else ()
    values = dict.fromkeys(TOGETHER[: len(TOGETHER) - len(removed)], who)
    await _try(config.set_many(values, remove=removed, expect=expect, actor=who))


async def _remove(client: Client, name: str, who: str) -> None:
    config = client.noun(RecordedConfig)
    found = await _try(config.get(name)) if client.chance(0.5) else None
    await _try(config.remove(name, expect=found and found.version, actor=who))


async def _revert(config: RecordedConfig, name: str, who: str) -> None:
    """Set a name to what it was before."""
    versions = await _try(_history(config, name))
    if versions and len(versions) > 1:
        with suppress(BadArgument):  # it may be forgotten by now
            await _try(config.revert(name, versions[1].version, actor=who))


async def _history(config: RecordedConfig, name: str) -> list[Any]:
    return [one async for one in config.history(name)]


async def _catch_up(config: RecordedConfig, snapshot: ConfigSnapshot, id: str) -> None:
    """At the end, a snapshot has to learn of all that was written before."""
    rev = await _try(config.present_rev(NAMES[0])) or 0
    for _ in range(round(PATIENCE / PAUSE)):
        if snapshot.rev >= rev:
            break
        await asyncio.sleep(PAUSE)
    await config.see(snapshot, id, rev)
