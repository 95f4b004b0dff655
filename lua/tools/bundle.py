"""Build lua/dist/ and lua/manifest.json from the sources: `python lua/bundle.py --help`.

README.md is the grammar. The output depends on the sources alone, byte for byte; --check builds in memory,
compares and names what differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import seams
from call import FILE as CALL_FILE
from call import CallError, CallField, read_call
from closure import resolve
from header import PAIRS, TEMPLATES, BuildError, read_include, read_script
from keys import FILE as KEYS_FILE
from keys import KeysError, kernel_keys, read_keys
from model import (
    ID,
    LABEL,
    LANE,
    LIMIT,
    MAX_BYTES,
    MAX_ITEMS,
    MAX_LABEL,
    MAX_SAFE,
    NAME,
    Group,
    Include,
    Key,
    Script,
    Status,
)
from noun import (
    FILE,
    RETRY,
    Noun,
    NounError,
    adopt,
    arg_entry,
    entry_of,
    field_facts,
    layouts_of,
    read_noun,
    status_facts,
    with_constants,
)
from noun import check as check_noun
from opening import opening
from preamble import keys_of, preamble
from scan import GLOBALS, LuaError, parse, renamed, substitute, tokens
from uses import of_noun

CONTRACT = 1
NO_NOUNS = ("kernel", "tools", "dist", "conformance")  # folders beside those of the nouns
REPLAY_MS = 45_000
DRAGONFLY = "--!df flags=allow-undeclared-keys"
# Lua's own limits in one function.
MOST_LOCALS, MOST_UPVALUES = 199, 59
_CODE = re.compile(r"'(ADEQ_[A-Z]+) ")  # how the text of an error begins
_HEAD = re.compile(r"^local function \w+\s*\([^()]*\)", re.M)

_TYPES: dict[str, dict[str, Any]] = {
    "id": {"pattern": ID, "min": 1, "max": 200, "doc": "1 to 200 of A-Z a-z 0-9 . _ : / @ + -"},
    "label": {
        "pattern": LABEL, "min": 1, "max": MAX_LABEL,
        "doc": "1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces",
    },
    "name": {"pattern": NAME, "min": 1, "max": 100, "doc": "1 to 100 of A-Z a-z 0-9 . _ @ + -"},
    "lane": {"pattern": LANE, "doc": "any, group/<name> or group/<name>/inst/<name>"},
    "limit": {
        "pattern": LIMIT,
        "doc": "all, or user: or tag: and a label, or key: and an id, or * for each that has none of its own",
    },
    "ids": {"min": 0, "max": MAX_ITEMS, "doc": "ids, joined by commas; min and max count them"},
    "labels": {"min": 0, "max": MAX_ITEMS, "doc": "labels, joined by commas; min and max count them"},
    "lanes": {"min": 0, "max": MAX_ITEMS, "doc": "lanes, joined by commas; min and max count them"},
    "int": {
        "pattern": r"^(0|-?[1-9][0-9]{0,15})$", "min": -MAX_SAFE, "max": MAX_SAFE,
        "doc": "decimal digits, the first not 0 but in 0 itself; - before them if negative",
    },
    "bytes": {"min": 0, "max": MAX_BYTES, "doc": "any bytes; min and max count them"},
    "enum": {"doc": "one of values"},
    "bool": {"pattern": "^[01]$", "doc": "0 or 1"},
}  # fmt: skip


@dataclass(frozen=True)
class Sources:
    scripts: list[Script]  # by id
    includes: list[Include]  # those of the kernel, and then of each noun
    errors: dict[str, Any]  # errors.toml: `script` and `server`
    nouns: dict[str, Noun]
    keys: dict[str, dict[str, Key]]  # of each noun, by name and in order
    call: dict[str, dict[str, CallField]]  # of each noun and of the kernel, the fields of ctx, by name


class BuildErrors(Exception):
    """Every BuildError of a run, one a line."""


def load(root: Path) -> Sources:
    """Read and check all sources below `root`. Raises BuildErrors."""
    problems: list[str] = []
    includes = _includes(root, problems)
    nouns, keys, call = _nouns(root, includes, problems)
    errors = _errors(root)
    scripts = _scripts(root, includes, keys, nouns, call, errors["script"], problems)
    if not scripts and not problems:
        problems.append(f"{root}: no sources: there is no <noun>/<verb>.v<N>.lua")
    if not problems:
        problems += _unused(includes, scripts)
    if not problems:
        for noun in nouns.values():
            adopt(noun, *_of(noun, scripts)[:2])
        for noun in nouns.values():
            problems += check_noun(noun, *_of(noun, scripts), nouns)
    if problems:
        raise BuildErrors("\n".join(dict.fromkeys(problems)))  # one of the kernel is a problem of each noun
    taken = _taken(keys, kernel_keys(root), scripts)
    return Sources(sorted(scripts, key=lambda s: (s.noun, s.verb, s.version)), includes, errors, nouns, taken, call)


def _nouns(
    root: Path, includes: list[Include], problems: list[str]
) -> tuple[dict[str, Noun], dict[str, dict[str, Key]], dict[str, dict[str, CallField]]]:
    """All nouns, their keys and the fields of ctx. Adds generated includes, and what is wrong to the problems."""
    nouns: dict[str, Noun] = {}
    keys: dict[str, dict[str, Key]] = {}
    call: dict[str, dict[str, CallField]] = {"kernel": {}}
    for folder in _folders(root):
        try:
            keys[folder.name] = {}
            if noun := read_noun(root, folder.name):
                nouns[folder.name] = noun
            keys[folder.name] = read_keys(root, folder.name)
            includes += seams.dispatchers(noun, includes) if noun else []
            call |= {word: read_call(root, word) for word in ("kernel", folder.name)}
        except (NounError, KeysError, CallError, BuildError) as error:
            problems.append(str(error))
            continue
        visible = _visible(includes, folder.name)
        problems += _twins(includes, folder.name)
        for one in visible.values():
            if not one.generated:
                problems += seams.direct_calls(visible, one.path, one.free)
        problems += [
            f"{visible[name].path}:1: {name} is a key of {folder.name}: take another name"
            for name in sorted(keys[folder.name].keys() & visible.keys())
        ]
    return nouns, keys, call


def _scripts(
    root: Path,
    includes: list[Include],
    keys: dict[str, dict[str, Key]],
    nouns: dict[str, Noun],
    call: dict[str, dict[str, CallField]],
    errors: dict[str, Any],
    problems: list[str],
) -> list[Script]:
    """All scripts, put together as far as nothing is wrong. What is wrong is added to the problems."""
    scripts: list[Script] = []
    called = {word: nouns[word].lua if word in nouns else word for word in keys}
    problems += _misnamed(called)
    for path, word in _source_files(root, nouns):
        try:
            noun = nouns.get(word)
            script = read_script(root, path.relative_to(root).as_posix(), noun, called)
            known, known_keys = _known(script, includes, keys, nouns)
            problems += seams.direct_calls(known, script.path, script.free)
            scripts.append(script)
            _check_errors(script, errors)
            if not problems:
                resolve(script, known, known_keys)
                script.constants = opening(script, nouns, call)
                script.bases = _forms(script, nouns)
                script.layouts = {word: layouts_of(nouns.get(word))[0] for word in (script.noun, *script.uses)}
        except BuildError as error:
            problems.append(str(error))
    return scripts


def _includes(root: Path, problems: list[str]) -> list[Include]:
    """All includes that can be read. What is wrong with the others is added to the problems."""
    found: list[Include] = []
    for path in _include_files(root):
        try:
            found.append(read_include(root, path.relative_to(root).as_posix()))
        except BuildError as error:
            problems.append(str(error))
    return found


def _forms(script: Script, nouns: dict[str, Noun]) -> dict[str, list[str]]:
    """The forms of bases of each noun of a script; none if a noun does not say them."""
    forms = {word: list(nouns[word].facts["bases"].values()) for word in (script.noun, *script.uses) if word in nouns}
    return forms if all(forms.get(word) for word in (script.noun, *script.uses)) else {}


def _taken(keys: dict[str, dict[str, Key]], shared: set[str], scripts: list[Script]) -> dict[str, dict[str, Key]]:
    """The keys of each noun, without those of the kernel that none of its scripts takes."""
    used = used_keys(scripts)
    return {
        noun: {name: key for name, key in found.items() if name not in shared or (noun, name) in used}
        for noun, found in keys.items()
    }


def used_keys(scripts: list[Script]) -> set[tuple[str, str]]:
    """The noun and the name of each key that a script takes."""
    return {(key.noun or script.noun, key.of_noun) for script in scripts for key in script.keys}


def _unused(includes: list[Include], scripts: list[Script]) -> Iterator[str]:
    """The includes that are in no script, each as a finding."""
    wanted = {include.path for script in scripts for include in script.includes}
    for include in includes:
        if include.path not in wanted:
            yield f"{include.path}:1: no script uses {include.name if include.generated else 'it'}"


def _of(noun: Noun, scripts: list[Script]) -> tuple[list[Script], str, str]:
    """The scripts of a noun, the text of all their sources, and that of what they use of other nouns."""
    own = [script for script in scripts if script.noun == noun.facts["word"]]
    bodies = [text for script in own for text in (script.body, script.rest)]
    parts = sorted({(include.text, include.noun) for script in own for include in script.includes})
    return (
        own,
        "\n".join([*bodies, *(text for text, used in parts if not used)]),
        "\n".join(text for text, used in parts if used),
    )


def _misnamed(called: dict[str, str]) -> Iterator[str]:
    """Nouns that other scripts would call alike, each as a finding."""
    for word, lua in called.items():
        for other, its_lua in called.items():
            if other != word and lua in (other, its_lua):
                yield f"{word}/{FILE}:1: lua: {lua} is what the noun {other} is called"


def _errors(root: Path) -> dict[str, Any]:
    """errors.toml, with what it may leave out."""
    with (root / "errors.toml").open("rb") as file:
        errors = tomllib.load(file)
    if errors.keys() != {"script", "server"}:
        raise BuildErrors("errors.toml:1: must have [script] and [[server]]")
    for code in errors["script"]:
        if not re.fullmatch(r"ADEQ_[A-Z]+", code):
            raise BuildErrors(f"errors.toml:1: {code} must be ADEQ_<CAPITALS>")
    for entry in (*errors["script"].values(), *errors["server"]):
        if entry.get("retry") not in RETRY or not entry.get("doc"):
            raise BuildErrors(f"errors.toml:1: retry must be one of {', '.join(RETRY)}, and doc be given, got {entry}")
        entry.setdefault("may_have_applied", False)
    if "ADEQ_ARG" not in errors["script"]:
        raise BuildErrors("errors.toml:1: ADEQ_ARG is missing: every script gives it")
    return errors


def _folders(root: Path) -> Iterator[Path]:
    for folder in sorted(root.iterdir()):
        noun = folder.name not in NO_NOUNS and not folder.name.startswith((".", "_"))
        if noun and folder.is_dir():
            yield folder


def _include_files(root: Path) -> list[Path]:
    """Those of the kernel, which every noun may use, and those that each noun has for itself."""
    folders = [root / "kernel", *(folder / "include" for folder in _folders(root))]
    found = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in found if path.parent != root / TEMPLATES and path.suffix != ".toml"]


def _visible(includes: list[Include], noun: str) -> dict[str, Include]:
    """What the scripts of a noun may use, by name: other nouns may have the same names for something else."""
    return {one.name: one for one in _of_folders(includes, noun)}


def _known(
    script: Script, includes: list[Include], keys: dict[str, dict[str, Key]], nouns: dict[str, Noun]
) -> tuple[dict[str, Include], dict[str, Key]]:
    """The includes and the keys that a script may use, by its names for them: those of its own noun come first."""
    known, known_keys = _visible(includes, script.noun), dict(keys[script.noun])
    for word, called in script.uses.items():
        constants = nouns[word].constants if word in nouns else {}
        others, other_keys = of_noun(word, called, _visible(includes, word), keys[word], constants)
        known |= others
        known_keys |= other_keys
    return known, known_keys


def _twins(includes: list[Include], noun: str) -> list[str]:
    """The includes that have the name of another one that the same noun sees, each as a finding."""
    visible, every = _visible(includes, noun), _of_folders(includes, noun)
    return [
        f"{visible[one.name].path}:1: {one.name} is in {one.path} already"
        for one in every
        if one not in visible.values()
    ]


def _of_folders(includes: list[Include], noun: str) -> list[Include]:
    return [one for one in includes if one.path.startswith(("kernel/", f"{noun}/"))]


def _source_files(root: Path, nouns: dict[str, Noun]) -> Iterator[tuple[Path, str]]:
    """The sources of scripts, with the noun of each: those of the kernel are of every noun that has none of its own.

    Without those of a noun whose file has errors: they cannot be judged without it.
    """
    for folder in _folders(root):
        if (folder / FILE).is_file() and folder.name not in nouns:
            continue
        others = (FILE, KEYS_FILE, CALL_FILE, PAIRS, "include")
        own = [path for path in sorted(folder.iterdir()) if path.name not in others]
        yield from ((path, folder.name) for path in own)
        if folder.name in nouns:
            verbs = {path.name.partition(".")[0] for path in own}
            shared = sorted((root / TEMPLATES).glob("*.lua"))
            yield from ((path, folder.name) for path in shared if path.name.partition(".")[0] not in verbs)


def _check_errors(script: Script, codes: dict[str, Any]) -> None:
    for code in script.errors:
        if code not in codes:
            line = script.lines[f"ERROR {code}"]
            raise BuildError(script.path, line, f"{code} is not in errors.toml, which has {', '.join(codes)}")


def assemble(script: Script) -> str:
    """The text to load: first line, header, preamble, includes, body."""
    names = set(script.free).union(*(part.free for part in script.includes))
    before, after, called = _rare(script)
    usual = [part for part in script.includes if part.name not in (*script.first, *script.rare)]
    functions = [*before, *(substitute(_with_keys(script, part), called) for part in usual), *after]
    body = [*keys_of(script, script.free), substitute(script.body, called, script.uses.values())]
    if script.rest:
        parts = [_with_keys(script, part) for part in script.includes if part.name in script.first]
        rest = substitute(script.rest, called, script.uses.values())
        functions, body = [*parts, *body], [*functions, rest]
    first = f"#!lua flags={script.flag}" if script.flag else "#!lua"
    sections = [
        f"{first}\n-- generated from lua/{script.path} by lua/bundle.py; do not edit\n{_header(script)}",
        preamble(script, names),
        *functions,
        *body,
    ]
    return with_constants("\n\n".join(sections) + "\n", script.constants)


def _header(script: Script) -> str:
    """The header of a source, with the keys that the script takes, for those who read what is generated."""
    rows = [
        (key.told, f"prefix/{key.type}" if key.suffix else key.type, key.template, key.suffix or "")
        for key in script.data
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    keys = [
        f"-- DATA   {' '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))}".rstrip()
        for row in rows
    ]
    lines = [line for line in script.header.splitlines() if line.split()[1:2] not in (["EARLY"], ["LATE"])]
    blank = lines.index("--") + 1 if "--" in lines else len(lines)
    return "\n".join([*lines[:blank], *keys, *lines[blank:]])


def bundle(script: Script) -> str:
    """The text to load, checked: that it is Lua, uses no globals, and keeps within Lua's own limits."""
    text = assemble(script)
    try:
        chunk = parse(text[text.index("\n") :])  # the line numbers stay
    except LuaError as error:
        text = f"the generated script is no Lua: {error} (its line {error.line})"
        raise BuildError(script.path, 1, text) from None
    stray = sorted((chunk.free.keys() - GLOBALS) | chunk.written.keys())
    for name in set(stray) & set(script.rare):
        raise BuildError(script.path, 1, f"{name} is made late: it may be called, but is no value")
    if stray:
        raise BuildError(script.path, 1, f"the generated script has globals: {', '.join(stray)}")
    for function in chunk.functions:
        for count, most, what in (
            (function.most_locals, MOST_LOCALS, "locals"),
            (len(function.upvalues), MOST_UPVALUES, "upvalues"),
        ):
            if count > most:
                where = f"the function in line {function.line} of the generated script"
                raise BuildError(script.path, 1, f"{where} has {count} {what}, at most {most}")
    return text


