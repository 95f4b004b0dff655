"""The options of a task on the command line, made from what `Task` declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from enum import Enum, StrEnum
from typing import Annotated, Any

import typer

from pyadeq.ext.cli.shared.arguments import moment, time_option
from pyadeq.models.option import Declared
from pyadeq.models.queue import OPTIONS

ONCE = tuple(name for name, one in OPTIONS.items() if one.option.once)  # not for the tasks of a schedule


def moment_option(help: str) -> Any:
    """An option that takes a point in time."""
    return typer.Option(parser=moment, metavar="WHEN", help=help)


def option(help: str, metavar: str = "ID") -> Any:
    """An option that takes a word."""
    return typer.Option(metavar=metavar, help=help)


def with_task_options(
    before: str, *, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take the options of a task in place of **task. before: the option that follows them."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "task"]
        at = next(at for at, one in enumerate(own) if one.name == before)
        made = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in [*own[:at], *_made(without), *own[at:]]]
        command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
        return command

    return add


def given(task: dict[str, Any]) -> dict[str, Any]:
    """The options that the command line has, as `enqueue` takes them."""
    found = {name: task.get(_word(one)) for name, one in OPTIONS.items()}
    if found["fallback"] == ["wider"]:
        found["fallback"] = "wider"
    found = {name: value.value if isinstance(value, Enum) else value for name, value in found.items()}
    return {name: value for name, value in found.items() if value is not None and value is not False}


def flag_of(name: str) -> str:
    """How an option of a task is written on the command line."""
    return f"--{_word(OPTIONS[name]).replace('_', '-')}"


def _word(one: Declared) -> str:
    """`tag` for `tags`: the option is repeated for more."""
    return one.name.removesuffix("s") if one.kind == "list" else one.name


def _made(without: Collection[str]) -> Iterator[inspect.Parameter]:
    for one in OPTIONS.values():
        if one.option.help and one.name not in without:
            kind, info = _typed(one)
            default = False if one.kind == "flag" else None
            yield inspect.Parameter(
                _word(one), inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info], default=default
            )


def _typed(one: Declared) -> tuple[Any, Any]:
    """What typer needs to know."""
    help = one.option.help
    match one.kind:
        case "seconds":
            return float | None, time_option(help)
        case "moment":
            return float | None, moment_option(help)
        case "flag":
            return bool, typer.Option(flag_of(one.name), help=help)
        case "number":
            return int | None, typer.Option(help=help)
        case "choice":
            enum: Any = StrEnum  # mypy takes literals only
            return enum(one.name, [(word, word) for word in one.choices]) | None, typer.Option(help=help)
        case "list":
            return list[str] | None, option(help, one.option.metavar)
        case _:
            return str | None, option(help, one.option.metavar)
