"""A call of a script as a value. The manifest determines how it is checked, and how its reply is decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Final, Generic, NoReturn, TypeVar

from pyadeq._core.kernel.manifest import Argument, Field, Group, Library, Script, library
from pyadeq._core.kernel.packing import Wire, pack, without_count
from pyadeq.errors import AdeqError, BadArgument, ConfigError
from pyadeq.keys import ALLOWED, PATTERNS, hash_slot, no_base, shown
from pyadeq.models.settings import SETTINGS

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Reply = list[Any]
"""A raw reply: a list of bytes, int and such lists."""
Item = Sequence[Any]
"""One item of a group: its fields in order. If the group has pairs, the last entry is a mapping of them."""

MAX_ITEMS: Final = 1000
MAX_BYTES: Final = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call(Generic[T_co]):
    """A script with its keys and arguments, and how to read its reply. Sent twice, it has one effect."""

    script: Script
    keys: tuple[str, ...]
    args: tuple[Wire, ...] = field(repr=False)
    decode: Callable[[Reply], T_co] = field(repr=False)

    def command(self) -> tuple[Wire, ...]:
        """What goes over the wire: EVALSHA, or EVALSHA_RO for a script that only reads."""
        return (*_head(self.script, self.keys), *self.args)

    def packed(self) -> bytes:
        """Encode the command in the protocol of Redis. The part that depends on the script and its keys is cached."""
        words, head = _packed_head(self.script, self.keys)
        count = b"*%d\r\n" % (words + len(self.args))
        return b"".join((count, head, without_count(pack(*self.args))))


def _head(script: Script, keys: tuple[str, ...]) -> tuple[Wire, ...]:
    return ("EVALSHA_RO" if script.read_only else "EVALSHA", script.sha1, len(keys), *keys)


@lru_cache(maxsize=4096)
def _packed_head(script: Script, keys: tuple[str, ...]) -> tuple[int, bytes]:
    """Return how many words the head of a command has, and the words as they are sent."""
    head = _head(script, keys)
    return len(head), bytes(without_count(pack(*head)))


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and its declared fields; a list field holds one Answer per entry."""

    status: str
    fields: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]


def build_call(
    script_id: str,
    base: str,
    scalars: Mapping[str, Any],
    groups: Mapping[str, Sequence[Item]] | None = None,
    *,
    decode: Callable[[Reply], T],
    bases: Mapping[str, str] | None = None,
    scripts: Library | None = None,
) -> Call[T]:
    """Check and encode one call.

    A scalar or field that is absent or None takes its default. bases: those of the other nouns that the script uses,
    such as `{"lock": "ade:{prod}:lock:default"}`; a noun that is in another slot is left out. Raises BadArgument, which
    names the field, the value and what is allowed, and ConfigError if the keys are not all in one hash slot.
    """
    script = (scripts or library())[script_id]
    if script.uses or bases:
        keys = _keys_of_nouns(script, base, tuple(sorted((bases or {}).items())))
    else:
        keys = _keys(script, base)
    encoder = _encoder(script)
    return Call(script, keys, encoder.groups(encoder.scalars(scalars), groups or {}), decode)


def template(script_id: str, base: str, **scalars: Any) -> Template:
    """What calls of a script have in common that differ only in their rids and groups, checked and encoded once."""
    try:
        return _template(script_id, base, **scalars)
    except TypeError:  # a list, for instance, which cannot be looked up: encoding names the field
        return _template.__wrapped__(script_id, base, **scalars)


@lru_cache(maxsize=1024, typed=True)
def _template(script_id: str, base: str, **scalars: Any) -> Template:
    script = library()[script_id]
    keys = _keys_of_nouns(script, base, ()) if script.uses else _keys(script, base)
    return Template(script, keys, tuple(_encoder(script).scalars({**scalars, "rid": "-"})), script.rid_at)


@dataclass(frozen=True, slots=True)
class Template:
    """A script with its keys and its encoded scalars, except the rid."""

    script: Script
    keys: tuple[str, ...]
    head: tuple[Wire, ...]
    rid_at: int

    def call(self, rid: str, groups: Mapping[str, Sequence[Item]], decode: Callable[[Reply], T]) -> Call[T]:
        """Check and encode the rest of a call, as `build_call` does."""
        encoder = _encoder(self.script)
        args = list(self.head)
        args[self.rid_at] = encoder.scalar(self.rid_at, rid)
        return Call(self.script, self.keys, encoder.groups(args, groups), decode)


