"""What must hold of all that a noun stores, between any two calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, ClassVar

from pyadeq._core.kernel.manifest import Key, library
from tests.stored import Stored


class NounAudit:
    """All keys are declared, and of their types. A noun adds its own rules: an `Audit` in its model.py with `rules`.

    Nobody may be using it meanwhile. names: of its keys, where they are known.
    """

    noun: ClassVar[str]

    def __init__(self, client: Any, base: str, names: Iterable[str] | None = None) -> None:
        self.client, self.base = client, base
        self.names = sorted(names_below(client, base) if names is None else names)
        self.stored = Stored(client, base, self.names)

    def problems(self) -> Iterator[str]:
        for name in self.names:
            key = next((one for one in (*keys_of(self.noun), *keys_of("events")) if fits(one, name)), None)
            kind = self.stored.types[name]
            if key is None:
                yield f"{name}: unknown"
            elif kind not in (key.type, "none"):  # it may expire meanwhile
                yield f"{name}: a {kind}, and should be a {key.type}"
        yield from self.rules()

    def rules(self) -> Iterator[str]:
        """What is wrong, by the rules of the noun."""
        yield from ()

    # what is stored, by the names of keys

    def suffixes(self, name: str) -> list[str]:
        """What stands behind a key that is a prefix."""
        return [one.removeprefix(f"{name}:") for one in self.names if one.startswith(f"{name}:")]

    def hash(self, name: str) -> dict[str, str]:
        return self.stored.hash(name)

    def zset(self, name: str) -> dict[str, int]:
        return {member: int(score) for member, score in self.stored.zset(name).items()}


@cache
def keys_of(noun: str) -> list[Key]:
    """Those that its scripts name, but for channels and gates, which store nothing."""
    scripts = [library()[id] for id in library() if id.startswith(f"{noun}.")]
    found = {key.template: key for script in scripts for key in script.data if key.type != "channel"}
    return list(found.values())


def fits(key: Key, name: str) -> bool:
    start = key.template.removeprefix("{base}:")
    return name.startswith(start) and len(name) > len(start) if key.suffix else name == start


def names_below(client: Any, base: str) -> Iterator[str]:
    """The names of all keys of a base, which costs a look at every key of the server."""
    pattern = re.sub(r"([\[\]*?\\])", r"\\\1", base) + ":*"
    for key in client.scan_iter(pattern, count=1000):
        yield key.decode().removeprefix(f"{base}:")
