"""Words for several things."""

from __future__ import annotations


def plural(word: str) -> str:
    """`queues`, `registries`, `keys`."""
    consonant = word[-2:-1] not in ("a", "e", "i", "o", "u")
    return f"{word[:-1]}ies" if word.endswith("y") and consonant else f"{word}s"
