"""The facts of a noun that no script declares alone: `<noun>/noun.toml`, read, and checked against the headers.

A noun without the file has none; lint.py wants one. Facts that most nouns share are in `kernel/noun.toml`: a noun has
those that it uses and does not say itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from model import LISTS, WORD, Arg, Field, Script, Status, Type, read_type

FILE = "noun.toml"
THEN = ("done", "ask", "again", "stop")
PYTHON = ("python", "label", "more")  # what pyadeq/_settings.py reads of a setting; the manifest does not have it
RETRY = ("never", "load", "elsewhere", "soon", "later")
# How a client blocks for a hint, by the type of its key.
HOW = {"BLPOP": "list", "SSUBSCRIBE": "channel"}
_TABLES = (
    "word", "plural", "title", "method", "field", "bases", "names", "roles", "events", "settings", "texts", "tables",
    "counters", "hints", "waits", "statuses",
)  # fmt: skip
_NEEDED = ("word", "plural", "title", "method", "field")
_MAY = ("lua", "seams", "layout", "created")
_CONSTANT = re.compile(
    r"\b(?:(?:DEFAULT|WAIT)_[a-z0-9_]+|(?:[a-z_]+__)?(?:SETTING_NAMES|CTX_FIELDS)|NOUN_FIELD|ALL_SETTINGS|LAYOUT|CREATED)\b"
)

# In the generated scripts the settings are fields of ctx, with this before their names: a table of its own takes time.
SETTINGS = "settings_"

Entry = dict[str, Any]


class NounError(Exception):
    """`<file>:1: <what is wrong>`, one a line."""


@dataclass
class Noun:
    path: str
    facts: Entry
    settings: list[Arg] = field(default_factory=list)
    shared: Entry = field(default_factory=dict)

    @property
    def lua(self) -> str:
        """What it is called in the bodies of other nouns' scripts: its word, unless that means something else there."""
        return str(self.facts.get("lua", self.facts["word"]))

    @property
    def constants(self) -> dict[str, str]:
        """What stands in the generated scripts for DEFAULT_<setting>, WAIT_<wait>, NOUN_FIELD, ALL_SETTINGS, LAYOUT and
        CREATED.
        """
        found = dict(zip(("LAYOUT", "CREATED"), map(str, layouts_of(self)), strict=True)) | {
            "NOUN_FIELD": f"'{self.facts['field']}'",
            "ALL_SETTINGS": ", ".join(f"'{arg.name}'" for arg in self.settings),
        }
        found |= {f"DEFAULT_{arg.name}": literal(arg) for arg in self.settings if arg.default}
        waits = self.shared.get("waits", {}) | self.facts["waits"]
        return found | {f"WAIT_{name}": str(wait[0]) for name, wait in waits.items()}

    def config(self) -> dict[str, tuple[Arg, bool]]:
        """What `config` holds, and whether it is a setting; what `[tables.settings]` says itself goes first."""
        found = {arg.name: (arg, True) for arg in self.settings}
        others = self.facts["tables"].get("settings") or self.shared.get("tables", {}).get("settings", {})
        for name, entry in others.items():
            if name != "settings":
                kind = entry if isinstance(entry, str) else entry[0]
                found[name] = Arg(name, Type("text") if kind == "text" else _type(kind), None), False
        return found


def layouts_of(noun: Noun | None) -> tuple[int, int]:
    """The newest layout of stored data that the scripts of a noun know, and that of a new base. The second is the one
    before for as long as scripts that know no newer one are in use beside these.
    """
    facts = noun.facts if noun else {}
    newest = int(facts.get("layout", 1))
    return newest, int(facts.get("created", newest))


