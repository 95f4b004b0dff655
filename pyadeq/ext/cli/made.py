"""Commands that are made from the table of operations: their words, arguments and answers are those of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from inspect import Parameter, Signature
from itertools import chain, islice
from operator import attrgetter
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigConflict
from pyadeq.ext.cli import generated
from pyadeq.ext.cli.arguments import Most, Yes, confirm, many, not_all, search_option, time_option
from pyadeq.ext.cli.change_put import content_of
from pyadeq.ext.cli.change_who import YOU, By
from pyadeq.ext.cli.complete import limit_keys, policy_names, schedule_names
from pyadeq.ext.cli.made_facts import Facts, made
from pyadeq.ext.cli.noun_arguments import name_option, named, not_own, noun_with
from pyadeq.ext.cli.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.resolve import existing_queue, queue_or_new
from pyadeq.ext.cli.running import Answer, Document, Found, Lines, Options, Read, each, with_client
from pyadeq.ext.cli.shown import cell, fields, is_count, plain
from pyadeq.ext.shared.finding import find_names
from pyadeq.keys import NameType, check_name, hint

if TYPE_CHECKING:
    from pyadeq import Adeq

TYPES: Mapping[str, Any] = {
    "string": str,
    "int": int,
    "float": float,
    "seconds": float,
    "flag": bool,
    "strings": list[str],
    "content": bytes,
}
CHECKED: Mapping[str, NameType] = {"schedule": "name", "policy": "name", "rule": "id", "name": "id"}
"""What names of several things must be, see `pyadeq.keys`."""
EXPLAINED = {"holder": "held by {}"}
"""How a field of an entry is told, if not by its value alone."""
SHORT = {"reason": ("-m",)}
METAVARS = {"string": "TEXT", "int": "N"}
SETTINGS = "Show the settings; with options, change those, and create what has them if it does not exist."
MOST_KNOWN = 1000
"""Names that are compared with one that is not there."""
NAMED = 5
"""Names in a question."""
AT_ONCE = 100
"""Names in a call that takes several."""
COMPLETED: Mapping[str, Any] = {"schedules": schedule_names, "limits": limit_keys, "policies": policy_names}
"""What completes the names of entries."""


def add_made(app: typer.Typer, noun: str) -> None:
    """Add the commands of a noun that are made, unless they are there."""
    there = {one.name for one in app.registered_commands}
    for verb, facts in made().get(noun, {}).items():
        if not facts["method"] and "configure" not in there:
            settings = generated.Commands(noun, f"adeq {noun} {verb}").function("configure")
            app.command("configure", help=SETTINGS)(settings)
        if verb not in there:
            run = _function(facts, noun) if facts["method"] else _names(facts)
            app.command(verb, help=facts["help"])(with_client(run))


class Commands:
    """The commands of a noun that has none by hand."""

    def __init__(self, noun: str) -> None:
        self.app = noun_with(noun, f"--{next(iter(made()[noun].values()))['field']}")


def _names(facts: Facts) -> Callable[..., Answer]:
    noun, field = facts["noun"], facts["field"]

    def run(adeq: Adeq, timeout: Annotated[float, search_option("them")] = 10.0) -> Lines:
        found = find_names(adeq, noun, timeout)
        rows: list[dict[str, Any]] = [{field: name} for name in found.names]
        if noun == "session":
            rows = [{**row, "sessions": adeq.sessions(row[field]).count()} for row in rows]
        return Lines(rows, [*rows[0]] if rows else [field], right=["sessions"], warning=not_all(found, timeout))

    return run


def _function(facts: Facts, noun: str) -> Callable[..., Answer]:
    field, repeated = facts["field"], facts["each"]
    listing = facts["pages"] or facts["columns"] or facts["chosen_by"]
    placed = [one["name"] for one in facts["arguments"] if one["place"] is not None and one["kind"] != "content"]

    def run(adeq: Adeq, **values: Any) -> Answer:
        found, yes, most = values.pop(field), values.pop("yes", True), values.pop("most", None)
        given = {name: str(one) if isinstance(one, StrEnum) else one for name, one in values.items() if one is not None}
        chosen = {name: given.pop(name) for name in facts["chosen_by"] if name in given}
        about = {field: found.name}
        if facts["ask"]:
            confirm(_said(facts["ask"], {**about, **given}), yes, "nothing was done")
        ids: Any = given.pop(repeated, [])
        try:
            if repeated:
                answers = _call_each(facts, found, ids, given)
                return statuses(about, facts["entries"], repeated, ids, answers, *facts["good"])
            value = attrgetter(facts["method"])(found)(**given)
        except ConfigConflict as conflict:
            raise AdeqError(f"{conflict}. See adeq {noun} history") from None
        if not listing:
            if value is None and facts["optional"]:
                raise _missing(facts, noun, found, [*given.values()][-1])
            return _answer(facts, about, {name: given[name] for name in placed if name in given}, value)
        rows, start = _rows(value), chosen.pop("start", "")
        if chosen:
            row = next((row for row in rows if chosen.items() <= row.items()), None)
            if row is None:
                raise _missing(facts, noun, found, [*chosen.values()][-1], *given.values())
            return _answer(facts, about, {}, row)
        return _lines(facts, found, (row for row in rows if str(next(iter(row.values()))).startswith(start)), most)

    parameters = [_object(facts), *(_parameter(facts, one) for one in facts["arguments"])]
    if facts["ask"]:
        parameters.append(Parameter("yes", Parameter.KEYWORD_ONLY, annotation=Yes, default=False))
    if facts["pages"] and not {*facts["chosen_by"]} - {"start"}:
        parameters.append(Parameter("most", Parameter.KEYWORD_ONLY, annotation=Most, default=None))
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("adeq", Parameter.POSITIONAL_ONLY), *sorted(parameters, key=_order)]
    )
    return run


def _order(one: Parameter) -> tuple[bool, bool]:
    """Arguments before options, and the options of the noun's object last."""
    option = any(isinstance(mark, typer.models.OptionInfo | Options) for mark in one.annotation.__metadata__)
    return option, option and any(isinstance(mark, Found) for mark in one.annotation.__metadata__)


