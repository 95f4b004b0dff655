"""One queue on a virtual clock, and short ways to bring it into a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any, TypeVar

import redis

from pyadeq._core.call import Call, Reply, Wire
from pyadeq._core.queue import QueueCalls
from pyadeq._core.queue_items import Failure
from pyadeq.models import Lease, Task, TaskView
from tests.lua.watched import Refused, Server, WatchedClient

T = TypeVar("T")
Dump = dict[str, Any]

START = 1_700_000_123_457  # ms
BAND = 2**48  # the width of a priority in a score


class Workbench:
    """`run` takes a call through the watched client, `real` through the server itself; helpers that only
    prepare a state use the server.
    """

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        self.client = client
        self.server = Server(client)
        self.watched = watched
        self.base = base
        self.now = START if clock == "test" else 0
        self.calls = QueueCalls(base, now_ms=lambda: self.now)
        self._numbers = count(1)
        if clock == "test":
            self.real(self.calls.configure(clock="test"))

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
        return self.watched.run(script_id, [k.template.replace("{base}", self.base) for k in script.keys], args)

    def raw_code(self, script_id: str, *args: Wire) -> str | None:
        """The code of the error that such a call gives, if it gives one."""
        try:
            self.raw_run(script_id, *args)
        except Refused as refused:
            return refused.code
        return None

    def full(self, full: bool = True) -> None:
        """Let the server's memory be full, or no longer; so it is until the queue is removed."""
        self.server("CONFIG", "SET", "maxmemory-policy", "noeviction")
        self.server("CONFIG", "SET", "maxmemory", int(full))

    def pass_time(self, ms: int) -> None:
        self.now += ms

    # states

    def fill(self, number: int, **task: Any) -> list[str]:
        """Enqueue so many tasks; their ids, which rise over all calls. What can be called is asked for each id."""
        ids = [f"t{next(self._numbers):06}" for _ in range(number)]
        task.setdefault("payload", b"x")
        own = [{name: value(id) if callable(value) else value for name, value in task.items()} for id in ids]
        items = [(id, Task(**fields)) for id, fields in zip(ids, own, strict=True)]
        self.real(self.calls.enqueue(items, f"fill/{ids[0]}"))
        return ids

    def worker(self, name: str = "w", incarnation: str = "i") -> None:
        self.real(self.calls.register(name, incarnation))

    def claim(self, limit: int, slot: int = 0, lanes: Sequence[str] = ("any",), lease: float = 0) -> list[Lease]:
        """Claim for worker w, which is registered if need be."""
        self.worker()
        call = self.calls.claim("w", "i", slot, next(self._numbers), limit=limit, lanes=lanes, lease=lease)
        return self.real(call).leases

    def lease(self, number: int, **task: Any) -> list[Lease]:
        """Enqueue so many tasks and claim them."""
        self.fill(number, **task)
        leases = self.claim(number, lanes=[task.get("lane", "any")])
        assert len(leases) == number
        return leases

    def crash(self, times: int, number: int = 1, **task: Any) -> list[Lease]:
        """Tasks on the lease that follows so many crashes; the queue's backoff must not stop them."""
        leases = self.lease(number, **task)
        for _ in range(times):
            self.pass_time(15_000)
            self.real(self.calls.reap(1000))
            self.pass_time(300_000)
            leases = self.claim(number)
            assert len(leases) == number
        return leases

    def die(self, number: int, **task: Any) -> list[str]:
        """Enqueue so many tasks, and let them fail for good."""
        leases = self.lease(number, **task)
        self.real(self.calls.fail([Failure(lease, b"e", retryable=False) for lease in leases], [0] * number))
        return [lease.id for lease in leases]

    # what there is

    def key(self, name: str) -> str:
        return f"{self.base}:{name}"

    def ask(self, *command: Wire) -> Any:
        """One command; its keys are names inside the base if they begin with a colon."""
        return self.server(
            *(self.base + word if isinstance(word, str) and word.startswith(":") else word for word in command)
        )

    def view(self, id: str) -> TaskView | None:
        return self.real(self.calls.get([id]))[0]

    def state(self, id: str) -> str | None:
        view = self.view(id)
        return None if view is None else view.state

    def record(self, id: str) -> dict[str, bytes]:
        return pairs(self.ask("HGETALL", f":task:{id}"))

    def ready(self, lane: str = "any") -> list[str]:
        return [id.decode() for id in self.ask("ZRANGE", f":ready:{lane}", 0, -1)]

    def tokens(self, lane: str = "any") -> int:
        """How many wake-up tokens a lane has."""
        return int(self.ask("LLEN", f":wake:{lane}"))

    def counters(self) -> dict[str, int]:
        return self.real(self.calls.stats()).counters

    def events(self, name: str | None = None) -> list[dict[str, bytes]]:
        entries = [pairs(flat) for _, flat in self.ask("XRANGE", ":events", "-", "+")]
        return [entry for entry in entries if name in (None, entry["event"].decode())]

    def remove(self) -> None:
        self.full(False)
        if found := list(keys(self.server, self.base)):
            self.server("UNLINK", *found)
        self.server.close()

    def dump(self, *, stamps: bool = True) -> Dump:
        """Everything below the base, by name; without `stamps` the stream's ids are left out."""
        return dump(self.server, self.base, stamps)


MakeBench = Callable[..., Workbench]


def pairs(flat: Sequence[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}


def dump(server: Server, base: str, stamps: bool) -> Dump:
    found: Dump = {}
    for key in sorted(keys(server, base)):
        type_ = server("TYPE", key)
        value: Any
        match type_:
            case b"hash":
                value = pairs(server("HGETALL", key))
            case b"zset":
                value = server("ZRANGE", key, 0, -1, "WITHSCORES")
            case b"set":
                value = sorted(server("SMEMBERS", key))
            case b"list":
                value = server("LRANGE", key, 0, -1)
            case b"stream":
                entries = server("XRANGE", key, "-", "+")
                value = entries if stamps else [flat for _, flat in entries]
            case _:
                value = server("GET", key)
        found[key.decode().removeprefix(base)] = (type_.decode(), value)
    return found


def keys(server: Server, base: str) -> Iterable[bytes]:
    found: list[bytes] = server("KEYS", base.replace("[", "\\[") + ":*")
    return found
