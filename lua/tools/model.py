"""What a header says, as dataclasses, and what each type of argument accepts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_SAFE = 9007199254740991
MAX_ITEMS = 1000
MAX_BYTES = 16 * 1024 * 1024

# A channel stores nothing; it is named like a key, so that it is in the slot of its base.
KEY_TYPES = ("hash", "zset", "set", "list", "stream", "string", "channel")
# What the manifest says of a script without a role. A script with a role has a last key, `{base}!<role>`, that it never
# uses: a user without the right to it is refused by the server before the script runs.
NO_ROLES = ("observe", "any")
WORD_TYPES = ("id", "label", "name", "lane", "limit")
# What a script appends to a prefix. A pair is an id, `|` and a label.
SUFFIX_TYPES = (*WORD_TYPES, "pair")
ARG_TYPES = (*WORD_TYPES, "ids", "labels", "lanes", "int", "bytes", "enum", "bool")
FIELD_TYPES = ("int", "id", "label", "name", "lane", "limit", "bytes", "text", "ids", "pairs")
GATE = "gate"
# What makes a call that is sent again the same call; `read` is that of each script with the flag no-writes.
REPLAYS = ("rid", "slot", "token", "idempotent", "state", "goes_on")
FLAGS = ("no-writes", "allow-oom")

WORD = re.compile(r"(?!.*__)[a-z][a-z0-9_]*", re.A)
_RANGE = re.compile(r"(-?\d+)?\.\.(-?\d+)?", re.A)

# Patterns that are both Python's and JavaScript's; the manifest carries them.
ID = r"^[A-Za-z0-9._:/@+-]{1,200}$"
NAME = r"^[A-Za-z0-9._@+-]{1,100}$"
LANE = r"^(any|group/[A-Za-z0-9._@+-]{1,100}(/inst/[A-Za-z0-9._@+-]{1,100})?)$"
# A label is at most MAX_LABEL bytes of UTF-8: the characters of an id, and non-ASCII characters but controls and
# spaces. Stored data and keys separate names by ASCII characters that no id has, so these are in no label.
MAX_LABEL = 200
_LABEL = r"[^\x00-*,;-?\[-\^`{-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
LABEL = rf"^{_LABEL}$"
LIMIT = rf"^(all|(user|tag):(\*|{_LABEL})|key:(\*|[A-Za-z0-9._:/@+-]{{1,200}}))$"
_PATTERNS = {"id": ID, "label": LABEL, "name": NAME, "lane": LANE, "limit": LIMIT}
# The types of lists, and those of what they hold.
LISTS = {"ids": "id", "labels": "label", "lanes": "lane"}


@dataclass(frozen=True)
class Type:
    name: str
    min: int = 0
    max: int = 0
    values: tuple[str, ...] = ()

    def accepts(self, text: str) -> bool:
        match self.name:
            case "int":
                return re.fullmatch(r"0|-?[1-9][0-9]{0,15}", text) is not None and self.min <= int(text) <= self.max
            case "bytes":
                return self.min <= len(text.encode()) <= self.max
            case "enum":
                return text in self.values
            case "bool":
                return text in ("0", "1")
            case "ids" | "labels" | "lanes":
                items = text.split(",") if text else []
                return self.min <= len(items) <= self.max and all(map(Type(LISTS[self.name]).accepts, items))
        label = {"label": text, "limit": text.partition(":")[2]}.get(self.name, "")
        return len(label.encode()) <= MAX_LABEL and re.fullmatch(_PATTERNS[self.name], text) is not None


def read_type(name: str, rest: str | None) -> Type:
    """The type of an argument as a header names it. Raises ValueError."""
    if name not in ARG_TYPES:
        raise ValueError(f"unknown type {name!r}: allowed are {', '.join(ARG_TYPES)}")
    if name == "enum":
        values = tuple((rest or "").split("|"))
        if len(set(values)) != len(values) or not all(WORD.fullmatch(value) for value in values):
            raise ValueError(f"enum must be different words with | between them, got {rest!r}")
        return Type(name, values=values)
    if name in (*_PATTERNS, "bool"):
        if rest is not None:
            raise ValueError(f"{name} takes no {rest!r}")
        return Type(name)
    limits = _RANGE.fullmatch(rest or "")
    if limits is None or (name != "int" and None in limits.groups()):
        raise ValueError(f"{name} needs <min>..<max>, got {rest!r}")
    low, high = (int(text) if text else None for text in limits.groups())
    lowest, highest = {"int": (-MAX_SAFE, MAX_SAFE), "bytes": (0, MAX_BYTES)}.get(name, (0, MAX_ITEMS))
    type_ = Type(name, lowest if low is None else low, highest if high is None else high)
    if not lowest <= type_.min <= type_.max <= highest:
        raise ValueError(f"{name} {rest} must rise and stay within {lowest}..{highest}")
    return type_


@dataclass(frozen=True)
class Key:
    name: str
    type: str
    template: str
    suffix: str | None  # set for a prefix
    noun: str = ""  # whose it is, if not of the script's own noun

    @property
    def of_noun(self) -> str:
        """Its name in its noun's keys.toml: `config`, where a script has the name `lock__config`."""
        return self.name.rpartition("__")[2]

    @property
    def told(self) -> str:
        """Its name in the manifest: `lock_config`."""
        return f"{self.noun}_{self.of_noun}" if self.noun else self.name


