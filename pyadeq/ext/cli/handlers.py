"""Finding the handler that `module:function` names."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from operator import attrgetter
from types import ModuleType
from typing import Any

from pyadeq import Queue, TaskFunction, Tasks
from pyadeq.asyncio import Queue as AsyncQueue
from pyadeq.errors import ConfigError


def load_handler(path: str) -> Any:
    """What `module:function` names: a function of one lease, a Tasks or a Queue.

    The working directory is searched first. Raises ConfigError that says what is wrong with it.
    """
    module_name, _, function = path.partition(":")
    if not module_name or not function:
        raise ConfigError(f"handler: {path!r} is not accepted; write module:function, jobs:run for instance")
    module = _import(module_name)
    try:
        handler = attrgetter(function)(module)
    except AttributeError:
        raise ConfigError(f"handler: {module_name!r} ({_file(module)}) has no {function!r}") from None
    if isinstance(handler, TaskFunction):
        raise ConfigError(f"handler: {path!r} is one task; name the Queue or the Tasks that it belongs to")
    if isinstance(handler, Queue | AsyncQueue | Tasks):
        if not (handler if isinstance(handler, Tasks) else handler.tasks):
            raise ConfigError(f"handler: {path!r} has no tasks; decorate functions with its `task`")
        return handler
    if not callable(handler) or inspect.isclass(handler):
        raise ConfigError(
            f"handler: {path!r} is not a function; define it as `async def {function}(lease): …`, "
            "or name a Queue or a Tasks"
        )
    try:
        inspect.signature(handler).bind(None)
    except TypeError:
        raise ConfigError(
            f"handler: {path!r} takes {inspect.signature(handler)}; it must take one argument, the lease"
        ) from None
    return handler


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


def _file(module: ModuleType) -> str:
    return getattr(module, "__file__", None) or "a namespace package"
