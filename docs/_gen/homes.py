"""Where each key and field of another schema lives in pyadeq: approval_schema.toml, checked and as tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import sources
import typer
from scripts import load_manifest, table

import pyadeq
from pyadeq.ext.cli.app import app

REFERENCE = re.compile(r"\{(\w+) ([^{}]+)\}")
SHARED = ("config", "events")  # keys that several nouns have
UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))


class Line(NamedTuple):
    """A line of the other schema. is_part: a field or a word of the key before it."""

    name: str
    home: str
    is_part: bool


class Chapter(NamedTuple):
    """A table, and the words before it."""

    title: str
    intro: str
    lines: list[Line]


@cache
def load() -> dict[str, Any]:
    """The file."""
    return tomllib.loads((sources.ROOT / "docs/_gen/approval_schema.toml").read_text(encoding="utf-8"))


def chapters() -> list[Chapter]:
    """What the file has, as tables."""
    return [Chapter(one["title"], one["intro"], list(_lines(one["key"]))) for one in load()["chapter"]]


def _lines(keys: list[dict[str, Any]]) -> Iterator[Line]:
    for key in keys:
        yield Line(key["is"], key["home"], is_part=False)
        yield from (Line(name, home, is_part=True) for name, home in key.get("fields", {}).items())


def homes(_: str = "") -> str:
    """All tables, each with its title."""
    return "\n\n".join(
        f"## {one.title}\n\n{one.intro.strip()}\n\n{table(('in the schema', 'in pyadeq'), map(_row, one.lines))}"
        for one in chapters()
    )


def _row(line: Line) -> tuple[str, str]:
    return f"{'· ' if line.is_part else ''}`{line.name}`", shown(line.home)


def shown(home: str) -> str:
    """A home as the page has it. Raises ValueError if it names something that does not exist."""
    return REFERENCE.sub(lambda match: refer(match[1], match[2]), home)


def refer(kind: str, name: str) -> str:
    """What the page says for `{kind name}`. Raises ValueError if there is no such thing."""
    try:
        return KINDS[kind](name)
    except (LookupError, AttributeError, StopIteration, OSError) as error:
        raise ValueError(f"{{{kind} {name}}}: there is no such thing") from error


def _noun(word: str) -> dict[str, Any]:
    noun: dict[str, Any] = load_manifest()["nouns"][word]
    return noun


def _script(name: str) -> dict[str, Any]:
    return next(one for one in load_manifest()["scripts"] if one["id"].rpartition(".")[0] == name)


def _scripts(word: str) -> Iterator[dict[str, Any]]:
    return (one for one in load_manifest()["scripts"] if one["noun"] == word)


def _arguments(script: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*script["args"], *(one for group in script["groups"] for one in [*group["fields"], *group["pairs"]])]


def _returns(script: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*script["returns"], *(one for shape in script["shapes"].values() for one in shape)]


def _named(found: Any, name: str) -> dict[str, Any]:
    return next(one for one in found if one["name"] == name)


def _key(name: str) -> str:
    word, _, key = name.partition(".")
    return f"key `{sources.place(word, key)}`" + (f" of the {_noun(word)['title']}" if key in SHARED else "")


def _field(name: str) -> str:
    word, record, field = name.split(".")
    _named(_noun(word)["tables"][record], field)
    return f"`{field}`"


def _setting(name: str) -> str:
    word, setting = name.split(".")
    _named(_noun(word)["settings"], setting)
    return f"setting `{setting}` of the {_noun(word)['title']}"


def _wait(name: str) -> str:
    word, wait = name.split(".")
    ms = _noun(word)["waits"][wait]["ms"]
    size, unit = next((size, unit) for size, unit in UNITS if ms >= size)
    return f"{ms // size} {unit}{'' if ms == size else 's'}"


def _event(name: str) -> str:
    next(noun for noun in load_manifest()["nouns"].values() if name in noun["events"])
    return f"event `{name}`"


def _script_link(name: str) -> str:
    return f"[`{name}`](../reference/scripts/{_script(name)['id']}.md)"


def _arg(name: str) -> str:
    script, _, argument = name.rpartition(".")
    _named(_arguments(_script(script)), argument)
    return f"`{argument}`"


def _answer(name: str) -> str:
    script, _, field = name.rpartition(".")
    _named((one for status in _returns(_script(script)) for one in status["fields"]), field)
    return f"`{field}`"


def _status(name: str) -> str:
    script, _, status = name.rpartition(".")
    next(one for one in _returns(_script(script)) if one["status"] == status)
    return f"`{status}`"


def _value(name: str) -> str:
    """A value of a field, an argument or an answer of that name."""
    word, field, value = name.split(".")
    records = [one for record in _noun(word)["tables"].values() for one in record]
    arguments = [one for script in _scripts(word) for one in _arguments(script)]
    answers = [one for script in _scripts(word) for status in _returns(script) for one in status["fields"]]
    next(one for one in [*records, *arguments, *answers] if one["name"] == field and value in one.get("values", ()))
    return f"`{value}`"


def _hint(name: str) -> str:
    messages = [one for hint in _noun("lock")["hints"].values() for one in hint["messages"]]
    return f"`{next(one for one in messages if one.startswith(f'{name}:'))}`"


def _command(words: str) -> str:
    command: Any = typer.main.get_command(app)
    for word in words.split():
        command = command.get_command(typer.Context(command), word)
    if command is None or hasattr(command, "list_commands"):
        raise LookupError(words)
    return f"`adeq {words}`"


def _python(name: str) -> str:
    owner, _, attribute = name.partition(".")
    found = getattr(pyadeq, owner)
    if attribute not in getattr(found, "model_fields", {}):
        attrgetter(attribute)(found)
    return f"`{name}`"


def _page(place: str) -> str:
    name, _, _ = place.partition("#")
    text = (sources.ROOT / "docs" / name).read_text(encoding="utf-8")
    return f"[{text.partition(chr(10))[0].removeprefix('# ')}](../{place})"


KINDS: dict[str, Callable[[str], str]] = {
    "key": _key,
    "field": _field,
    "setting": _setting,
    "wait": _wait,
    "event": _event,
    "script": _script_link,
    "arg": _arg,
    "answer": _answer,
    "status": _status,
    "value": _value,
    "hint": _hint,
    "command": _command,
    "python": _python,
    "page": _page,
}
