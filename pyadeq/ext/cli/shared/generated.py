"""The commands of a noun that has none written by hand: one for each script, made from the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from pyadeq import Adeq, Script, library
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.scripts.app import first_sentence
from pyadeq.ext.cli.shared.arguments import duration, time_option
from pyadeq.ext.cli.shared.common import DEFAULT_URL, Format, Output, Url, connected, print_json, print_lines
from pyadeq.ext.cli.shared.noun_arguments import name_option
from pyadeq.ext.cli.shared.resolve import SERVICE_NOUNS, existing, refuse_own
from pyadeq.ext.cli.shared.shown import cell, decoded
from pyadeq.ext.cli.shared.tables import print_fields, print_rows
from pyadeq.ext.cli.shared.tree import WITH_VALUE, Group, made_help
from pyadeq.ext.shared.plurals import plural
from pyadeq.ext.shared.terminal import safe
from pyadeq.ids import new_ulid

OTHERWISE = ("confirm", "migrate", "rewrite")  # the client and `adeq scripts migrate` call them
FILLED_IN = ("now_ms", "source", "trace", "clock", "rid")  # not for people to say
CURSOR = "Where the list goes on: the cursor that the page before has shown."


class Commands:
    """The commands of a noun. listing: the command that lists what the server has of it."""

    def __init__(self, noun: str, listing: str | None = None) -> None:
        facts = library().manifest["nouns"][noun]
        self.noun, self.field, self.title, self.plural = noun, facts["field"], facts["title"], facts["plural"]
        self.names = plural(self.title)
        self.listing = listing or f"adeq {noun} {self.names.replace(' ', '-')}"

    @cached_property
    def app(self) -> typer.Typer:
        """All of them, as a module with commands written by hand has it."""
        option = f"--{self.field}"

        class Own(Group):
            with_value = (*WITH_VALUE, option)

        app = typer.Typer(cls=Own, help=made_help(self.plural), no_args_is_help=True)
        app.callback()(lambda: None)
        scripts = [script for script in map(library().__getitem__, library()) if self._has(script)]
        for verb, script in {one.id.split(".")[1]: one for one in scripts}.items():
            word = "ls" if verb == "list" else verb.replace("_", "-")
            app.command(word, help=_help(script))(self._command(verb, script))
        app.command(self.listing.rpartition(" ")[2], help=f"List the {self.names} of the server.")(self._names)
        return app

    def function(self, verb: str) -> Callable[..., None]:
        """Make the function of one command, for a noun whose other commands are written by hand."""
        scripts = [script for script in map(library().__getitem__, library()) if self._has(script)]
        return self._command(verb, next(one for one in reversed(scripts) if one.id.split(".")[1] == verb))

    def _has(self, script: Script) -> bool:
        noun, verb, _ = script.id.split(".")
        return noun == self.noun and verb not in OTHERWISE

    def _names(self, url: Url = DEFAULT_URL, output: Output = Format.table) -> None:
        with connected(url) as adeq:
            names = sorted(adeq.names(self.noun))
        if output != Format.table:
            print_json(names, output)
        else:
            print_rows([self.field], [[name] for name in names])

    def _command(self, verb: str, script: Script) -> Callable[..., None]:
        """A function with the parameters of the script; typer makes a command from it."""
        docs = {one["name"]: one["doc"] for one in library().manifest["nouns"][self.noun]["settings"]}
        given = [*_parameters(script, docs), *self._shared()]

        def command(**values: Any) -> None:
            name, url, output = (values.pop(one) for one in (self.field, "url", "output"))
            with connected(url) as adeq:
                for found in self._parts(adeq, name, self._found(adeq, name, script, values)):
                    answer = _run(adeq, found, verb, script, values)
            entries = next((value for value in answer.values() if isinstance(value, list)), None)
            if output == Format.jsonl and entries is not None:
                print_lines(entries, output)
            elif output != Format.table:
                print_json({self.field: name, **answer}, output)
            else:
                _print(answer)

        order = sorted(given, key=lambda one: one.default is not Parameter.empty)
        command.__signature__ = Signature(order)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in given}
        return command

    def _shared(self) -> Iterator[Parameter]:
        yield _parameter(self.field, Annotated[str, name_option(self.noun)], "default")
        yield _parameter("url", Url, DEFAULT_URL)
        yield _parameter("output", Output, Format.table)

    def _found(self, adeq: Adeq, name: str, script: Script, values: dict[str, Any]) -> Any:
        """Return the object that a command names. Only a command that changes something may create it."""
        if script.read_only or (script.id.startswith(f"{self.noun}.configure.") and not any(values.values())):
            return existing(adeq, self.noun, name, self.listing)
        if self.noun in SERVICE_NOUNS:
            refuse_own(f"--{self.field}", name)
        return adeq.noun(self.noun, name)

    def _parts(self, adeq: Adeq, name: str, found: Any) -> Sequence[Any]:
        """Return the objects that get the call, in order. The command shows the last answer."""
        return [found]


def _help(script: Script) -> str:
    text = first_sentence(script.doc).replace("`", "")
    return f"{text[:1].upper()}{text[1:]}."


# Parameters


def _parameter(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameters(script: Script, docs: Mapping[str, str]) -> Iterator[Parameter]:
    """Yield the parameters of a command. docs: the help of the settings."""
    for argument in script.args:
        if argument.name in FILLED_IN:
            continue
        if argument.default is None:
            yield _parameter(argument.name, Annotated[_type(argument), _argument(argument)])
        else:
            yield _option(argument)
    for group in script.groups:
        if not group.fields:  # settings
            yield from (_option(one, docs.get(one.name, "")) for one in group.pairs)
            continue
        what = group.fields[0].name.upper() if _is_plain(group) else "JSON"
        help = "One or more." if _is_plain(group) else "Items, each a JSON object."
        words = typer.Argument(metavar=f"{what}...", help=help)
        if group.min:
            yield _parameter(group.name, Annotated[list[str], words])
        else:
            yield _parameter(group.name, Annotated[list[str] | None, words], None)


def _is_plain(group: Any) -> bool:
    return len(group.fields) == 1 and not group.pairs


def _argument(argument: Any) -> Any:
    metavar = argument.name.removesuffix("_ms").upper()
    return typer.Argument(metavar=metavar, help=_allowed(argument), **_parser(argument))


def _option(argument: Any, doc: str = "") -> Parameter:
    word = argument.name.removesuffix("_ms").replace("_", "-")
    help = f"{doc[:1].upper()}{doc[1:]}." if doc else CURSOR if argument.name == "cursor" else _allowed(argument)
    if argument.name.endswith("_ms"):
        option = time_option(help, f"--{word}")
    elif argument.type == "bool":
        option = typer.Option(f"--{word}/--no-{word}", help=help)
    else:
        option = typer.Option(f"--{word}", help=help)
    return _parameter(argument.name, Annotated[_type(argument) | None, option], None)


def _parser(argument: Any) -> dict[str, Any]:
    return {"parser": duration} if argument.name.endswith("_ms") else {}


def _type(argument: Any) -> Any:
    match argument.type:
        case "int":
            return float if argument.name.endswith("_ms") else int
        case "bool":
            return bool
        case "enum":
            return StrEnum(argument.name, {word: word for word in argument.words})
    return str


def _allowed(argument: Any) -> str:
    default = "" if argument.default in (None, "", False) else f" Default: {argument.default}."
    match argument.type:
        case "int" if argument.name.endswith("_ms"):
            default = default and f" Default: {argument.default / 1000:g}."
            return f"{argument.min / 1000:.12g} to {argument.max / 1000:.12g} seconds.{default}"
        case "int":
            return f"{argument.min:,} to {argument.max:,}.{default}"
        case "bytes":
            return f"At most {argument.max:,} bytes.{default}"
        case "ids" | "labels" | "lanes":
            return f"At most {argument.max:,}, with commas between them."
    return default.strip()


# Calls


def _run(adeq: Adeq, found: Any, verb: str, script: Script, values: dict[str, Any]) -> dict[str, Any]:
    """The answer as JSON has it; of a list with a cursor all pages, or as many entries as are wanted."""
    arguments = _arguments(script, values)
    if any(argument.name == "rid" for argument in script.args):  # not every noun makes one: queues and locks do not
        arguments["rid"] = new_ulid()
    answer = adeq.send(found.calls.build(verb, **arguments))
    shown: dict[str, Any] = decoded(answer)
    while shown.get("cursor") and "limit" not in arguments:
        arguments["cursor"] = shown["cursor"]
        answer = adeq.send(found.calls.build(verb, **arguments))
        for name, value in decoded(answer).items():
            shown[name] = shown[name] + value if isinstance(value, list) else value
    if not shown.get("cursor"):
        shown.pop("cursor", None)
    return shown


def _arguments(script: Script, values: dict[str, Any]) -> dict[str, Any]:
    """What build takes; what was not given is left out."""
    sent: dict[str, Any] = {}
    for argument in script.args:
        if values.get(argument.name) is not None:
            sent.update([_said(argument, values[argument.name])])
    for group in script.groups:
        if not group.fields:
            given = dict(_said(one, values[one.name]) for one in group.pairs if values[one.name] is not None)
            sent[group.name] = [given] if given else []
        elif values[group.name]:
            sent[group.name] = values[group.name] if _is_plain(group) else [_item(text) for text in values[group.name]]
    return sent


def _said(argument: Any, value: Any) -> tuple[str, Any]:
    if argument.name.endswith("_ms"):
        return argument.name, round(value * 1000)
    if argument.type in ("ids", "labels", "lanes"):
        return argument.name, [one for one in value.split(",") if one]
    return argument.name, str(value) if argument.type == "enum" else value


def _item(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"item: {safe(text)!r} is not accepted; allowed: a JSON object with the fields of an item")
    return found


# Tables


def _print(answer: dict[str, Any]) -> None:
    lists = {name: value for name, value in answer.items() if isinstance(value, list)}
    fields = {name: value for name, value in answer.items() if name not in lists and name != "now"}
    if not lists or len(fields) > 1:
        print_fields([(name, text) for name, text in _flat(fields)])
    for entries in lists.values():
        rows = [dict(_flat(entry)) if isinstance(entry, dict) else {"": str(entry)} for entry in entries]
        heads = list(dict.fromkeys(name for row in rows for name in row))
        if heads:
            print_rows(heads, [[row.get(head, "") for head in heads] for row in rows])


def _flat(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and texts; a record is shown with its own names."""
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _flat(value)
        else:
            yield name, cell(name, value)
