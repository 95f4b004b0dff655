"""What is declared of an option of tasks with its field in `Task`. The scripts' pairs, the keywords of `enqueue`, the
options of the command line, and the fields of the board are made from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel

Kind = Literal["seconds", "moment", "flag", "number", "choice", "list", "text", "object"]
"""How a value is encoded, written on the command line, and entered in a form. It follows from the type of the field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """What cannot be seen in the name and the type of the field.

    wire: the name of the pair that the scripts get, if it differs. Times end with `_ms` there.
    once: it is possible for one task only, not for the tasks of a schedule.
    shown: each data tier shows it; otherwise it is one of the words that `restricted` hides, see `pyadeq.tiers`.
    help: of its option on the command line; empty: it has none. metavar: what stands for its value there.
    title: on the board's page of a task; empty: not among its facts, or in a place of its own.
    field: the label in the board's form; empty: it has no field. note: below the field. more: it is folded away.
    row: the place in the form. Fields without one follow, in the order of `Task`.
    copied: the form has its value if somebody enqueues a copy of a task.
    """

    wire: str = ""
    once: bool = False
    shown: bool = False
    help: str = ""
    metavar: str = "ID"
    title: str = ""
    field: str = ""
    note: str = ""
    more: bool = False
    row: int = 99
    copied: bool = True


class Declared(NamedTuple):
    """An option with all that its field says."""

    name: str
    kind: Kind
    choices: tuple[str, ...]
    default: Any
    option: Option

    @property
    def wire(self) -> str:
        """The name of its pair."""
        return self.option.wire or self.name + "_ms" * (self.kind in ("seconds", "moment"))


def declared(model: type[BaseModel]) -> dict[str, Declared]:
    """The options that a model declares, by name and in order."""
    found = {}
    for name, field in model.model_fields.items():
        for option in field.metadata:
            if isinstance(option, Option):
                kind, choices = _kind(tuple(_types(field.annotation)))
                found[name] = Declared(name, kind, choices, field.default, option)
    return found


def _types(annotation: Any) -> Iterator[Any]:
    """The types of a union, without None."""
    if get_origin(annotation) in (Union, UnionType):
        for part in get_args(annotation):
            yield from _types(part)
    elif annotation is not type(None):
        yield annotation


def _kind(types: Sequence[Any]) -> tuple[Kind, tuple[str, ...]]:
    origins = [get_origin(one) for one in types]
    if Literal in origins:
        return "choice", get_args(types[0])
    if Sequence in origins:
        return "list", ()
    kinds: dict[Any, Kind] = {
        timedelta: "seconds",
        datetime: "moment",
        bool: "flag",
        int: "number",
        str: "text",
    }
    return next((kind for type_, kind in kinds.items() if type_ in types), "object"), ()