def _call_each(facts: Facts, found: Any, ids: list[str], given: Mapping[str, Any]) -> Iterable[Any]:
    """An answer for each."""
    if (word := facts["each_is"]) == f"{facts['each']}s":  # it takes a list
        call = attrgetter(facts["method"])(found)
        return [one for at in range(0, len(ids), AT_ONCE) for one in call(**given, **{word: ids[at : at + AT_ONCE]})]
    area, _, method = facts["method"].rpartition(".")
    of = attrgetter(area)(found) if area else found
    if hasattr(of, f"{method}_many"):
        answers: Iterable[Any] = getattr(of, f"{method}_many")(ids, **given)
        return answers
    return [getattr(of, method)(id, **given) for id in ids]


# Parameters


def _object(facts: Facts) -> Parameter:
    """That of the name of the noun's object, such as a queue."""
    noun, field = facts["noun"], facts["field"]
    if noun == "queue":
        option: Any = QueueOption.__metadata__[0]  # type: ignore[attr-defined]
        marks: list[Any] = [Found(queue_or_new if facts["create"] else existing_queue)]
    elif noun == "rate":
        from pyadeq.ext.cli.rate import Rates

        return Parameter(field, Parameter.KEYWORD_ONLY, annotation=Rates, default=DEFAULT_QUEUE)
    else:
        option = name_option(noun)
        marks = [not_own(noun)] if noun in generated.SERVICE_NOUNS and not facts["reads"] else []
        found = Found(lambda adeq, name: adeq.noun(noun, name))
        marks.append(found if facts["create"] else named(noun, f"adeq {noun} {field}s"))
    argument = typer.Argument(metavar=field.upper(), help=option.help, autocompletion=option.autocompletion)
    default = Parameter.empty if facts["in_place"] else DEFAULT_QUEUE
    annotation = Annotated[(Any, argument if facts["in_place"] else option, *marks)]
    return Parameter(field, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameter(facts: Facts, argument: Facts) -> Parameter:
    name, kind, help = argument["name"], argument["kind"], argument["help"]
    type_: Any = StrEnum(name, {word: word for word in argument["words"]}) if kind == "word" else TYPES[kind]
    default, option = argument.get("default", Parameter.empty), f"--{name.replace('_', '-')}"
    if default is None or default == []:
        type_, default = type_ | None, None
    marks: list[Any] = []
    if argument["place"] is not None:
        complete = COMPLETED.get(facts["entries"]) if name in ("name", "key") else None
        metavar = name.upper() if default is Parameter.empty else f"[{name.upper()}]"
        if name == facts["each_is"]:
            name, type_, metavar = facts["each"], list[str], f"{facts['each'].upper()}..."
            marks = [Read(partial(_distinct, facts["each"]))]
        if kind == "content":
            marks = [Read(partial(content_of, name.upper()), str)]
        info = typer.Argument(metavar=metavar, help=help, autocompletion=complete)
    elif name == "actor":
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=By, default=YOU)
    elif kind == "seconds":
        info = time_option(help, option)
    elif kind == "flag":
        info = typer.Option(option if default is False else f"{option}/--no-{option[2:]}", help=help)
    else:
        info = typer.Option(option, *SHORT.get(name, ()), metavar=METAVARS.get(kind), help=help)
    annotation = Annotated[(type_, info, *marks)]
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _distinct(what: str, names: list[str]) -> list[str]:
    """Each once, and checked, so that nothing is done if one is wrong."""
    distinct = [*dict.fromkeys(names)]
    return [check_name(what, name, CHECKED[what]) for name in distinct] if what in CHECKED else distinct


