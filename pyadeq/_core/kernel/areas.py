"""Nouns have areas, `queue.dead` for instance; many methods of an area have a short name on the noun itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")


def forward(area: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Make a short method of a noun that calls the method of one of its areas.

    It uses the private attribute, `_dead` for `dead`, because a subclass may override the public one.
    """
    name, attribute = method.__name__, f"_{area}"

    @wraps(method)
    def call(noun: Any, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(noun, attribute), name)(*args, **kwargs)

    @wraps(method)
    async def call_async(noun: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await getattr(getattr(noun, attribute), name)(*args, **kwargs)

    # Mocks, for instance, check whether a method is a coroutine function. An iterator comes from a plain function: a
    # generator function would check its arguments only at the first `next`.
    made: Any = call_async if iscoroutinefunction(method) else call
    made.area = area  # used by the generator of the API reference
    short: Callable[Concatenate[Any, P], R] = made
    return short


def named(kind: type[A]) -> type[A]:
    """Name the short methods, and the rows of a routing table, as in the class: for errors and pickle."""
    for name, member in vars(kind).items():
        if hasattr(member, "__wrapped__") and (hasattr(member, "area") or hasattr(member, "route")):
            member.__name__, member.__qualname__ = name, f"{kind.__qualname__}.{name}"
            member.__module__ = kind.__module__
    return kind


class AreaOf(Generic[A]):
    """An area of a noun, which the noun has in a private attribute: `_dead` for `dead`.

    Accessed on the class, it returns what mocks can copy: the class of the area, or a function with its methods if the
    area is callable.
    """

    def __init__(self, kind: type[A]) -> None:
        self.kind = kind
        self.__doc__ = kind.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = f"_{name}"
        self._shown: Any = self.kind
        if "__call__" in vars(self.kind):
            call = vars(self.kind)["__call__"]
            self._shown = forward(name, call)
            self._shown.__name__, self._shown.__qualname__ = name, f"{owner.__qualname__}.{name}"
            self._shown.__dict__.update({n: method for n, method in vars(self.kind).items() if n[0] != "_"})
            parameters = list(signature(call).parameters.values())
            # mocks check calls, without `self`, against it
            self._shown.__signature__ = signature(call).replace(parameters=parameters[1:])

    @overload
    def __get__(self, noun: None, owner: type) -> Any: ...

    @overload
    def __get__(self, noun: object, owner: type) -> A: ...

    def __get__(self, noun: object, owner: type) -> Any:
        return self._shown if noun is None else getattr(noun, self._attribute)
