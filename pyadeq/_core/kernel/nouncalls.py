"""The calls of any noun, by the names that the manifest has for arguments and fields.

The calls that are made for each task have their own encoders and decoders, by position: see `_core/queue/calls.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NoReturn, TypeVar, get_args

from pyadeq._core.kernel.call import Answer, Call, Item, build_call, parse_reply
from pyadeq._core.kernel.manifest import Argument, Group, Script, library
from pyadeq._core.kernel.migration import Layout, layout
from pyadeq._core.kernel.options import checked_options, refuse_single
from pyadeq.errors import BadArgument
from pyadeq.keys import hint
from pyadeq.models.base import Model, to_ms

T = TypeVar("T")
M = TypeVar("M", bound=Model)
CONTEXT: Final = frozenset({"now_ms", "source", "trace"})
"""Arguments that the client fills in. In a script that only reads, `source` is a condition: `queue.list`."""


class Result:
    """The answer of a call: `result.status`, and each field by its name, `result.text`; `fields` has all of them.

    Times are in seconds, and their names have no `_ms`. A field that only other answers of the script have is None. An
    unknown name raises AttributeError.
    """

    def __init__(self, status: str, fields: dict[str, Any], known: frozenset[str] | None = None) -> None:
        self.status = status
        self.fields = fields
        self._known = known

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copy and pickle read such names before the fields exist
            raise AttributeError(name)
        if self._known is not None and name not in self._known and name not in self.fields:
            names = sorted(self._known)
            raise AttributeError(f"{name}: no answer has it{hint(name, names)} Fields: {', '.join(names)}")
        return self.fields.get(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and (self.status, self.fields) == (other.status, other.fields)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{' '.join([self.status, *(f'{name}={value!r}' for name, value in self.fields.items())])}>"


@dataclass(frozen=True)
class NounCalls:
    """Builds the calls of one base.

    now_ms and trace are functions that are called once per call. now_ms returns the time of a test clock, otherwise 0.
    trace returns the current W3C traceparent, or nothing. new_rid makes a rid for a call that is built without one.
    """

    base: str
    now_ms: Callable[[], int] = field(default=lambda: 0)
    source: str = ""
    trace: Callable[[], str | None] = field(default=lambda: None)
    noun: str = field(default="", kw_only=True)
    new_rid: Callable[[], str] | None = field(default=None, kw_only=True)

    def build(self, verb: str, /, **arguments: Any) -> Call[Result]:
        """Build a call from named arguments. A time can be given in seconds, under its name without `_ms`.

        A group is a list of items: each a value, its fields in order, or a mapping of its fields and pairs. If the
        script uses other nouns, the argument of a noun's name is the base of that noun: `lock=locks.base`. Without it,
        the script does what it does where that noun is in another slot.
        A `rid` that is left out is made here, so that the call, sent again, takes effect once.
        """
        script = script_of(self.noun, verb)
        if self.new_rid and _has_rid(script) and arguments.get("rid") is None:
            arguments["rid"] = self.new_rid()
        return self.ask(verb, lambda answer: result(script, answer), **arguments)

    def ask(self, verb: str, decode: Callable[[Answer], T], /, **arguments: Any) -> Call[T]:
        """Build a call whose answer a decoder reads, such as `status` or `models(RunNow)`. It makes no rid."""
        script = script_of(self.noun, verb)
        bases = {noun: arguments.pop(noun) for noun in script.uses if noun in arguments}
        scalars, groups = _sorted_out(script, arguments)
        return self.call(verb, decode, groups, bases, **scalars)

    def call(
        self,
        verb: str,
        decode: Callable[[Answer], T],
        groups: Mapping[str, Sequence[Item]] | None = None,
        bases: Mapping[str, str] | None = None,
        /,
        **scalars: Any,
    ) -> Call[T]:
        """Build a call from arguments in the form in which they are sent, and a decoder for its answer."""
        script = script_of(self.noun, verb)
        for name in _context(script):
            scalars[name] = (
                self.now_ms() if name == "now_ms" else (self.source if name == "source" else self.trace()) or None
            )
        return build_call(
            script.id, self.base, scalars, groups, decode=lambda reply: decode(parse_reply(script, reply)), bases=bases
        )

    def migrate(self, done: bool = False) -> Call[Layout]:
        """Build a call that migrates the layout. done: everything that was stored is rewritten."""
        return self.call("migrate", layout, done=done)


@cache
def script_of(noun: str, verb: str) -> Script:
    """The newest version of a script."""
    ids = [id for id in library() if id.startswith(f"{noun}.{verb}.v")]
    return library()[max(ids, key=lambda id: int(id.rpartition("v")[2]), default=f"{noun}.{verb}.v1")]


@cache
def _context(script: Script) -> tuple[str, ...]:
    known = {"now_ms"} if script.read_only else CONTEXT
    return tuple(argument.name for argument in script.args if argument.name in known)


@cache
def _has_rid(script: Script) -> bool:
    """Return whether the script recognizes repeated calls by a rid."""
    return script.replay == "rid" and any(argument.name == "rid" for argument in script.args)


def in_seconds(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`deadline_ms` becomes `deadline`, in seconds."""
    return {name.removesuffix("_ms"): value / 1000 if name.endswith("_ms") else value for name, value in fields.items()}


