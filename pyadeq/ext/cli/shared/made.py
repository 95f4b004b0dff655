"""Commands that are made from the table of operations: their words, arguments and answers are those of its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from itertools import chain, islice
from operator import attrgetter
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyadeq.errors import AdeqError, ConfigConflict
from pyadeq.ext.cli.change.who import YOU, Acting, By, GroupsOf
from pyadeq.ext.cli.shared.arguments import Most, Yes, confirm, many, moment_ahead, not_all, search_option, time_option
from pyadeq.ext.cli.shared.complete import limit_keys, policy_names, schedule_names
from pyadeq.ext.cli.shared.made_facts import Facts, made
from pyadeq.ext.cli.shared.noun_arguments import name_option, named, not_own, noun_with
from pyadeq.ext.cli.shared.queue_arguments import DEFAULT_QUEUE, QueueOption
from pyadeq.ext.cli.shared.resolve import SERVICE_NOUNS, existing_queue, queue_or_new
from pyadeq.ext.cli.shared.running import Answer, Document, Found, Lines, Options, Read, each, with_client
from pyadeq.ext.cli.shared.shown import AS_IS, cell, fields, is_count, plain
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
    "moment": float,
    "tasks": list[str],
}
OPTIONS = {"start": "--from", "follow": "--task", "text": "--message", "assessed_by": "--by"}
"""The options of arguments that have another name than the argument."""
TOLD = {"same": "unchanged"}
"""The words for statuses in sentences."""
CHECKED: Mapping[str, NameType] = {
    "schedule": "name",
    "policy": "name",
    "delegation": "name",
    "rule": "id",
    "name": "id",
}
"""What names of several things must be, see `pyadeq.keys`."""
EXPLAINED = {"holder": "held by {}"}
"""The words around the value of a field, in the row of an entry."""
LEAST: Mapping[str, Any] = {"rev": {"min": 1}, "request": {"min": 0}}
WHO = ("actor", "principal", "kind")
SHORT = {"reason": ("--message", "-m"), "text": ("-m",)}
METAVARS = {"string": "TEXT", "content": "TEXT", "strings": "TEXT", "int": "N"}
SETTINGS = "Show the settings; with options, change those, and create what has them if it does not exist."
MOST_KNOWN = 1000
"""Names that are compared with one that is not there, at most."""
NAMED = 5
"""Names that a sentence shows, at most."""
AT_ONCE = 100
"""Names that one call takes, at most."""
COMPLETED: Mapping[str, Any] = {"schedules": schedule_names, "limits": limit_keys, "policies": policy_names}
"""What completes the names of entries."""


def add_made(app: typer.Typer, noun: str) -> None:
    """Add the commands of a noun that are made, unless they are there."""
    there = {one.name for one in app.registered_commands}
    for verb, facts in made().get(noun, {}).items():
        if not facts["method"] and "configure" not in there:
            generated = import_module("pyadeq.ext.cli.shared.generated")
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
    changes: Any = _of_changes() if facts["noun"] == "change" else None
    names = {one["name"] for one in facts["arguments"]}
    placed = [one["name"] for one in facts["arguments"] if one["place"] is not None and one["kind"] != "content"]

    def run(adeq: Adeq, **values: Any) -> Answer:
        found, yes, most = values.pop(field), values.pop("yes", True), values.pop("most", None)
        ids: Any = values.pop(repeated, [])
        given = _given(facts, values)
        chosen = {name: given.pop(name) for name in facts["chosen_by"] if name in given}
        about = {field: found.name}
        if facts["ask"]:
            confirm(_said(facts["ask"], {**about, **given, repeated: ids}), yes, "nothing was done")
        try:
            if repeated:
                answers = _call_each(facts, found, ids, given)
                return statuses(about, facts["entries"], repeated, ids, answers, *facts["good"])
            call = attrgetter(facts["method"])(found)
            value = call(**(changes.seen(facts, adeq, found, given) if facts["seen"] else given))
        except ConfigConflict as conflict:
            raise AdeqError(f"{conflict}. See adeq {noun} history") from None
        except AdeqError:
            if "rule" in given and found.get(given["rule"]) is None:
                raise _missing(facts, noun, found, given["rule"]) from None
            raise
        if facts["entries"] == "changes" and value.status not in facts["good"]:
            raise changes.refused(found, given, value)
        if facts["pages"] or facts["columns"] or chosen:
            return _listed(facts, noun, found, value, given, chosen, most)
        if value is None and facts["optional"]:
            raise _missing(facts, noun, found, [*given.values()][-1])
        told = [*placed, *(one["name"] for one in facts["arguments"] if f"{{{one['name']}}}" in facts["text"])]
        return _answer(facts, about, {name: given[name] for name in told if name in given}, value)

    own = [one for one in facts["arguments"] if "principal" not in names or one["name"] not in WHO]
    options: dict[str, tuple[Any, Any]] = {"yes": (Yes, False)} if facts["ask"] else {}
    if facts["pages"] and not {*facts["chosen_by"]} - {"start"}:
        options["most"] = (Most, None)
    if "principal" in names:
        options["who"] = (Acting, YOU)
    elif facts["person"]:
        options["actor"] = (By, YOU)
    parameters = [_object(facts), *(_parameter(facts, one) for one in own)]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, annotation=of, default=default)
        for name, (of, default) in options.items()
    ]
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter("adeq", Parameter.POSITIONAL_ONLY), *sorted(parameters, key=_order)]
    )
    return run


def _of_changes() -> Any:
    """What only commands of changes need, and so only they import."""
    return import_module("pyadeq.ext.cli.change.made")


def _given(facts: Facts, values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the method."""
    values |= values.pop("who", {})
    if "request" in values:  # there is an option of the client called --slot
        values["slot"] = values.pop("request")
    if person := facts["person"]:
        values[person] = values.get(person) or values["actor"]
    if all(one["name"] != "actor" for one in facts["arguments"]):
        values.pop("actor", None)
    return {name: str(one) if isinstance(one, StrEnum) else one for name, one in values.items() if one is not None}


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
    return [getattr(of, method)(**given, **{facts["each_is"]: id}) for id in ids]