@lru_cache(maxsize=4096)
def _keys_of_nouns(script: Script, base: str, bases: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """The keys of a script that uses other nouns, each with the base of its noun."""
    given = dict(bases)
    if unknown := given.keys() - set(script.uses):
        wanted = ", ".join(script.uses) or "none"
        raise ConfigError(f"bases: {min(unknown)} is not accepted by {script.id}; allowed: bases of {wanted}")
    if len({base, *given.values()}) < 1 + len(given):
        raise ConfigError(f"bases: {shown(base)} is given twice; each noun has a base of its own")
    given = {noun: given.get(noun) or no_base(base) for noun in script.uses}
    found = []
    for key in script.keys:
        noun, _, rest = key.template[1:].partition("}")
        found.append(given.get(noun, base) + rest)
    if len({hash_slot(key) for key in found}) > 1:
        told = " and ".join(map(shown, [base, *(given[noun] for noun in script.uses)]))
        raise ConfigError(
            f"bases: {told} put the keys of {script.id} in different hash slots; put both nouns in one slot: "
            "Adeq(slot=…)"
        )
    return tuple(found)


@lru_cache(maxsize=4096)
def _keys(script: Script, base: str) -> tuple[str, ...]:
    keys = tuple(key.template.replace("{base}", base) for key in script.keys)
    if len({hash_slot(key) for key in keys}) > 1:
        raise ConfigError(
            f"base: {shown(base)} puts the keys of {script.id} in different hash slots; "
            "give it a hash tag, as in ade:{queue:default}"
        )
    return keys


# Arguments. Each type compiles to a function that returns the encoded value or raises _Unfit.

Encode = Callable[[Any], Wire]


_TOLD: Final = {one.wire: one.name for settings in SETTINGS.values() for one in settings}
"""The names that users know for settings, some of which are also options of tasks."""


def _as_given(name: str, value: Any, low: int, high: int) -> tuple[str, Any, str]:
    """The name and the value of an integer, and what is allowed, in the units of the user: seconds, for instance."""
    unit = 1000 if name.endswith("_ms") and name != "now_ms" else 100 if name.endswith("_pct") else 1
    if unit == 1 or not isinstance(value, int) or isinstance(value, bool):
        return name, value, f"an integer from {low} to {high}"
    told = _TOLD.get(name, name.removesuffix("_ms").removesuffix("_pct"))
    allowed = f"{low / unit:.12g} to {high / unit:.12g}{' seconds' * (unit == 1000)}"
    return told, _Plain(f"{value / unit:.12g}"), allowed


class _Plain(str):
    """A text that is shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


class _Unfit(Exception):
    """A value that its field does not accept."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        super().__init__(name, value, allowed)
        self.name, self.value, self.allowed = name, value, allowed


def _encode_text(name: str, kind: str) -> Encode:
    fullmatch = PATTERNS[kind].fullmatch

    def encode(value: Any) -> Wire:
        if not isinstance(value, str) or not fullmatch(value):
            raise _Unfit(name, value, ALLOWED[kind])
        return value

    return encode


def _encode_list(argument: Argument, kind: str) -> Encode:
    fullmatch = PATTERNS[kind].fullmatch
    name, low, high = argument.name, argument.min, argument.max

    def encode(value: Any) -> Wire:
        if not isinstance(value, list | tuple) or not low <= len(value) <= high:
            raise _Unfit(name, value, f"a list of {low} to {high} {kind}s")
        for one in value:
            if not isinstance(one, str) or not fullmatch(one):
                raise _Unfit(name, one, f"{kind}s of {ALLOWED[kind]}")
        return ",".join(value)

    return encode


def _encode_int(argument: Argument) -> Encode:
    name, low, high = argument.name, argument.min, argument.max

    def encode(value: Any) -> Wire:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _Unfit(*_as_given(name, value, low, high))
        return int(value)

    return encode


def _encode_bytes(argument: Argument) -> Encode:
    name, low, high = argument.name, argument.min, argument.max

    def encode(value: Any) -> Wire:
        try:
            data = value.encode() if isinstance(value, str) else value
        except UnicodeEncodeError:
            half = _Plain(f"a text with half of a surrogate pair ({len(value)} characters)")
            raise _Unfit(name, half, f"{low} to {high} bytes of UTF-8") from None
        if not isinstance(data, bytes) or not low <= len(data) <= high:
            # The value may be a user's payload, so the error shows only its length.
            told = data if isinstance(data, bytes) else type(data)
            raise _Unfit(name, told, f"{low} to {high} bytes")
        return data

    return encode


def _encode_enum(argument: Argument) -> Encode:
    name, words = argument.name, argument.words

    def encode(value: Any) -> Wire:
        if not isinstance(value, str) or value not in words:
            raise _Unfit(name, value, " or ".join(words))
        return value

    return encode


def _encode_bool(name: str) -> Encode:
    def encode(value: Any) -> Wire:
        if not isinstance(value, bool):
            raise _Unfit(name, value, "True or False")
        return int(value)

    return encode


def _encode_argument(argument: Argument) -> Encode:
    match argument.type:
        case "id" | "label" | "name" | "lane" | "limit":
            encode = _encode_text(argument.name, argument.type)
        case "ids" | "labels" | "lanes":
            encode = _encode_list(argument, argument.type.removesuffix("s"))
        case "int":
            encode = _encode_int(argument)
        case "bytes":
            encode = _encode_bytes(argument)
        case "enum":
            encode = _encode_enum(argument)
        case "bool":
            encode = _encode_bool(argument.name)
        case other:
            raise AdeqError(f"manifest: {argument.name} has the type {other}, which this pyadeq does not know")
    if argument.default is None:
        return encode

    def optional(value: Any) -> Wire:
        return b"" if value is None else encode(value)

    return optional


def _encode_column(argument: Argument) -> Callable[[Sequence[Any]], Sequence[Wire]]:
    """Compile a function that encodes one field of many items at once."""
    encode = _encode_argument(argument)
    if argument.default is None and argument.type in PATTERNS:
        fullmatch, allowed = PATTERNS[argument.type].fullmatch, ALLOWED[argument.type]

        def check(values: Sequence[Any]) -> Sequence[Wire]:
            if not all(map(fullmatch, values)):  # fullmatch raises TypeError if a value is not a text
                raise _Unfit(argument.name, values, allowed)
            return values

        return check
    return lambda values: [encode(value) for value in values]


def _pairs_encoder(group: Group) -> Callable[[list[Wire], Any], None]:
    encoders = {pair.name: _encode_argument(pair) for pair in group.pairs}

    def add_pairs(out: list[Wire], pairs: Any) -> None:
        at = len(out)
        out.append(0)
        for name, value in pairs.items():
            if name not in encoders:
                raise _Unfit(name, value, f"only the names {', '.join(encoders)}")
            if value is not None:
                out.append(name)
                out.append(encoders[name](value))
        out[at] = (len(out) - at) // 2

    return add_pairs


def _group_encoder(script: Script, group: Group) -> Callable[[list[Wire], Sequence[Item]], None]:
    encoders = tuple(map(_encode_argument, group.fields))
    width = len(encoders) + bool(group.pairs)
    order = ", ".join([one.name for one in group.fields] + ["pairs"] * bool(group.pairs))
    add_pairs = _pairs_encoder(group) if group.pairs else None
    columns = tuple(map(_encode_column, group.fields))

    def add_columns(out: list[Wire], items: Sequence[Item]) -> None:
        """Encode all items column by column. Much faster than item by item, but errors do not name the item."""
        encoded = [encode(values) for encode, values in zip(columns, zip(*items, strict=True), strict=True)]
        out.extend(chain.from_iterable(zip(*encoded, strict=True)))

    def add(out: list[Wire], items: Sequence[Item]) -> None:
        if not group.min <= len(items) <= group.max:
            _refuse(script, group.name, f"{len(items)} items", f"{group.min} to {group.max} items in one call")
        out.append(len(items))
        if items and add_pairs is None:
            with suppress(_Unfit, TypeError, ValueError):
                return add_columns(out, items)
        for index, item in enumerate(items):
            try:
                if len(item) != width:
                    raise _Unfit("fields", len(item), f"{width} in this order: {order}")
                for encode, value in zip(encoders, item, strict=False):
                    out.append(encode(value))
                if add_pairs is not None:
                    add_pairs(out, item[-1])
            except _Unfit as unfit:
                _refuse(script, f"{group.name}[{index}].{unfit.name}", shown(unfit.value), unfit.allowed)

    return add


class _Encoder:
    """Checks and encodes the arguments of one script."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._scalars = tuple((argument.name, _encode_argument(argument)) for argument in script.args)
        self._groups = tuple((group.name, _group_encoder(script, group)) for group in script.groups)
        self._scalar_names = frozenset(name for name, _ in self._scalars)
        self._group_names = frozenset(name for name, _ in self._groups)

    def scalars(self, scalars: Mapping[str, Any]) -> list[Wire]:
        """Encode all scalars, in order."""
        if not scalars.keys() <= self._scalar_names:
            self._refuse_unknown(scalars.keys() - self._scalar_names)
        value_of = scalars.get
        try:
            return [encode(value_of(name)) for name, encode in self._scalars]
        except _Unfit as unfit:
            _refuse(self._script, unfit.name, shown(unfit.value), unfit.allowed)

    def scalar(self, at: int, value: Any) -> Wire:
        """Encode one scalar, by its place."""
        try:
            return self._scalars[at][1](value)
        except _Unfit as unfit:
            _refuse(self._script, unfit.name, shown(unfit.value), unfit.allowed)

    def groups(self, out: list[Wire], groups: Mapping[str, Sequence[Item]]) -> tuple[Wire, ...]:
        """Encode all groups behind the scalars."""
        if not groups.keys() <= self._group_names:
            self._refuse_unknown(groups.keys() - self._group_names)
        items = sum([len(group) for group in groups.values()])
        if items > MAX_ITEMS:
            _refuse(self._script, "items", str(items), f"{MAX_ITEMS} items in one call; send smaller batches")
        for name, add in self._groups:
            add(out, groups.get(name, ()))
        size = sum([len(arg) for arg in out if not isinstance(arg, int)])
        if size > MAX_BYTES:
            _refuse(self._script, "arguments", f"{size} bytes", f"{MAX_BYTES} bytes in one call; send smaller batches")
        return tuple(out)

    def _refuse_unknown(self, names: Set[str]) -> NoReturn:
        _refuse(self._script, min(names), "unknown", ", ".join(sorted(self._scalar_names | self._group_names)))


_encoder = cache(_Encoder)


def _refuse(script: Script, name: str, value: str, allowed: str) -> NoReturn:
    raise BadArgument("ADEQ_ARG", script.id, f"{name}: {value} is not accepted; allowed: {allowed}")


# Replies.

Decode = Callable[[Any], Any]
Statuses = Mapping[bytes, tuple[str, tuple[str, ...], tuple[Decode, ...]]]
"""The statuses of a reply by their word in it: each has a name, and the names and decoders of its fields."""


def parse_reply(script: Script, reply: Reply) -> Answer:
    """Decode a raw reply by the statuses that the manifest declares; AdeqError if it has another form."""
    return _answer(script, _statuses(script), reply)


def _answer(script: Script, statuses: Statuses, reply: Any) -> Answer:
    try:
        status, names, decoders = statuses[reply[0]]
        return Answer(
            status, {name: decode(value) for name, decode, value in zip(names, decoders, reply[1:], strict=True)}
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise AdeqError(
            f"{script.id}: the reply is not what the manifest declares ({type(error).__name__}: {error}); "
            "script and manifest differ, install pyadeq again"
        ) from error


@cache
def _statuses(script: Script, shape: str | None = None) -> Statuses:
    declared = script.returns if shape is None else script.shapes[shape]
    return {
        status.encode(): (
            status,
            tuple(one.name for one in fields),
            tuple(_decode_field(script, one) for one in fields),
        )
        for status, fields in declared.items()
    }


def _decode_field(script: Script, declared: Field) -> Decode:
    match declared.type:
        case "int":
            return int
        case "bytes":
            return _decode_bytes
        case "id" | "label" | "name" | "lane" | "limit" | "text":
            return bytes.decode
        case "ids":
            return _decode_ids
        case "pairs":
            return _decode_pairs
        case "list" if declared.shape is not None:
            statuses = _statuses(script, declared.shape)
            return lambda entries: [_answer(script, statuses, entry) for entry in entries]
        case other:
            raise AdeqError(f"manifest: {declared.name} has the type {other}, which this pyadeq does not know")


def _decode_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} where bytes belong")
    return value


def _decode_ids(values: list[bytes]) -> list[str]:
    return [value.decode() for value in values]


def _decode_pairs(flat: list[bytes]) -> dict[str, bytes]:
    return {name.decode(): value for name, value in zip(flat[::2], flat[1::2], strict=True)}
