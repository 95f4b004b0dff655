"""A value for each setting that is not its default. Together, those of a noun are accepted."""

from __future__ import annotations

from typing import Any

from pyadeq.models import Backoff
from pyadeq.models.setting import Setting
from pyadeq.models.settings import SETTINGS


def others(noun: str) -> dict[str, Any]:
    """All settings of a noun, as `configure` takes them."""
    found = {setting.name: other(setting) for setting in SETTINGS[noun]}
    backoff = {name.removeprefix("backoff."): found.pop(name) for name in [*found] if name.startswith("backoff.")}
    return found | ({"backoff": Backoff(**backoff)} if backoff else {})


def other(setting: Setting) -> Any:
    if setting.kind == "bool":
        return not setting.default
    if setting.words:
        return next(word for word in setting.words if word != setting.default)
    usual: Any = setting.default or 1
    more = usual * 2 if setting.kind == "int" else round(usual * 1.5, 2)
    return more if more <= setting.most else usual / 2
