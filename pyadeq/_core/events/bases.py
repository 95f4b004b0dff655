"""The base of an event stream: that of the noun whose events they are."""

from __future__ import annotations

from pyadeq._core.kernel.manifest import library
from pyadeq.errors import ConfigError
from pyadeq.keys import base_of, hint, part_base, shown

NOUN = "events"


def nouns_with_events() -> list[str]:
    """Return the words of the nouns that write events."""
    return sorted(word for word, noun in library().manifest["nouns"].items() if word != NOUN and noun["events"])


def stream_base(noun: str, name: str, prefix: str, slot: str | None) -> str:
    """Return the base of the events of one of a noun, or of a partition, `<name>/<tag>`."""
    if noun not in (words := nouns_with_events()):
        raise ConfigError(f"noun: {shown(noun)} is not accepted{hint(noun, words)} Allowed: {', '.join(words)}")
    own, slash, tag = name.partition("/") if isinstance(name, str) else (name, "", "")
    base = base_of(noun, own, prefix, slot, library().manifest["nouns"][noun]["field"])
    return part_base(base, tag) if slash else base
