"""The calls of a config namespace, and what its snapshots show, each recorded."""

from __future__ import annotations

from typing import Any

from pyadeq.asyncio import Adeq, Config, ConfigSnapshot, Result
from pyadeq.ext.chaos.noun_recorder import RecordingRunner
from pyadeq.ext.chaos.recorder import Recorder


class RecordedConfig(Config):
    """A config namespace whose calls are recorded, also `read`: see RecordingRunner."""

    def __init__(self, recorder: Recorder, adeq: Adeq, namespace: str, client: str, durability: str = "memory") -> None:
        plain = adeq.config(namespace)
        self._note = recorder.note
        self._client = client
        super().__init__(
            RecordingRunner(recorder, adeq, client, durability, reads=frozenset({"read"})), plain.name, plain.base
        )

    async def present_rev(self, name: str) -> int:
        """The rev of the namespace. name: any; it is read for that."""
        answer: Result = await self._call("read", item=[name])
        return int(answer.rev)

    async def see(self, snapshot: ConfigSnapshot, id: str, until: int = 0) -> None:
        """Record what a snapshot shows. until: the rev that it should have by now."""

        async def look() -> dict[str, Any]:
            content = {name: [one.version, one.value.decode()] for name, one in snapshot.content.items()}
            return {"status": "stale" if snapshot.stale else "ok", "rev": snapshot.rev, "content": content}

        await self._note(self._client, "config.seen", "memory", {"snapshot": id, "until": until}, look(), dict)
