"""The way to the server: calls of the lock scripts as plain names and values, and all that a domain stores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import redis

from pyadeq._core.kernel.call import Answer, Call, build_call, parse_reply
from pyadeq._core.kernel.manifest import library
from tests.property.link import load

KINDS = {
    "config": "hash",
    "requests": "hash",
    "graph": "zset",
    "deadlines": "zset",
    "capacity": "hash",
    "rates": "zset",
    "unchecked": "zset",
}
NAMES = (*KINDS, "events")
COUNTERS = ("now", "offset", "fence", "seq", "waiting", "due", "detected")  # `#now` and so on in `requests`
ENDED = 10**15  # what is subtracted from the time when an ended request is forgotten
DUMP = """
local found = {}
for i = 2, #ARGV - 1, 2 do
  local key = ARGV[1] .. ':' .. ARGV[i]
  if ARGV[i + 1] == 'hash' then found[#found + 1] = redis.call('HGETALL', key)
  else found[#found + 1] = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end
end
found[#found + 1] = redis.call('XRANGE', ARGV[1] .. ':events', ARGV[#ARGV], '+')
return found
"""
Scripts = dict[str, str]  # id -> the SHA-1 of its text on the server
Plain = tuple[str, dict[str, Any]]
"""A status and its fields; a list holds such pairs."""


def load_scripts(client: redis.Redis) -> Scripts:
    ids = [id for id in library() if id.startswith("lock.")]
    return load(client, {id: library()[id].text for id in ids} | {"dump": DUMP})


class Store(NamedTuple):
    """Everything that a domain stores, the stream apart."""

    config: dict[str, str]
    counters: dict[str, str]
    requests: dict[str, str]  # by rid, ended ones as well
    graph: dict[str, str]
    deadlines: dict[str, str]
    ended: dict[str, str]  # rid -> when it is forgotten
    capacity: dict[str, str]
    rates: dict[str, str]
    unchecked: dict[str, str]

    @classmethod
    def read(cls, values: list[list[bytes]]) -> Store:
        config, requests, graph, deadlines, *rest = map(texts, values)
        counters = {name: requests.pop(f"#{name}") for name in COUNTERS if f"#{name}" in requests}
        ended = {rid: str(int(due) + ENDED) for rid, due in deadlines.items() if due.startswith("-")}
        live = {rid: due for rid, due in deadlines.items() if rid not in ended}
        return cls(config, counters, requests, graph, live, ended, *rest)

    def order(self, rid: str) -> str:
        return self._words(rid)[8]

    def fence(self, rid: str, resource: str) -> int:
        """0 if there is no such hold."""
        words = self._words(rid)
        for part in words[10].split(",") if len(words) > 10 else ():
            lock, _, name = part.partition("=")
            if name == resource:
                return int(lock.partition("/")[2])
        return 0

    def outcome(self, rid: str) -> tuple[str, str]:
        """How a request ended and what is told of it; empty if it has not."""
        words = self._words(rid)
        return (words[1], " ".join(words[2:])) if words[0] == "ended" else ("", "")

    def _words(self, rid: str) -> list[str]:
        return self.requests.get(rid, "").split(" ")


class Link:
    def __init__(self, client: redis.Redis, base: str, scripts: Scripts) -> None:
        self.client, self.base, self.scripts = client, base, scripts
        self.connection: Any = client.connection_pool.get_connection()
        self._last = "-"

    def send(self, verb: str, args: Mapping[str, Any], now: int) -> tuple[Plain, Store, list[dict[str, str]]]:
        """One call, and in the same go what is stored after it and the events it added."""
        call = call_of(verb, self.base, args, now)
        command, _, *rest = call.command()
        dump = ["EVALSHA", self.scripts["dump"], 0, self.base, *(word for item in KINDS.items() for word in item)]
        commands = [(command, self.scripts[call.script.id], *rest), (*dump, self._last)]
        self.connection.send_packed_command(self.connection.pack_commands(commands))
        replies = []
        for _ in commands:
            try:
                replies.append(self.connection.read_response())
            except redis.ResponseError as error:
                replies.append(error)
        for reply in replies:
            if isinstance(reply, redis.ResponseError) and not str(reply).startswith("ADEQ_"):
                raise reply
        *values, entries = replies[1]
        if entries:
            self._last = f"({entries[-1][0].decode()}"
        events = [texts(flat) for _, flat in entries]
        answer = (str(replies[0]).split(" ")[0], {}) if isinstance(replies[0], Exception) else call.decode(replies[0])
        return answer, Store.read(values), events

    def names(self) -> list[str]:
        """Of its keys, as far as they are declared. The others are found when all tests have ended."""
        return [name for name in NAMES if self.client.exists(f"{self.base}:{name}")]

    def close(self) -> None:
        self.client.connection_pool.release(self.connection)
        self.client.delete(*[f"{self.base}:{name}" for name in NAMES])


def call_of(verb: str, base: str, args: Mapping[str, Any], now: int) -> Call[Plain]:
    script = f"lock.{verb}.v1"
    scalars = {name: value for name, value in args.items() if not isinstance(value, list)}
    groups = {name: value for name, value in args.items() if isinstance(value, list)}
    if "now_ms" in scalar_names(script):
        scalars["now_ms"] = now
    return build_call(script, base, scalars, groups, decode=lambda reply: plain(parse_reply(library()[script], reply)))


@cache
def scalar_names(script: str) -> frozenset[str]:
    return frozenset(argument.name for argument in library()[script].args)


def plain(answer: Answer) -> Plain:
    return answer.status, {
        name: [plain(one) if isinstance(one, Answer) else one for one in value] if isinstance(value, list) else value
        for name, value in answer.fields.items()
    }


def texts(flat: list[bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}
