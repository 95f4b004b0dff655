"""The commands of the operations as plain data, which the command line reads without importing what they need.

    python -m pyadeq.ext.operations.commands [--check]

This writes `commands.json`, from the rows of the table and the methods that they name; `make gen` calls it.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pyadeq.ext.operations import ALL
from pyadeq.ext.operations.row import Command, Operation

FILE: Final = Path(__file__).with_name("commands.json")


def document() -> dict[str, dict[str, Any]]:
    """By the noun and the verb: `task`, `run-now`."""
    found: dict[str, dict[str, Any]] = {}
    for operation in ALL.values():
        if operation.command:
            words = [word for word in operation.command.usage.split() if not word.startswith(word.upper())]
            noun, verb = words
            found.setdefault(noun, {})[verb] = _facts(operation, operation.command)
    return found


def _facts(operation: Operation, command: Command) -> dict[str, Any]:
    assert operation.method
    taken = [word for word in command.usage.split() if word.startswith(word.upper())]
    text, docs = explained(operation.method)
    field = operation.path.split("{")[1].split("}")[0]
    each = next((word.removesuffix("...").lower() for word in taken if word.endswith("...")), "")
    places = {word.removesuffix("...").lower(): place for place, word in enumerate(taken)}
    unknown = places.keys() - operation.arguments.keys() - {field}
    if unknown:
        raise ValueError(f"{command.usage}: {operation.id} has no argument {', '.join(sorted(unknown))}")
    arguments = []
    for name, (kind, default) in operation.arguments.items():
        word, allowed = kind_of(kind)
        argument = {"name": name, "kind": word, "help": _sentence(docs.get(name, "")), "place": places.get(name)}
        if default is not ...:
            argument["default"] = default
        arguments.append(argument | ({"words": allowed} if allowed else {}))
    help = [command.help or text.split("\n\n")[0], *([f"Exits with 1 if {command.fails}."] if command.fails else [])]
    return {
        "noun": operation.noun,
        "field": field,
        "in_place": field in places,
        "create": operation.create,
        "method": ".".join([*operation.area.split("."), operation.method.__name__]).strip("."),
        "help": "\n\n".join(help),
        "each": each,
        "entries": operation.path.split("/{id}")[0].split("/")[-1] if each else "",
        "arguments": arguments,
        "good": [*command.good],
        "text": command.text,
        "columns": [*command.columns],
    }


def explained(method: Any) -> tuple[str, dict[str, str]]:
    """What a docstring says, and what it says of each argument: paragraphs of lines that begin with `name: `."""
    doc = inspect.cleandoc(method.__doc__ or "")
    names = set(inspect.signature(method).parameters)
    rest, docs, name = [], dict[str, str](), ""
    for line in doc.splitlines():
        found = re.match(r"(\w+): (.+)", line)
        if found and found[1] in names:
            name = found[1]
            docs[name] = found[2]
        elif name and line:
            docs[name] += f" {line}"
        else:
            name = ""
            rest.append(line)
    return "\n".join(rest).strip(), docs


def kind_of(kind: Any) -> tuple[str, list[str]]:
    """How a type is given at a terminal, and the words that it allows: `seconds`, `word` …"""
    options = (
        [one for one in get_args(kind) if one is not NoneType] if get_origin(kind) in (Union, UnionType) else [kind]
    )
    if timedelta in options:
        return "seconds", []
    (one,) = options
    if get_origin(one) is Literal:
        return "word", [*get_args(one)]
    if get_origin(one) in (list, tuple, Sequence):
        return "strings", []
    simple = {str: "string", int: "int", float: "float", bool: "flag"}
    if one not in simple:
        raise ValueError(f"{kind}: a command made from a method cannot take it; write the command by hand")
    return simple[one], []


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}".replace("`", "")


def main() -> int:
    """Write the file, or say that it is old."""
    text = json.dumps(document(), indent=1, ensure_ascii=False) + "\n"
    if "--check" in sys.argv[1:]:
        if not FILE.exists() or FILE.read_text() != text:
            print(f"{FILE.name} is not what the operations say: make gen", file=sys.stderr)
            return 1
        return 0
    FILE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
