"""The calls of a change domain that the rules need, each recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, TypeVar

from pyadeq.asyncio import Adeq, Call, Changes, Result
from pyadeq.ext.chaos.recorder import Recorder

T = TypeVar("T")
UNASKED = frozenset({"configure", "confirm", "migrate"})
"""Calls that no rule asks for, besides those that only read."""
UNTOLD = frozenset({"parameters", "preview", "output", "factors", "error", "error_details", "reason", "description"})
"""What calls carry and no rule asks for."""
CONTEXT = frozenset({"now_ms", "source", "trace"})
EMPTY = ("", b"")


class RecordedChanges(Changes):
    """A change domain whose writing calls are recorded, by whatever method and in whatever background they are made.

    asked has the arguments of the script by their names, as they are sent, and the rid; answer has `status` and the
    fields of the answer, those of each item in `items`. Of the content that `begin` returns only its digest and its
    resources are noted: `content_digest`, `resources`.
    """

    def __init__(self, recorder: Recorder, adeq: Adeq, domain: str, client: str, durability: str = "memory") -> None:
        plain = adeq.changes(domain)
        super().__init__(RecordingRunner(recorder, adeq, client, durability), plain.name, plain.base)

    async def call(self, verb: str, /, **arguments: Any) -> Result:
        """Make the call of a script by its name and its arguments. With the rid of an earlier call it is that call."""
        return await self._call(verb, **arguments)


class RecordingRunner:
    """A client that records the calls of its nouns."""

    def __init__(self, recorder: Recorder, adeq: Adeq, client: str, durability: str) -> None:
        self._recorder = recorder
        self._adeq = adeq
        self._client = client
        self._durability = durability

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adeq, name)

    async def send(self, call: Call[T], retry_for: float | None = None) -> T:
        """See `Adeq.send`."""
        return await self._note(call, self._adeq.send(call, retry_for))

    async def send_apart(self, call: Call[T]) -> T:
        """See `Adeq.send_apart`."""
        return await self._note(call, self._adeq.send_apart(call))

    async def _note(self, call: Call[T], sent: Awaitable[T]) -> T:
        noun, verb, _ = call.script.id.split(".")
        if call.script.read_only or verb in UNASKED:
            return await sent
        told = asked_of(call)
        return await self._recorder.note(self._client, f"{noun}.{verb}", self._durability, told, sent, _told)


def asked_of(call: Call[Any]) -> dict[str, Any]:
    """The arguments of a call by their names."""
    words = iter(call.args)
    asked = _named(call.script.args, words)
    for group in call.script.groups:
        items = asked[group.name] = []
        for _ in range(int(next(words))):
            item = _named(group.fields, words)
            if group.pairs:
                pairs = {one.name: one for one in group.pairs}
                for _ in range(int(next(words))):
                    name = _text(next(words))
                    item |= _named([pairs[name]], words)
            items.append(item)
    return asked


def _named(arguments: Sequence[Any], words: Iterator[Any]) -> dict[str, Any]:
    """Arguments by their names, as their declarations in the manifest say."""
    given = [(one, next(words)) for one in arguments]
    return {one.name: _read(one, word) for one, word in given if one.name not in CONTEXT | UNTOLD and word not in EMPTY}


def _read(argument: Any, word: Any) -> Any:
    match argument.type:
        case "int":
            return int(word)
        case "bool":
            return word not in ("0", b"0", 0)
        case "ids" | "labels" | "lanes":
            return [one for one in _text(word).split(",") if one]
        case _:
            return _text(word)


def content_digest(content: dict[str, Any], parameters: bytes) -> str:
    """The digest of the content of a change, as every client can compute it."""
    fields = [content["type"], content["version"], content["description"], parameters, *content["resources"]]
    fields += [content["rollback_strategy"], str(round(content["timeout"] * 1000)), str(content["priority"])]
    texts = [one if isinstance(one, bytes) else str(one).encode() for one in fields]
    return hashlib.sha1(b"".join(b"%d:%b," % (len(text), text) for text in texts)).hexdigest()


def _told(answer: Any) -> dict[str, Any]:
    told = {"status": answer.status, **{name: _plain(value) for name, value in answer.fields.items()}}
    if "content" in told:
        told["content_digest"] = content_digest(answer.content, answer.parameters)
        told["resources"] = list(answer.content["resources"])
        del told["content"], told["parameters"]
    return told


def _plain(value: Any) -> Any:
    """A value as it is written to a journal."""
    if isinstance(value, Result):
        return {"status": value.status, **{name: _plain(one) for name, one in value.fields.items()}}
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if name not in UNTOLD}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