def read_noun(root: Path, word: str) -> Noun | None:
    """The noun of a folder, or None if it has no file. Raises NounError."""
    path = f"{word}/{FILE}"
    if not (root / path).is_file():
        return None
    try:
        facts = tomllib.loads((root / path).read_text())
    except tomllib.TOMLDecodeError as error:
        raise NounError(f"{path}:1: {error}") from None
    if not set(_NEEDED) <= facts.keys() - set(_MAY) <= set(_TABLES):
        optional = ", ".join(name for name in (*_TABLES, *_MAY) if name not in _NEEDED)
        raise NounError(f"{path}:1: must have {', '.join(_NEEDED)}, and may have {optional}; got {', '.join(facts)}")
    if facts["word"] != word:
        raise NounError(f"{path}:1: word must be {word}, as the folder")
    if not WORD.fullmatch(str(facts.get("lua", word))):
        raise NounError(f"{path}:1: lua must be small letters, digits and single _, got {facts['lua']!r}")
    shared = _shared(root, facts)
    facts = {name: {} for name in _TABLES if name not in _NEEDED} | facts
    facts |= {name: shared.get(name, {}) | facts[name] for name in ("bases", "names")}
    noun = Noun(path, facts, shared=shared)
    problems = list(_malformed(noun))
    if problems:
        raise NounError("\n".join(f"{path}:1: {problem}" for problem in problems))
    noun.settings = [Arg(name, _type(entry[0]), _wire(entry[1])) for name, entry in facts["settings"].items()]
    return noun


def _shared(root: Path, facts: Entry) -> Entry:
    """The facts of the kernel, with the words of this noun for `$word`, `$field` and so on."""
    path = root / "kernel" / FILE
    if not path.is_file():
        return {}
    words = {name: facts[name] for name in _NEEDED}
    return tomllib.loads(Template(path.read_text()).substitute(words))


def adopt(noun: Noun, scripts: list[Script], sources: str) -> None:
    """Give a noun the shared facts that its scripts use. sources: all their text."""
    statuses = [status for script in scripts for status in statuses_of(script)]
    fields = [one for status in statuses for one in status.fields]
    used: dict[str, set[str | None]] = {
        "statuses": {status.name for status in statuses},
        "texts": {one.name for one in fields if one.type == "text" and not one.words},
        "tables": {one.of for one in fields if one.type == "pairs"},
        "waits": {name for name in noun.shared.get("waits", {}) if f"WAIT_{name}" in sources},
    }
    for table, names in used.items():
        for name, fact in noun.shared.get(table, {}).items():
            if name in names:
                noun.facts[table].setdefault(name, fact)


def with_constants(text: str, constants: Mapping[str, str]) -> str:
    """The text with the numbers of noun.toml for their names, and settings as `open` gives them; unknown names stay.

    `row.settings.<name>` is a setting as it is stored: its place in the answer to HMGET.
    """
    text = re.sub(r"\bctx\.settings\.", f"ctx.{SETTINGS}", text)
    read = re.findall(r"'(\w+)'", constants.get("SETTING_NAMES", ""))
    text = re.sub(r"\brow\.settings\.(\w+)", lambda name: f"row[{read.index(name[1]) + 1}]", text)
    return _CONSTANT.sub(lambda name: constants.get(name[0], name[0]), text)


OPTIONS = ("output", "url")  # of each command


def is_constant(name: str) -> bool:
    return _CONSTANT.fullmatch(name) is not None


def check(noun: Noun, scripts: list[Script], sources: str, of_others: str, others: Mapping[str, Noun]) -> Iterator[str]:
    """How a noun's file and its scripts differ, each as `<file>:<line>: <what>`. sources: all their text.

    of_others: the text of what the scripts use of other nouns. others: all nouns by their words.
    """
    literals = set(re.findall(r"'([^'\n]*)'", sources + of_others))
    words = literals | set(re.findall(r"[a-z_]+", " ".join(literals)))
    words.update(value for script in scripts for arg in _arguments(script) for value in arg.type.values)
    for script in scripts:
        if not script.replay:
            yield f"{script.path}:1: no REPLAY: what makes a call that is sent again the same call?"
        for name in sorted({arg.name for arg in script.args} & {*OPTIONS, noun.facts["field"]}):
            line = script.lines[f"ARGV {name}"]
            yield f"{script.path}:{line}: {name} is an option of each command of the noun: take another name"
    for problem in (
        *_check_names(noun, scripts, others),
        *_check_settings(noun, sources),
        *_check_tables(noun, scripts),
        *_check_hints(noun, scripts, words),
    ):
        yield f"{noun.path}:1: {problem}"
    yield from _check_fields(noun, scripts, words)


