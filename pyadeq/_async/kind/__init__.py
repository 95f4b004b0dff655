"""Kinds of tasks: the schemas of their arguments and results, as workers publish them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Any

from pyadeq._async.kernel.noun import Noun
from pyadeq._core.kind import read, stored
from pyadeq.keys import hint

AT_ONCE = 50


class Kinds(Noun):
    """The kinds of tasks that the workers of a queue know. `adeq.kinds(queue.name)` is the catalog of a queue."""

    noun = "kind"

    async def publish(self, schemas: Iterable[Mapping[str, Any]]) -> dict[str, str]:
        """Publish kinds: the values of `Tasks.schemas()`. A worker does it when it starts, and every 6 hours.

        Returns the status of each: `published`; `older`, if a newer version is stored; `full`, if the catalog has 500
        kinds. Of a schema above 16 KiB, only the description is stored; of a secret field, no values.
        """
        items = [stored(schema) for schema in schemas]
        found: dict[str, str] = {}
        for start in range(0, len(items), AT_ONCE):
            some = items[start : start + AT_ONCE]
            answers = (await self._call("publish", item=some)).items
            found |= {one["id"]: answer.status for one, answer in zip(some, answers, strict=True)}
        return found

    async def list(self) -> builtins.list[dict[str, Any]]:
        """Return the kinds in alphabetical order, at most 500.

        Each has `kind`, `version`, `description`, `arguments` and `result` (JSON schemas, or None), and `expires`, a
        time: then it is forgotten, unless a worker publishes it again.
        """
        found = {one.id: read(one.id, one.kind) async for one in self._pages("list")}
        return [found[id] for id in sorted(found)]

    async def get(self, id: str) -> dict[str, Any] | None:
        """Return a kind as `list` does; None if no worker knows it."""
        found = (await self._call("list", id=id)).items
        return read(found[0].id, found[0].kind) if found else None

    async def explain_unknown(self, id: str, retry_for: float | None = None) -> str | None:
        """Return what to say of a kind that no worker has published. None: it is published, or no kind of the queue is.

        Workers with other handlers than task functions publish nothing, so it may be known all the same.

        retry_for: of the first call, as in `Adeq.send`.
        """
        if (await self._runner.send(self.calls.build("list", id=id), retry_for)).items:
            return None
        known = [one["kind"] for one in await self.list()]
        return f"no worker of {self.name!r} has published the kind {id!r}{hint(id, known)}" if known else None

    async def expire(self, limit: int = 100) -> int:
        """Delete kinds that no worker has published for a day, and return how many. `adeq maintain` does it."""
        expired: int = (await self._call("expire", limit=limit)).expired
        return expired