def nowhere(first: str) -> Key:
    """The last key of a script without a gate, which is never stored. first: the template of its first key."""
    place = first.removesuffix("config") if first.endswith(":config") else "{base}:"
    return Key("nowhere", GATE, f"{place}nowhere", None)


@dataclass(frozen=True)
class Arg:
    name: str
    type: Type
    default: str | None


@dataclass(frozen=True)
class Group:
    name: str
    min: int = 0
    max: int = MAX_ITEMS
    fields: tuple[Arg, ...] = ()
    pairs: tuple[Arg, ...] = ()


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    of: str | None = None  # the shape of a list, the table of pairs
    words: tuple[str, ...] = ()  # those of a text, where its noun has more


@dataclass(frozen=True)
class Status:
    name: str
    fields: tuple[Field, ...]


@dataclass
class Script:
    path: str  # <noun>/<verb>.v<N>.lua
    header: str
    body: str
    rest: str = ""  # what stands after the line `-- LATE BODY`
    noun: str = ""
    verb: str = ""
    version: int = 0
    doc: str = ""
    uses: dict[str, str] = field(default_factory=dict)  # other nouns, in order -> what they are called in the body
    keys: list[Key] = field(default_factory=list)  # all that it may read or write, and the gate
    args: list[Arg] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    returns: list[Status] = field(default_factory=list)
    shapes: dict[str, list[Status]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    flag: str | None = None
    role: str | None = None
    replay: str = ""
    settings: str | None = None  # the group whose pairs are the settings of the noun
    constants: dict[str, str] = field(default_factory=dict)  # what stands for the names of noun.toml
    bases: dict[str, list[str]] = field(default_factory=dict)  # the forms of bases of its noun, and of those it uses
    layouts: dict[str, int] = field(default_factory=dict)  # of stored data, of the same nouns
    cost: str = ""
    budget: tuple[int, int] | None = None  # the commands and the lines of Lua that no call passes
    includes: list[Include] = field(default_factory=list)  # in the order in which they are made
    first: list[str] = field(default_factory=list)  # those that the part before the line `-- LATE BODY` uses
    rare: list[str] = field(default_factory=list)  # the late ones
    early: set[str] = field(default_factory=set)  # as the header says, against the rule of closure.py
    late: set[str] = field(default_factory=set)
    lines: dict[str, int] = field(default_factory=dict)  # "ARGV rid" -> line of its declaration
    free: dict[str, int] = field(default_factory=dict)  # names the body takes from outside -> line
    body_free: set[str] = field(default_factory=set)  # those of the part before the line `-- LATE BODY`
    sure: set[str] = field(default_factory=set)  # those that every call uses, or every call that comes to `rest`

    @property
    def id(self) -> str:
        return f"{self.noun}.{self.verb}.v{self.version}"

    @property
    def data(self) -> list[Key]:
        """Those that it may read or write."""
        return [key for key in self.keys if key.type != GATE]

    @property
    def sent(self) -> list[Key]:
        """The keys of a call: `config` of each noun, which says the base, or its first key; and the gate.

        The script makes all other keys from the bases. If its noun does not say their forms, all keys are sent. The
        last key is never stored. While a slot moves from one node of a cluster to another, both therefore refuse the
        call (TRYAGAIN), and no script finds only some of its keys.
        """
        if not self.bases:
            return self.keys
        by_noun: dict[str, Key] = {}
        for key in self.data:
            if key.noun not in by_noun or key.of_noun == "config":
                by_noun[key.noun] = key
        gates = [key for key in self.keys if key.type == GATE]
        first = next((key.template for key in by_noun.values()), "")  # of events, it is `{base}:events:config`
        return [*by_noun.values(), *(gates or [nowhere(first)])]

    @property
    def locals(self) -> dict[str, str]:
        """Every name that an argument makes a local, with the kind of line that does."""
        named = {arg.name: "ARGV" for arg in self.args}
        for group in self.groups.values():
            columns = ["count", *(arg.name for arg in group.fields), *(["pairs"] if group.pairs else [])]
            named |= {f"{group.name}_{column}": "ITEM" for column in columns}
        return named


@dataclass
class Include:
    name: str
    path: str
    text: str
    free: dict[str, int]  # names that it takes from outside -> line
    sure: set[str]  # those that each of its calls uses
    made: str = ""  # early or late, whichever script it is in
    noun: str = ""  # whose it is, if not of the script's own noun
    names: Mapping[str, str] = field(default_factory=dict)  # then: what the script calls the names of its text

    generated: bool = False  # by seams.py