def _check_names(noun: Noun, scripts: list[Script], others: Mapping[str, Noun]) -> Iterator[str]:
    """Events, roles and statuses are those of the headers. A script may add the events of a noun that it uses, too."""
    declared = {
        "events": {
            event for script in scripts for event in script.events if not _is_others(event, script, noun, others)
        },
        "roles": {script.role for script in scripts if script.role},
        "statuses": {status.name for script in scripts for status in statuses_of(script)},
    }
    for table, used in declared.items():
        own = {name for name in noun.facts[table] if table != "statuses" or "." not in name}
        for name in sorted(used - own):
            yield f"{table}: {name} is missing; scripts declare it"
        for name in sorted(own - used):
            yield f"{table}: no script declares {name}"
    verbs = {script.verb: {status.name for status in statuses_of(script)} for script in scripts}
    for name in noun.facts["statuses"]:
        verb, _, status = name.rpartition(".")
        if verb and status not in verbs.get(verb, ()):
            yield f"statuses: {name} is no status of a script {verb}"


def _is_others(event: str, script: Script, noun: Noun, others: Mapping[str, Noun]) -> bool:
    used = [others[word] for word in script.uses if word in others]
    return event not in noun.facts["events"] and any(event in one.facts["events"] for one in used)


def _check_settings(noun: Noun, sources: str) -> Iterator[str]:
    for arg in noun.settings:
        if re.search(rf"\bctx\.settings\.{arg.name}\b", sources):
            continue
        if f"'{arg.name}'" not in sources:
            yield f"settings: no source reads {arg.name}"
        elif arg.default not in (None, "", "0") and f"DEFAULT_{arg.name}" not in sources:
            yield f"settings: no source reads the default of {arg.name} as DEFAULT_{arg.name}"


def _check_tables(noun: Noun, scripts: list[Script]) -> Iterator[str]:
    fields = [one for script in scripts for status in statuses_of(script) for one in status.fields]
    used = {one.of for one in fields if one.type == "pairs"}
    for name in sorted(noun.facts["tables"].keys() - used):
        yield f"tables: no reply has pairs({name})"
    with_pairs = {script.verb for script in scripts if any(group.pairs for group in script.groups.values())}
    for name, table in noun.facts["tables"].items():
        if table.get("pairs_of", "") not in with_pairs | {""}:
            yield f"tables.{name}: no script {table['pairs_of']} has pairs"


def _check_hints(noun: Noun, scripts: list[Script], words: set[str]) -> Iterator[str]:
    keys = {key.name: key.type for script in scripts for key in script.keys}
    words = words | {event.split(".")[1] for event in noun.facts["events"]}
    for name, hint in noun.facts["hints"].items():
        if keys.get(hint["key"]) != HOW[hint["how"]]:
            yield f"hints.{name}: {hint['key']} must be a key of type {HOW[hint['how']]}"
        if (mirror := hint.get("mirror")) and noun.facts["settings"].get(mirror, [""])[0] != "bool":
            yield f"hints.{name}: mirror must name a setting that is a bool, not {mirror!r}"
        for message in hint["messages"]:
            if re.split("[ :]", message)[0] not in words:
                yield f"hints.{name}: no source gives the message {message!r}"


def _check_fields(noun: Noun, scripts: list[Script], words: set[str]) -> Iterator[str]:
    """What is said of the texts and pairs in replies is there, and can be true."""
    texts = noun.facts["texts"]
    used = set()
    for script in scripts:
        for status in statuses_of(script):
            for one in status.fields:
                where = f"{script.path}:1: {status.name}.{one.name}:"
                if one.type == "pairs" and one.of not in noun.facts["tables"]:
                    allowed = ", ".join(noun.facts["tables"])
                    yield f"{where} must be pairs(<table>), with a table of {noun.path}: {allowed}"
                if one.type != "text":
                    continue
                key = text_key(noun, script, one)
                used.add(key)
                if key is None and not one.words:
                    yield f"{where} {noun.path} does not say in texts what it holds"
                if set(one.words) - set(texts.get(one.name, one.words)):
                    yield f"{where} its words must be among those of texts in {noun.path}"
                for word in text_words(noun, script, one):
                    if word not in words:
                        yield f"{where} no source gives the word {word!r}"
    for name in sorted(texts.keys() - used):
        yield f"{noun.path}:1: texts: no reply has a text {name}"