def _with_keys(script: Script, part: Include) -> str:
    """An include whose function reads its keys itself, when it runs.

    Keys of the whole script would be upvalues, and Lua looks for each of them whenever it makes a function.
    """
    keys = "".join(f" {line}" for line in keys_of(script, part.free))
    return _HEAD.sub(lambda head: head[0] + keys, text_of(part).strip("\n"), count=1)


def text_of(part: Include) -> str:
    """An include as its script has it. One of another noun has other names, and its errors begin with that noun."""
    return _CODE.sub(rf"'\1 {part.noun}: ", renamed(part.text, part.names)) if part.noun else part.text


def _rare(script: Script) -> tuple[list[str], list[str], dict[str, str]]:
    """What stands before and after the usual includes for those that few calls need; and how they are called there.

    Lua makes every function of a script anew at every call, which takes longer than most commands. So these are made by
    the first call of one of them: wherever one is called, `arg_rare().name(…)` stands.
    """
    if not script.rare:
        return [], [], {}
    rare = [part for part in script.includes if part.name in script.rare]
    wanted = set(script.free).union(*(part.free for part in script.includes if part.name not in script.rare))
    entries = [part.name for part in rare if part.name in wanted]
    made = ", ".join(f"{name} = {name}" for name in entries)
    return (
        ["local arg_rare"],
        [
            "local arg_made\nfunction arg_rare()\n  if arg_made then return arg_made end",
            *(_with_keys(script, part) for part in rare),
            f"  arg_made = {{ {made} }}\n  return arg_made\nend",
        ],
        {name: f"arg_rare().{name}" for name in entries},
    )


