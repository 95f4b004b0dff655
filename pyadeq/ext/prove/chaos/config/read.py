"""What a config namespace has stored at the end of a run, in the form that the rules read."""

from __future__ import annotations

from pyadeq.asyncio import Adeq
from pyadeq.ext.prove.chaos.config.writes import EVENTS
from pyadeq.ext.prove.chaos.history import AioClient, History, Records, aio_read_entries, count_trimmed


async def read_config(adeq: Adeq, client: AioClient, namespace: str, history: History) -> Records:
    """Read the values, the history of each name, and then the stream, which has all of that."""
    config = adeq.config(namespace)
    async with config.watch() as snapshot:
        rev, content = snapshot.rev, snapshot.content
    entries = await aio_read_entries(client, config.base)
    names = {*content, *(entry.ids[0] for entry in entries if entry.event in EVENTS)}
    histories = {
        name: [[one.version, None if one.value is None else one.value.decode()] async for one in config.history(name)]
        for name in sorted(names)
    }
    entries = await aio_read_entries(client, config.base)
    records = Records(entries, await count_trimmed(client, config.base, history, "config namespace"))
    records.final = {
        "rev": rev,
        "content": {name: [one.version, one.value.decode()] for name, one in content.items()},
        "histories": histories,
    }
    return records
