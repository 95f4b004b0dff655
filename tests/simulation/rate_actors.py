"""What each role does with rates, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from typing import Any

from pyadeq.asyncio import Adeq
from pyadeq.ext.prove.chaos.rate.recorder import RecordedRates
from pyadeq.ext.prove.chaos.recorder import Recorder
from pyadeq.ids import new_ulid
from tests.simulation.clients import DOMAIN, Clients
from tests.simulation.rate_story import LEASE, RULES, SUBJECTS
from tests.simulation.steps import Step


async def set_up(recorder: Recorder, adeq: Adeq) -> list[str]:
    """Make a namespace with a test clock, and its rules; its base."""
    rates = RecordedRates(recorder, adeq, DOMAIN, "founder")
    await rates.configure(clock="test")
    for name, forms in RULES.items():
        await rates.set(name, **forms[0])
    return [rates.base]


async def look(to: Clients) -> None:
    """After the longest lease, each place is free again."""
    await asyncio.sleep(LEASE * 1.1)
    for subject in sorted(set(SUBJECTS)):
        await to.noun(RecordedRates).hit("slots", subject, remember=True)


async def play(to: Clients, step: Step) -> None:
    """One step of an actor."""
    verb, options = step
    rates = to.noun(RecordedRates)
    match verb:
        case "hit":
            hits = [(options["rule"], options["subject"], options["cost"])]
            await _hit(rates, hits, options["times"])
        case "several":
            await _hit(rates, [(rule, options["subject"]) for rule in options["rules"]], options["times"])
        case "hold":
            await _hold(rates, options)
        case "change":
            await rates.set(options["rule"], **RULES[options["rule"]][options["to"]])
        case "refund":
            await rates.refund(options["rule"], options["subject"])
        case "peek":
            await rates.peek(options["rule"], options["subject"])
        case _:
            raise ValueError(verb)


async def _hit(rates: RecordedRates, hits: list[Any], times: int) -> None:
    rid = new_ulid()
    if times == 0:
        await rates.hit_all(hits)
    else:
        await asyncio.gather(*(rates.hit_all(hits, rid=rid) for _ in range(times)))


async def _hold(rates: RecordedRates, options: dict[str, Any]) -> None:
    rid, subject = new_ulid(), options["subject"]
    if not await rates.hit("slots", subject, rid=rid):
        return
    await asyncio.sleep(options["takes"])
    if options["ends"] == "renew":
        await rates.renew("slots", subject, rid)
        await asyncio.sleep(options["takes"])
    if options["ends"] != "forget":
        await rates.release("slots", subject, rid)
