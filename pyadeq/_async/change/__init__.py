"""Changes: what agents and people want to do, and others have to approve."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from pyadeq._async.kernel.noun import Noun
from pyadeq._core.kernel.nouncalls import Result


class Changes(Noun):
    """The changes of a domain."""

    noun = "change"

    async def put(self, id: str, **content: Any) -> Result:
        """Create a draft, or write another revision."""
        return await self._call("put", id=id, **content)

    async def get(self, ids: Sequence[str], **options: Any) -> list[Result]:
        """Changes by their ids."""
        found: list[Result] = (await self._call("get", item=ids, **options)).items
        return found

    async def respond(self, answers: Sequence[Mapping[str, Any]], **who: Any) -> list[Result]:
        """Answer requests."""
        found: list[Result] = (await self._call("respond", item=answers, **who)).items
        return found

    def iterate(self, by: str, value: str) -> AsyncIterator[Any]:
        """Changes of an index, the newest first."""
        return self._pages("list", by=by, value=value)
