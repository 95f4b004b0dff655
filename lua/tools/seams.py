"""Seams: named points of a noun's code at which its features act. "Features and seams" in ../README.md explains them.

`noun.toml` declares a seam and the order of its features. A feature has one hook for each seam that it uses,
`<noun>/include/<feature>/<seam>.lua`. For each seam this module writes the dispatcher, a function that calls the hooks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from header import BuildError, is_hook, parameters
from model import WORD, Include
from noun import Noun
from scan import LuaError, parse, tokens

OWN = "own"  # what hooks call the fields of the record that the dispatcher has read
_LINES = re.compile(r"-- (READS|WHEN) +(\S.*)")


@dataclass(frozen=True)
class Hook:
    include: Include
    feature: str
    parameters: tuple[str, ...]
    reads: tuple[str, ...] = ()  # fields of the record
    when: str = ""  # an expression; none: it runs each time


def dispatchers(noun: Noun, includes: Iterable[Include]) -> list[Include]:
    """The dispatcher of each seam, of the noun's hooks among these includes. Raises BuildError."""
    folder = noun.facts["word"]
    seams = noun.facts.get("seams", {})
    for name, seam in seams.items():
        if problem := _problem(name, seam):
            raise BuildError(noun.path, 1, f"seams.{name}: {problem}")
    found: dict[str, dict[str, Hook]] = {name: {} for name in seams}
    for include in includes:
        path = Path(include.path)
        if include.path.startswith(f"{folder}/") and is_hook(path):
            if path.stem not in seams:
                allowed = ", ".join(seams) or "none"
                raise BuildError(include.path, 1, f"{noun.path} has no seam {path.stem}, it has {allowed}")
            if path.parent.name not in seams[path.stem]["order"]:
                raise BuildError(
                    include.path, 1, f"{path.parent.name} is missing in the order of {path.stem} in {noun.path}"
                )
            found[path.stem][path.parent.name] = _hook(include, seams[path.stem])
    for name, seam in seams.items():
        for feature in seam["order"]:
            if feature not in found[name]:
                raise BuildError(
                    noun.path,
                    1,
                    f"seams.{name}: {feature} has no hook: {folder}/include/{feature}/{name}.lua is missing",
                )
    return [
        dispatcher(noun.path, name, seam, [found[name][feature] for feature in seam["order"]])
        for name, seam in seams.items()
    ]


def dispatcher(path: str, name: str, seam: Mapping[str, Any], hooks: list[Hook]) -> Include:
    """The function that a seam's callers call: it reads what its hooks need in one command, and calls each in order."""
    given = seam["params"]
    order = ", ".join(hook.feature for hook in hooks) or "none left"
    lines = [
        f"-- {name}({given}): generated from lua/{path}: calls the hooks of {order}.",
        f"local function {name}({given})",
    ]
    if record := seam.get("record"):
        fields = list(dict.fromkeys([field for hook in hooks for field in hook.reads] + seam.get("reads", [])))
        names = ", ".join(f"'{field}'" for field in fields)
        values = ", ".join(f"{field} = row[{at}]" for at, field in enumerate(fields, 1))
        if fields:
            lines.append(f"  local row = redis.call('HMGET', {record} .. id, {names})")
        lines.append(f"  local {OWN} = {{ {values} }}")
    for hook in hooks:
        call = f"{hook.include.name}({', '.join(hook.parameters)})"
        lines.append(f"  if {hook.when} then {call} end" if hook.when else f"  {call}")
    text = "\n".join([*lines, *([f"  return {OWN}"] if record else []), "end", ""])
    chunk = parse(text)
    return Include(name, f"{path}#{name}", text, chunk.free, chunk.sure, generated=True)


def without(includes: list[Include], nouns: Mapping[str, Noun], features: tuple[str, ...]) -> list[Include]:
    """The includes of a script that lacks some features: no hook of theirs is called, and their functions only fail."""
    by_name = {one.name: one for one in includes}
    return [_without(one, by_name, nouns, features) for one in includes] if features else includes


