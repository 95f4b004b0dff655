"""Nouns have areas, `queue.dead` for instance. A call is in one area, or it is a method of the noun itself."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, overload

A = TypeVar("A")


class AreaOf(Generic[A]):
    """An area of a noun, which the noun has in a private attribute: `_dead` for `dead`.

    The noun itself uses the private one, because a subclass may override the public one. Accessed on the class, it is
    the class of the area, which mocks can copy.
    """

    def __init__(self, kind: type[A]) -> None:
        self.kind = kind
        self.__doc__ = kind.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute = f"_{name}"

    @overload
    def __get__(self, noun: None, owner: type) -> Any: ...

    @overload
    def __get__(self, noun: object, owner: type) -> A: ...

    def __get__(self, noun: object, owner: type) -> Any:
        return self.kind if noun is None else getattr(noun, self._attribute)
