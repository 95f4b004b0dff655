"""What a conformance vector says, and how its typed call becomes what is sent; lua/README.md has the format."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pyadeq._core.kernel.manifest import Argument, Group, Script, library

Json = Any
Call = dict[str, Json]  # of `args` and `groups`
Vector = dict[str, Json]

BASES = {noun: f"ade:{{{noun}:conformance}}" for noun in library().manifest["nouns"]}


def base_of(script: Script) -> str:
    return BASES[script.id.partition(".")[0]]


def shown(value: bytes) -> Json:
    """Bytes as a file of vectors has them."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}


def plain(value: Json) -> bytes:
    """The bytes that a file of vectors means."""
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else str(value).encode()


def shown_reply(reply: Any) -> Json:
    if isinstance(reply, list):
        return [shown_reply(one) for one in reply]
    return reply if isinstance(reply, int) else shown(reply)


def plain_reply(answer: Json) -> Any:
    if isinstance(answer, list):
        return [plain_reply(one) for one in answer]
    return answer if isinstance(answer, int) else plain(answer)


# A typed call as it is sent


def encode(script: Script, call: Call) -> list[bytes]:
    """The ARGV of a typed call."""
    out = [_encode(one, call["args"]) for one in script.args]
    for group in script.groups:
        items: Sequence[Mapping[str, Json]] = call["groups"].get(group.name, ())
        out.append(b"%d" % len(items))
        for item in items:
            out += [_encode(one, item) for one in group.fields]
            if group.pairs:
                given = [one for one in group.pairs if one.name in item]
                out.append(b"%d" % len(given))
                out += [word for one in given for word in (one.name.encode(), _encode(one, item))]
    return out


def _encode(argument: Argument, given: Mapping[str, Json]) -> bytes:
    if argument.name not in given:
        return b""
    value = given[argument.name]
    match argument.type:
        case "bool":
            return b"1" if value else b"0"
        case "ids" | "labels" | "lanes":
            return ",".join(value).encode()
        case _:
            return plain(value)


# What was sent as a typed call


def decode(script: Script, argv: Sequence[bytes]) -> Call:
    """The typed call of which this is the ARGV; ValueError if it is that of none."""
    words = iter(argv)
    args = dict(_given(script.args, words))
    groups = {group.name: list(_items(group, words)) for group in script.groups}
    call: Call = {"args": args, "groups": {name: items for name, items in groups.items() if items}}
    if sorted(encode(script, call)) != sorted(argv) or next(words, None) is not None:
        raise ValueError(f"{script.id}: no typed call sends {argv!r}")
    return call


def _items(group: Group, words: Iterator[bytes]) -> Iterator[dict[str, Json]]:
    for _ in range(int(next(words))):
        item = dict(_given(group.fields, words))
        if group.pairs:
            number = int(next(words))
            pairs = dict(_couples(islice(words, 2 * number)))
            item |= {one.name: typed(one, pairs[one.name]) for one in group.pairs if one.name in pairs}
        yield item


def _couples(words: Iterator[bytes]) -> Iterator[tuple[str, bytes]]:
    for name in words:
        yield name.decode(), next(words)


def _given(arguments: Sequence[Argument], words: Iterator[bytes]) -> Iterator[tuple[str, Json]]:
    """Those that are not left out. A client makes up a `rid` that is, so an empty one is given."""
    for one, word in zip(arguments, islice(words, len(arguments)), strict=True):
        if word or one.default is None or one.name == "rid":
            yield one.name, typed(one, word)


def typed(argument: Argument, word: bytes) -> Json:
    match argument.type:
        case "int":
            return int(word)
        case "bool":
            return {b"0": False, b"1": True}[word]
        case "ids" | "labels" | "lanes":
            return word.decode().split(",") if word else []
        case _:
            return shown(word)


def sends(call: Call) -> set[str]:
    """The names of all arguments that a typed call gives, those of a group behind the group's."""
    items = [(name, item) for name, items in call["groups"].items() for item in items]
    return set(call["args"]) | {f"{name}.{field}" for name, item in items for field in item}


def items_of(call: Call) -> int:
    return sum(map(len, call["groups"].values()))
