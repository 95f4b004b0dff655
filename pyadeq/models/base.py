"""What the models of all nouns share: times, JSON, and two base classes.

Times are seconds (float) in Python and milliseconds in Lua; points in time are seconds since the epoch on the
server's clock.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, FieldSerializationInfo, ValidationError, computed_field, field_serializer
from pydantic_core import to_jsonable_python

from pyadeq.errors import BadArgument
from pyadeq.keys import hint, shown

Seconds: TypeAlias = float | timedelta
Moment: TypeAlias = float | datetime
"""Seconds since the epoch, or a datetime with a time zone."""


LAST_SECOND = 253_402_300_799.0
"""The end of the year 9999, after which ISO 8601 as programs read it has no times."""
MOST_LEVELS: Final = 200
"""Levels of a value that is given as JSON. Many programs refuse deeper ones."""
NO_TEXT: Final = "it is not UTF-8"
TOO_DEEP: Final = f"it is nested deeper than {MOST_LEVELS} levels"


def to_ms(field: str, seconds: Seconds) -> int:
    """Convert seconds or a timedelta to whole milliseconds."""
    value = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    try:
        return round(value * 1000)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{field} must be seconds or a timedelta, got {value!r}") from None


def to_epoch_ms(field: str, moment: Moment) -> int:
    """Convert a point in time to whole milliseconds since the epoch."""
    if isinstance(moment, datetime):
        if moment.tzinfo is None:
            how = "moment.replace(tzinfo=ZoneInfo('Europe/Berlin'))"
            what = f"{field} must have a time zone, got {moment.isoformat()}; add one: {how}"
            raise BadArgument("ADEQ_ARG", "pyadeq", what)
        return round(moment.timestamp() * 1000)
    if not isinstance(moment, int | float):
        what = f"{field} must be a datetime with a time zone, or seconds since the epoch, got {moment!r}"
        read = "; read a text with datetime.fromisoformat" if isinstance(moment, str) else ""
        raise BadArgument("ADEQ_ARG", "pyadeq", what + read)
    return to_ms(field, moment)


def iso(seconds: float) -> str:
    """Return a point in time as ISO 8601 in UTC. A time after the year 9999 becomes the last one of that year."""
    moment = datetime.fromtimestamp(min(seconds, LAST_SECOND), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=to_jsonable_python
)


def encode(value: Any, name: str = "the value") -> bytes:
    """Return bytes unchanged, and anything else as JSON (UTF-8; no NaN or infinity).

    name: what the value is, for the error.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        where = _not_json(value, name, set()) or str(problem)
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{name} must be bytes or JSON: {where}") from problem


def utf8(text: str, name: str) -> bytes:
    """Return a text as UTF-8. Raises BadArgument, with its name, for half of a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{name} has half of a surrogate pair; allowed: UTF-8") from None


def _not_json(value: Any, path: str, above: set[int]) -> str | None:
    """Return the first part of a value that JSON cannot hold, and why; its place and type only, not its content."""
    if value is None or isinstance(value, bool | int):
        return None
    if isinstance(value, str):
        return None if value.isprintable() or _is_utf8(value) else f"{path} has half of a surrogate pair"
    if isinstance(value, float):
        return None if isfinite(value) else f"{path} is {value}, which JSON has no number for"
    if not isinstance(value, dict | list | tuple):
        try:
            plain = to_jsonable_python(value)
        except Exception:
            kind = type(value)
            return f"{path} is of the type {kind.__module__}.{kind.__qualname__}, which JSON cannot hold"
        return None if plain is value else _not_json(plain, path, above)
    if id(value) in above:
        return f"{path} contains itself"
    if len(above) > MOST_LEVELS:
        return f"{path[:80]}… is nested too deep"
    above = {*above, id(value)}
    if isinstance(value, dict):
        for key, part in value.items():
            if isinstance(key, str) and not _is_utf8(key):
                return f"{path} has a key with half of a surrogate pair"
            if key is not None and not isinstance(key, str | int | float | bool):
                return f"{path} has a key of the type {type(key).__qualname__}; allowed: str, int, float, bool or None"
            if problem := _not_json(part, f"{path}.{key}", above):
                return problem
        return None
    return next((found for at, part in enumerate(value) if (found := _not_json(part, f"{path}[{at}]", above))), None)


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


class Model(BaseModel):
    """A base of models: frozen, and without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    _from_reply: ClassVar[Mapping[str, str]] = {}
    """What it has another name for than the reply of a script: name in the reply -> name here."""


if TYPE_CHECKING:

    class Given(Model):
        """A model that users create."""

else:

    class _Checking(type(BaseModel)):
        """Raises BadArgument for every error of a model. What pydantic validates itself keeps its own errors."""

        def __call__(cls, *args: Any, **fields: Any) -> Any:
            try:
                return super().__call__(*args, **fields)
            except ValidationError as error:
                raise BadArgument("ADEQ_ARG", "pyadeq", _unfit_field(cls, error)) from None

    class Given(Model, metaclass=_Checking):
        """A model that users create."""


def _unfit_field(model: type[BaseModel], error: ValidationError) -> str:
    """Describe the first invalid field of a model."""
    problem = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(map(str, problem["loc"][:1]))
    if problem["type"] == "extra_forbidden":
        names = list(model.model_fields)
        return f"{field}: {model.__name__} has no such field{hint(field, names)} Allowed: {', '.join(names)}"
    if problem["type"] == "missing":
        return f"{field}: {model.__name__} needs it"
    # A payload is not shown: it belongs to the user.
    given = type(problem["input"]).__name__ if field in ("payload", "headers") else shown(problem["input"])
    return f"{field}: {given} is not accepted for {model.__name__}; {problem['msg'][:1].lower()}{problem['msg'][1:]}"