# Arguments.


def _sorted_out(script: Script, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Item]]]:
    """Split the arguments into scalars, as they are sent, and the items of groups."""
    names, groups_of = _accepted(script)
    scalars: dict[str, Any] = {}
    groups: dict[str, list[Item]] = {}
    for name, value in given.items():
        if name in groups_of:
            groups[name] = _items(groups_of[name], value)
            continue
        if (sent := names.get(name)) is None:
            checked_options([name], [*groups_of, *names])
        elif sent in scalars:
            _refuse_twice(sent)
        else:
            scalars[sent] = value if sent == name or value is None else to_ms(name, value)
    return scalars, groups


@cache
def _accepted(script: Script) -> tuple[dict[str, str], dict[str, Group]]:
    """Return the accepted name of each scalar with the name that is sent, and the groups by their names."""
    own = [argument for argument in script.args if argument.name not in _context(script)]
    sent = {argument.name for argument in own}
    names = {word: word if word in sent else f"{word}_ms" for word in _words(own)}
    return names, {group.name: group for group in script.groups}


def _words(arguments: Sequence[Argument]) -> list[str]:
    """Return the accepted names: of times in seconds, and in ms."""
    names = [argument.name for argument in arguments]
    return [*dict.fromkeys(name.removesuffix("_ms") for name in names), *(n for n in names if n.endswith("_ms"))]


def _sent(arguments: Sequence[Argument], given: Mapping[str, Any]) -> dict[str, Any]:
    """Seconds as milliseconds. A name that is not known stays: the check of the call refuses it."""
    names = {argument.name for argument in arguments}
    sent: dict[str, Any] = {}
    for name, value in given.items():
        if f"{name}_ms" in names & given.keys():
            _refuse_twice(f"{name}_ms")
        if name in names or f"{name}_ms" not in names:
            sent[name] = value
        else:
            sent[f"{name}_ms"] = None if value is None else to_ms(name, value)
    return sent


def _refuse_twice(sent: str) -> NoReturn:
    name = sent.removesuffix("_ms")
    raise BadArgument("ADEQ_ARG", "pyadeq", f"{name}: it is given twice, as {name} and as {sent}")


def _items(group: Group, given: Any) -> list[Item]:
    if isinstance(given, Mapping):  # a mapping is the only item of a group such as `settings`
        given = [given]
    refuse_single(group.name, given)
    return [_item(group, one) for one in given]


def _item(group: Group, given: Any) -> Item:
    if isinstance(given, list | tuple):
        return given
    if not isinstance(given, Mapping):
        return (given, {}) if group.pairs else (given,)
    own = _words(group.fields)
    fields = _sent(group.fields, {name: value for name, value in given.items() if name in own})
    pairs = _sent(group.pairs, {name: value for name, value in given.items() if name not in own})
    if pairs and not group.pairs:
        checked_options(pairs, own)
    return [*(fields.get(argument.name) for argument in group.fields), *([pairs] if group.pairs else [])]


# Replies.


def status(answer: Answer) -> Any:
    return answer.status


def statuses(answer: Answer) -> list[Any]:
    """Return the status of each item."""
    return [one.status for one in answer["items"]]


def models(kind: type[M], field: str = "items") -> Callable[[Answer], list[M]]:
    """Return a decoder that makes an object of each entry of a list; see `model`."""
    return lambda answer: [model(kind, entry) for entry in answer[field]]


