"""`adeq lock watch`: what happens to locks, as it happens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.text import Text

from pyadeq import Adeq, HeldLock
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.lock.listing import mode_of
from pyadeq.ext.cli.shared.arguments import Domain, time_option
from pyadeq.ext.cli.shared.common import Format, Output, iso
from pyadeq.ext.cli.shared.follow import follow, printed
from pyadeq.ext.cli.shared.resolve import existing_domain
from pyadeq.ext.cli.shared.running import Lines, with_client
from pyadeq.ext.shared.terminal import safe
from pyadeq.keys import check_name

SHORTEST = 0.05  # seconds between two looks
MODES = {"x": "exclusive", "s": "shared", "p": "permit"}
STYLES = {"acquired": "green", "expired": "bold red", "deadlock": "bold red", "cancelled": "yellow", "queued": "cyan"}
PAYLOAD = re.compile(r"owner=(\S+) agent=(\S+) locks=(\S+)(?: (.*))?", re.DOTALL)


@with_client
def watch(
    adeq: Adeq,
    resource: Annotated[
        str | None, typer.Argument(metavar="[RESOURCE]", help="Only this resource. [default: the whole domain]")
    ] = None,
    domain: Domain = "default",
    interval: Annotated[float, time_option("Time between two reads.")] = "200ms",  # type: ignore[assignment]
    seconds: Annotated[float | None, time_option("End after this time.", "--for")] = None,
    output: Output = Format.table,
) -> Lines | None:
    """Follow events from now on: acquires, releases, waits, hand-overs and losses. Ctrl-C ends it.

    There is one line for each event, in the order of the domain's event stream; none is left out. With -o json, the
    events are one array, at the end.
    """
    if resource is not None:
        check_name("resource", resource, "id")
    locks = existing_domain(adeq, domain)
    if locks.stats().settings.events_max == 0:
        raise ConfigError(f"{domain} writes no events: adeq lock configure --domain {domain} --events-max 100000")
    events = map(_event, follow(adeq, f"{locks.base}:events", max(interval, SHORTEST), seconds))
    fits = (one for one in events if resource is None or any(lock["resource"] == resource for lock in one["locks"]))
    return printed(fits, output, _line)


def _event(texts: Mapping[str, str]) -> dict[str, Any]:
    """An entry of the stream as JSON."""
    time = int(texts["timestamp"]) / 1000
    event: dict[str, Any] = {
        "time": time,
        "time_iso": iso(time),
        "event": texts["event"].removeprefix("lock."),
        "rid": texts["id"],
        "owner": None,
        "agent": None,
        "locks": [],
    }
    if match := PAYLOAD.fullmatch(texts.get("payload", "")):
        event |= {"owner": match[1], "agent": match[2], "locks": [_lock(part) for part in match[3].split(",")]}
        event |= _detail(match[4] or "")
    return event | {name: texts[name] for name in ("source", "trace") if name in texts}


def _lock(part: str) -> dict[str, Any]:
    """`<code>/<fence>=<resource>`"""
    code, fence, resource = re.split("[/=]", part, maxsplit=2)
    permits = int(code[1:].rstrip("+") or 1)
    return {"resource": resource, "mode": MODES[code[0]], "permits": permits, "fence": int(fence) or None}


def _detail(text: str) -> dict[str, Any]:
    """`reason=expired`, `by=force reason=…` or `cycle=<owner>><code>><resource> …`; the last goes to the end."""
    detail: dict[str, Any] = {}
    while text:
        name, _, rest = text.partition("=")
        value, text = rest.split(" ", 1) if name == "by" and " " in rest else (rest, "")
        detail[name] = value
    if "cycle" in detail:
        steps = detail["cycle"].split(" ")
        if ">" not in steps[-1]:  # +<n>: owners of a long cycle that are not named
            detail["cycle_cut"] = int(steps.pop())
        detail["cycle"] = [_step(step) for step in steps]
    return detail


def _step(text: str) -> dict[str, Any]:
    owner, code, resource = text.split(">", 2)
    return {"owner": owner, **_lock(f"{code}/0={resource}")}


def _line(event: dict[str, Any]) -> Text:
    agent = "" if event["agent"] == event["owner"] else f" of {event['agent']}"
    locks = ", ".join(_told(lock) for lock in event["locks"])
    steps = (f"{step['owner']} waits for {step['resource']}" for step in event.get("cycle", []))
    parts = [f"by {event['by']}" if "by" in event else "", event.get("reason", ""), ", ".join(steps)]
    detail = ": ".join(filter(None, parts))
    return Text.assemble(
        f"{event['time_iso']}  ",
        (f"{event['event']:9}", STYLES.get(event["event"], "")),
        safe(f"  {event['owner'] or event['rid']}{agent}  {locks}{f'  ({detail})' if detail else ''}"),
    )


def _told(lock: dict[str, Any]) -> str:
    mode = mode_of(HeldLock.model_validate(lock))
    return f"{lock['resource']} {mode}" + (f" fence {lock['fence']}" if lock["fence"] else "")
