"""The generated checks, run in Lua. `call` gives the error's text, or the values that the body returns."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from lupa import lua51, lua54

from tests.quick import slow_after
from tests.unit.lua_tree import Sources


class Script:
    def __init__(self, text: str, module: Any = lua51) -> None:
        self.lua = module.LuaRuntime(encoding=None)
        self.lua.execute(b"redis = { error_reply = function(text) return { err = text } end }")
        load = self.lua.execute(b"return function(code) return assert((loadstring or load)(code)) end")
        self.run = load(text[text.index("\n") :].encode())

    def call(self, *arguments: str | bytes, keys: int = 1) -> Any:
        sent = [a if isinstance(a, bytes) else a.encode() for a in arguments]
        self.lua.globals().KEYS = self.lua.table_from([b"k%d" % n for n in range(keys)])
        self.lua.globals().ARGV = self.lua.table_from(sent)
        reply = self.run()
        if b"err" in list(reply.keys()):
            return reply[b"err"].decode()
        return self.plain(reply)

    def plain(self, value: Any) -> Any:
        if isinstance(value, bytes):
            return value.decode()
        if not hasattr(value, "items"):
            return value
        items = {self.plain(k): self.plain(v) for k, v in value.items()}
        return [items[n] for n in sorted(items)] if all(isinstance(k, int) for k in items) else items


def compiled(sources: Sources, lines: str, result: str, module: Any = lua51) -> Script:
    sources.script(f"{lines}\nRETURN ok", f"\nlocal _ = config\nreturn {{ {result} }}\n")
    return Script(sources.build()["dist/demo.run.v1.lua"], module)


LONGEST = f"group/{'x' * 100}/inst/{'y' * 100}"  # lane
OK: dict[str, list[tuple[str, Any]]] = {
    "id": [("a", "a"), ("A-z.0_9:/@+-", "A-z.0_9:/@+-"), ("x" * 200, "x" * 200)],
    "label": [
        ("A-z.0_9:/@+-", "A-z.0_9:/@+-"),
        ("x" * 200, "x" * 200),
        ("Zoë/日本:😀", "Zoë/日本:😀"),
        ("é" * 100, "é" * 100),
    ],
    "name": [("a", "a"), ("A-z.0_9@+-", "A-z.0_9@+-"), ("x" * 100, "x" * 100)],
    "lane": [("any", "any"), ("group/a.b", "group/a.b"), ("group/a/inst/b-1", "group/a/inst/b-1")],
    "limit": [
        ("all", "all"),
        ("user:*", "user:*"),
        ("tag:a/b:c", "tag:a/b:c"),
        ("tag:ä", "tag:ä"),
        (f"user:{'é' * 100}", f"user:{'é' * 100}"),
        (f"key:{'x' * 200}", f"key:{'x' * 200}"),
    ],
    "ids 0..2": [("", []), ("a", ["a"]), ("a,b", ["a", "b"])],
    "ids 1..2": [("a", ["a"]), (f"{'x' * 200},{'y' * 200}", ["x" * 200, "y" * 200])],
    "labels 0..2": [("", []), ("é", ["é"]), ("a,日本", ["a", "日本"])],
    "labels 1..2": [(f"{'é' * 100},{'y' * 200}", ["é" * 100, "y" * 200])],
    "lanes 0..2": [("", []), ("any", ["any"]), ("group/a,any", ["group/a", "any"])],
    "lanes 1..2": [(f"{LONGEST},{LONGEST}", [LONGEST, LONGEST]), ("any,any", ["any", "any"])],
    "int 0..": [("0", 0), ("700", 700), ("9007199254740991", 9007199254740991)],
    "int -5..5": [("-5", -5), ("5", 5), ("0", 0)],
    "int -9007199254740991..": [("-9007199254740991", -9007199254740991)],
    "bytes 0..3": [("", ""), ("\0\n ", "\0\n "), ("abc", "abc")],
    "bytes 2..3": [("ab", "ab"), ("abc", "abc")],
    "enum up|down": [("up", "up"), ("down", "down")],
    "bool": [("0", False), ("1", True)],
    "id ?=": [("", ""), ("x", "x")],
    "label ?=": [("", ""), ("é", "é")],
    "labels 1..2 ?=": [("", []), ("é", ["é"])],
    "name ?=me": [("", "me"), ("you", "you")],
    "lane ?=any": [("", "any"), ("group/g", "group/g")],
    "lane ?=": [("", ""), ("any", "any")],
    "limit ?=all": [("", "all"), ("user:u", "user:u")],
    "limit ?=": [("", ""), ("all", "all")],
    "ids 1..2 ?=": [("", []), ("a", ["a"])],
    "lanes 1..2 ?=": [("", []), ("any", ["any"])],
    "int 1..9 ?=5": [("", 5), ("9", 9)],
    "bytes 2..3 ?=": [("", ""), ("ab", "ab")],
    "bytes 0..9 ?=it's": [("", "it's"), ("a", "a")],
    "enum a|b ?=b": [("", "b"), ("a", "a")],
    "bool ?=1": [("", True), ("0", False), ("1", True)],
    "bool ?=0": [("", False), ("1", True)],
}
ID = "an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -"
NAME = "a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -"
LANE = "any, group/<name> or group/<name>/inst/<name>"
LABEL = (
    "a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces"
)
LIMIT = "all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *"
BAD: dict[str, tuple[str, list[str]]] = {
    "id": (ID, ["", "a b", "ä", "a\n", "a\0b", "x" * 201, "a%", "\0"]),
    "label": (
        LABEL, ["", "a b", "a,b", "a|b", "{é}", "é*", "é\n", "é\0", "\x7f", "\x80", "\x9f", "x" * 201, "é" * 101],
    ),
    "labels 1..2": (
        "1 to 2 labels with commas between them", ["", ",", "é,", ",é", "a,b,é", "é b", "é" * 101, "é,\x80"],
    ),
    "label ?=": (LABEL, ["é "]),
    "name": (NAME, ["", "a/b", "a:b", "x" * 101, "\n"]),
    "lane": (
        LANE,
        ["", "any/", "group", "group/", "group/a/", "group/a/inst/", "group/a/b/c", "inst/a", " any",
         "group/a/inst/b/inst/c", "group/a:b", f"group/{'x' * 101}", f"group/a/inst/{'x' * 101}"],
    ),
    "limit": (
        LIMIT,
        ["", "ALL", "all:", "all:a", "allx", " all", "*", ":a", "user", "user:", "User:a", "lane:a", "users:a",
         "user:**", "user:*a", "user:a b", "key:a,b", "tag:a|b", "key:ä", "tag:\x80", f"tag:{'é' * 101}",
         "user:a\n", "all\0", f"user:{'x' * 201}"],
    ),
    "ids 1..2": ("1 to 2 ids with commas between them", ["", ",", "a,", ",a", "a,b,c", "a b", "x" * 201]),
    "lanes 1..2": (
        "1 to 2 lanes with commas between them",
        ["", ",", "any,", ",any", "any,,any", "any,any,any", "any, any", "all", "group/", "any,group/a/inst/",
         f"group/{'x' * 101}", f"{LONGEST},{LONGEST}y", "any\0", "any;any"],
    ),
    "int 0..10": ("an integer from 0 to 10", ["", " ", "-1", "11", "1.0", " 1", "+1", "0x1", "-0", "01", "0" * 17]),
    "int -5..5": ("an integer from -5 to 5", ["", "-6", "6", "--1", "-", "1-", "-0", "05", "0" * 17, f"-{5:017}"]),
    "int 0..": (
        "an integer from 0 to 9007199254740991",
        ["9007199254740992", "9007199254740993", "10000000000000000", "9" * 400, "inf", "nan"],
    ),
    "enum up|down": ("one of up, down", ["", "left", "UP", "up|down"]),
    "bool": ("0 or 1", ["", "true", "2", "00"]),
    "id ?=": (ID, ["a b"]),
    "name ?=me": (NAME, ["a/b"]),
    "limit ?=all": (LIMIT, ["any", "user:"]),
    "int 1..9 ?=5": ("an integer from 1 to 9", ["0", "x"]),
    "enum a|b ?=b": ("one of a, b", ["c"]),
    "bool ?=1": ("0 or 1", ["x"]),
}  # fmt: skip


def shown(value: str) -> str:
    return "".join(chr(b) if 32 <= b < 127 else "?" for b in value.encode()[:64])


@pytest.mark.parametrize("module", [lua51, lua54], ids=["5.1", "5.4"])
@pytest.mark.parametrize("kind", OK)
def test_accepted(sources: Sources, kind: str, module: Any) -> None:
    scalar = compiled(sources, f"ARGV a {kind}", "a", module)
    item = compiled(sources, f"ITEM a {kind}", "item_count, item_a[1]", module)
    for sent, value in OK[kind]:
        assert scalar.call(sent) == [value]
        assert item.call("1", sent) == [1, value]


@pytest.mark.parametrize("module", [lua51, lua54], ids=["5.1", "5.4"])
@pytest.mark.parametrize("kind", BAD)
def test_refused(sources: Sources, kind: str, module: Any) -> None:
    want, values = BAD[kind]
    scalar = compiled(sources, f"ARGV b id\nARGV a {kind}", "a", module)
    item = compiled(sources, f"ITEM b id\nITEM a {kind}", "item_count", module)
    good = OK.get(kind, [("1", 1)])[-1][0]
    for sent in values:
        assert scalar.call("x", sent) == f"ADEQ_ARG a must be {want}, got '{shown(sent)}'"
        assert item.call("2", "x", good, "x", sent) == f"ADEQ_ARG item[2].a must be {want}, got '{shown(sent)}'"
    assert scalar.call("x") == f"ADEQ_ARG a must be {want}, got nothing"
    assert item.call("1", "x") == f"ADEQ_ARG item[1].a must be {want}, got nothing"


# Bytes at the edges of what UTF-8 allows, and characters that separate names in stored data.
BYTES = bytes.fromhex("00 09 0a 20 2a 2c 41 7b 7f 80 8f 90 9f a0 bf c0 c1 c2 c3 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
ALLOWED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+-")


def is_label(sent: bytes) -> bool:
    """As Python decodes UTF-8, which accepts no overlong form and no surrogate."""
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        return False
    return 0 < len(sent) <= 200 and all(c in ALLOWED or (c > "\x9f" and not c.isspace()) for c in text)


@pytest.mark.parametrize("module", slow_after(1, [lua51, lua54]), ids=["5.1", "5.4"])
def test_a_label_is_exactly_utf_8(sources: Sources, module: Any) -> None:
    script = compiled(sources, "ARGV a label", "a", module)
    check = script.lua.execute(
        b"local run = ... return function(sent) ARGV = { sent } local reply = run() return reply.err == nil end",
        script.run,
    )
    script.lua.globals().KEYS = script.lua.table_from([b"k"])
    several = [bytes(each) for size in (1, 2, 3) for each in product(BYTES, repeat=size)]
    several += [
        bytes(each) for each in product(b"\xed\xf0\xf1\xf4\xf5", *[b"\x41\x7f\x80\x8f\x90\x9f\xa0\xbf\xc3"] * 4)
    ]
    several += [bytes(each) for each in product(b"\xe0\xf0\xf3\xf4", *[b"\x80\x8f\x90\xbf\xc0"] * 3)]
    wrong = [sent for sent in several if check(sent) != is_label(sent)]
    assert not wrong
    every = [chr(code) for code in range(0xA1, 0x110000) if not (0xD800 <= code < 0xE000 or chr(code).isspace())]
    assert [start for start in range(0, len(every), 50) if not check("".join(every[start : start + 50]).encode())] == []
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    assert len(spaces) == 29
    for text in (*spaces, *("é" + one for one in spaces), "é" * 100 + "a", "\x7f", "\x80", "é\x9f", "日本 ", "é,"):
        assert not check(text.encode())


def test_bytes_are_never_shown(sources: Sources) -> None:
    script = compiled(sources, "ARGV a bytes 2..3", "a")
    assert script.call("secret") == "ADEQ_ARG a must be 2 to 3 bytes long, got 6"
    assert script.call("s") == "ADEQ_ARG a must be 2 to 3 bytes long, got 1"
    assert script.call() == "ADEQ_ARG a must be 2 to 3 bytes long, got nothing"
    pair = compiled(sources, "PAIR a bytes 0..3", "1")
    assert pair.call("1", "1", "a", "secret") == "ADEQ_ARG item[1].a must be 0 to 3 bytes long, got 6"


def test_counts_of_keys_and_arguments(sources: Sources) -> None:
    script = compiled(sources, "ARGV a id", "config, a")
    assert script.call("x") == ["k0", "x"]
    assert script.call("x", keys=0) == "ADEQ_ARG expected 1 keys, got 0"
    assert script.call("x", keys=2) == "ADEQ_ARG expected 1 keys, got 2"
    assert script.call("x", "y") == "ADEQ_ARG expected 1 arguments, got 2"
    none = compiled(sources, "", "config, tasks")
    assert none.call(keys=2) == ["k0", "k1"]
    assert none.call("x", keys=2) == "ADEQ_ARG expected 0 arguments, got 1"


def test_items(sources: Sources) -> None:
    script = compiled(sources, "ARGV a id\nITEM id id\nITEM n int 0..9 ?=3", "item_count, item_id, item_n")
    assert script.call("a", "2", "x", "1", "y", "") == [2, ["x", "y"], [1, 3]]
    assert script.call("a", "1", "x", "1", "y", "2") == "ADEQ_ARG expected 4 arguments, got 6"
    assert script.call("a", "3", "x", "1", "y", "2") == f"ADEQ_ARG item[3].id must be {ID}, got nothing"
    want = "ADEQ_ARG item_count must be an integer from 1 to 1000, got"
    assert script.call("a") == f"{want} nothing"
    for count in ("0", "-1", "1001", "x", "", "9" * 30):
        assert script.call("a", count, "x", "1") == f"{want} '{count}'"
    assert script.call("a", "1000", *(["x", "1"] * 1000))[0] == 1000


def test_groups(sources: Sources) -> None:
    lines = "ITEM acks.id id\nITEM fails.id id\nITEM fails.error bytes 0..9\nGROUP acks 0..1000"
    script = compiled(sources, lines, "acks_count, acks_id, fails_count, fails_id, fails_error")
    assert script.call("1", "a", "1", "b", "x") == [1, ["a"], 1, ["b"], ["x"]]
    assert script.call("0", "0") == [0, [], 0, [], []]
    assert script.call("0") == "ADEQ_ARG fails_count must be an integer from 0 to 1000, got nothing"
    assert script.call("1", "a", "1", "b") == "ADEQ_ARG fails[1].error must be 0 to 9 bytes long, got nothing"
    assert script.call("1", "a b", "0") == f"ADEQ_ARG acks[1].id must be {ID}, got 'a b'"
    assert script.call("0", "0", "a") == "ADEQ_ARG expected 2 arguments, got 3"
    many = ["600", *["a"] * 600, "401", *["b", "x"] * 401]
    assert script.call(*many) == "ADEQ_ARG acks_count + fails_count must be at most 1000, got 1001"
    limits = [(g["name"], g["min"], g["max"]) for g in sources.manifest()["scripts"][0]["groups"]]
    assert limits == [("acks", 0, 1000), ("fails", 0, 1000)]


PAIRS = """\
ITEM id id
PAIR priority int 0..9 ?=5
PAIR user id
PAIR note bytes 0..9 ?=
PAIR tags ids 1..2 ?=
PAIR dry bool ?=0
PAIR at int 0..9 ?=
"""


def test_pairs(sources: Sources) -> None:
    script = compiled(sources, PAIRS, "item_id, item_pairs")
    assert script.call("2", "a", "1", "priority", "3", "b", "0") == [
        ["a", "b"],
        [{1: "priority", 2: "3", "priority": 3}, []],
    ]
    in_order = script.call("1", "a", "4", "user", "u", "tags", "x,y", "dry", "1", "at", "0")[1][0]
    assert in_order == {1: "user", 2: "u", 3: "tags", 4: "x,y", 5: "dry", 6: "1", 7: "at", 8: "0"} | {
        "user": "u", "tags": ["x", "y"], "dry": True, "at": 0
    }  # fmt: skip
    at_default = ["priority", "5", "user", "u", "note", "", "dry", "0", "tags", "", "at", ""]
    assert script.call("1", "a", "6", *at_default)[1][0] == {1: "user", 2: "u", "user": "u"}
    assert script.call("1", "a", "1", "priority", "05").startswith("ADEQ_ARG item[1].priority must be")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (["1", "colour", "x"], "names from priority, user, note, tags, dry, at, got 'colour'"),
        (["2", "user", "u", "user", "v"], "item[1].user must be given at most once, got 2"),
        (["2", "priority", "5", "priority", "4"], "item[1].priority must be given at most once, got 2"),
        (["1", "priority", "10"], "item[1].priority must be an integer from 0 to 9, got '10'"),
        (["1", "user", ""], f"item[1].user must be {ID}, got ''"),
        (["1", "dry", "x"], "item[1].dry must be 0 or 1, got 'x'"),
        (["1", "tags", "a,b,c"], "item[1].tags must be 1 to 2 ids with commas between them, got 'a,b,c'"),
        (["7", "user", "u"], "item[1].pairs must be an integer from 0 to 6, got '7'"),
        (["x"], "item[1].pairs must be an integer from 0 to 6, got 'x'"),
        ([], "item[1].pairs must be an integer from 0 to 6, got nothing"),
        (["2", "user", "u"], "names from priority, user, note, tags, dry, at, got nothing"),
        (["1", "user"], f"item[1].user must be {ID}, got nothing"),
        (["1", "dry"], "item[1].dry must be 0 or 1, got nothing"),
        (["0", "user", "u"], "expected 3 arguments, got 5"),
    ],
)
def test_pairs_refused(sources: Sources, sent: list[str], message: str) -> None:
    error = compiled(sources, PAIRS, "1").call("1", "a", *sent)
    assert error.startswith("ADEQ_ARG ")
    assert message in error


def test_same_pair_in_two_items(sources: Sources) -> None:
    script = compiled(sources, PAIRS, "item_pairs[2].user")
    assert script.call("2", "a", "1", "user", "u", "b", "1", "user", "v") == ["v"]


def test_a_call_weighs_at_most_16_mib(sources: Sources) -> None:
    script = compiled(sources, "ITEM a bytes 0..1048576", "item_count")
    mebibyte = b"x" * 1048576
    assert script.call("16", *[mebibyte] * 16) == [16]
    error = script.call("17", *[mebibyte] * 16, "x")
    assert error == "ADEQ_ARG the items of a call must be at most 16777216 bytes, got 16777217"
    pairs = compiled(sources, "PAIR a bytes 0..1048576", "item_count")
    item: list[str | bytes] = ["1", "a", mebibyte]
    assert pairs.call("16", *item * 16) == [16]
    assert pairs.call("17", *item * 16, "1", "a", "x") == error


def test_reserved_words_of_the_body(sources: Sources) -> None:
    script = compiled(sources, "ARGV a int 0..", "LAYOUT, MAX_SAFE, unpack({ a, 2 })", lua54)
    assert script.call("1") == [1, 9007199254740991, 1, 2]
    refusing = compiled(sources, "ARGV a int 0..", "refuse('a', a, 'even').err")
    assert refusing.call("7") == ["ADEQ_ARG a must be even, got 7"]
