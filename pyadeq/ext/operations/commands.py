"""The commands of the operations as plain data, which the command line reads without importing what they need.

    python -m pyadeq.ext.operations.commands [--check]

This writes `commands.json`, from the rows of the table and the methods that they name; `make gen` calls it.
"""

from __future__ import annotations

import inspect
import json
import re
import string
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from pyadeq import library
from pyadeq.ext.operations import TABLES, names
from pyadeq.ext.operations.row import Command, Operation
from pyadeq.ext.shared.plurals import plural

FILE: Final = Path(__file__).with_name("commands.json")
NAMES: Final = """List the {}s of the server.

A server has no list of them, so all its keys are scanned. This takes about a second for a million keys."""
HELP: Final = {
    "expect": "only if it has this version now; 0: only if it does not exist.",
    "reason": "why.",
    "names": "only these.",
    "factors": "what the risk is made of; @FILE reads it from a file, @- from stdin.",
    "policy": "the policy of the review.",
    "priority": "how urgent the review is.",
    "reviewers": "who is asked: user:ID, or group:NAME for one member; repeat it for more.",
    "preview": "what the change would do; @FILE reads it from a file, @- from stdin.",
    "auto_approvable": "its policy may approve it without people, if the risk is low.",
    "assessed_by": "what has assessed it, and its version.",
    "rev": "the revision that you have seen.",
    "digest": "its digest, if you have it: the command compares it, too.",
    "slot": "the request. [default: yours]",
    "proof": "what is known of your login, for the log.",
    "text": "the comment.",
    "value": "the value as it is; @FILE reads it from a file, @- from stdin.",
    "start": "when it begins. [default: now]",
    "until": "when it ends. [default: never]",
    "to": "the person who answers.",
    "active": "--no-active stores it without an effect.",
    "types": "only changes of this type; repeat it for more.",
    "tags": "only changes with this tag; repeat it for more.",
    "resources": "only changes to this resource; repeat it for more.",
    "escalate_to": "who is asked then: user:<id> or group:<name>; repeat it for up to 3 levels.",
    "timeout_approve_below": "with --on-timeout approve: only risks below this.",
    "key": "user:ID, tag:ID, key:ID, or all. With * as the ID: each ID without a limit of its own.",
}
"""Help of arguments whose docstring says nothing, or too much for a terminal."""


def document() -> dict[str, dict[str, Any]]:
    """Return the facts of each command, by its noun and then its verb, such as `task` and `run-now`."""
    found: dict[str, dict[str, Any]] = {}
    for operation in (
        one for table in (*TABLES[1:], names) for one in (*table.OPERATIONS, *getattr(table, "AT_TERMINAL", ()))
    ):
        if operation.command:
            words = [word for word in operation.command.usage.split() if not word.startswith(word.upper())]
            found.setdefault(" ".join(words[:-1]), {})[words[-1]] = _facts(operation, operation.command)
    return found