class Migration(Model):
    """The answer to a migration: the layout before and after it, and the number of entries that were rewritten.

    before: equal to layout if there was nothing to do. Both are 0 if nothing is stored.
    """

    before: int
    layout: int
    rewritten: int


def read_json(data: bytes | None) -> Any:
    """Read bytes as JSON: None if they are empty, the text if they are not JSON."""
    if data is None or data == b"":
        return None
    try:
        return json.loads(data)
    except (ValueError, RecursionError):  # what is nested too deep is not looked into
        return data.decode(errors="replace")


@lru_cache(maxsize=8)  # a model asks several times for the same value
def flaw(data: bytes | None) -> str:
    """Why not each program could read stored bytes as JSON or as a text. Empty if each can."""
    if not data or _is_plain(data):
        return ""
    try:
        value = json.loads(data)
    except RecursionError:
        return TOO_DEEP
    except ValueError:
        return "" if is_text(data) else NO_TEXT
    return flaw_of(value)


_ONE_KIND: Final = bytes.maketrans(b"123456789E{}", b"000000000e[]")
_NO_MARK: Final = bytes(set(range(256)) - set(b'[]{}"'))
_LARGE: Final = b"e000", b"0" * 200, b"NaN", b"Infinity"
"""What a number has that may not be finite, with `0` for each digit and without `+`: an exponent of three digits, many
digits, or a name.
"""
_PAIR: Final = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_FEW_LEVELS: Final = 30


def _is_plain(data: bytes) -> bool:
    """Whether the bytes alone show that there is no flaw. This is much faster than to read them as JSON."""
    if b"\0" in data or not is_text(data):  # zeros: perhaps UTF-16
        return False
    if b"\\" in data:
        data = data.replace(b"\\\\", b"__")  # each of the other backslashes begins an escape
        if rb"\ud" in data or rb"\uD" in data:
            data = _PAIR.sub(b"", data)
            if rb"\ud" in data or rb"\uD" in data:
                return False
        data = data.replace(rb"\"", b"")
    # Texts may have such numbers and brackets, too, but it takes longer to leave the texts out.
    return (_is_small(data) or _is_small(_around_texts(data))) and _is_flat(data)


def _is_small(data: bytes) -> bool:
    """Whether each number is finite."""
    alike = data.translate(_ONE_KIND, b"+")
    return not any(one in alike for one in _LARGE)


def _is_flat(data: bytes) -> bool:
    """Whether brackets show that nothing is nested too deep."""
    marks = data.translate(_ONE_KIND, _NO_MARK).replace(b'""', b"")  # of texts without brackets, nothing is left
    if b'"' in marks:
        marks = _around_texts(marks)
    for turn in range(_FEW_LEVELS):  # each takes the innermost level away
        if turn + marks.count(b"[") <= MOST_LEVELS:
            return True
        marks = marks.replace(b"[]", b"")
    return False


def _around_texts(data: bytes) -> bytes:
    return b"".join(data.split(b'"')[::2])


def flaw_of(value: Any) -> str:
    """Return why not each program could read a value as JSON. Empty if each can. value: as JSON was decoded."""
    level = [value]
    for depth in range(MOST_LEVELS + 1):
        parts: list[Any] = []
        for one in level:
            if depth == MOST_LEVELS and isinstance(one, dict | list | tuple):
                return TOO_DEEP
            if isinstance(one, str):
                if not one.isascii() and not _is_utf8(one):
                    return "it has half of a surrogate pair"
            elif isinstance(one, float):
                if not isfinite(one):
                    return f"it has the number {one}, which JSON does not have"
            elif isinstance(one, dict):
                parts += one
                parts += one.values()
            elif isinstance(one, list | tuple):
                parts += one
        if not parts:
            return ""
        level = parts
    return ""


def is_text(data: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def shown_json(data: bytes | None) -> Any:
    """What readers of JSON get of stored bytes: as `read_json`, and None if not each of them could read it."""
    return None if flaw(data) not in ("", NO_TEXT) else read_json(data)


def given(name: str, data: bytes | None) -> dict[str, Any]:
    """Fields of a model: the value of this name for readers of JSON; else its bytes, and why."""
    why = flaw(data)
    return {name: shown_json(data), f"{name}_base64": in_base64(data) if why else None, "unreadable": why}


def in_base64(data: bytes | None) -> str:
    """Return bytes as text in base64."""
    return b64encode(data or b"").decode()


def base64_field(at: str) -> Any:
    """A field of a `Storing` model: the bytes of another field, if JSON cannot hold its value for each reader."""

    def encoded(self: Any) -> str | None:
        data = getattr(self, at)
        return in_base64(data) if flaw(data) else None

    return computed_field(repr=False, return_type=str | None)(property(encoded))


class Storing(Model):
    """A base of models with values that any program may have stored. Their methods give them as they are.

    In JSON, a value that not each reader could read is null. Then `<name>_base64` has its bytes, and `unreadable` says
    why. So what one record holds never breaks an answer with others in it.
    """

    STORED: ClassVar[Mapping[str, str]] = {}
    """The fields with such values, and those that have their bytes."""

    @field_serializer("payload", "result", "headers", "parameters", when_used="json", check_fields=False)
    def _shown(self, value: Any, info: FieldSerializationInfo) -> Any:
        at = self.STORED.get(info.field_name)
        return value if at is None or flaw(getattr(self, at)) in ("", NO_TEXT) else None

    @field_serializer("unreadable", when_used="json", check_fields=False)
    def _why(self, value: dict[str, str]) -> dict[str, str]:
        found = {name: why for name, at in self.STORED.items() if (why := flaw(getattr(self, at)))}
        return value | found if found else value
