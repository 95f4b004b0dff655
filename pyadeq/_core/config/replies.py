"""The answers of a config namespace, as the noun layer decodes them, into models."""

from __future__ import annotations

from pyadeq._core.kernel.nouncalls import Result
from pyadeq.models.config import ConfigValue, ConfigVersion


def value(entry: Result) -> ConfigValue | None:
    """A name as `read` answers it; None if it has no value."""
    if entry.status != "value":
        return None
    return ConfigValue(entry.name, entry.value, entry.version, entry.at, _text(entry.actor), _text(entry.reason))


def version(past: Result) -> ConfigVersion:
    """An entry of the history."""
    return ConfigVersion(past.version, past.value, past.at, _text(past.actor), _text(past.reason))


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