def model(kind: type[M], entry: Answer, **more: Any) -> M:
    """Make an object of an answer: `status` and the fields by their names, times in seconds without `_ms`.

    A field of the model that may be None is None for an empty text, and for the time 0. Bytes become a text if the
    model has one. If the model has another name than the manifest, its `_from_reply` says so. more: further fields.
    """
    fields = more
    status, readers = _readers(kind)
    if status:
        fields["status"] = entry.status
    for name, value in entry.fields.items():
        if (reader := readers.get(name)) is not None:
            own, read = reader
            fields[own] = read(value) if read else value
    return kind(**fields)


@cache
def _readers(kind: type[Model]) -> tuple[bool, dict[str, tuple[str, Callable[[Any], Any] | None]]]:
    """Return whether a model has a status, and by the names in a reply: its fields, and how to read their values."""
    in_reply = {own: name for name, own in kind._from_reply.items()}
    readers: dict[str, tuple[str, Callable[[Any], Any] | None]] = {}
    for own, one in kind.model_fields.items():
        kinds = (one.annotation, *get_args(one.annotation))
        optional = type(None) in kinds
        name = in_reply.get(own, own)
        readers[name] = own, (_read_text_or_none if optional else _read_text) if str in kinds else None
        if float in kinds:
            readers[f"{name}_ms"] = own, _read_time_or_none if optional else _read_time
    return "status" in kind.model_fields, readers


def _read_text(value: Any) -> str:
    return _text(value) if isinstance(value, bytes) else value


def _read_text_or_none(value: Any) -> str | None:
    return _read_text(value) or None


def _read_time(ms: int) -> float:
    return ms / 1000


def _read_time_or_none(ms: int) -> float | None:
    return ms / 1000 if ms else None


def result(script: Script, answer: Answer, shape: str | None = None) -> Result:
    """An answer with times in seconds, and records by the types of their tables; an object for each entry of a list."""
    declared = script.returns if shape is None else script.shapes[shape]
    fields = dict(answer.fields)
    for one in declared[answer.status]:
        if one.type == "list":
            fields[one.name] = [result(script, entry, one.shape) for entry in fields[one.name]]
        elif one.type == "pairs" and one.table:
            fields[one.name] = record(script.id.partition(".")[0], one.table, fields[one.name])
    return Result(answer.status, in_seconds(fields), _known(script, shape))


@cache
def _known(script: Script, shape: str | None) -> frozenset[str]:
    """Return all field names that occur in at least one status."""
    declared = script.returns if shape is None else script.shapes[shape]
    return frozenset(one.name.removesuffix("_ms") for fields in declared.values() for one in fields)


def record(noun: str, table: str, stored: Mapping[str, bytes]) -> dict[str, Any]:
    """A record, by the types of a table of the manifest. A name that it does not have stays bytes.

    Settings that are not stored are at their defaults. An empty int is None.
    """
    types, others = _types(noun, table)
    found: dict[str, Any] = {**_defaults(noun)} if table == "settings" else {}
    for name, value in stored.items():
        kind = types.get(name, others)
        if kind == "int" and value == b"":
            found[name] = None
        elif kind == "int" and name.endswith("_ms"):
            found[name.removesuffix("_ms")] = int(value) / 1000
        else:
            found[name] = _READ[kind](value)
    return found


@cache
def _types(noun: str, table: str) -> tuple[dict[str, str], str]:
    """Return the type of each name of a table, and the type of its pattern, a name such as `<lane>`."""
    entries = library().manifest["nouns"][noun]["tables"][table]
    types = {entry["name"]: entry["type"] for entry in entries}
    return types, next((kind for name, kind in types.items() if "<" in name), "bytes")


@cache
def _defaults(noun: str) -> dict[str, Any]:
    settings = library().manifest["nouns"][noun]["settings"]
    return in_seconds({one["name"]: one["default"] for one in settings if one["default"] != ""})


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _as_is(value: bytes) -> bytes:
    return value


_READ: Final[dict[str, Callable[[bytes], Any]]] = {
    **dict.fromkeys(("id", "label", "name", "lane", "limit", "text", "enum"), _text),
    **dict.fromkeys(("ids", "labels", "lanes"), lambda value: tuple(filter(None, _text(value).split(",")))),
    "bytes": _as_is,
    "int": int,
    "bool": lambda value: value not in (b"", b"0"),
}