def entry_of(noun: Noun, scripts: list[Script]) -> Entry:
    """A noun in the manifest."""
    facts = noun.facts
    keys = {key.name: key for script in scripts for key in script.keys}
    return {
        "word": facts["word"],
        "plural": facts["plural"],
        "title": facts["title"],
        "method": facts["method"],
        "field": facts["field"],
        "layout": layouts_of(noun)[0],
        "bases": facts["bases"],
        "names": {
            name: {"type": type_, "doc": doc} | ({"default": default[0]} if default else {})
            for name, (type_, doc, *default) in facts["names"].items()
        },
        "roles": facts["roles"],
        "events": facts["events"],
        "settings": [arg_entry(arg) | {"doc": facts["settings"][arg.name][2]} for arg in noun.settings],
        "tables": {
            name: list({one["name"]: one for one in _table(noun, scripts, table)}.values())
            for name, table in facts["tables"].items()
        },
        "counters": facts["counters"],
        "hints": {
            name: {
                "how": hint["how"],
                "template": keys[hint["key"]].template + hint.get("suffix", f"<{keys[hint['key']].suffix}>"),
                "messages": hint["messages"],
                "doc": hint["doc"],
                **({"mirror": hint["mirror"]} if "mirror" in hint else {}),
            }
            for name, hint in facts["hints"].items()
        },
        "waits": {name: {"ms": ms, "doc": doc} for name, (ms, doc) in facts["waits"].items()},
    }


def status_facts(noun: Noun | None, script: Script, status: Status) -> Entry:
    """What a status means, where the noun has a file."""
    if noun is None:
        return {}
    statuses = noun.facts["statuses"]
    then, doc = statuses.get(f"{script.verb}.{status.name}") or statuses[status.name]
    return {"then": then, "doc": doc}


def field_facts(noun: Noun | None, script: Script, one: Field) -> Entry:
    """What a field of a reply holds, where that is more than its type."""
    if one.type == "pairs" and one.of:
        return {"table": one.of}
    if noun is None or one.type != "text":
        return {}
    if words := text_words(noun, script, one):
        return {"values": list(words)}
    return {"form": noun.facts["texts"][text_key(noun, script, one)]}


def text_key(noun: Noun, script: Script, one: Field) -> str | None:
    own = f"{script.verb}.{one.name}"
    return own if own in noun.facts["texts"] else one.name if one.name in noun.facts["texts"] else None


def text_words(noun: Noun, script: Script, one: Field) -> tuple[str, ...]:
    text = noun.facts["texts"].get(text_key(noun, script, one))
    return one.words or (tuple(text) if isinstance(text, list) else ())


def statuses_of(script: Script) -> list[Status]:
    return [*script.returns, *(status for shape in script.shapes.values() for status in shape)]


def _arguments(script: Script) -> Iterator[Arg]:
    yield from script.args
    for group in script.groups.values():
        yield from (*group.fields, *group.pairs)


def arg_entry(arg: Arg) -> Entry:
    """An argument in the manifest."""
    type_, default = arg.type, arg.default
    entry: Entry = {"name": arg.name, "type": type_.name}
    if type_.name in ("int", "bytes", *LISTS):
        entry |= {"min": type_.min, "max": type_.max}
    if type_.values:
        entry["values"] = list(type_.values)
    if default is not None:
        entry["default"] = default
        if type_.name == "int" and default:
            entry["default"] = int(default)
        if type_.name == "bool" and default:
            entry["default"] = default == "1"
    return entry


def _table(noun: Noun, scripts: list[Script], table: Entry) -> list[Entry]:
    """The names of a table; its own win over those that it takes from elsewhere."""
    found: list[Entry] = []
    for name, entry in table.items():
        if name == "pairs_of":
            (script,) = (one for one in scripts if one.verb == entry)
            found += [_typed(arg.name, arg.type) for group in script.groups.values() for arg in group.pairs]
        elif name == "settings" and entry is True:
            found += [_typed(arg.name, arg.type) for arg in noun.settings]
        elif name == "counters" and entry is True:
            found += [_typed(name, Type("int"), doc) for name, doc in noun.facts["counters"].items()]
        else:
            kind, *doc = [entry] if isinstance(entry, str) else entry
            found.append(_typed(name, Type("text") if kind == "text" else _type(kind), *doc))
    return list({one["name"]: one for one in found}.values())


