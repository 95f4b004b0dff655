"""Values as the JSON that is stored, by the annotations of functions."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable
from math import isfinite
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import ValidationError

from pyadeq.errors import AdeqError, BadArgument

NO_NUMBER = b"null", b"NaN", b"Infinity"
"""Parts of JSON that NaN or infinity may leave in it. They may also come from None or from a text."""
PLAIN = frozenset({str, int, bool, bytes, type(None)})


class Result:
    """What a function returns, by its annotation.

    name: of the function, for errors.
    """

    def __init__(self, annotation: Any, name: str) -> None:
        self.adapter: TypeAdapter[Any] = TypeAdapter(
            Any if annotation in (typing.NoReturn, typing.Never) else annotation
        )
        self.is_bytes = annotation is bytes
        self._name = name

    def dump(self, value: Any) -> bytes | None:
        """Encode a result: bytes unchanged, None as no result, anything else as JSON by the annotation.

        Raises BadArgument for NaN and infinity.
        """
        if value is None or isinstance(value, bytes):
            return value
        return dumped(self.adapter, value, f"{self._name}: the result", warnings=False)

    def load(self, data: bytes) -> Any:
        """Return what the function returned, from the stored bytes. Raises AdeqError if they do not fit."""
        if self.is_bytes:
            return data
        try:
            return self.adapter.validate_json(data or b"null")
        except ValidationError as error:
            raise AdeqError(
                f"{self._name}: the result is not what the function says it returns: {error.title}"
            ) from None


def dumped(adapter: TypeAdapter[Any], value: Any, name: str, *, warnings: bool = True, floats: bool = True) -> bytes:
    """A value as JSON. Raises BadArgument for NaN and infinity, which pydantic writes as null or as no JSON at all.

    floats: whether it may have any float. A result may, whatever its annotation, for it is not validated.
    """
    data = adapter.dump_json(value, by_alias=True, warnings=warnings)
    if floats and any(one in data for one in NO_NUMBER):
        plain = adapter.dump_python(value, by_alias=True, warnings=False)
        if _may_lack_number(plain) and (found := _no_number(plain, json.loads(data), name)):
            raise BadArgument("ADEQ_ARG", "pyadeq", found)
    return data


def _may_lack_number(value: Any) -> bool:
    """Whether a part of a value is NaN or infinity, or may be: some iterables can be read only once."""
    parts = [value]
    for part in parts:
        kind = type(part)
        if kind in PLAIN:
            continue
        if isinstance(part, float):
            if not isfinite(part):
                return True
        elif kind is dict:
            parts.extend(part.values())
        elif kind is list or kind is tuple or kind is set or kind is frozenset:
            parts.extend(part)
        elif isinstance(part, Iterable) and not isinstance(part, str | bytes):
            return True
    return False


def _no_number(value: Any, stored: Any, path: str) -> str | None:
    """Return where a value has a number that its JSON does not have. A serializer may have made a text of it."""
    if isinstance(value, float):
        lost = not isfinite(value) and not isinstance(stored, str)
        return f"{path} is {value}, which JSON has no number for" if lost else None
    parts: Iterable[tuple[Any, Any, str]] = ()
    if isinstance(value, dict) and isinstance(stored, dict):
        places = [f"{path}.{key if key.isidentifier() else '…'}" for key in stored]
        parts = zip(value.values(), stored.values(), places, strict=False)
    elif isinstance(stored, list) and isinstance(value, Iterable):
        parts = ((one, other, f"{path}[{at}]") for at, (one, other) in enumerate(zip(value, stored, strict=False)))
    return next((found for part in parts if (found := _no_number(*part))), None)
