"""Webhooks: endpoints that get nothing, and a service that does not forward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyadeq.ext.doctor.events import Read
from pyadeq.ext.doctor.report import Finding, ok, warn
from pyadeq.ext.webhooks import Endpoint
from pyadeq.ext.webhooks.endpoints import Failing
from pyadeq.ext.webhooks.forwarder import GROUP

BEHIND: Final = 600.0  # seconds that an event may wait to be forwarded


def check(endpoints: Mapping[str, tuple[Endpoint, Failing | None, int]], reads: Sequence[Read]) -> Finding:
    """Does each endpoint get its messages?"""
    for id, (endpoint, failing, _) in endpoints.items():
        if endpoint.enabled and failing and failing.reason == "secret":
            return warn(
                f"endpoint {id}: the service cannot read its secret",
                "Its messages are not sent. They are dead after ten attempts.",
                "give the service the variable, the file or the codec",
                f"adeq webhook show {id}",
            )
    for stream, group, age in reads:
        if group.name == GROUP and age > BEHIND:
            return warn(
                f"events of {stream} have waited {age / 60:,.0f} min to be forwarded to webhooks",
                "Receivers learn of them too late, or not at all if they are deleted before.",
                "start a service, or more of them: adeq webhook run",
            )
    for id, (endpoint, failing, _) in endpoints.items():
        if endpoint.enabled and failing:
            return warn(
                f"endpoint {id} fails: {failing.reason}",
                "If nothing is delivered for five days, it is disabled.",
                f"adeq webhook show {id}",
            )
    for id, (endpoint, _, _) in endpoints.items():
        if not endpoint.enabled:
            return warn(
                f"endpoint {id} is disabled: {endpoint.disabled_for}",
                "Nothing is sent to it.",
                f"adeq webhook enable {id}, and replay what it has missed; or adeq webhook rm {id}",
            )
    return ok(f"{len(endpoints):,} endpoint{'' if len(endpoints) == 1 else 's'}")
