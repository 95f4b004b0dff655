"""Clients that record the calls of nouns, by whatever method they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from pyadeq.asyncio import Adeq, Call, Result
from pyadeq.ext.prove.chaos.recorder import Recorder

T = TypeVar("T")
Told = dict[str, Any]
UNASKED = frozenset({"configure", "confirm", "migrate"})
"""Calls that no rule asks for, besides those that only read."""
UNTOLD = frozenset({"parameters", "preview", "output", "factors", "error", "error_details", "reason", "description"})
"""What calls carry and no rule asks for."""
CONTEXT = frozenset({"now_ms", "source", "trace"})
EMPTY = ("", b"")


class RecordingRunner:
    """A client that records the calls of its nouns.

    asked has the arguments of the script by their names, as they are sent, and the rid; answer has `status` and the
    fields of the answer, those of each item in `items`.

    told: what is recorded of an answer. reads: verbs that are recorded though they only read. results: by verb, what
    reads a reply as a Result, where the method of the noun reads it in another way.
    """

    def __init__(
        self,
        recorder: Recorder,
        adeq: Adeq,
        client: str,
        durability: str,
        *,
        told: Callable[[Result], Told] | None = None,
        reads: frozenset[str] = frozenset(),
        results: Mapping[str, Callable[[Any], Result]] | None = None,
    ) -> None:
        self._recorder = recorder
        self._adeq = adeq
        self._client = client
        self._durability = durability
        self._told = told or told_of
        self._reads = reads
        self._results = results or {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._adeq, name)

    async def send(self, call: Call[T], retry_for: float | None = None) -> T:
        """See `Adeq.send`."""
        return await self._note(call, lambda call: self._adeq.send(call, retry_for))

    async def send_apart(self, call: Call[T]) -> T:
        """See `Adeq.send_apart`."""
        return await self._note(call, self._adeq.send_apart)

    async def _note(self, call: Call[T], send: Callable[[Call[T]], Any]) -> T:
        noun, verb, _ = call.script.id.split(".")
        if (call.script.read_only and verb not in self._reads) or verb in UNASKED:
            found: T = await send(call)
            return found
        told: Callable[[Any], Told] = self._told
        if read := self._results.get(verb):
            decode, replies = call.decode, list[Any]()

            def keep(reply: Any) -> T:
                replies.append(reply)
                return decode(reply)

            call = replace(call, decode=keep)
            told = lambda _: self._told(read(replies[-1]))  # noqa: E731
        asked = asked_of(call)
        return await self._recorder.note(self._client, f"{noun}.{verb}", self._durability, asked, send(call), told)


class Recorded:
    """A noun whose calls are recorded: `class RecordedRates(Recorded, Rates, of=Adeq.rates)`.

    of: returns the noun of a client by its name. how: further options of RecordingRunner.
    """

    _of: ClassVar[Any]
    _how: ClassVar[Mapping[str, Any]]

    def __init_subclass__(cls, *, of: Callable[[Any, str], Any], **how: Any) -> None:
        cls._of, cls._how = staticmethod(of), how

    def __init__(self, recorder: Recorder, adeq: Adeq, name: str, client: str, durability: str = "memory") -> None:
        self._recorder, self._client = recorder, client
        plain, runner = self._of(adeq, name), RecordingRunner(recorder, adeq, client, durability, **self._how)
        super().__init__(runner, plain.name, plain.base)  # type: ignore[call-arg]  # of the noun


def asked_of(call: Call[Any]) -> Told:
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


def _named(arguments: Sequence[Any], words: Iterator[Any]) -> Told:
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


def told_of(answer: Result) -> Told:
    """An answer as it is written to a journal."""
    return {"status": answer.status, **{name: _plain(value) for name, value in answer.fields.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return told_of(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items() if name not in UNTOLD}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
