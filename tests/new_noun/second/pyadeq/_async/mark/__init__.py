"""Marks: a noun with one script."""

from __future__ import annotations

from pyadeq._async.kernel.noun import Noun


class Marks(Noun):
    """The marks of a board."""

    noun = "mark"

    async def step(self) -> int:
        """How much a mark counts."""
        step: int = (await self._call("step")).step
        return step