def build(root: Path, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Every generated file: path below `root` -> text. without: features to leave out. Raises BuildErrors."""
    sources = load(root)
    files: dict[str, str] = {}
    entries: list[dict[str, Any]] = []
    problems: list[str] = []
    for script in sources.scripts:
        try:
            text = bundle(replace(script, includes=seams.without(script.includes, sources.nouns, without)))
        except BuildError as error:
            problems.append(str(error))
            continue
        files[f"dist/{script.id}.lua"] = text
        entries.append(_entry(script, text, sources.nouns.get(script.noun)))
    if problems:
        raise BuildErrors("\n".join(problems))
    manifest = {
        "contract": CONTRACT,
        "limits": {"items": MAX_ITEMS, "bytes": MAX_BYTES, "replay_ms": REPLAY_MS},
        "types": _TYPES,
        "errors": sources.errors["script"],
        "server_errors": sources.errors["server"],
        "nouns": {
            word: entry_of(noun, [script for script in sources.scripts if script.noun == word])
            for word, noun in sorted(sources.nouns.items())
        },
        "scripts": sorted(entries, key=lambda entry: str(entry["id"])),
    }
    files["manifest.json"] = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    return files


def _entry(script: Script, text: str, noun: Noun | None) -> dict[str, Any]:
    dragonfly = DRAGONFLY + text[text.index("\n") :]
    return {
        "id": script.id,
        "noun": script.noun,
        "verb": script.verb,
        "version": script.version,
        "doc": script.doc,
        "source": script.path,
        "file": f"dist/{script.id}.lua",
        "sha1": hashlib.sha1(text.encode()).hexdigest(),
        "sha1_dragonfly": hashlib.sha1(dragonfly.encode()).hexdigest(),
        "layout": script.layouts[script.noun],
        **_uses(script),
        "read_only": script.flag == "no-writes",
        "role": "observe" if script.flag == "no-writes" else script.role or "any",
        "replay": script.replay,
        "commands": _commands(text),
        "flags": [script.flag] if script.flag else [],
        "cost": script.cost,
        **({"budget": dict(zip(("commands", "steps"), script.budget, strict=True))} if script.budget else {}),
        "keys": [_key(key) for key in script.sent],
        "data": [_key(key) for key in script.data],
        "args": [arg_entry(arg) for arg in script.args],
        "groups": [_group(group) for group in script.groups.values()],
        "returns": _statuses(noun, script, script.returns),
        "shapes": {shape: _statuses(noun, script, statuses) for shape, statuses in sorted(script.shapes.items())},
        "errors": ["ADEQ_ARG", *script.errors],
        "events": script.events,
    }


def _key(key: Key) -> dict[str, Any]:
    entry = {"name": key.told, "kind": "key", "type": key.type, "template": key.template}
    return (
        entry
        | ({"kind": "prefix", "suffix": key.suffix} if key.suffix else {})
        | ({"noun": key.noun} if key.noun else {})
    )


def _uses(script: Script) -> dict[str, Any]:
    """The other nouns of a script, and the layout of each noun whose data it knows."""
    if not script.uses:
        return {}
    return {"uses": list(script.uses), "layouts": script.layouts}


def _commands(text: str) -> list[str]:
    """What a user needs the right to, besides EVALSHA: all names are literals, as lint.py sees to."""
    every = list(tokens(text[text.index("\n") :]))
    calls = zip(every, every[1:], every[2:], strict=False)
    return sorted({name.literal for verb, _, name in calls if verb.text in ("call", "pcall") and name.literal})


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "min": group.min,
        "max": group.max,
        "fields": [arg_entry(arg) for arg in group.fields],
        "pairs": [arg_entry(arg) for arg in group.pairs],
    }


def _statuses(noun: Noun | None, script: Script, statuses: list[Status]) -> list[dict[str, Any]]:
    return [
        {
            "status": status.name,
            "fields": [
                {"name": field.name, "type": field.type}
                | ({"of": field.of} if field.type == "list" else field_facts(noun, script, field))
                for field in status.fields
            ],
        }
        | status_facts(noun, script, status)
        for status in statuses
    ]


def differences(root: Path, files: dict[str, str]) -> list[str]:
    """How dist/ and manifest.json below `root` differ from `files`, one line each."""
    present = {p.relative_to(root).as_posix() for p in (root / "dist").rglob("*") if p.is_file()}
    if (root / "manifest.json").is_file():
        present.add("manifest.json")
    found = [f"{path}: missing" for path in sorted(files.keys() - present)]
    found += [f"{path}: not made from any source" for path in sorted(present - files.keys())]
    for path in sorted(present & files.keys()):
        if (root / path).read_bytes() != files[path].encode():
            found.append(f"{path}: differs from its sources")
    return found


def write(root: Path, files: dict[str, str]) -> None:
    (root / "dist").mkdir(exist_ok=True)
    for stale in (root / "dist").rglob("*"):
        if stale.is_file() and stale.relative_to(root).as_posix() not in files:
            stale.unlink()
    for path, text in files.items():
        if not (root / path).is_file() or (root / path).read_bytes() != text.encode():
            (root / path).write_bytes(text.encode())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build lua/dist/ and lua/manifest.json from the sources.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name what differs")
    parser.add_argument("--without", action="append", default=[], metavar="FEATURE", help="leave it out, for tests")
    parser.add_argument("--lua", type=Path, default=Path(__file__).parents[1], metavar="DIR", help="the sources")
    options = parser.parse_args(arguments)
    try:
        files = build(options.lua, tuple(options.without))
    except BuildErrors as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        write(options.lua, files)
        return 0
    drift = differences(options.lua, files)
    if drift:
        print("\n".join([*drift, "run: python lua/bundle.py"]), file=sys.stderr)
    return 1 if drift else 0


if __name__ == "__main__":
    sys.exit(main())