def _typed(name: str, type_: Type, doc: str = "") -> Entry:
    values = {"values": list(type_.values)} if type_.values else {}
    return {"name": name, "type": type_.name} | values | ({"doc": doc} if doc else {})


def _malformed(noun: Noun) -> Iterator[str]:
    facts = noun.facts
    for table in ("roles", "events", "counters"):
        if not all(isinstance(doc, str) and doc for doc in facts[table].values()):
            yield f'{table}: must be <name> = "<meaning>"'
    for name, entry in facts["statuses"].items():
        if not (isinstance(entry, list) and len(entry) == 2 and entry[0] in THEN and entry[1]):
            yield f"statuses.{name}: must be [<{'|'.join(THEN)}>, <meaning>]"
    for name, entry in facts["waits"].items():
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], int) and entry[1]):
            yield f"waits.{name}: must be [<ms>, <meaning>]"
    for name, entry in facts["hints"].items():
        needed, allowed = {"key", "how", "messages", "doc"}, {"key", "how", "messages", "doc", "suffix", "mirror"}
        if not needed <= entry.keys() <= allowed or entry["how"] not in HOW:
            yield f"hints.{name}: must have {', '.join(sorted(needed))}, and how one of {', '.join(HOW)}"
    for name, entry in facts["names"].items():
        if not (isinstance(entry, list) and len(entry) in (2, 3)):
            yield f"names.{name}: must be [<type>, <meaning>] or [<type>, <meaning>, <default>]"
    yield from _malformed_bases(facts)
    yield from _malformed_settings(facts)
    yield from _malformed_tables(facts)


def _malformed_bases(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, template in facts["bases"].items():
        stray = set(re.findall(r"<([^<>]*)>", template)) - facts["names"].keys()
        if stray or template.count("{") != 1:
            yield f"bases.{name}: must have one hash tag, and parts from names; got {template!r}"


def _malformed_settings(facts: Mapping[str, Any]) -> Iterator[str]:
    for name, entry in facts["settings"].items():
        yield from (f"settings.{name}: {problem}" for problem in _malformed_setting(entry))


def _malformed_tables(facts: Mapping[str, Any]) -> Iterator[str]:
    for table, entries in facts["tables"].items():
        for name, entry in entries.items():
            kind = entry if isinstance(entry, str) else entry[0] if isinstance(entry, list) else "text"
            try:
                if kind != "text" and name != "pairs_of":
                    _type(kind)
            except ValueError as error:
                yield f"tables.{table}.{name}: {error}"


def _malformed_setting(entry: Any) -> Iterator[str]:
    if not (isinstance(entry, list) and len(entry) in (3, 4)):
        yield "must be [<type>, <default>, <meaning>]"
        return
    python = entry[3] if len(entry) == 4 else {}
    if not isinstance(python, dict) or not python.keys() <= set(PYTHON):
        yield f"a table at the end may have {', '.join(PYTHON)}; got {python!r}"
    try:
        type_ = _type(entry[0])
        if entry[1] != "" and not type_.accepts(_wire(entry[1])):
            yield f"the default {entry[1]!r} is not what it accepts"
    except ValueError as error:
        yield str(error)


def _type(text: str) -> Type:
    """As in a header; a type that has bounds may leave them out."""
    name, _, rest = text.partition(" ")
    if not rest:
        rest = {"int": "..", "bytes": "0..16777216", **dict.fromkeys(LISTS, "0..1000")}.get(name, "")
    return read_type(name, rest or None)


def _wire(value: Any) -> str:
    return str(int(value) if isinstance(value, bool) else value)


def literal(arg: Arg) -> str:
    """A default as Lua reads what is stored: numbers as such, all else as text."""
    return str(arg.default) if arg.type.name == "int" else f"'{arg.default}'"
