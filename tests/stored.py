"""All keys of a base, read in two round trips. A round trip for each key would take most of the time of an audit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Stored:
    """The keys of a base by name: types, ms to live, and values (not of strings, which may be large, and streams).

    A key that has expired, or has another type than asked for, counts as empty.
    """

    def __init__(self, client: Any, base: str, names: Iterable[str]) -> None:
        names = list(names)
        with client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.type(f"{base}:{name}")
                pipe.pttl(f"{base}:{name}")
            found = pipe.execute()
            self.types = {name: type.decode() for name, type in zip(names, found[::2], strict=True)}
            self.ttls: dict[str, int] = dict(zip(names, found[1::2], strict=True))
            read = [name for name in names if self.types[name] in ("hash", "zset", "set", "list")]
            for name in read:
                key = f"{base}:{name}"
                match self.types[name]:
                    case "hash":
                        pipe.hgetall(key)
                    case "zset":
                        pipe.zrange(key, 0, -1, withscores=True)
                    case "set":
                        pipe.smembers(key)
                    case "list":
                        pipe.lrange(key, 0, -1)
            self._values: dict[str, Any] = dict(zip(read, pipe.execute(), strict=True))

    def hash(self, name: str) -> dict[str, str]:
        found: dict[bytes, bytes] = self._value("hash", name, {})
        return {field.decode(): value.decode(errors="replace") for field, value in found.items()}

    def zset(self, name: str) -> dict[str, float]:
        found: Iterable[tuple[bytes, float]] = self._value("zset", name, ())
        return {member.decode(): score for member, score in found}

    def members(self, name: str) -> set[str]:
        return {member.decode() for member in self._value("set", name, ())}

    def entries(self, name: str) -> list[bytes]:
        return list(self._value("list", name, ()))

    def _value(self, type: str, name: str, empty: Any) -> Any:
        return self._values[name] if self.types.get(name) == type else empty
