"""Settings on their way to a script and back: Python's names and units, and those of the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pyadeq._core.kernel.nouncalls import record
from pyadeq.models.base import Model, to_ms
from pyadeq.models.settings import SETTINGS

M = TypeVar("M", bound=Model)


def setting_pairs(noun: str, given: Mapping[str, Any], **parts: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The given settings as `configure` takes them; those that are None are left out.

    parts: for each setting that is an object, such as `backoff`, a function that returns the pairs of its fields.
    """
    pairs: dict[str, Any] = {}
    for setting in SETTINGS[noun]:
        if (value := given.get(setting.name)) is not None:
            pairs[setting.wire] = to_ms(setting.name, value) if setting.kind == "seconds" else value
    for name, encode in parts.items():
        pairs |= encode(given.get(name))
    return pairs


def read_settings(noun: str, stored: Mapping[str, bytes], model: type[M]) -> M:
    """The model of a noun's settings, from what is stored."""
    found = record(noun, "settings", stored)
    for setting in SETTINGS[noun]:
        name, _, part = setting.name.partition(".")
        if (value := found.pop(setting.wire.removesuffix("_ms"), None)) is None:
            continue  # the default of the model
        if setting.kind == "ratio":
            value /= 100
        elif setting.kind == "bool":  # `fair` is stored as a number
            value = bool(value)
        if part:
            found.setdefault(name, {})[part] = value
        else:
            found[name] = value
    return model.model_validate({name: found[name] for name in model.model_fields if name in found})