def _facts(operation: Operation, command: Command) -> dict[str, Any]:
    operation = replace(operation, method=command.method or operation.method)
    noun = library().manifest["nouns"][operation.noun]
    field, reads = noun["field"], operation.verb == "GET"
    facts = {"noun": operation.noun, "field": field, "reads": reads}
    if operation.method is None:
        return {**facts, "method": "", "help": NAMES.format(noun["title"])}
    taken = [word for word in command.usage.split() if word.startswith(word.upper())]
    text, docs = explained(operation.method)
    known = operation.arguments
    if "expect" in operation.signature.parameters:
        known["expect"] = (operation.signature.parameters["expect"].annotation, None)
    places = {word.strip("[].").lower(): place for place, word in enumerate(taken)}
    each = each_is = next((word.strip(".").lower() for word in taken if word.endswith("...")), "")
    if each and each not in known:  # it is called otherwise in the method
        free = [name for name in known if name not in places and name != operation.person]
        each_is = f"{each}s" if f"{each}s" in known else free[0]
        places[each_is] = places.pop(each)
    arguments = []
    for name, (kind, default) in known.items():
        word, allowed = kind_of(kind)
        what = (
            f"the {_several(each)}."
            if name == each_is
            else f"only those of this {name}."
            if reads and default is None
            else f"the {name}."
        )
        help = _sentence(HELP.get(name) or docs.get(name, what))
        argument = {"name": name, "kind": word, "help": help, "place": places.get(name)}
        if default is not ... or (operation.seen and name in ("rev", "digest")):
            argument["default"] = None if default is ... or word == "content" else default
        arguments.append(argument | ({"words": allowed} if allowed else {}))
    fields = places.keys() - known.keys() - {field}
    for name in sorted(fields):  # of the entries of a list
        default = {"default": None} if f"[{name.upper()}]" in taken else {}
        help = "Only names that begin so." if name == "start" else f"The {name}, as ls shows it."
        arguments.append({"name": name, "kind": "string", "help": help, "place": places[name], **default})
    given = {*known, *fields, field, each}
    named = [name for _, name, *_ in string.Formatter().parse(command.text) if name and name not in given]
    said = [command.help or text.split("\n\n")[0], *([f"Exits with 1 if {command.fails}."] if command.fails else [])]
    returned = operation.signature.return_annotation
    return {
        **facts,
        "in_place": field in places,
        "create": operation.create and operation.verb == "PUT" and not operation.person,
        "method": ".".join([*operation.area.split("."), operation.method.__name__]).strip("."),
        "help": "\n\n".join(said),
        "each": each,
        "each_is": each_is,
        "entries": _several(each) if each else [one for one in operation.path.split("/") if "{" not in one][-1],
        "person": operation.person,
        "seen": operation.seen,
        "says": operation.says,
        "arguments": arguments,
        "chosen_by": [*fields],
        "pages": get_origin(returned) is AsyncIterator,
        "optional": NoneType in get_args(returned),
        "good": command.good.split(),
        "text": command.text,
        "named": named[0] if named else "value",
        "columns": command.columns.split(),
        "ask": command.ask,
    }


def explained(method: Any) -> tuple[str, dict[str, str]]:
    """What a docstring says, and what it says of each argument: paragraphs of lines that begin with `name: `."""
    parameters = inspect.signature(method, eval_str=True).parameters
    options = next((get_args(one.annotation) for one in parameters.values() if one.kind == one.VAR_KEYWORD), ())
    names = {*parameters, *(name for one in options for name in one.__annotations__)}
    rest, docs, told = [], dict[str, str](), list[str]()
    for line in "\n\n".join(inspect.cleandoc(one.__doc__ or "") for one in (method, *options)).splitlines():
        found = re.match(r"(\w+(?:, \w+)*): (.+)", line)
        if found and names.issuperset(found[1].split(", ")):
            told = found[1].split(", ")
            docs |= dict.fromkeys(told, found[2])
        elif told and line:
            docs |= {name: f"{docs[name]} {line}" for name in told}
        else:
            told = []
            rest.append(line)
    return "\n".join(rest).strip(), docs


def kind_of(kind: Any) -> tuple[str, list[str]]:
    """How a type is given at a terminal, and the words that it allows: `seconds`, `word` …"""
    options = (
        [one for one in get_args(kind) if one is not NoneType] if get_origin(kind) in (Union, UnionType) else [kind]
    )
    if kind is Any or bytes in options:
        return "content", []
    if datetime in options:
        return "moment", []
    if timedelta in options:
        return "seconds", []
    (one,) = options
    if get_origin(one) is Literal:
        return "word", [*get_args(one)]
    if get_origin(one) is Mapping:
        return "tasks", []
    if get_origin(one) in (list, tuple, Sequence):
        return "strings", []
    simple = {str: "string", int: "int", float: "float", bool: "flag"}
    if one not in simple:
        raise ValueError(f"{kind}: a command made from a method cannot take it; write the command by hand")
    return simple[one], []


def _several(word: str) -> str:
    """What the list of these is called."""
    return "tasks" if word == "id" else plural(word)


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
