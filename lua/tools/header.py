"""The header grammar of README.md: from a source file to the dataclasses of model.py."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from string import Template

from model import (
    FIELD_TYPES,
    FLAGS,
    LISTS,
    MAX_ITEMS,
    NO_ROLES,
    REPLAYS,
    WORD,
    Arg,
    Field,
    Group,
    Include,
    Script,
    Status,
    Type,
    read_type,
)
from noun import FILE, Noun
from scan import GLOBALS, KEYWORDS, Chunk, LuaError, in_script, parse, substitute

# What bodies and includes may use undeclared; keys and arguments have names, so never by number.
OPEN = GLOBALS - {"KEYS", "ARGV"}
LATE_BODY = "-- LATE BODY"  # what stands above it runs before the other includes are made
# Names that the preamble may give a script beside those of the header; its own begin with `arg_`.
PREAMBLE = frozenset(["BAND", "CREATED", "LAYOUT", "MAX_SAFE", "refuse"])

# Scripts that each noun has unless it has one of that name itself; $word and $title in their headers are of noun.toml.
TEMPLATES = "kernel/scripts"
PAIRS = "pairs"  # the folder of a noun with the lists of pairs that several headers have

_EVENT = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+", re.A)
_FIRST = re.compile(r"([a-z]+)\.([a-z][a-z0-9_]*)\.v([1-9]\d*): (\S.*)", re.A)
_PATH = re.compile(r"([a-z]+)/([a-z][a-z0-9_]*)\.v([1-9]\d*)\.lua", re.A)
_BUDGET = re.compile(r"(\d{1,3}(?:,\d{3})*) commands, (\d{1,3}(?:,\d{3})*) steps", re.A)
_INCLUDE_FIRST = re.compile(r"([a-z][a-z0-9_]*)\(([^()]*)\): \S.*", re.A)


class BuildError(Exception):
    """`<file>:<line>: <what is wrong and what is allowed>`."""

    def __init__(self, path: str, line: int, text: str) -> None:
        super().__init__(f"{path}:{line}: {text}")


def read_text(root: Path, path: str) -> str:
    try:
        text = (root / path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BuildError(path, 1, f"must be UTF-8: {error}") from None
    if "\r" in text or not text.endswith("\n"):
        raise BuildError(path, text.count("\n") + 1, "every line must end in a newline, without \\r")
    return text


def is_hook(path: Path) -> bool:
    """Whether an include is what a feature does at a seam, see seams.py."""
    return path.stem.startswith("on_")


def read_include(root: Path, path: str) -> Include:
    name = Path(path).stem
    if is_hook(Path(path)):
        name = f"{Path(path).parent.name}_{name}"
    text = read_text(root, path)
    lines = text.splitlines()
    first = _INCLUDE_FIRST.fullmatch(lines[0].removeprefix("-- "))
    if not lines[0].startswith("-- ") or first is None or first[1] != name:
        raise BuildError(path, 1, f"must be '-- {name}(<parameters>): <text>', got {lines[0]!r}")
    made, uses = "", list[str]()
    for number, line in enumerate(lines, 1):
        if not line.startswith("--"):
            break
        if line.startswith("-- USES "):
            uses += line.split()[2:]
        if line in ("-- EARLY", "-- LATE"):
            if made:
                raise BuildError(path, number, "must be one line EARLY or LATE")
            made = line[3:].lower()
    chunk = _parse(path, text, uses)
    for noun in uses:
        if not any(name.startswith(f"{noun}.") for name in chunk.free):
            raise BuildError(path, 1, f"USES {noun}: the function has no {noun}.<name>")
    opening = f"local function {first[1]}"
    if chunk.top != [opening]:
        got = ", ".join(chunk.top) or "nothing"
        raise BuildError(path, 1, f"must hold one '{opening}' and nothing else, got {got}")
    declared = re.search(rf"^{opening}\s*\(([^()]*)\)", text, re.M)
    if declared is None or _words(declared[1]) != _words(first[2]):
        raise BuildError(path, 1, f"the parameters ({first[2]}) must be those of the function")
    for name, at in chunk.written.items():
        raise BuildError(path, at, f"{name} is assigned, but an include changes only its own locals")
    free = {in_script(name): line for name, line in chunk.free.items()}
    return Include(first[1], path, substitute(text, {}, uses), free, set(map(in_script, chunk.sure)), made)


def parameters(include: Include) -> tuple[str, ...]:
    """The names of its parameters."""
    first = _INCLUDE_FIRST.match(include.text.removeprefix("-- "))
    return tuple(_words(first[2])) if first else ()


def divided(lines: list[str]) -> tuple[int, str, str]:
    """Of a script: how many lines its header has, its body, and what stands after the line LATE BODY there."""
    size = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    body, _, rest = "\n".join(lines[size:]).partition(f"\n{LATE_BODY}\n")
    return size, body, rest


def read_script(root: Path, path: str, noun: Noun | None = None, nouns: Mapping[str, str] | None = None) -> Script:
    """Read one source for a noun, and check all that can be seen without the includes.

    nouns: all that there are, and what each is called in the body of a script that uses it.
    """
    text = read_text(root, path)
    lines = text.splitlines()
    size, body, rest = divided(lines)
    if noun and path.startswith(TEMPLATES):
        lines[:size] = [Template(line).substitute(noun.facts) for line in lines[:size]]
    script = Script(path, "\n".join(lines[:size]), body.strip("\n"), rest.strip("\n"))
    header = _Header(root, script, lines[:size], noun, nouns or {})
    header.read()
    script.header = "\n".join(header.written)
    used = set(script.uses.values())
    chunk = _parse(path, text, used)
    for name, line in chunk.written.items():
        if name not in script.locals:
            raise BuildError(path, line, f"{name} is assigned, but only arguments and locals may be")
    script.free = {in_script(name): line for name, line in chunk.free.items()}
    script.sure = set(map(in_script, _parse(path, rest, used).sure if rest else chunk.sure))
    script.body_free = set(map(in_script, _parse(path, body, used).free)) if rest else set(script.free)
    return script


def _parse(path: str, text: str, nouns: Container[str] = ()) -> Chunk:
    try:
        chunk = parse(text, nouns)
    except LuaError as error:
        raise BuildError(path, error.line, str(error)) from None
    for token in chunk.tokens:
        if token.kind == "name" and "__" in token.text.lstrip("_"):
            raise BuildError(path, token.line, f"{token.text}: two underscores are for what is another noun's")
    return chunk


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


class _Header:
    def __init__(
        self, root: Path, script: Script, lines: list[str], noun: Noun | None, nouns: Mapping[str, str]
    ) -> None:
        self.root = root
        self.script = script
        self.lines = lines
        self.written = lines[:1]  # the lines, with each PAIR that a line PAIRS stands for
        self.noun = noun
        self.nouns = nouns
        self.line = 1
        self.ranges: dict[str, tuple[int, int]] = {}

    def fail(self, text: str, line: int | None = None) -> BuildError:
        return BuildError(self.script.path, line or self.line, text)

    def read(self) -> None:
        script, kinds = self.script, {
            "ARGV": self.scalar, "ITEM": self.item, "PAIR": self.item, "PAIRS": self.pairs, "GROUP": self.group,
            "RETURN": self.returned, "EACH": self.each, "ERROR": self.error, "EVENT": self.event,
            "ROLE": self.role, "USES": self.uses, "REPLAY": self.replay, "SETTINGS": self.settings, "FLAGS": self.flags,
            "COST": self.cost, "EARLY": self.early, "LATE": self.late,
        }  # fmt: skip
        self.first()
        text = True
        for number, line in enumerate(self.lines[1:], 2):
            self.line = number
            words = line[2:].split()
            self.written += [line] if words[:1] != ["PAIRS"] or text else []
            if not words:
                text = False
            elif text:
                if words[0] in kinds:
                    raise self.fail(f"a blank comment line must stand between the description and {words[0]}")
                script.doc += " " + " ".join(words)
            elif words[0] not in kinds:
                raise self.fail(f"unknown line {words[0]!r}: allowed are {', '.join(kinds)}")
            else:
                kinds[words[0]](words)
        self.line = 1
        self.finish()

    def first(self) -> None:
        script = self.script
        path = _PATH.fullmatch(self.place())
        if path is None:
            raise self.fail("the file must be <noun>/<verb>.v<N>.lua, in small letters")
        first = _FIRST.fullmatch(self.lines[0].removeprefix("-- ")) if self.lines else None
        script.noun, script.verb, script.version = path[1], path[2], int(path[3])
        if first is None or first.groups()[:3] != path.groups():
            got = self.lines[0] if self.lines else "no comment"
            raise self.fail(f"must be '-- {script.id}: <text>', as the path says, got {got!r}")
        script.doc = first[4].strip()

    def place(self) -> str:
        """The path of the source; of one of the kernel, what it would be in the folder of its noun."""
        word = self.noun.facts["word"] if self.noun else ""
        return self.script.path.replace(TEMPLATES, word, 1)

    def finish(self) -> None:
        script = self.script
        if not script.returns:
            raise self.fail("no RETURN: a reply begins with a status")
        if script.flag == "no-writes" and script.role:
            raise self.fail("a script with the flag no-writes has no ROLE", script.lines[f"ROLE {script.role}"])
        fallback = 1 if len(script.groups) == 1 else 0
        self.check_replay()
        for name in self.ranges:
            if name not in script.groups:
                raise self.fail(f"GROUP {name} has no ITEM or PAIR", script.lines[f"GROUP {name}"])
        for name, group in script.groups.items():
            low, high = self.ranges.get(name, (fallback, MAX_ITEMS))
            script.groups[name] = replace(group, min=low, max=high)
        statuses = [*script.returns, *(status for shape in script.shapes.values() for status in shape)]
        used = {field.of for status in statuses for field in status.fields if field.of and field.type == "list"}
        for shape in sorted(used ^ script.shapes.keys()):
            raise self.fail(f"shape {shape} needs both a list({shape}) and EACH {shape} lines")
        seen: dict[str, str] = {}
        names = [(arg.name, "ARGV") for arg in script.args]
        columns = [(name, "ITEM") for name, kind in script.locals.items() if kind == "ITEM"]
        for name, kind in names + columns:
            line = script.lines.get(f"{kind} {name}", 1)
            if name in seen:
                raise self.fail(f"{name} is named by {seen[name]} already", line)
            if "__" in name:
                raise self.fail(f"{name}: two underscores are for what is another noun's", line)
            if name in script.uses.values():
                raise self.fail(f"{name} is a noun that the script uses: take another name", line)
            if name in KEYWORDS | GLOBALS | PREAMBLE or name.startswith("arg_"):
                raise self.fail(f"{name} is Lua's or the preamble's: take another name", line)
            seen[name] = kind

    def check_replay(self) -> None:
        """The kind of replay is possible with the arguments."""
        script = self.script
        if script.flag == "no-writes":
            if script.replay:
                raise self.fail(
                    "a script with the flag no-writes has no REPLAY", script.lines[f"REPLAY {script.replay}"]
                )
            script.replay = "read"
            return
        scalars = {arg.name for arg in script.args}
        fields = {arg.name for group in script.groups.values() for arg in group.fields}
        needed = {"rid": {"rid"}, "slot": {"worker", "incarnation", "slot", "n"}, "token": {"token"}}
        wanted = needed.get(script.replay, set())
        if wanted - (scalars if script.replay == "slot" else scalars | fields):
            line = script.lines[f"REPLAY {script.replay}"]
            raise self.fail(f"REPLAY {script.replay} needs the arguments {', '.join(sorted(wanted))}", line)

    # One method per kind of line; `words` begins with the kind

    def declare(self, kind: str, name: str) -> None:
        if f"{kind} {name}" in self.script.lines:
            raise self.fail(f"{kind} {name} stands in line {self.script.lines[f'{kind} {name}']} already")
        self.script.lines[f"{kind} {name}"] = self.line

    def word(self, text: str, what: str) -> str:
        if WORD.fullmatch(text) is None:
            raise self.fail(f"{what} must be small letters, digits and single _, got {text!r}")
        return text

    def include(self, text: str) -> str:
        """The name of an include, or `<noun>.<name>` for one of a noun that the script uses."""
        noun, _, name = text.rpartition(".")
        self.word(name, "an include")
        return in_script(text) if noun else text

    def scalar(self, words: list[str]) -> None:
        arg = self.arg(words, "'ARGV <name> <type> [?=<default>]'")
        self.declare("ARGV", arg.name)
        self.script.args.append(arg)

    def item(self, words: list[str]) -> None:
        kind = words[0]
        group_name, _, name = words[1].rpartition(".") if len(words) > 1 else ("", "", "")
        group_name = self.word(group_name or "item", "a group's name")
        arg = self.arg([kind, name, *words[2:]], f"'{kind} [<group>.]<name> <type> [?=<default>]'")
        if kind == "PAIR" and arg.type.name == "bool" and arg.default is None and group_name != "settings":
            raise self.fail("a bool pair needs a default, as a rule ?=0: Lua takes a stored '0' for true")
        if kind == "ITEM" and name in ("count", "pairs"):
            raise self.fail(f"{group_name}_{name} is a local of the preamble: take another name")
        self.declare(kind, f"{group_name}_{name}")
        group = self.script.groups.get(group_name, Group(group_name))
        if any(name == other.name for other in group.fields + group.pairs):
            raise self.fail(f"{group_name} has a field or pair {name} already")
        fields, pairs = group.fields, group.pairs
        if kind == "ITEM":
            self.script.groups[group_name] = replace(group, fields=(*fields, arg))
        else:
            self.script.groups[group_name] = replace(group, pairs=(*pairs, arg))

    def pairs(self, words: list[str]) -> None:
        """A list of pairs that several headers have; with a mark, those of its lines that end with it."""
        if not 2 <= len(words) <= 3:
            raise self.fail("must be 'PAIRS <list> [<mark>]'")
        path = f"{self.script.noun}/{PAIRS}/{self.word(words[1], 'a list')}.lua"
        if not (self.root / path).is_file():
            raise self.fail(f"PAIRS {words[1]}: there is no {path}")
        rows = [
            line.partition("  # ") for line in read_text(self.root, path).splitlines() if line.startswith("-- PAIR ")
        ]
        found = [row for row, _, marks in rows if set(words[2:]) <= set(marks.split())]
        if not found:
            raise self.fail(f"PAIRS {' '.join(words[1:])}: {path} has no such line PAIR")
        for row in found:
            self.item(row[2:].split())
        self.written += found

    def group(self, words: list[str]) -> None:
        limits = re.fullmatch(r"(\d+)\.\.(\d+)", words[2]) if len(words) == 3 else None
        if limits is None or not int(limits[1]) <= int(limits[2]) <= MAX_ITEMS or int(limits[2]) == 0:
            raise self.fail(f"must be 'GROUP <group> <min>..<max>' within 0..{MAX_ITEMS}")
        self.declare("GROUP", words[1])
        self.ranges[words[1]] = int(limits[1]), int(limits[2])

    def returned(self, words: list[str]) -> None:
        if len(words) < 2:
            raise self.fail("must be 'RETURN <status> [<field>:<type> …]'")
        self.declare("RETURN", words[1])
        self.script.returns.append(self.status(words[1:]))

    def each(self, words: list[str]) -> None:
        if len(words) < 3:
            raise self.fail("must be 'EACH <shape> <status> [<field>:<type> …]'")
        self.declare("EACH", f"{words[1]} {words[2]}")
        self.script.shapes.setdefault(self.word(words[1], "a shape"), []).append(self.status(words[2:]))

    def error(self, words: list[str]) -> None:
        for code in self.some(words):
            if code == "ADEQ_ARG" or re.fullmatch(r"ADEQ_[A-Z]+", code) is None:
                raise self.fail(f"an error is ADEQ_ and capitals (ADEQ_ARG is every script's), got {code!r}")
            self.declare("ERROR", code)
            self.script.errors.append(code)

    def event(self, words: list[str]) -> None:
        for name in self.some(words):
            if _EVENT.fullmatch(name) is None:
                raise self.fail(f"an event is <noun>.<what>, in small letters, got {name!r}")
            self.declare("EVENT", name)
            self.script.events.append(name)

    def early(self, words: list[str]) -> None:
        for name in self.some(words):
            self.declare("EARLY", name := self.include(name))
            self.script.early.add(name)

    def late(self, words: list[str]) -> None:
        for name in self.some(words):
            self.declare("LATE", name := self.include(name))
            self.script.late.add(name)

    def flags(self, words: list[str]) -> None:
        if len(words) != 2 or words[1] not in FLAGS or self.script.flag:
            raise self.fail(f"must be one 'FLAGS' line with one of {', '.join(FLAGS)}")
        self.declare("FLAGS", words[1])
        self.script.flag = words[1]

    def role(self, words: list[str]) -> None:
        if len(words) != 2 or not WORD.fullmatch(words[1]) or words[1] in NO_ROLES or self.script.role:
            raise self.fail(f"must be one 'ROLE' line with a role of noun.toml, and not {' or '.join(NO_ROLES)}")
        self.declare("ROLE", words[1])
        self.script.role = words[1]

    def uses(self, words: list[str]) -> None:
        for word in self.some(words):
            others = [noun for noun in self.nouns if noun != self.script.noun]
            if word not in others:
                raise self.fail(f"USES names other nouns: allowed are {', '.join(others) or 'none'}, got {word!r}")
            called = self.nouns[word]
            if called in KEYWORDS | GLOBALS | PREAMBLE:
                raise self.fail(f"{called} is Lua's or the preamble's: let lua in {word}/{FILE} be another name")
            self.declare("USES", word)
            self.script.uses[word] = called

    def replay(self, words: list[str]) -> None:
        if len(words) != 2 or words[1] not in REPLAYS or self.script.replay:
            raise self.fail(f"must be one 'REPLAY' line with one of {', '.join(REPLAYS)}")
        self.declare("REPLAY", words[1])
        self.script.replay = words[1]

    def settings(self, words: list[str]) -> None:
        if len(words) != 2 or self.script.settings:
            raise self.fail("must be one 'SETTINGS <group>' line")
        if self.noun is None:
            raise self.fail(f"SETTINGS needs a {FILE} beside the script")
        group = self.word(words[1], "a group's name")
        self.declare("SETTINGS", group)
        self.script.settings = group
        pairs = tuple(replace(arg, default=None) for arg in self.noun.settings)
        self.script.groups[group] = Group(group, pairs=pairs)

    def cost(self, words: list[str]) -> None:
        if self.script.cost or len(words) < 2:
            raise self.fail("must be one 'COST <text>' line")
        self.script.cost, _, most = " ".join(words[1:]).partition("; at most ")
        budget = _BUDGET.fullmatch(most)
        if budget:
            self.script.budget = int(budget[1].replace(",", "")), int(budget[2].replace(",", ""))
        elif most:
            raise self.fail(f"COST must end with '; at most <n> commands, <n> steps', got {most!r}")

    def some(self, words: list[str]) -> list[str]:
        if len(words) < 2:
            raise self.fail(f"{words[0]} must name at least one")
        return words[1:]

    def status(self, words: list[str]) -> Status:
        fields: list[Field] = []
        for text in words[1:]:
            name, _, kind = text.partition(":")
            more = re.fullmatch(r"(list|pairs)\(([a-z][a-z0-9_]*)\)|(text)\(([a-z0-9_]+(?:\|[a-z0-9_]+)*)\)", kind)
            if more is None and kind not in FIELD_TYPES:
                allowed = ", ".join([*FIELD_TYPES, "pairs(<table>)", "text(<words>)", "list(<shape>)"])
                raise self.fail(f"field {text!r} must be <name>:<type>, types are {allowed}")
            if any(name == other.name for other in fields):
                raise self.fail(f"field {name} is named twice")
            if more:
                kind = more[1] or more[3]
            words_of = tuple(more[4].split("|")) if more and more[4] else ()
            fields.append(Field(self.word(name, "a field"), kind, more[2] if more else None, words_of))
        return Status(self.word(words[0], "a status"), tuple(fields))

    # Types of arguments

    def arg(self, words: list[str], form: str) -> Arg:
        kind, default = words[0], None
        if words[-1].startswith("?="):
            default = words.pop()[2:]
        if not 3 <= len(words) <= 4:
            raise self.fail(f"must be {form}")
        name = self.word(words[1], "a name")
        type_ = self.type(words[2], words[3] if len(words) == 4 else None)
        empty_is_none = kind == "PAIR" or type_.name not in ("int", "bool")
        if default and type_.name in LISTS:
            raise self.fail(f"the default of {type_.name} can only be empty, got {default!r}")
        if default is not None and not (type_.accepts(default) or (default == "" and empty_is_none)):
            raise self.fail(f"default {default!r} is not what {name} accepts")
        return Arg(name, type_, default)

    def type(self, name: str, rest: str | None) -> Type:
        try:
            return read_type(name, rest)
        except ValueError as error:
            raise self.fail(str(error)) from None
