"""Generate the settings of queues and lock domains in pyadeq/models from their noun.toml.

python pyadeq/_settings.py            write them
python pyadeq/_settings.py --check    exit code 1 if they are not current

The type, the default and the meaning of a setting come from lua/manifest.json. The facts that only Python needs are in
the table at the end of its line in noun.toml.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 120
UNITS = {"_ms": ("seconds", 1000), "_pct": ("ratio", 100)}
"""The kind of a number in Python, and what one of its units is on the wire."""
CHANGED = {"seconds": "Seconds", "int": "int", "bool": "bool"}
"""The types of arguments."""


class Python(NamedTuple):
    """The model of a noun's settings, and what it has besides them: name, type and default, meaning."""

    model: str
    title: str
    own: tuple[tuple[str, str, str], ...] = ()
    imports: str = ""


NOUNS = {
    "queue": Python(
        "Settings",
        "queue",
        (
            ("mode", 'Mode = "running"', ""),
            ("digest", 'str = ""', "of what `settings.change` can change, for its `expect`."),
        ),
        "from pyadeq.models.queue import Backoff, Mode\n",
    ),
    "lock": Python("LockSettings", "lock domain"),
}
HEAD = "# Generated from lua/manifest.json and lua/{from_}/noun.toml by pyadeq/_settings.py; do not edit.\n"
ROWS = '''\
# ruff: noqa: E501
"""The settings of each noun, as Python has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyadeq.models.setting import Setting

SETTINGS: Final[Mapping[str, tuple[Setting, ...]]] = {
'''
MODELS = '''\
"""The settings of a {title}: all of them, and those that can be changed."""

from __future__ import annotations

from typing import Literal, TypedDict

from pyadeq.models.base import Model, Seconds
{imports}
{words}


class {model}Change(TypedDict, total=False):
    """The settings of a {title} that can be changed; see {model}."""

{changes}


class {model}(Model):
    """The settings of a {title}. Times are in seconds. If nothing is stored, the defaults apply.

{doc}
    """

    clock: Literal["server", "test"] = "server"
    layout: int = {layout}
{fields}
'''


def generate() -> dict[Path, str]:
    """Return the text of every generated file, by its path."""
    rows = {noun: _rows(noun) for noun in NOUNS}
    folder = ROOT / "pyadeq/models"
    files = {folder / f"{noun}_settings.py": _models(noun, rows[noun]) for noun in NOUNS}
    return {folder / "settings.py": _table(rows), **files}


def facts(noun: str) -> dict[str, dict[str, str]]:
    """What a noun.toml says of its settings for Python only, by their names in the scripts."""
    found = tomllib.loads((ROOT / f"lua/{noun}/noun.toml").read_text(encoding="utf-8"))["settings"]
    return {name: dict(*entry[3:]) for name, entry in found.items()}


def _rows(noun: str) -> list[dict[str, Any]]:
    """The fields of each `Setting`; those that are as usual are left out."""
    manifest = json.loads((ROOT / "lua/manifest.json").read_text(encoding="utf-8"))
    settings, python = manifest["nouns"][noun]["settings"], facts(noun)
    names = {one["name"]: _name(one["name"], python[one["name"]]) for one in settings}
    return [_row(one, names, python[one["name"]]) for one in settings]


def _name(wire: str, python: dict[str, str]) -> str:
    return python.get("python") or re.sub("|".join(f"{end}$" for end in UNITS), "", wire)


def _row(setting: dict[str, Any], names: dict[str, str], python: dict[str, str]) -> dict[str, Any]:
    wire, default = setting["name"], setting["default"]
    kind, unit = next((of for end, of in UNITS.items() if wire.endswith(end)), (setting["type"], 1))
    doc = re.sub(r"\b\w+_(?:ms|pct)\b", lambda word: f"`{names.get(word[0], word[0])}`", setting["doc"])
    row = {"name": names[wire], "wire": wire, "kind": kind}
    row["default"] = None if default == "" else default / unit if unit > 1 else default
    row["doc"] = doc.removesuffix(", in percent") if kind == "ratio" else doc
    if setting["type"] == "int":
        low, high = setting["min"] / unit, setting["max"] / unit
        row |= {"least": low, "most": high} if low % 1 or high % 1 else {"least": int(low), "most": int(high)}
    if "values" in setting:
        row["words"] = tuple(setting["values"])
    return row | ({"label": python["label"]} if "label" in python else {})


def _table(rows: dict[str, list[dict[str, Any]]]) -> str:
    text = HEAD.format(from_="*") + ROWS
    for noun, found in rows.items():
        text += f'    "{noun}": (\n'
        for row in found:
            fields = "".join(f"            {name}={_literal(value)},\n" for name, value in row.items())
            text += f"        Setting(\n{fields}        ),\n"
        text += "    ),\n"
    return text + "}\n"


def _models(noun: str, rows: list[dict[str, Any]]) -> str:
    python = NOUNS[noun]
    words = {row["name"]: f"{noun.capitalize()}{row['name'].capitalize()}" for row in rows if "words" in row}
    lines = [f"{name}: {doc}" for name, _, doc in python.own if doc]
    return HEAD.format(from_=noun) + MODELS.format(
        title=python.title,
        model=python.model,
        layout=json.loads((ROOT / "lua/manifest.json").read_text(encoding="utf-8"))["nouns"][noun]["layout"],
        imports=python.imports,
        words="\n".join(_alias(words[row["name"]], row["words"]) for row in rows if "words" in row),
        doc="\n".join(_wrapped([f"{row['name']}: {row['doc']}." for row in rows] + lines)),
        changes="\n".join(f"    {name}: {kind}" for name, kind, _ in _fields(rows, words)),
        fields="\n".join(
            [f"    {name}: {kind.replace('Seconds', 'float')}{rest}" for name, kind, rest in _fields(rows, words)]
            + [f"    {name}: {kind}" for name, kind, _ in python.own]
        ),
    )


def _fields(rows: list[dict[str, Any]], words: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """The name of each argument of `configure`, its type, and what the type of the model has behind it."""
    objects: dict[str, dict[str, Any]] = {}
    for row in rows:
        name, _, part = row["name"].partition(".")
        if part:
            objects.setdefault(name, {})[part] = row["default"]
    for row in rows:
        name, _, part = row["name"].partition(".")
        if not part:
            kind, default = words.get(name) or CHANGED[row["kind"]], row["default"]
            yield name, kind, " | None = None" if default is None else f" = {_literal(default)}"
        elif name in objects:
            kind, parts = name.capitalize(), objects.pop(name)
            yield name, kind, f" = {kind}({', '.join(f'{part}={_literal(value)}' for part, value in parts.items())})"


def _wrapped(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' * (len(value) == 1)})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _alias(name: str, words: tuple[str, ...]) -> str:
    line = f"{name} = Literal[{', '.join(map(_literal, words))}]"
    lines = [f"{name} = Literal[", *(f"    {_literal(word)}," for word in words), "]"]
    return line if len(line) <= WIDTH else "\n".join(lines)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python pyadeq/_settings.py [--check]", file=sys.stderr)
        return 2
    old = {
        path: text for path, text in generate().items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    for path, text in old.items():
        if arguments:
            print(f"{path.relative_to(ROOT)} is not current: run `make gen`.", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"changed: {path.relative_to(ROOT)}")
    return 1 if arguments and old else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
