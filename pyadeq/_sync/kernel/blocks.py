# Generated from pyadeq/_async/kernel/blocks.py by pyadeq/_unasync.py; do not edit.
"""Context managers that report a missing `with`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Callable
from contextlib import contextmanager
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Block(Generic[T]):
    """A context manager that does nothing until a with block begins."""

    def __init__(self, manager: Any, usage: str) -> None:
        self._manager = manager
        self._usage = usage
        self._entered = False

    def __enter__(self) -> T:
        self._entered = True
        value: T = self._manager.__enter__()
        return value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        suppressed: bool | None = self._manager.__exit__(kind, error, traceback)
        return suppressed

    def __del__(self) -> None:
        if not self.__dict__.get("_entered", True):
            warnings.warn(f"nothing was done, for no with block began: {self._usage}", RuntimeWarning, stacklevel=2)

    if not TYPE_CHECKING:  # hidden from type checkers: they should report a missing `with`

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"there is no {name!r} outside of a with block: {self._usage}")

        def __getitem__(self, name: object) -> NoReturn:
            raise TypeError(f"there is no {name!r} outside of a with block: {self._usage}")

        def __await__(self) -> NoReturn:
            raise TypeError(f"this is not to be awaited: {self._usage}")


def with_block(usage: str) -> Callable[[Callable[P, Iterator[T]]], Callable[P, Block[T]]]:
    """Make a context manager of a generator function.

    usage: an example for the error if the `with` is missing.
    """

    def decorate(function: Callable[P, Iterator[T]]) -> Callable[P, Block[T]]:
        made = contextmanager(function)

        @wraps(function)
        def begin(*args: P.args, **kwargs: P.kwargs) -> Block[T]:
            return Block(made(*args, **kwargs), usage)

        return begin

    return decorate
