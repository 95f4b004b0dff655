"""What each role does with changes, with the real client, and whatever happens to it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from pyadeq.asyncio import Adeq, Change
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.chaos.change.recorder import RecordedChanges
from tests.simulation.change_story import POLICIES
from tests.simulation.steps import Step

LONGER = 6.0  # seconds that no lease lasts
SWEEPS = 40  # in which all that is left ends


async def set_up(adeq: Adeq, domain: str, settings: dict[str, Any]) -> None:
    """Make a domain with a test clock, and its policies."""
    changes = adeq.changes(domain)
    await changes.configure(clock="test", **settings)
    for name, policy in POLICIES.items():
        await changes.policies.set(name, **policy)


async def work_off(adeq: Adeq, domain: str) -> list[str]:
    """Let all runs end; what does not."""
    changes = adeq.changes(domain)
    for _ in range(SWEEPS):
        swept = await changes.sweep()
        if not swept.more and not (await changes.stats()).states["applying"]:
            return []
        await asyncio.sleep(1)
    return ["a run does not end"]


async def play(changes: RecordedChanges, name: str, step: Step) -> None:
    """One step of an actor with this name."""
    verb, options = step
    match verb:
        case "write":
            await _write(changes, options)
        case "submit" | "vote" | "assess" | "override" | "apply" | "block":
            seen = await changes.get(options["id"])
            if seen is not None:
                await asyncio.sleep(options.get("thinks", 0))
                await WITH_CHANGE[verb](changes, name, seen, options)
        case "withdraw" | "cancel" | "reopen":
            await getattr(changes, verb)(options["id"], reason="by chance", **options["who"])
        case "delegate":
            await changes.delegate(options["id"], options["to"], **options["who"])
        case "take back":
            await changes.take_back(options["id"], **options["who"])
        case "add":
            await changes.add_request(options["id"], "user:dora", actor="operator", reason="by chance")
        case "dismiss":
            await changes.dismiss_answer(options["id"], 1, actor="operator", reason="by chance")
        case "away":
            item = {"name": "away", "to": options["to"], "cascade": True}
            await changes.call("set_delegations", user=options["who"]["actor"], item=[item])
        case "sweep":
            await changes.sweep(options["limit"])
        case _:
            raise ValueError(verb)


async def _write(changes: RecordedChanges, options: dict[str, Any]) -> None:
    seen = await changes.get(options["id"])
    what, tags = options["what"], [options["tag"]] if options["tag"] else []
    await changes.put(
        options["id"],
        expect_rev=seen.rev if seen else 0,
        type="deploy",
        description=f"version {what}",
        parameters=b"x" * what,
        resources=["host:a", "host:b"][:what],
        tags=tags,
        **options["who"],
    )


async def _submit(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    await changes.submit(seen, policy=options["policy"], **options["who"])


async def _vote(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    voter = {**options["who"], "groups": options["groups"]}
    if options["votes"] == "comment":
        await changes.comment(seen, "looks good", **voter)
    else:
        await getattr(changes, options["votes"])(seen, **voter)


async def _assess(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    await changes.assess(seen, score=options["score"], auto_approvable=True, **options["who"])


async def _override(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    await changes.override(seen, reason="by chance", **options["who"])


async def _apply(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    begun = await changes.begin(seen, agent=name)
    if begun.status != "begun" or options["ends"] == "forget":
        return
    await asyncio.sleep(options["takes"])
    await changes.heartbeat(seen.id, begun.token)
    if options["ends"] == "late":
        await asyncio.sleep(LONGER)
    ends: Any = options["ends"] if options["ends"] not in ("late", "twice") else "success"
    await changes.finish(seen.id, begun.token, ends, retry=options["retry"])
    if options["ends"] == "twice":
        await changes.finish(seen.id, begun.token, "failure")


async def _apply_in_block(changes: RecordedChanges, name: str, seen: Change, options: dict[str, Any]) -> None:
    with suppress(ValueError, AdeqError):
        async with changes.apply(seen, agent=name, retry=options["retry"]) as run:
            await asyncio.sleep(options["takes"])
            run.check()
            if options["ends"] == "failure":
                raise ValueError("it went wrong")


WITH_CHANGE = {
    "submit": _submit,
    "vote": _vote,
    "assess": _assess,
    "override": _override,
    "apply": _apply,
    "block": _apply_in_block,
}
