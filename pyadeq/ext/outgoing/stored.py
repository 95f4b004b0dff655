"""What services store in a config: endpoints, and facts about them."""

from __future__ import annotations

from functools import lru_cache
from typing import Self, TypeVar

from pydantic import BaseModel, ValidationError

from pyadeq import ConfigValue


class Stored(BaseModel, frozen=True):
    """The value of a name."""

    @classmethod
    def read(cls, stored: ConfigValue | None) -> Self | None:
        """Return the value of a name. None if there is none, or if it is none that this version knows."""
        return _read(cls, stored.value) if stored else None

    def encoded(self) -> bytes:
        """Encode it as JSON, the form in which it is stored."""
        return self.model_dump_json().encode()


S = TypeVar("S", bound=Stored)


@lru_cache(maxsize=10_000)
def _read(kind: type[S], value: bytes) -> S | None:
    try:
        return kind.model_validate_json(value)
    except ValidationError:
        return None
