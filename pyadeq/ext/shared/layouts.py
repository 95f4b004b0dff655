"""The layouts of stored data that this release knows."""

from __future__ import annotations

from pyadeq import library


def newest_layouts() -> dict[str, int]:
    """Return the newest layout of each noun."""
    return {noun: int(facts["layout"]) for noun, facts in library().manifest["nouns"].items()}
