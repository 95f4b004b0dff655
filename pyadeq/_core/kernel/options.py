"""Checks of arguments that all nouns share: the names of options, lists, and the error for a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, get_annotations, signature
from typing import Any, TypeVar

from pydantic import BaseModel

from pyadeq.errors import BadArgument
from pyadeq.keys import hint

F = TypeVar("F", bound=Callable[..., Any])


def checked_options(
    given: Iterable[str], allowed: Iterable[str], *, required: Iterable[str] = (), besides: Iterable[str] = ()
) -> None:
    """Raise TypeError for an unknown or missing option. The error lists the accepted options."""
    names = [*besides, *allowed]
    for name in given:
        if name not in names:
            raise TypeError(f"{name}: there is no such option{hint(name, names)} Allowed: {', '.join(names)}")
    for name in required:
        if name not in given:
            raise TypeError(f"{name}: it is required. Options: {', '.join(names)}")


def unfit(name: str, value: object, allowed: str) -> BadArgument:
    """The error for a value that is not accepted."""
    return BadArgument("ADEQ_ARG", "pyadeq", f"{name}: {value!r} is not accepted; allowed: {allowed}")


def refuse_single(name: str, values: Any) -> None:
    """Refuse a single text, mapping or model where a list is expected: iterating over it would give its parts."""
    if isinstance(values, str | bytes | Mapping | BaseModel) or not isinstance(values, Iterable):
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{name} must be a list, got {type(values).__name__}")


def checked_list(name: str, values: Any) -> list[Any]:
    """The values as a list."""
    refuse_single(name, values)
    return list(values)


def with_keywords(options: type, defaults: Mapping[str, Any]) -> Callable[[F], F]:
    """Let `help` and notebooks show the keywords of `**options: Unpack[…]`, as type checkers do."""

    def add(method: F) -> F:
        found = signature(method)
        keywords = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind.__forward_arg__)
            for name, kind in get_annotations(options).items()
        ]
        own = [one for one in found.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        positional = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
        parameters = [*positional, *keywords, *own[len(positional) :]]
        method.__signature__ = found.replace(parameters=parameters)  # type: ignore[attr-defined]
        return method

    return add