# Answers


def _rows(value: Any) -> Iterable[dict[str, Any]]:
    """What a list has, as JSON."""
    if isinstance(value, dict):
        value = [one for _, one in sorted(value.items())]
    return map(plain, value)


def _lines(facts: Facts, found: Any, rows: Iterable[dict[str, Any]], most: int | None) -> Lines:
    first = next(iter(rows := iter(rows)), None)
    columns = facts["columns"]
    return Lines(
        rows if first is None else chain([first], rows),
        [name.replace("_", " ") for name in columns],
        lambda row: [cell(name, row[name]) for name in columns],
        right=[name.replace("_", " ") for name in columns if first and is_count(name, first[name])],
        spare=[name.replace("_", " ") for name in columns[:0:-1]],
        limit=most,
        none=f"{facts['field']} {found.name!r} has no {facts['entries']}",
    )


def _missing(facts: Facts, noun: str, found: Any, name: str, *of: str) -> AdeqError:
    """The error for a name that is not there. of: whose it should be."""
    listing = made()[noun].get("ls")
    rows = [] if listing is None else _rows(attrgetter(listing["method"])(found)(*of))
    known = [next(iter(row.values())) for row in islice(rows, MOST_KNOWN)]
    whose = f"{' '.join(of)} in " if of else ""
    see = " ".join([f"adeq {noun} ls", *of])
    where = f"{facts['entries']}: {whose}{facts['field']} {found.name!r}"
    return AdeqError(f"{where} has no {name!r}{hint(name, known)} See {see}")


def _answer(facts: Facts, about: Mapping[str, Any], given: Mapping[str, Any], value: Any) -> Document:
    found = {"status": value} if isinstance(value, str) else plain(value)
    if not isinstance(found, dict):
        found = {} if found is None else {facts["named"]: found}
    elif facts["reads"]:  # it says what it is about
        given = {}
    whole = {**about, **given, **found}
    failed = bool(facts["good"]) and whole.get("status") not in facts["good"]
    return Document(whole, _said(facts["text"], whole) if facts["text"] else fields({**given, **found}), failed=failed)


def statuses(
    about: Mapping[str, Any], entries: str, each_is: str, ids: Sequence[str], answers: Iterable[Any], *good: str
) -> Document:
    """A status for each, and what else is to be said of it."""
    told = [{each_is: id, **_status(answer, good[0])} for id, answer in zip(ids, answers, strict=True)]
    return each({**about, entries: told}, *good, columns=(each_is, "status", ""), row=_row)


def _status(answer: Any, done: str) -> dict[str, Any]:
    if isinstance(answer, bool):
        answer = "done" if answer else "not_found"
    found = {"status": answer} if isinstance(answer, str) else plain(answer)
    status = done if found["status"] == "done" else found["status"]
    return {name: one for name, one in {**found, "status": status}.items() if one is not None}


def _row(entry: Mapping[str, Any]) -> tuple[object, ...]:
    (_, id), (_, status), *more = entry.items()
    return id, status, " ".join(EXPLAINED.get(name, "{}").format(value) for name, value in more)


class _Sentence(Formatter):
    """A text with `{ended:session}`: `1 session`, `2,000 sessions`."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec[1:]:
            return many(value, format_spec)
        if isinstance(value, list):
            more = f" and {len(value) - NAMED:,} more" if len(value) > NAMED else ""
            return f"{', '.join(value[:NAMED])}{more}"
        return cell("", value)


def _said(text: str, fields: Mapping[str, Any]) -> str:
    return _Sentence().vformat(text, (), fields)
