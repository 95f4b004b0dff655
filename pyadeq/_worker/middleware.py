"""The function that a worker calls for each lease: the handler, with its middleware around it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from pyadeq._tasks.context import CURRENT
from pyadeq._tasks.executors import Executors, executors
from pyadeq._tasks.functions import Tasks
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Lease

Run: TypeAlias = Callable[[Lease], Awaitable[Any]]
"""Runs a task for its lease; its result."""

Handler: TypeAlias = Run | Callable[[Lease], Any]
"""A handler: an async function of one lease, a plain function, which runs in a thread, or a `Tasks`."""

Middleware: TypeAlias = Callable[[Lease, Run], Awaitable[Any]]
"""`async def middleware(lease, call_next)`: it awaits `call_next(lease)`, which runs the rest, and returns a result."""


def prepare(handler: Handler, middleware: Sequence[Middleware] = ()) -> Run:
    """Return one function of a lease: the middleware, the first outermost, around the handler."""
    for one in middleware:
        if not _is_async(one):
            raise ConfigError(f"middleware: {one!r} is not accepted; allowed: async functions of a lease and call_next")
    if isinstance(handler, Tasks):
        return _tasks(handler, _around(handler.perform, middleware)) if middleware else handler
    if _is_async(handler):
        return _around(handler, middleware)
    if callable(handler) and not inspect.isclass(handler) and _takes_one(handler):
        return _around(_in_thread(handler), middleware)
    raise ConfigError(f"handler: {handler!r} is not accepted; allowed: a function of one lease, async or plain; Tasks")


def _around(handler: Run, middleware: Sequence[Middleware]) -> Run:
    for one in reversed(middleware):
        handler = _call(one, handler)
    return handler


def _call(one: Middleware, call_next: Run) -> Run:
    async def call(lease: Lease) -> Any:
        return await one(lease, call_next)

    return call


def _tasks(tasks: Tasks, run: Run) -> Run:
    """Middleware of tasks gets results as the functions return them. They are encoded outside of it."""

    async def call(lease: Lease) -> Any:
        result = await run(lease)
        return tasks.encode(lease, result) if lease.kind in tasks else result

    return call


def _in_thread(handler: Callable[[Lease], Any]) -> Run:
    async def call(lease: Lease) -> Any:
        if (those := executors()) is None:
            async with Executors():
                return await call(lease)
        if (context := CURRENT.get(None)) is not None:
            context.plain()
        result = await those.run_in_thread(handler, lease)
        return await result if inspect.isawaitable(result) else result  # a plain function may return a coroutine

    return call


def _is_async(function: object) -> bool:
    return any(map(inspect.iscoroutinefunction, (function, getattr(function, "__call__", None))))  # noqa: B004


def _takes_one(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(object())
    except (TypeError, ValueError):
        return False
    return True
