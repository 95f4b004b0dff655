"""Nouns have areas, `queue.dead` for instance; many methods of an area have a short name on the noun itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def forward(area: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of a noun that is the method of one of its areas: the same arguments, the same answer."""
    name = method.__name__

    @wraps(method)
    def call(noun: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        answer: R = getattr(getattr(noun, area), name)(*args, **kwargs)
        return answer

    call.__dict__["area"] = area  # for the reference
    return call
