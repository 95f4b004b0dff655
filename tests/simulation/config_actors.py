"""What each role does with configs, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from typing import Any

from pyadeq.asyncio import Adeq, ConfigSnapshot
from pyadeq.ext.prove.chaos.config.recorder import RecordedConfig
from pyadeq.ext.prove.chaos.recorder import Recorder
from tests.simulation.clients import DOMAIN, Clients
from tests.simulation.config_story import NAMES, TOGETHER
from tests.simulation.steps import Step

CALM = 12.0  # seconds in which late copies of calls arrive
PATIENCE, LOOK = 40.0, 0.5  # seconds in which a snapshot has to learn of a write, whatever happens, and between looks
REMOVED = 1.0  # seconds for which a removal is known


async def set_up(recorder: Recorder, adeq: Adeq) -> list[str]:
    """Make a namespace with a test clock; its base."""
    config = adeq.config(DOMAIN)
    await config.configure(clock="test", events_max=1_000_000, removed=REMOVED)
    return [config.base]


async def look(to: Clients) -> None:
    """When no other call is on its way any more, read all names."""
    await asyncio.sleep(CALM)
    await to.noun(RecordedConfig).get_many({*NAMES, *TOGETHER})


async def play(to: Clients, step: Step) -> None:
    """One step of an actor."""
    verb, options = step
    config, name, who = to.noun(RecordedConfig), options.get("name", ""), options.get("who", "")
    match verb:
        case "replace":
            await _replace(config, options)
        case "set":
            await config.set(name, who, actor=who)
        case "set together":
            await _write_together(config, await _snapshot(to), options)
        case "remove":
            found = await config.get(name) if options["expects"] else None
            await config.remove(name, expect=found and found.version, actor=who)
        case "revert":
            versions = [one async for one in config.history(name)]
            if len(versions) > 1:
                await config.revert(name, versions[1].version, actor=who)
        case "read":
            await config.get_many({*NAMES, *TOGETHER})
        case "see":
            await config.see(await _snapshot(to), to.id)
        case "catch up":
            await _catch_up(config, await _snapshot(to), to.id)
        case _:
            raise ValueError(verb)


async def _snapshot(to: Clients) -> ConfigSnapshot:
    """The snapshot of this process."""
    if "snapshot" not in to.own:
        to.own["snapshot"] = to.noun(RecordedConfig).watch()
        await to.own["snapshot"].start(wait=0)
    found: ConfigSnapshot = to.own["snapshot"]
    return found


async def _replace(config: RecordedConfig, options: dict[str, Any]) -> None:
    name, who = options["name"], options["who"]
    found = await config.get(name)
    await asyncio.sleep(options["thinks"])
    expect = 0 if found is None else found.version
    actors = [who, f"{who}b"][: options["times"]]
    await asyncio.gather(*(config.set(name, one, expect=expect, actor=one) for one in actors))


async def _write_together(config: RecordedConfig, snapshot: ConfigSnapshot, options: dict[str, Any]) -> None:
    who, removed = options["who"], TOGETHER[1:] if options["removes"] else ()
    known = {name: found.version if (found := snapshot.get(name)) else 0 for name in TOGETHER}
    values = {name: who for name in TOGETHER if name not in removed}
    await config.set_many(values, remove=removed, expect=known if options["expects"] else None, actor=who)


async def _catch_up(config: RecordedConfig, snapshot: ConfigSnapshot, id: str) -> None:
    """At the end, a snapshot has to learn of all that was written before."""
    rev = await config.present_rev(NAMES[0])
    for _ in range(round(PATIENCE / LOOK)):
        if snapshot.rev >= rev:
            break
        await asyncio.sleep(LOOK)
    await config.see(snapshot, id, rev)
