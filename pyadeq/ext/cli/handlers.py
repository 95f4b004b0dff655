"""Finding the handler that `module:function` names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Awaitable, Callable
from operator import attrgetter
from types import ModuleType
from typing import Any, TypeAlias

from pyadeq import Lease
from pyadeq.errors import ConfigError

Handler: TypeAlias = Callable[[Lease], Awaitable[Any]]


def load_handler(path: str) -> Handler:
    """The async function that `module:function` names; the working directory is searched first.

    Raises ConfigError that says what is wrong with it.
    """
    module_name, _, function = path.partition(":")
    if not module_name or not function:
        raise ConfigError(f"handler: {path!r} is not accepted; write module:function, jobs:run for instance")
    module = _import(module_name)
    try:
        handler = attrgetter(function)(module)
    except AttributeError:
        raise ConfigError(f"handler: {module_name!r} ({_file(module)}) has no {function!r}") from None
    if not callable(handler) or not _is_async(handler):
        raise ConfigError(f"handler: {path!r} is not an async function; define it as `async def {function}(lease): …`")
    try:
        inspect.signature(handler).bind(None)
    except TypeError:
        raise ConfigError(
            f"handler: {path!r} takes {inspect.signature(handler)}; it must take one argument, the lease"
        ) from None
    found: Handler = handler
    return found


def _import(name: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"handler: there is no module {error.name!r}, neither in {os.getcwd()} nor installed"
            ) from None
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = "" if isinstance(error, SyntaxError) else f" ({where.filename}, line {where.lineno})"
        raise ConfigError(
            f"handler: module {name!r} cannot be imported: {type(error).__name__}: {error}{place}"
        ) from None


def _is_async(handler: Callable[..., Any]) -> bool:
    called = type(handler).__call__ if not inspect.isroutine(handler) else handler
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(called)


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "a namespace package"