# Parameters


def _object(facts: Facts) -> Parameter:
    """Make the parameter for the name of the noun's object, such as a queue."""
    noun, field = facts["noun"], facts["field"]
    if noun == "queue":
        option: Any = QueueOption.__metadata__[0]  # type: ignore[attr-defined]
        marks: list[Any] = [Found(queue_or_new if facts["create"] else existing_queue)]
    elif noun == "rate":
        from pyadeq.ext.cli.rate import Rates

        return Parameter(field, Parameter.KEYWORD_ONLY, annotation=Rates, default=DEFAULT_QUEUE)
    elif noun == "change" and not facts["create"]:
        return Parameter(field, Parameter.KEYWORD_ONLY, annotation=_of_changes().ThisDomain, default=DEFAULT_QUEUE)
    else:
        option = name_option(noun)
        marks = [not_own(noun)] if noun in SERVICE_NOUNS and not facts["reads"] else []
        found = Found(lambda adeq, name: adeq.noun(noun, name))
        marks.append(found if facts["create"] else named(noun, f"adeq {noun} {field}s"))
    argument = typer.Argument(metavar=field.upper(), help=option.help, autocompletion=option.autocompletion)
    default = Parameter.empty if facts["in_place"] else DEFAULT_QUEUE
    annotation = Annotated[(Any, argument if facts["in_place"] else option, *marks)]
    return Parameter(field, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameter(facts: Facts, argument: Facts) -> Parameter:
    name, kind, help = argument["name"], argument["kind"], argument["help"]
    type_: Any = StrEnum(name, {word: word for word in argument["words"]}) if kind == "word" else TYPES[kind]
    name = "request" if name == "slot" else name
    default = argument.get("default", Parameter.empty)
    word = name.removesuffix("s") if kind == "strings" else name
    option = OPTIONS.get(name) or f"--{word.replace('_', '-')}"
    if default is None or default == [] or name == "request":
        type_, default = type_ | None, None
    marks: list[Any] = []
    special = {"groups": (GroupsOf, YOU), "actor": (By, YOU)}
    if facts["entries"] == "changes":
        special["id"] = (_of_changes().ChangeId, Parameter.empty)
    if name in special:
        of, default = special[name]
        return Parameter(name, Parameter.KEYWORD_ONLY, annotation=of, default=default)
    if argument["place"] is not None:
        complete = COMPLETED.get(facts["entries"]) if name in ("name", "key") else None
        metavar = name.upper() if default is Parameter.empty else f"[{name.upper()}]"
        if name == facts["each_is"]:
            name, type_, metavar = facts["each"], list[str], f"{facts['each'].upper()}..."
            marks = [Read(partial(_distinct, facts["each"]))]
        info = typer.Argument(metavar=metavar, help=help, autocompletion=complete)
    elif name == facts["person"]:
        info = typer.Option(option, metavar="ID", help="Whose. [default: the one of --as, or your user name]")
        type_, default = str | None, None
    elif kind == "tasks":
        info = typer.Option(option, metavar="STEP=KIND[,LANE,PRIORITY]", help=help)
        marks = [Read(_of_changes().tasks_of, list[str] | None)]
    elif kind == "moment":
        info = typer.Option(option, parser=moment_ahead, metavar="WHEN", help=help)
    elif kind == "seconds":
        info, default = time_option(help, option), f"{default:g}" if isinstance(default, float) else default
    elif kind == "flag":
        info = typer.Option(option if default is False else f"{option}/--no-{option[2:]}", help=help)
    else:
        info = typer.Option(
            option,
            *SHORT.get(name, ()),
            metavar=METAVARS.get(kind),
            help=help,
            autocompletion=policy_names if name == "policy" else None,
            case_sensitive=False,
            **LEAST.get(name, {}),
        )
    if name in ("reviewers", "escalate_to"):
        marks = [Read(partial(_of_changes().reviewers_of, option), type_)]
    if kind == "content":
        marks = [Read(partial(_content, name.upper()), str if default is Parameter.empty else str | None)]
    annotation = Annotated[(type_, info, *marks)]
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _content(name: str, text: str | None) -> Any:
    """What is said, or what is in the file that is named."""
    return import_module("pyadeq.ext.cli.change.put").content_of(name, text)


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


def _listed(
    facts: Facts,
    noun: str,
    found: Any,
    value: Any,
    given: Mapping[str, Any],
    chosen: dict[str, Any],
    most: int | None,
) -> Answer:
    """A list, or the one of its entries that has what is chosen."""
    note = ""
    if hasattr(value, "model_dump"):
        rest = {name: one for name, one in plain(value).items() if name != facts["entries"]}
        note = _said(facts["text"], {**given, **rest}) if facts["text"] and any(rest.values()) else ""
        value = getattr(value, facts["entries"])
    start = chosen.pop("start", "")
    rows = (row for row in _rows(value) if str(next(iter(row.values()))).startswith(start))
    if chosen:
        row = next((row for row in rows if chosen.items() <= row.items()), None)
        if row is None:
            raise _missing(facts, noun, found, [*chosen.values()][-1], *given.values())
        return _answer(facts, {facts["field"]: found.name}, {}, row)
    first, columns = next(rows, None), facts["columns"]
    heads = {name: name.replace("_", " ") for name in columns}
    return Lines(
        rows if first is None else chain([first], rows),
        [*heads.values()],
        lambda row: [cell(name, row[name]) for name in columns],
        right=[head for name, head in heads.items() if first and is_count(first[name])],
        spare=[*heads.values()][:0:-1],
        limit=most,
        none=f"{facts['field']} {found.name!r} has no {facts['entries']}",
        note=note,
    )


def _missing(facts: Facts, noun: str, found: Any, name: str, *of: str) -> AdeqError:
    """The error for a name that is not there. of: whose it should be."""
    listing = made()[noun].get("ls", facts)
    value = [] if listing is facts else attrgetter(listing["method"])(found)(*of)
    rows = _rows(getattr(value, listing["entries"]) if hasattr(value, "model_dump") else value)
    known = [next(iter(row.values())) for row in islice(rows, MOST_KNOWN)]
    where = f"{listing['entries']}: {' in '.join([*of, facts['field']])} {found.name!r}"
    see = " ".join([f"adeq {noun} ls", *([f"--{facts['person']}"] if facts["person"] else []), *of])
    return AdeqError(f"{where} has no {name!r}{hint(name, known)} See {see}")


def _answer(facts: Facts, about: Mapping[str, Any], given: Mapping[str, Any], value: Any) -> Document:
    found = {"status": value} if isinstance(value, str) else plain(value)
    if not isinstance(found, dict):
        found = {} if found is None else {facts["named"]: found}
    elif facts["reads"]:  # it says what it is about
        given = {}
    whole = {**about, **given, **found}
    failed = bool(facts["good"]) and whole.get("status") not in facts["good"]
    says = facts["says"].get(whole.get("status"))
    if failed and says:
        raise AdeqError(_said(says, whole))
    return Document(
        whole, _said(says or facts["text"], whole) if facts["text"] else fields({**given, **found}), failed=failed
    )


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
        if format_spec == "U":
            return str(value).upper()
        if format_spec:
            return many(value, format_spec)
        if isinstance(value, list):
            more = f" and {len(value) - NAMED:,} more" if len(value) > NAMED else ""
            return f"{', '.join(value[:NAMED])}{more}"
        return cell("", value)


def _said(text: str, fields: Mapping[str, Any]) -> str:
    told = {name: str(one) if name in AS_IS else one for name, one in fields.items()}
    return _Sentence().vformat(text, (), told | {"status": TOLD.get(fields.get("status", ""), fields.get("status"))})
