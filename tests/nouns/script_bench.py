"""What a test of scripts works on, a queue or a lock domain: its base, its clock, and the two ways to a script."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, ClassVar, TypeVar

import redis

from pyadeq._core.kernel.call import Call, Reply
from pyadeq._core.kernel.manifest import Script
from pyadeq._core.kernel.packing import Wire
from pyadeq.keys import no_base
from tests.nouns.watched import Refused, Server, WatchedClient

T = TypeVar("T")
Dump = dict[str, Any]

START = 1_700_000_123_457  # ms


class Bench(ABC):
    """`run` takes a call through the watched client, `real` through the server itself; helpers that only
    prepare a state use the server.
    """

    noun: ClassVar[str]
    config: ClassVar[str] = ":config"
    monotonic: ClassVar[bool] = False  # whether its time never goes back, so that an answer may be ahead of the clock
    calls: Any

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        self.client = client
        self.server = watched.server
        self.watched = watched
        self.base = base
        self.now = START if clock == "test" else 0
        self._numbers = count(1)

    # calls

    def run(self, call: Call[T]) -> T:
        return call.decode(self.watched.call(call))

    def real(self, call: Call[T]) -> T:
        return call.decode(self.send(call))

    def send(self, call: Call[Any]) -> Reply:
        command = call.command()
        try:
            return list(self.server(*command))
        except redis.exceptions.NoScriptError:
            self.server("SCRIPT", "LOAD", call.script.text)
            return list(self.server(*command))

    def raw_run(self, script_id: str, *args: Wire) -> Reply:
        """A call whose arguments no encoder has seen."""
        script = self.watched.scripts[script_id]
        return self.watched.run(script_id, keys_of(script, self.base), args)

    def raw_code(self, script_id: str, *args: Wire) -> str | None:
        """The code of the error that such a call gives, if it gives one."""
        try:
            self.raw_run(script_id, *args)
        except Refused as refused:
            return refused.code
        return None

    def full(self, full: bool = True) -> None:
        """Let the server's memory be full, or no longer; so it is until the bench is removed."""
        self.limit_memory(int(full))

    def limit_memory(self, most: int) -> None:
        """The bytes that the server may use; 0: as many as there are, and so it is when the bench is removed."""
        if self.server.most != most:
            self.server("CONFIG", "SET", "maxmemory-policy", "noeviction")
            self.server("CONFIG", "SET", "maxmemory", most)
            self.server.most = most

    def pass_time(self, ms: int) -> None:
        self.now += ms

    @abstractmethod
    def settle(self) -> None:
        """Let sweeps come to an end."""

    @abstractmethod
    def furnish(self) -> None:
        """Put something in each place that a malformed call could damage."""

    @abstractmethod
    def check(self) -> None:
        """What must hold at every time, where nobody has damaged anything."""

    @abstractmethod
    def let_all_pass(self) -> None:
        """The longest times go by, and everything is swept."""

    @abstractmethod
    def left_over(self) -> Dump:
        """The keys that would then stay for ever, but for those of the noun itself."""

    # what there is

    @property
    def domain(self) -> str:
        """The last part of the base."""
        return self.base.rpartition(":")[2].removesuffix("}")

    def key(self, name: str) -> str:
        return f"{self.base}:{name}"

    def ask(self, *command: Wire) -> Any:
        """One command; its keys are names inside the base if they begin with a colon."""
        return self.server(
            *(self.base + word if isinstance(word, str) and word.startswith(":") else word for word in command)
        )

    def lasting(self, names: Iterable[str]) -> list[str]:
        """Those of these keys that never expire."""
        names = list(names)
        left = self.server.all([("PTTL", self.base + name) for name in names])
        return [name for name, ms in zip(names, left, strict=True) if ms == -1]

    def events(self, name: str | None = None) -> list[dict[str, bytes]]:
        entries = [pairs(flat) for _, flat in self.ask("XRANGE", ":events", "-", "+")]
        return [entry for entry in entries if name in (None, entry["event"].decode())]

    def saved(self) -> Callable[[], None]:
        """What puts everything below the base back as it is now; the memory may be full."""
        names = keys(self.server, self.base)
        stored = self.server.all([command for name in names for command in (("DUMP", name), ("PEXPIRETIME", name))])
        times = [max(at, 0) for at in stored[1::2]]
        commands: list[tuple[Wire, ...]] = [
            ("RESTORE", name, at, value, "ABSTTL")
            for name, at, value in zip(names, times, stored[::2], strict=True)
            if value is not None
        ]

        def restore() -> None:
            most = self.server.most
            self.limit_memory(0)
            self.clear()
            self.server.all(commands)
            self.limit_memory(most)

        return restore

    def remove(self) -> None:
        self.limit_memory(0)
        self.clear()

    def clear(self) -> None:
        if found := keys(self.server, self.base):
            self.server("UNLINK", *found)

    def dump(self, *, stamps: bool = True) -> Dump:
        """Everything below the base, by name; without `stamps` the stream's ids are left out."""
        return dump(self.server, self.base, stamps)


MakeAny = Callable[..., Any]  # of a noun and a kind of clock, `test` unless told otherwise


def keys_of(script: Script, base: str) -> list[str]:
    """The keys of a call. Another noun that the script uses is in another slot."""
    bases = {"base": base} | dict.fromkeys(script.uses, no_base(base))
    return [re.sub(r"{(\w+)}", lambda found: bases[found[1]], key.template) for key in script.keys]


def pairs(flat: Sequence[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


# One round trip: each takes longer than to read what a base usually has.
_DUMP = """
local reads = {
  hash = { 'HGETALL' }, zset = { 'ZRANGE', 0, -1, 'WITHSCORES' }, set = { 'SMEMBERS' }, list = { 'LRANGE', 0, -1 },
  stream = { 'XRANGE', '-', '+' }, string = { 'GET' },
}
local found = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local type = redis.call('TYPE', key).ok
  local read = reads[type]
  if read then
    found[#found + 1] = { key, type, redis.call(read[1], key, unpack(read, 2)) }
  end
end
return found
"""


def stored(server: Server, base: str) -> list[tuple[bytes, bytes, Any]]:
    """All keys below a base with their types and values, by name."""
    return sorted(map(tuple, server("EVAL", _DUMP, 0, pattern(base))))


def dump(server: Server, base: str, stamps: bool) -> Dump:
    found: Dump = {}
    for key, type, raw in stored(server, base):
        value: Any = raw
        match type:
            case b"hash":
                value = pairs(raw)
            case b"set":
                value = sorted(raw)
            case b"stream" if not stamps:
                value = [flat for _, flat in raw]
        found[key.decode().removeprefix(base)] = (type.decode(), value)
    return found


def keys(server: Server, base: str) -> list[bytes]:
    found: list[bytes] = server("KEYS", pattern(base))
    return found


def pattern(base: str) -> str:
    """What matches the keys below a base."""
    return base.replace("[", "\\[") + ":*"
