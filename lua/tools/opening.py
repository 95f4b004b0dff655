"""What `open` of the kernel reads of `config` in a script, and what it puts into `ctx`.

It reads those settings that the body and the includes of the script name as `ctx.settings.<name>`, or as
`row.settings.<name>` in a body that reads them itself. A setting is one of
`[settings]` in noun.toml, or another field of `config`, of `[tables.settings]`. It is read as its type says: an int as
a number, a bool as one, all else as text. What is not stored is at its default; of a field of `[tables.settings]` that
is 0, or false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from call import CallField, fields_of
from header import BuildError
from model import Script
from noun import SETTINGS, Noun, literal
from scan import Token, in_script, tokens

ALWAYS = ("layout_min", "clock")  # what each opening checks
_NAMES, _FIELDS = "SETTING_NAMES", "CTX_FIELDS"


def opening(script: Script, nouns: Mapping[str, Noun], call: Mapping[str, Mapping[str, CallField]]) -> dict[str, str]:
    """The constants of a script: those of its noun, and what its `open` reads, or those of several nouns.

    Raises BuildError.
    """
    if script.noun not in nouns:
        return {"LAYOUT": "1", "CREATED": "1"}
    texts = [(script.path, f"{script.body}\n{script.rest}")]
    found = nouns[script.noun].constants | _opening(script, "", texts, nouns[script.noun], call[script.noun])
    for word, called in script.uses.items():
        if word in nouns:
            own = _opening(script, word, [], nouns[word], call[word])
            found |= {in_script(f"{called}.{name}"): text for name, text in own.items()}
    return found


def _opening(
    script: Script, word: str, bodies: list[tuple[str, str]], noun: Noun, call: Mapping[str, CallField]
) -> dict[str, str]:
    """What kernel/open/open.lua needs to open a noun in a script. word: of another noun, that which it uses."""
    used: dict[str, tuple[str, int]] = {}
    named: set[str] = set()
    parts = [(include.path, include.text) for include in script.includes if include.noun == word]
    for path, text in [*parts, *bodies]:
        fields, settings = _named(text)
        named.update(fields)
        for name, line in settings:
            used.setdefault(name, (path, line))
    started = {name: field for name, field in call.items() if field.start and name in named}
    for field in started.values():
        if field.where:
            used.setdefault(field.where, (field.path, 1))
    known = noun.config()
    for name, (path, line) in used.items():
        if name not in known:
            raise BuildError(path, line, f"{name} is no setting: see [settings] and [tables.settings] of {noun.path}")
    read = [*ALWAYS, *(name for name in known if name in used and name not in ALWAYS)]
    rows = {name: f"row[{at}]" for at, name in enumerate(read, 1)}
    values = [f"{SETTINGS}{name} = {_value(noun, name, rows[name])}" for name in known if name in used]
    for name, field in started.items():
        where = f"{rows[field.where]} and " if field.where else ""
        values.append(f"{name} = {where}{field.start}")
    return {_NAMES: ", ".join(f"'{name}'" for name in read), _FIELDS: ", ".join(values)}


@cache
def _named(text: str) -> tuple[set[str], list[tuple[str, int]]]:
    """The fields of `ctx` and the settings that a source names. Most includes are in many scripts."""
    every = tokens(text)
    return {name for name, _ in fields_of(every)}, list(_settings(every))


def _settings(every: list[Token]) -> Iterator[tuple[str, int]]:
    """Each `ctx.settings.<name>` or `row.settings.<name>` of a source: the name, and its line."""
    for at in range(2, len(every) - 2):
        words = [every[at + to].text for to in (-2, -1, 0, 1)]
        if words in (["ctx", ".", "settings", "."], ["row", ".", "settings", "."]):
            yield every[at + 2].text, every[at + 2].line


def _value(noun: Noun, name: str, row: str) -> str:
    """How Lua reads a field of config from what is stored."""
    arg, own = noun.config()[name]
    match arg.type.name:
        case "int":
            default = arg.default if own else "0"
            return f"tonumber({row} or {default})" if default else f"tonumber({row})"
        case "bool":
            return f"{row} ~= '0'" if arg.default == "1" else f"{row} == '1'"
    return f"{row} or {literal(arg)}" if arg.default else row