def _without(
    one: Include, by_name: Mapping[str, Include], nouns: Mapping[str, Noun], features: tuple[str, ...]
) -> Include:
    feature = Path(one.path).parent.name
    if feature in features:
        given = ", ".join(parameters(one))
        text = f"local function {one.name}({given}) return redis.call('WITHOUT', '{feature}') end\n"
        return replace(one, text=text, free={}, sure=set())
    if not one.generated:
        return one
    path, _, name = one.path.partition("#")
    seam = next(noun for noun in nouns.values() if noun.path == path).facts["seams"][name]
    prefix = one.name.removesuffix(name)  # in a script of another noun
    left = [by_name[f"{prefix}{feature}_{name}"] for feature in seam["order"] if feature not in features]
    hooks = [_hook(replace(hook, name=hook.name.removeprefix(prefix)), seam) for hook in left]
    found = dispatcher(path, name, seam, hooks)
    if not prefix:
        return found
    free = {one.names[word]: line for word, line in found.free.items() if one.names[word] in one.free}
    return replace(one, text=found.text, free=free, sure=one.sure & free.keys())


def direct_calls(includes: Mapping[str, Include], path: str, free: Mapping[str, int]) -> Iterator[str]:
    """Each hook that a source calls by itself, as a finding."""
    for name in sorted(free.keys() & includes.keys()):
        if is_hook(Path(includes[name].path)):
            yield f"{path}:{free[name]}: {name.replace('__', '.')} is a hook: call {Path(includes[name].path).stem}"


def _problem(name: str, seam: Any) -> str | None:
    """What is wrong with the table of a seam, if anything is."""
    if not name.startswith("on_") or WORD.fullmatch(name) is None:
        return "the name must begin with on_, and be small letters, digits and _"
    if not isinstance(seam, dict) or not {"params", "order"} <= seam.keys() <= {"params", "order", "record", "reads"}:
        return "must have params and order, and may have record and reads"
    if not isinstance(seam["params"], str) or not all(WORD.fullmatch(one) for one in _words(seam["params"])):
        return f"params must be names with commas between them, got {seam['params']!r}"
    if len(set(seam["order"])) != len(seam["order"]) or not seam["order"]:
        return "order must name features, each once"
    if "record" in seam and "id" not in _words(seam["params"]):
        return "with a record the params must have id"
    if "reads" in seam and "record" not in seam:
        return "reads needs a record"
    return None


def _hook(include: Include, seam: Mapping[str, Any]) -> Hook:
    """Read the lines READS and WHEN of a hook, and check what it takes."""
    given, own = _words(seam["params"]), "record" in seam
    allowed = [*given, *([OWN] if own else [])]
    lines: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(include.text.splitlines(), 1):
        if match := _LINES.fullmatch(line):
            if match[1] in lines:
                raise BuildError(include.path, number, f"must be one line {match[1]}")
            lines[match[1]] = number, match[2]
    for name in parameters(include):
        if name not in allowed:
            raise BuildError(include.path, 1, f"{name} is no parameter of this seam, which has {', '.join(allowed)}")
    at, text = lines.get("READS", (1, ""))
    reads = tuple(text.split())
    if reads and not own:
        raise BuildError(include.path, at, "READS needs a record, and this seam has none")
    at, when = lines.get("WHEN", (1, ""))
    if when:
        _check_when(include.path, at, when, allowed)
    for field, where in [*_fields(when, at), *_fields(include.text, 1)]:
        if own and field not in reads:
            raise BuildError(include.path, where, f"{OWN}.{field} is not in READS")
    return Hook(include, Path(include.path).parent.name, parameters(include), reads, when)


def _check_when(path: str, line: int, when: str, allowed: list[str]) -> None:
    try:
        chunk = parse(f"return {when}")
    except LuaError as error:
        raise BuildError(path, line, f"WHEN is no expression: {error}") from None
    for name in chunk.free:
        if name not in allowed:
            raise BuildError(path, line, f"WHEN may use {', '.join(allowed)}, not {name}")
    if any(token.text == "(" for token in chunk.tokens):
        raise BuildError(path, line, "WHEN calls nothing")


def _fields(text: str, line: int) -> Iterator[tuple[str, int]]:
    """The fields of the record that a text reads, with their lines."""
    every = tokens(text)
    for at, token in enumerate(every):
        named = [one.text for one in every[at : at + 2]] == [OWN, "."]
        if named and (at == 0 or every[at - 1].text != "."):
            yield every[at + 2].text, token.line + line - 1


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()
