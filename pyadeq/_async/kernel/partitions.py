"""The class of a noun whose names have several bases: each call goes to the base of one partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyadeq._async.kernel.noun import Noun
from pyadeq._async.kernel.runner import Runner
from pyadeq._core.kernel.migration import together
from pyadeq._core.kernel.nouncalls import NounCalls, Result
from pyadeq.keys import part_base
from pyadeq.models.base import Migration


class PartitionedNoun(Noun):
    """An object of a noun that is spread over partitions. Each partition has a base of its own, and to the scripts it
    is an object of its own. A subclass says which partition a call goes to, and makes its calls with `_call_at`.

    tags: the names of the partitions. `bases` has their bases, whether anything is stored there or not.
    """

    def __init__(self, runner: Runner, name: str, base: str, tags: Sequence[str]) -> None:
        super().__init__(runner, name, base)
        self.tags = tuple(tags)
        self.bases = tuple(part_base(base, tag) for tag in self.tags)
        self._bases = dict(zip(self.tags, self.bases, strict=True))
        self._parts: dict[str, NounCalls] = {}

    def part(self, tag: str) -> NounCalls:
        """Return what builds the calls of a partition."""
        # If two threads call it at the same time, both get the object that was stored first.
        return self._parts.get(tag) or self._parts.setdefault(tag, self._calls(self._bases[tag]))

    async def _call_at(self, tag: str, verb: str, /, **arguments: Any) -> Result:
        return await self._runner.send(self.part(tag).build(verb, **arguments))

    async def configure(self, *, clock: str | None = None, **settings: Any) -> dict[str, Any]:
        """Change settings in each partition, one after the other, and return those of the last.

        Creates the partitions that do not exist. With clock="test", their time is that of the client's `clock`.
        """
        found: dict[str, Any] = {}
        for tag in self.tags:
            answer = await self._call_at(tag, "configure", clock=clock, settings=[settings] if settings else [])
            found = answer.settings
        return found

    async def migrate(self, *, progress: Callable[[int], object] | None = None) -> Migration:
        """Convert the stored data of each partition to the layout of this release.

        Older releases are refused from then on. progress: called after each call with the number of entries converted
        so far.
        """
        return together([await self._migrate(self.part(tag), progress) for tag in self.tags])
