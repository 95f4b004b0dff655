"""What groups have got at the end of a run, in the form that the rules read."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, Final

from pyadeq.asyncio import Adeq
from pyadeq.errors import UnknownGroup
from pyadeq.ext.prove.chaos.events.recorder import stream_of
from pyadeq.ext.prove.chaos.events.workload import GROUPS, HOLD
from pyadeq.ext.prove.chaos.history import AioClient, History, Records

PATIENCE: Final = 20.0  # seconds until all that dead readers have left is delivered again


async def read_groups(adeq: Adeq, client: AioClient, domain: str, history: History) -> Records:
    """Read each group to its end. What that delivers and acknowledges counts, too."""
    events: Any = stream_of(adeq, domain)
    acked: dict[str, list[str]] = {group: [] for group in GROUPS}
    counts = dict.fromkeys(GROUPS, 0)
    until = monotonic() + PATIENCE
    for group in GROUPS:
        while monotonic() < until:
            try:
                found = await events.read(group, limit=1000, hold=HOLD)
            except UnknownGroup:
                break
            acked[group] += [one.id for one in found.events]
            counts[group] += await events.ack(group, found)
            if not (found.events or found.lag or found.due or found.gap):
                break
            if not found.events:
                await asyncio.sleep(0.1)
    stored = {one.name: one for one in (await events.groups()).groups}
    plain: Any = client
    key = f"{events.base}:events"
    added = int((await plain.xinfo_stream(key))["entries-added"]) if await plain.exists(key) else 0
    records = Records()
    records.final = {
        "added": added,
        "groups": {
            name: {
                "lost": one.lost + one.missed,
                "left": one.lag + one.pending,
                "acked": acked[name],
                "count": counts[name],
            }
            for name, one in stored.items()
            if name in acked
        },
    }
    return records
