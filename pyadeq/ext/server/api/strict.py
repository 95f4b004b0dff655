"""The base of bodies: fields that they do not have are refused."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

MOST_UNKNOWN: Final = 10
"""Unknown fields of an object that are named one by one. A million of them would keep the service busy for seconds."""
MOST_FREE: Final = 200
"""Fields of a body of type `Free`, at most."""


def few(cls: type[BaseModel], value: Any) -> Any:
    """Refuse an object with very many fields before each of them is looked at."""
    most = MOST_FREE if cls.model_config.get("extra") == "allow" else len(cls.model_fields) + MOST_UNKNOWN
    if isinstance(value, dict) and len(value) > most:
        raise ValueError(f"it has {len(value):,} fields; allowed: {', '.join(cls.model_fields) or f'at most {most}'}")
    return value


class Strict(BaseModel):
    """A body. Fields that it does not have are refused."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        return few(cls, value)


class Free(Strict):
    """A body that may have any fields. Who gets them refuses those that do not exist."""

    model_config = ConfigDict(extra="allow")
