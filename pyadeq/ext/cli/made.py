"""Commands that are made from the table of operations: their words, arguments and answers are those of its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from inspect import Parameter, Signature
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.ext.cli.arguments import time_option
from pyadeq.ext.cli.made_facts import Facts, made
from pyadeq.ext.cli.noun_arguments import name_option, named
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import existing_queue, queue_or_new
from pyadeq.ext.cli.running import Answer, Document, Found, Lines, as_plain, each, with_client

if TYPE_CHECKING:
    from pyadeq import Adeq

TYPES: Mapping[str, Any] = {
    "string": str,
    "int": int,
    "float": float,
    "seconds": float,
    "flag": bool,
    "strings": list[str],
}
EXPLAINED = {"holder": "held by {}"}
"""How a field of an entry is told, if not by its value alone."""


def add_made(app: typer.Typer, noun: str) -> None:
    """Add the commands of a noun that are made, unless they are there."""
    there = {one.name for one in app.registered_commands}
    for verb, facts in made().get(noun, {}).items():
        if verb not in there:
            app.command(verb, help=facts["help"])(with_client(_function(facts)))


def _function(facts: Facts) -> Callable[..., Answer]:
    field, many = facts["field"], facts["each"]

    def run(adeq: Adeq, **values: Any) -> Answer:
        found, ids = values.pop(field), values.pop(many, [])
        given = {name: str(one) if isinstance(one, StrEnum) else one for name, one in values.items() if one is not None}
        call = attrgetter(facts["method"])(found)
        if not many:
            return _answer(facts, {field: found.name}, given, call(**given))
        call_many = attrgetter(f"{facts['method']}_many")(found)
        return _answer_each(facts, {field: found.name}, ids, call_many(ids, **given))

    parameters = [Parameter("adeq", Parameter.POSITIONAL_ONLY), _object(facts), *map(_parameter, facts["arguments"])]
    run.__signature__ = Signature([*parameters[:1], *sorted(_with_many(parameters[1:], many), key=_order)])  # type: ignore[attr-defined]
    return run


def _order(one: Parameter) -> tuple[bool, int]:
    """Arguments before options, and the options of the noun's object last."""
    (info,) = [mark for mark in one.annotation.__metadata__ if isinstance(mark, typer.models.ParameterInfo)]
    last = any(isinstance(mark, Found) for mark in one.annotation.__metadata__)
    return isinstance(info, typer.models.OptionInfo), last and isinstance(info, typer.models.OptionInfo)


# Parameters


def _object(facts: Facts) -> Parameter:
    """That of the name of the noun's object, such as a queue."""
    noun, field = facts["noun"], facts["field"]
    if noun == "queue":
        option: Any = QueueOption.__metadata__[0]  # type: ignore[attr-defined]
        found = Found(queue_or_new if facts["create"] else existing_queue)
    else:
        option = name_option(noun)
        found = Found(lambda adeq, name: adeq.noun(noun, name)) if facts["create"] else named(noun, f"adeq {noun} ls")
    argument = typer.Argument(metavar=field.upper(), help=option.help, autocompletion=option.autocompletion)
    default = Parameter.empty if facts["in_place"] else DEFAULT_QUEUE
    annotation = Annotated[Any, argument if facts["in_place"] else option, found]
    return Parameter(field, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameter(argument: Facts) -> Parameter:
    name, kind, help = argument["name"], argument["kind"], argument["help"]
    type_: Any = StrEnum(name, {word: word for word in argument["words"]}) if kind == "word" else TYPES[kind]
    if argument["place"] is not None:
        info = typer.Argument(metavar=name.upper(), help=help or f"The {name}.")
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[type_, info])
    default, option = argument.get("default", Parameter.empty), f"--{name.replace('_', '-')}"
    if kind == "seconds":
        info = time_option(help, option)
    elif kind == "flag":
        info = typer.Option(option if default is False else f"{option}/--no-{option[2:]}", help=help)
    else:
        info = typer.Option(option, help=help)
    if default is None or default == []:
        type_, default = type_ | None, None
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=Annotated[type_, info], default=default)


def _with_many(made: list[Parameter], many: str) -> list[Parameter]:
    """The same, with any number of what each call is about."""
    if not many:
        return made
    info = typer.Argument(metavar=f"{many.upper()}...", help="One or more.")
    return [one.replace(annotation=Annotated[list[str], info]) if one.name == many else one for one in made]


# Answers


def _answer(facts: Facts, place: Mapping[str, Any], given: Mapping[str, Any], value: Any) -> Answer:
    if isinstance(value, list | tuple) and not hasattr(value, "_asdict"):
        return Lines(value, facts["columns"], lambda one: [as_plain(one)[name] for name in facts["columns"]])
    plain = {**place, **given} if value is None else {**place, **_plain(value)}
    failed = bool(facts["good"]) and plain.get("status") not in facts["good"]
    text = facts["text"].format_map({**given, **plain}) if facts["text"] else None
    return Document(plain, text, failed=failed)


def _answer_each(facts: Facts, place: Mapping[str, Any], ids: list[str], answers: Any) -> Document:
    """A status for each, and what else is to be said of it."""
    entries = [{facts["each"]: id, **_plain(answer)} for id, answer in zip(ids, answers, strict=True)]
    columns = (facts["each"], "status", "")
    return each({**place, facts["entries"]: entries}, *facts["good"], columns=columns, row=_row)


def _row(entry: Mapping[str, Any]) -> tuple[object, ...]:
    (_, id), (_, status), *more = entry.items()
    return id, status, " ".join(EXPLAINED.get(name, "{}").format(value) for name, value in more)


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"status": value}
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    return dict(value.model_dump(exclude_none=True)) if hasattr(value, "model_dump") else {"value": value}
