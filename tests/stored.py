"""All keys of a base, read by a script. A command for each key would take most of the time of an audit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

AT_ONCE = 500  # keys; a script that reads more would block the server for long
_READ = """#!lua flags=no-writes
local reads = {
  hash = { 'HGETALL' }, zset = { 'ZRANGE', 0, -1, 'WITHSCORES' }, set = { 'SMEMBERS' }, list = { 'LRANGE', 0, -1 },
}
local found = {}
for at, key in ipairs(KEYS) do
  local type = redis.call('TYPE', key).ok
  local read = reads[type]
  found[at] = { type, redis.call('PTTL', key), read and redis.call(read[1], key, unpack(read, 2)) or {} }
end
return found
"""


class Stored:
    """The keys of a base by name: types, ms to live, and values (not of strings, which may be large, and streams).

    A key that has expired, or has another type than asked for, counts as empty.
    """

    def __init__(self, client: Any, base: str, names: Iterable[str]) -> None:
        self.types: dict[str, str] = {}
        self.ttls: dict[str, int] = {}
        self._values: dict[str, list[bytes]] = {}
        names = list(names)
        for start in range(0, len(names), AT_ONCE):
            part = names[start : start + AT_ONCE]
            found = client.eval(_READ, len(part), *(f"{base}:{name}" for name in part))
            for name, (type, ttl, value) in zip(part, found, strict=True):
                self.types[name], self.ttls[name], self._values[name] = type.decode(), ttl, value

    def hash(self, name: str) -> dict[str, str]:
        flat = self._value("hash", name)
        return {
            field.decode(): value.decode(errors="replace") for field, value in zip(flat[::2], flat[1::2], strict=True)
        }

    def zset(self, name: str) -> dict[str, float]:
        flat = self._value("zset", name)
        return {member.decode(): float(score) for member, score in zip(flat[::2], flat[1::2], strict=True)}

    def members(self, name: str) -> set[str]:
        return {member.decode() for member in self._value("set", name)}

    def entries(self, name: str) -> list[bytes]:
        return list(self._value("list", name))

    def _value(self, type: str, name: str) -> list[bytes]:
        return self._values[name] if self.types.get(name) == type else []
