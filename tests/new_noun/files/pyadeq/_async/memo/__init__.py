"""Memos: short texts that expire."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from pyadeq._async.kernel.noun import Noun
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models import Seconds


class Memos(Noun):
    """The memos of a pad."""

    noun = "memo"

    async def put(self, id: str, text: str, *, author: str | None = None, keep: Seconds = 0) -> Result:
        """Make a memo, or change it. keep: seconds; 0: the setting. Answers `created` or `changed`, and `expires`."""
        return await self._call("put", id=id, text=text, author=author, keep=keep)

    async def get(self, ids: Sequence[str]) -> list[dict[str, Any] | None]:
        """The memos of these ids; None for what there is not."""
        return [one.memo for one in (await self._call("get", item=ids)).items]

    def iterate(self) -> AsyncIterator[Any]:
        """Ids with the times at which they expire, in this order."""
        return self._pages("list")

    async def expire(self, limit: int = 100) -> int:
        """Delete memos whose time is over; how many."""
        expired: int = (await self._call("expire", limit=limit)).expired
        return expired
