"""The settings of a lock domain: `adeq lock configure`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from pyadeq import LockSettings
from pyadeq.ext.cli.arguments import Domain, time_option
from pyadeq.ext.cli.common import DEFAULT_URL, Format, Output, Url, connected, print_json
from pyadeq.ext.cli.resolve import existing_domain
from pyadeq.ext.cli.tables import print_fields


class Policy(StrEnum):
    """Which request is ended in a deadlock."""

    requester = "requester"
    priority = "priority"
    youngest = "youngest"


def configure(
    lease: Annotated[float | None, time_option("How long a lease lasts without a renewal.")] = None,
    max_ttl: Annotated[float | None, time_option("The longest lease that a request may name.")] = None,
    heartbeat: Annotated[float | None, time_option("Time between two renewals; 0: a third of the lease.")] = None,
    poll: Annotated[float | None, time_option("Time between two polls of a waiter.")] = None,
    claim: Annotated[float | None, time_option("Time to fetch a lock that was handed over.")] = None,
    waiter: Annotated[float | None, time_option("Time after which a silent waiter loses its place.")] = None,
    priority_step: Annotated[float | None, time_option("The head start of each priority over the next.")] = None,
    policy: Annotated[Policy | None, typer.Option(help="Which request is ended in a deadlock.")] = None,
    rate_per_minute: Annotated[int | None, typer.Option(help="Acquires per minute and agent; 0: no limit.")] = None,
    rate_burst: Annotated[int | None, typer.Option(help="How many acquires of an agent may come at once.")] = None,
    detection: Annotated[bool | None, typer.Option("--detection/--no-detection", help="Detect deadlocks.")] = None,
    detect_visits: Annotated[int | None, typer.Option(help="The budget of one deadlock search.")] = None,
    mirror: Annotated[
        bool | None, typer.Option("--mirror/--no-mirror", help="Also publish hints for SUBSCRIBE.")
    ] = None,
    events_max: Annotated[int | None, typer.Option(help="About how many events are kept; 0: none are written.")] = None,
    domain: Domain = "default",
    url: Url = DEFAULT_URL,
    output: Output = Format.table,
) -> None:
    """Show the settings of a domain; with options, change those, and create the domain if it does not exist.

    TIME is in seconds, or with a unit: 90, 500ms, 1.5h, 7d.
    """
    changes: dict[str, Any] = {
        "lease": lease,
        "max_ttl": max_ttl,
        "heartbeat": heartbeat,
        "poll": poll,
        "claim": claim,
        "waiter": waiter,
        "priority_step": priority_step,
        "policy": policy and policy.value,
        "rate_per_minute": rate_per_minute,
        "rate_burst": rate_burst,
        "detection": detection,
        "detect_visits": detect_visits,
        "mirror": mirror,
        "events_max": events_max,
    }
    given = {name: value for name, value in changes.items() if value is not None}
    with connected(url) as adeq:
        found = adeq.locks(domain).configure(**given) if given else existing_domain(adeq, domain).stats().settings
    if output != Format.table:
        print_json({"domain": domain, "settings": found.model_dump()}, output)
    else:
        _print(found)


def _shown(value: str | bool | float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,.6g}"


def _print(found: LockSettings) -> None:
    fields = found.model_dump(exclude={"layout"})
    rows = [(name.replace("_", "-"), _shown(value)) for name, value in fields.items()]
    print_fields(rows, ("setting", "value"))
