"""What a base holds, as a file of vectors has it: read from a server, and put back there."""

from __future__ import annotations

from itertools import chain
from typing import Any

from pyadeq._core.kernel.packing import Wire
from tests.embedding.vectors import Json, plain, shown
from tests.nouns.script_bench import stored
from tests.nouns.watched import Server

State = dict[str, Json]  # by what follows the base

HOUR = 3600  # s
SOON = 5_000  # ms: what expires sooner may have gone before it is read
LONG, MANY = 64, 128  # bytes, and members: above that servers keep a hash in an order of their own
LATER = 4_000_000_000_000  # ms: after the present, so an id that a server gives follows from the one before
BY_FIELD = (":requests", ":running", ":once")  # hashes that no script reads as a whole


def read(server: Server, base: str) -> State:
    keys = stored(server, base)
    times: list[int] = server.all([("PTTL", key) for key, _, _ in keys])
    found: State = {}
    for (key, type, value), ms in zip(keys, times, strict=True):
        assert ms == -1 or ms >= SOON, f"{key.decode()} expires in {ms} ms"
        held: Json = {type.decode(): _shown(type, value)}
        found[key.decode().removeprefix(base)] = held if ms == -1 else {**held, "expires": True}
    return found


def _shown(type: bytes, value: Any) -> Json:
    match type:
        case b"string":
            return shown(value)
        case b"hash":
            return {name.decode(): shown(one) for name, one in sorted(_couples(value))}
        case b"zset":
            return [[shown(member), score.decode()] for member, score in _couples(value)]
        case b"stream":
            return [[*_id(id), *([shown(name), shown(one)] for name, one in _couples(flat))] for id, flat in value]
        case b"set":
            return [shown(one) for one in sorted(value)]
        case _:
            return [shown(one) for one in value]


def _id(id: bytes) -> list[list[str]]:
    """An id that tests have chosen, as the first pair of its entry."""
    return [["*", id.decode()]] if int(id.partition(b"-")[0]) >= LATER else []


def _couples(flat: list[bytes]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


def restore(server: Server, base: str, state: State) -> None:
    """Put a state into an empty base."""
    commands = [command for name, held in state.items() for command in _writes(base + name, held)]
    server.all(commands)


def _writes(key: str, held: Json) -> list[tuple[Wire, ...]]:
    expire: list[tuple[Wire, ...]] = [("EXPIRE", key, HOUR)] if held.get("expires") else []
    match held:
        case {"string": value}:
            return [("SET", key, plain(value)), *expire]
        case {"hash": value}:
            pairs = [(name, plain(value[name])) for name in sorted(value, key=str.encode)]
            return [("HSET", key, *chain.from_iterable(pairs)), *expire]
        case {"zset": value}:
            return [("ZADD", key, *chain.from_iterable((score, plain(member)) for member, score in value)), *expire]
        case {"stream": value}:
            added: list[tuple[Wire, ...]] = []
            for entry in value:
                id, pairs = (entry[0][1], entry[1:]) if entry[0][0] == "*" else ("*", entry)
                added.append(("XADD", key, id, *map(plain, chain.from_iterable(pairs))))
            return added + expire
        case {"set": value}:
            return [("SADD", key, *map(plain, value)), *expire]
        case {"list": value}:
            return [("RPUSH", key, *map(plain, value)), *expire]
    raise ValueError(f"{key} is {held}")


def changes(before: State, after: State) -> State:
    """What a call has changed; None for what is gone."""
    names = sorted(before.keys() | after.keys())
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}


def overlaid(before: State, changed: State) -> State:
    """The state that follows."""
    return {name: held for name, held in {**before, **changed}.items() if held is not None}


def has_own_order(state: State) -> bool:
    """Whether a server keeps some of it in an order that may differ from process to process."""
    for name, held in state.items():
        if held is None or name in BY_FIELD:
            continue
        pairs: dict[str, Json] = held.get("hash", {})
        if len(pairs) > MANY or any(len(plain(word)) > LONG for pair in pairs.items() for word in pair):
            return True
        if len(held.get("set", ())) > 1:
            return True
    return False
