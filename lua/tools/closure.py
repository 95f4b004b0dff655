"""What a script takes from outside itself: its keys, its includes, and which of these are made late.

All of it follows from the names that its body uses, and those that the includes use in turn.

Lua makes every function of a script anew at each call, and that takes longer than most commands. So includes that few
calls need are made *late*, by the first call of one of them. Early are those that a call reaches outside of `if`, `and`
and `or`; an include may say `-- EARLY` or `-- LATE` for all scripts, and a script's header names those for which
another choice was measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from header import OPEN, PREAMBLE, BuildError
from keys import gate
from model import Include, Key, Script
from noun import is_constant
from uses import GIVEN

FEW = 12  # a script with fewer includes makes all of them early


def resolve(script: Script, includes: Mapping[str, Include], keys: Mapping[str, Key]) -> None:
    """Fill in the keys and includes of a script. Raises BuildError."""
    own, used = script.locals, _reach(script, script.free, includes)
    for word, called in script.uses.items():
        if called in keys or called in includes:
            line, what = script.lines[f"USES {word}"], "a key" if called in keys else "an include"
            raise BuildError(script.path, line, f"{called} is {what} here: let lua in {word}/noun.toml be another name")
        if not any(name.startswith(f"{called}__") for name in used):
            raise BuildError(
                script.path, script.lines[f"USES {word}"], f"USES {word}: the script has no {called}.<name>"
            )
    for name in sorted(used & includes.keys()):
        for need, line in includes[name].free.items():
            kind = own.get(need)
            if includes[name].noun:
                if need not in keys and need not in includes and not _is_given(need):
                    _check_given(script, includes[name], need, line)
                continue
            if kind and (need in keys or need in includes):
                raise BuildError(
                    script.path,
                    script.lines.get(f"{kind} {need}", 1),
                    f"{need} hides what {includes[name].path} uses: take another name",
                )
            if not kind and need not in keys and need not in includes and not _is_given(need):
                raise BuildError(
                    includes[name].path,
                    line,
                    f"{need} is no key, include or argument of {script.path}, which reaches it",
                )
    for name, line in script.free.items():
        if name not in own and name not in keys and name not in includes and not _is_given(name):
            told = name.replace("__", ".")
            raise BuildError(
                script.path, line, f"{told} is not declared: a key, an include, an argument, or else a local"
            )
    needed = [key for key in keys.values() if key.name in used]
    script.keys = [*needed, *([gate(script.role, keys["config"])] if script.role else [])]
    names_told = [key.told for key in script.keys]
    if twice := next((name for name in names_told if names_told.count(name) > 1), None):
        raise BuildError(script.path, 1, f"{twice} is the name of two keys here, of different nouns: rename one")
    every = used & includes.keys()
    first = _reach(script, script.body_free, includes) & every if script.rest else set()
    early = _early(script, includes, every - first)
    parts = [_in_order(script, part, includes) for part in (first, early, every - first - early)]
    script.includes = [includes[name] for part in parts for name in part]
    script.first, script.rare = parts[0], parts[2]


def _check_given(script: Script, include: Include, need: str, line: int) -> None:
    """What an include of another noun takes besides that noun's own keys and includes."""
    if need not in GIVEN:
        text = f"{need} is no parameter: an include that {script.path} uses takes only {', '.join(GIVEN)} from outside"
        raise BuildError(include.path, line, text)
    if script.locals.get(need) != "ARGV":
        raise BuildError(script.path, 1, f"{need} is needed by {include.path}: it must be an argument")


def _is_given(name: str) -> bool:
    return name in OPEN | PREAMBLE or is_constant(name)


def _reach(script: Script, names: Iterable[str], includes: Mapping[str, Include]) -> set[str]:
    """These names, and those that the includes among them need in turn, but for the script's arguments."""
    found: set[str] = set()
    left = [name for name in names if name not in script.locals]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            if name in includes:
                left += [need for need in includes[name].free if need not in script.locals]
    return found


def _early(script: Script, includes: Mapping[str, Include], every: set[str]) -> set[str]:
    """Those of the includes that every call makes."""
    for kind, names in (("EARLY", script.early), ("LATE", script.late)):
        for name in names - every:
            raise BuildError(script.path, script.lines[f"{kind} {name}"], f"{kind} {name}: no include that it reaches")
    if len(every) < FEW:
        return every - script.late
    late = script.late | {name for name in every if includes[name].made == "late"} - script.early
    found: set[str] = set()
    left = [*script.sure, *script.early, *(name for name in every if includes[name].made == "early")]
    while left:
        name = left.pop()
        if name in every and name not in found and name not in late:
            found.add(name)
            left += includes[name].sure
    return found


def _in_order(script: Script, names: set[str], includes: Mapping[str, Include]) -> list[str]:
    """These includes, each after those that it needs, and by name where that leaves a choice."""
    found: list[str] = []
    open_: list[str] = []

    def add(name: str) -> None:
        if name in open_:
            raise BuildError(includes[name].path, 1, f"needs itself: {' → '.join([*open_, name])}")
        if name in found:
            return
        open_.append(name)
        for need in sorted(includes[name].free.keys() & names):
            add(need)
        found.append(open_.pop())

    for name in sorted(names):
        add(name)
    return found
