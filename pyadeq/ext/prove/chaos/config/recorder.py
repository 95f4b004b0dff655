"""The calls of a config namespace, and what its snapshots show, each recorded."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import Adeq, Config, ConfigSnapshot, Result
from pyadeq.ext.prove.chaos.noun_recorder import Recorded


class RecordedConfig(Recorded, Config, of=Adeq.config, reads=frozenset({"read"})):
    """A config namespace whose calls are recorded, also `read`."""

    async def present_rev(self, name: str) -> int:
        """The rev of the namespace. name: any; it is read for that."""
        answer: Result = await self._call("read", item=[name])
        return int(answer.rev)

    async def see(self, snapshot: ConfigSnapshot, id: str, until: int = 0) -> None:
        """Record what a snapshot shows. until: the rev that it should have by now."""

        async def look() -> dict[str, Any]:
            content = {name: [one.version, one.value.decode()] for name, one in snapshot.content.items()}
            return {"status": "stale" if snapshot.stale else "ok", "rev": snapshot.rev, "content": content}

        asked = {"snapshot": id, "until": until}
        await self._recorder.note(self._client, "config.seen", "memory", asked, look(), dict)
