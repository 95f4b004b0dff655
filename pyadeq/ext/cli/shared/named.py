"""Finding what `module:name` names: a handler, a codec."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from operator import attrgetter
from types import ModuleType
from typing import Any

from pyadeq.codec import Codec
from pyadeq.errors import ConfigError


def load_codec(path: str) -> Codec:
    """The codec that `module:name` names."""
    codec = load_named("--codec", path, "keys:codec")
    if isinstance(codec, type) or not all(callable(getattr(codec, verb, None)) for verb in ("seal", "open")):
        raise ConfigError(
            f"--codec: {path!r} is not a codec; name an object with seal and open, for instance Encrypted([…])"
        )
    return codec  # type: ignore[no-any-return]


def load_named(what: str, path: str, example: str) -> Any:
    """What a path names. The working directory is searched first. Raises ConfigError that says what is wrong."""
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise ConfigError(f"{what}: {path!r} is not accepted; write module:name, for instance {example}")
    module = _import(what, module_name)
    try:
        return attrgetter(name)(module)
    except AttributeError:
        raise ConfigError(f"{what}: {module_name!r} ({_file(module)}) has no {name!r}") from None


def _import(what: str, name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"{what}: there is no module {error.name!r}, neither in {os.getcwd()} nor installed"
            ) from None
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if isinstance(error, SyntaxError) else f" ({where.filename}, line {where.lineno})"
        raise ConfigError(
            f"{what}: module {name!r} cannot be imported: {type(error).__name__}: {error}{place}"
        ) from None


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "a namespace package"
