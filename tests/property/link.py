"""The way to the server: calls of the real scripts, and all keys of a queue at a glance."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import library
from pyadeq._core.queue.calls import QueueCalls
from tests.property.model import Model

START = 1_700_000_000_000
DUMP = """
local found, all = {}, ARGV[2] ~= '+'
local passed = { payload = 1, by = 1, children = 1, result = 1, log = 1, events = 1, counters = 1, history = 1 }
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do
  if all or not passed[string.match(string.sub(key, #ARGV[1] + 1), '^:(%l+)')] then
  local type, value = redis.call('TYPE', key).ok, nil
  if type == 'hash' then value = redis.call('HGETALL', key)
  elseif type == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  elseif type == 'set' then value = redis.call('SMEMBERS', key)
  elseif type == 'list' then value = redis.call('LRANGE', key, 0, -1)
  elseif type == 'string' then value = redis.call('GET', key)
  else value = redis.call('XRANGE', key, ARGV[2], '+') end
  found[#found + 1] = { string.sub(key, #ARGV[1] + 2), type, redis.call('PTTL', key), value }
  end
end
return found
"""
Scripts = dict[str, str]  # id -> the SHA-1 of its text on the server


class Key(NamedTuple):
    value: Any
    ttl: int  # ms; -1: none


def load_scripts(client: redis.Redis) -> Scripts:
    return load(client, {id: library()[id].text for id in queue_scripts()} | {"dump": DUMP})


def load(client: redis.Redis, texts: dict[str, str]) -> Scripts:
    with client.pipeline(transaction=False) as pipe:
        for text in texts.values():
            pipe.script_load(text)
        return dict(zip(texts, pipe.execute(), strict=True))


def queue_scripts() -> list[str]:
    return [id for id in library() if id.startswith("queue.")]


class Link:
    def __init__(self, client: redis.Redis, base: str, scripts: Scripts) -> None:
        self.client, self.base, self.scripts = client, base, scripts
        self.model = Model(START)
        self.calls = QueueCalls(base, lambda: self.model.now)
        self.fences: dict[str, int] = {}  # by token

    def run(self, call: Call[Any]) -> Any:
        verb, _, *rest = call.command()
        client: Any = self.client
        return call.decode(client.execute_command(verb, self.scripts[call.script.id], *rest))

    def close(self) -> None:
        if keys := self.client.keys(f"{self.base}:*"):
            self.client.delete(*keys)

    def read(self, events_from: str = "-") -> dict[str, Key]:
        """What every key of the queue holds; fails on one that no header declares. From '+': what matters to limits."""
        keys = {}
        for name, type, ttl, value in self.dump(events_from):
            declared = type_of(name.decode())
            assert type.decode() == declared, f"{name} is a {type}, not a {declared}"
            keys[name.decode()] = Key(pairs(value) if declared in ("hash", "zset") else value, ttl)
        return keys

    def dump(self, events_from: str) -> Any:
        return self.client.evalsha(self.scripts["dump"], 0, self.base, events_from)


@cache
def templates() -> dict[str, str]:
    """All declared keys with their types; those of a prefix end with a colon."""
    keys = [key for id in queue_scripts() for key in library()[id].data]
    return {key.template.removeprefix("{base}:"): key.type for key in keys}


def type_of(name: str) -> str:
    if name in templates():
        return templates()[name]
    for template, type in templates().items():
        if template.endswith(":") and name.startswith(template):
            return type
    raise AssertionError(f"no header declares the key {{base}}:{name}")


def pairs(flat: list[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}
