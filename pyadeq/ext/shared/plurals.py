"""Words for several things."""

from __future__ import annotations


def plural(word: str) -> str:
    """`queues`, `registries`."""
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
