"""Arguments of a script from its declaration alone: valid ones, extreme ones and bad ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha1
from typing import NamedTuple

from pyadeq._core.kernel.manifest import Argument, Group, Script, library
from tests.nouns.found import own
from tests.nouns.script_bench import START

CLOCKS = ("now_ms", "issued_ms")  # what is near the time of a test clock
APART = ("ordering_key", "remove")  # do not go with all others: they are in the second item
# The first and the last character of each form that UTF-8 has; and what is none, or a control character.
EDGES = [
    text.encode()
    for text in (
        "\u00a1\u07ff",
        "\u0800\u0fff\u1000\ucfff\ud000\ud7ff\ue000\uffff",
        "\U00010000\U0003ffff\U00040000\U000fffff\U00100000\U0010ffff",
    )
]
NO_LABELS = [
    b"\x7f", b"\xc2\x80", b"\xc2\x9f", b"\xc2\xa0", b"\xe3\x80\x80",  # controls and spaces
    b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xf0\x80\x80\x80", b"\xf0\x8f\xbf\xbf",  # too long
    b"\xed\xa0\x80", b"\xed\xbf\xbf",  # surrogates
    b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"\xfe",  # above U+10FFFF
    b"\x80", b"a\xbf", b"\xc3", b"\xc3a", b"\xe2\x82", b"\xe2\x82a", b"\xf0\x9f\x98", b"\xc3\xa9\xa9",  # parts
    b"\xe3\xc3\xa9\x81\x82",  # a character in another
]  # fmt: skip
# Those that are checked against each other.
FITTING = {
    "poll_ms": 2_000, "claim_ms": 5_000, "waiter_ms": 15_000, "max_ttl_ms": 3_600_000, "heartbeat_ms": 0,
    "period_ms": 60_000,
}  # fmt: skip


SETTINGS = library().manifest["nouns"]["queue"]["settings"]
OF_QUEUES = {
    "set_limits.expect": [b"none"],
    "configure.expect": [sha1(b" " * (len(SETTINGS) - 1)).hexdigest()[:16].encode()],  # the digest of no settings
    "copy.step": [b"begin"],  # the others check that keys and entries fit
}


def noun_of(script: Script) -> str:
    return script.id.partition(".")[0]


def arguments_of(script: Script) -> Iterator[Argument]:
    yield from script.args
    for group in script.groups:
        yield from (*group.fields, *group.pairs)


def forms_of(script: Script, argument: Argument) -> list[bytes]:
    forms: dict[str, list[bytes]] = own(
        noun_of(script), "arguments", "FORMS", OF_QUEUES if noun_of(script) == "queue" else {}
    )
    return forms.get(f"{script.id.split('.')[1]}.{argument.name}") or forms.get(argument.name, [])


# What is accepted where a script checks more than the type: FORMS in arguments.py of the noun's folder.
FORMS: dict[int, list[bytes]] = {
    id(argument): forms
    for script in map(library().__getitem__, library())
    for argument in arguments_of(script)
    if (forms := forms_of(script, argument))
}


# Pairs that do not go with all others, in no item of a valid call: LEFT_OUT in the same module.
LEFT_OUT: set[int] = {
    id(argument)
    for script in map(library().__getitem__, library())
    for argument in arguments_of(script)
    if f"{script.id.split('.')[1]}.{argument.name}" in own(noun_of(script), "arguments", "LEFT_OUT", ())
}


class Slot(NamedTuple):
    """One place in ARGV: how errors call it, a valid value, and what it is; None for the name of a pair."""

    label: str
    value: bytes
    argument: Argument | None


def slots(script: Script) -> list[Slot]:
    """A valid call: two items in each group where it may hold two, every pair in one of them."""
    scalars = [Slot(one.name, good(one), one) for one in script.args]
    return scalars + [slot for group in script.groups for slot in group_slots(group, min(2, group.max))]


def group_slots(group: Group, items: int) -> Iterator[Slot]:
    yield Slot(f"{group.name}_count", b"%d" % items, integer(group.min, group.max))
    for index in range(1, items + 1):
        label = f"{group.name}[{index}]"
        for one in group.fields:
            yield Slot(f"{label}.{one.name}", good(one, index), one)
        if group.pairs:
            pairs = [one for one in group.pairs if id(one) not in LEFT_OUT]
            given = [one for one in pairs if (one.name in APART) == (index == 2)]
            yield Slot(f"{label}.pairs", b"%d" % len(given), integer(0, len(group.pairs)))
            for one in given:
                yield Slot(f"{label}.pairs", one.name.encode(), None)
                yield Slot(f"{label}.{one.name}", good(one), one)


def values(slots: Sequence[Slot]) -> list[bytes]:
    return [slot.value for slot in slots]


def integer(low: int, high: int) -> Argument:
    return Argument("", "int", low, high, (), None)


def good(argument: Argument, item: int = 1) -> bytes:
    """A value for this item; ids and lanes of several items differ."""
    if forms := FORMS.get(id(argument)):
        return forms[0]
    match argument.type:
        case "int":
            usual = min(max(argument.min, 1), argument.max)
            return b"%d" % (START if argument.name in CLOCKS else FITTING.get(argument.name, usual))
        case "enum":
            return argument.words[0].encode()
        case "bool":
            return b"1"
        case "lane":
            return b"any" if item == 1 else b"group/g%d" % item
        case "limit":
            return b"all" if item == 1 else b"user:a%d" % item
        case "ids" | "labels":
            return b",".join(b"i%d" % at for at in range(max(argument.min, 1)))
        case "lanes":
            return b",".join([b"any"] * max(argument.min, 1))
        case "bytes":
            return b"" if argument.name == "cursor" else b"x" * max(argument.min, 1)
        case _:
            return b"a%d" % item


def extreme(argument: Argument) -> list[bytes]:
    """Values at the edge of what is accepted."""
    return FORMS.get(id(argument)) or extreme_of_type(argument)


def extreme_of_type(argument: Argument) -> list[bytes]:
    least = [b""] if argument.default is not None else []
    match argument.type:
        case "int":
            return (
                least if argument.name in (*CLOCKS, *FITTING) else [*least, b"%d" % argument.min, b"%d" % argument.max]
            )
        case "enum":
            return least + [word.encode() for word in argument.words]
        case "bool":
            return [*least, b"0", b"1"]
        case "lane":
            return [*least, b"any", b"group/" + b"A" * 100, b"group/.@+-/inst/" + b"z" * 100]
        case "limit":
            return [
                *least,
                b"all",
                b"user:*",
                b"tag:" + b"n" * 200,
                b"key:azAZ09._:/@+-",
                b"user:all",
                b"key:user:a",
                b"tag:\xc3\xa9",
            ]
        case "ids":
            return [*least, b",".join([b"i" * 200] * argument.min), b",".join([b"i" * 200] * argument.max)]
        case "labels":
            return [*least, b",".join([b"\xc3\xa9" * 100] * argument.min), b",".join([b"i" * 200] * argument.max)]
        case "label":
            return [*least, b"azAZ09._:/@+-", b"n" * 200, *EDGES]
        case "lanes":
            lane = b"group/" + b"A" * 100 + b"/inst/" + b"z" * 100
            return [*least, b",".join([lane] * argument.min), b",".join([lane] * argument.max)]
        case "bytes":
            return [] if argument.name == "cursor" else [bytes(argument.min), b"\xff\x00\r\n" * (argument.max // 4)]
        case "name":
            return [*least, b"A", b"azAZ09._@+-", b"n" * 100]
        case _:
            return [*least, b"A", b"azAZ09._:/@+-", b"n" * 200]


def bad(argument: Argument | None) -> list[bytes]:
    """Values that must be refused."""
    if argument is None:
        return [b"", b"unknown", b"Priority", b"x" * 300]
    may_be_empty = argument.default is not None or (
        argument.type in ("bytes", "ids", "labels", "lanes") and argument.min == 0
    )
    return bad_of_type(argument) + [b""] * (not may_be_empty)


def bad_of_type(argument: Argument) -> list[bytes]:
    match argument.type:
        case "int":
            edges = [b"%d" % (argument.min - 1), b"%d" % (argument.max + 1), b"-9007199254740992"]
            forms = [b"1.0", b"1e3", b"0x1", b"+1", b"--1", b" 1", b"1 ", b"1\n", b"1\x00", b"x", b"nan", b"inf", b"-"]
            return edges + forms + [b"00", b"01", b"-0", b"-01", b"0" * 16 + b"1", b"1" * 30]
        case "enum":
            return [b"unknown", argument.words[0].upper().encode(), argument.words[0].encode() + b" "]
        case "bool":
            return [b"2", b"00", b"true", b" 1"]
        case "lane":
            words = "all,any ,group,group/,group//inst/a,group/a/,group/a/inst/,group/a/b,group/a/inst/b/c,Group/a"
            long = [b"group/" + b"n" * 101, b"group/a/inst/" + b"n" * 101]
            return [*words.encode().split(b","), *long, b"group/a:b", b"group/a\n", b"group/a/inst/b\x00"]
        case "limit":
            words = "any,ALL,all ,all:,all:a,*,:a,user,user:,users:a,User:a,lane:a,user:**,user:a*,user:*a,user:a b"
            return [
                *words.encode().split(b","),
                b"tag:" + b"n" * 201,
                b"key:a,b",
                b"key:a|b",
                b"key:a\n",
                b"all\x00",
                b"key:\xc3\xa9",
                b"tag:\xc3",
            ]
        case "labels":
            many = [b",".join([b"i"] * (argument.max + 1)), b"," * (argument.max * 300)]
            return [*many, b"i,", b",i", b"i,,i", b"i i", b"\xc3\xa9" * 101, b"i,\xc3", b"i\xc2\x80,i"]
        case "label":
            return [b"n" * 201, b"\xc3\xa9" * 101, b"a b", b"a\n", b"a\x00", b"a,b", b"a|b", b"{a}", b"a*", *NO_LABELS]
        case "ids":
            many = [b",".join([b"i"] * (argument.max + 1)), b"," * (argument.max * 300)]
            return [*many, b"i,", b",i", b"i,,i", b"i i", b"i, i", b"n" * 201, b"i\x00"]
        case "lanes":
            many = [b",".join([b"any"] * (argument.max + 1)), b"," * (argument.max * 300)]
            return [*many, b"any,", b",any", b"any,,any", b"any, any", b"any,group/", b"all", b"any\x00"]
        case "bytes":
            return [b"x" * (argument.max + 1)] + [b"x" * (argument.min - 1)] * (argument.min > 0)
        case "name":
            return [b"n" * 101, b"a b", b"a:b", b"a/b", b"a\n", b"a\x00", b"\xc3\xa9", b"a,b", b"a|b", b"{a}"]
        case _:
            return [b"n" * 201, b"a b", b"a\n", b"a\x00", b"\xc3\xa9", b"a,b", b"a|b", b"{a}", b"a\\b"]
