"""Badges: a noun with one script."""

from __future__ import annotations

from pyadeq._async.kernel.noun import Noun


class Badges(Noun):
    """The badges of a board."""

    noun = "badge"

    async def step(self) -> int:
        """How much a badge counts."""
        step: int = (await self._call("step")).step
        return step
