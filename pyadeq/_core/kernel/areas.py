"""Nouns have areas, `queue.dead` for instance; many methods of an area have a short name on the noun itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def forward(area: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of a noun that is the method of one of its areas: the same arguments, the same answer."""
    name = method.__name__

    @wraps(method)
    def call(noun: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(noun, area), name)(*args, **kwargs)

    @wraps(method)
    async def call_async(noun: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await getattr(getattr(noun, area), name)(*args, **kwargs)

    # Mocks, for instance, ask whether a method is a coroutine function.
    made: Any = call_async if iscoroutinefunction(method) else call
    made.area = area  # for the reference
    short: Callable[Concatenate[Any, P], R] = made
    return short
