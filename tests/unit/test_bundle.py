"""The header grammar's errors, the generated checks run in Lua 5.1, and what --check notices."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from lupa import lua51, lua54

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA))

import bundle  # noqa: E402

HEADER = """\
-- demo.run.v1: a demonstration
-- in two lines.
--
-- KEYS   config  hash         {base}:config
"""
BODY = """
return { 'ok' }
"""


class Sources:
    """A small source tree in a temporary folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("demo", "include"):
            (root / folder).mkdir()
        (root / "errors.toml").write_text('ADEQ_ARG = "bad"\nADEQ_LAYOUT = "new"\n')

    def script(self, lines: str, body: str = BODY, *, header: str = HEADER, path: str = "demo/run.v1.lua") -> None:
        declared = "".join(f"-- {line}\n" for line in lines.strip("\n").splitlines())
        (self.root / path).write_text(header + declared + body)

    def include(self, name: str, text: str) -> None:
        (self.root / "include" / f"{name}.lua").write_text(text)

    def build(self) -> dict[str, str]:
        return bundle.build(self.root)

    def manifest(self) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self.build()["manifest.json"])
        return manifest

    def errors(self) -> str:
        with pytest.raises(bundle.BuildErrors) as caught:
            self.build()
        return str(caught.value)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


# What the grammar refuses: the lines of a header, the line of the file that is named, part of the message


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ("RETRUN ok", 5, "unknown line 'RETRUN': allowed are KEYS, ARGV, ITEM, PAIR"),
        ("ARGV a text\nRETURN ok", 5, "unknown type 'text': allowed are id, name, lane, ids, int"),
        ("ARGV a int\nRETURN ok", 5, "int needs <min>..<max>, got None"),
        ("ARGV a int 5\nRETURN ok", 5, "int needs <min>..<max>, got '5'"),
        ("ARGV a int 5..4\nRETURN ok", 5, "int 5..4 must rise"),
        ("ARGV a int 0..9007199254740992\nRETURN ok", 5, "stay within -9007199254740991..9007199254740991"),
        ("ARGV a bytes 0..\nRETURN ok", 5, "bytes needs <min>..<max>"),
        ("ARGV a ids 0..1001\nRETURN ok", 5, "stay within 0..1000"),
        ("ARGV a id 1..2\nRETURN ok", 5, "id takes no '1..2'"),
        ("ARGV a enum x|x\nRETURN ok", 5, "enum must be different words"),
        ("ARGV a enum\nRETURN ok", 5, "enum must be different words"),
        ("ARGV a int 1..5 ?=9\nRETURN ok", 5, "default '9' is not what a accepts"),
        ("ARGV a int 1..5 ?=\nRETURN ok", 5, "default '' is not what a accepts"),
        ("ARGV a bool ?=true\nRETURN ok", 5, "default 'true' is not what a accepts"),
        ("ARGV a lane ?=somewhere\nRETURN ok", 5, "default 'somewhere' is not what a accepts"),
        ("ARGV a ids 1..5 ?=x\nRETURN ok", 5, "the default of ids can only be empty"),
        ("ARGV a\nRETURN ok", 5, "must be 'ARGV <name> <type> [?=<default>]'"),
        ("ARGV A id\nRETURN ok", 5, "a name must be small letters, digits and _, got 'A'"),
        ("ARGV a id\nARGV a id\nRETURN ok", 6, "ARGV a stands in line 5 already"),
        ("ARGV config id\nRETURN ok", 5, "config is named by KEYS already"),
        ("ARGV end id\nRETURN ok", 5, "end is Lua's or the preamble's"),
        ("ARGV redis id\nRETURN ok", 5, "redis is Lua's or the preamble's"),
        ("ARGV refuse id\nRETURN ok", 5, "refuse is Lua's or the preamble's"),
        ("ARGV arg_at id\nRETURN ok", 5, "arg_at is Lua's or the preamble's"),
        ("ARGV item_id id\nITEM id id\nRETURN ok", 6, "item_id is named by ARGV already"),
        ("ITEM count id\nRETURN ok", 5, "item_count is a local of the preamble"),
        ("ITEM a id\nPAIR a id\nRETURN ok", 6, "item has a field or pair a already"),
        ("ITEM id id\nGROUP item 0..1001\nRETURN ok", 6, "within 0..1000"),
        ("GROUP acks 0..5\nRETURN ok", 5, "GROUP acks has no ITEM or PAIR"),
        ("KEYS a hash config\nRETURN ok", 5, "template must be {base} and :words"),
        ("KEYS a hash x{base}:a\nRETURN ok", 5, "template must be {base} and :words"),
        ("KEYS a hash {base}:a:\nRETURN ok", 5, "the template of a prefix ends with ':'"),
        ("KEYS a prefix/hash {base}:a id\nRETURN ok", 5, "the template of a prefix ends with ':'"),
        (
            "KEYS a prefix/hash {base}:a:\nRETURN ok",
            5,
            "must be 'KEYS <name> prefix/<type> <template> <suffix>'",
        ),
        ("KEYS a prefix/hash {base}:a: user\nRETURN ok", 5, "suffix type must be one of id, name, lane"),
        ("KEYS a prefix {base}:a: id\nRETURN ok", 5, "type must be one of hash, zset"),
        ("KEYS a table {base}:a\nRETURN ok", 5, "type must be one of hash, zset"),
        ("KEYS a hash {base}:config\nRETURN ok", 5, "template {base}:config is declared already"),
        ("COST 1", 1, "no RETURN"),
        ("RETURN ok\nRETURN ok", 6, "RETURN ok stands in line 5 already"),
        ("RETURN ok at:float", 5, "field 'at:float' must be <name>:<type>"),
        ("RETURN ok at:int at:int", 5, "field at is named twice"),
        ("RETURN ok items:list(item)", 1, "shape item needs both"),
        ("RETURN ok\nEACH item done", 1, "shape item needs both"),
        ("RETURN ok\nERROR ADEQ_NONE", 6, "ADEQ_NONE is not in errors.toml, which has ADEQ_ARG, ADEQ_LAYOUT"),
        ("RETURN ok\nERROR ADEQ_ARG", 6, "ADEQ_ARG is every script's"),
        ("RETURN ok\nERROR", 6, "ERROR must name at least one"),
        ("RETURN ok\nEVENT Done", 6, "an event is <noun>.<what>"),
        ("RETURN ok\nFLAGS no-cluster", 6, "must be one 'FLAGS' line with one of no-writes, allow-oom"),
        ("RETURN ok\nFLAGS no-writes\nFLAGS allow-oom", 7, "must be one 'FLAGS' line"),
        ("RETURN ok\nINCLUDE nowhere", 6, "there is no valid include/nowhere.lua"),
    ],
)
def test_malformed_header(sources: Sources, lines: str, line: int, message: str) -> None:
    sources.script(lines)
    found = sources.errors()
    assert found.startswith(f"demo/run.v1.lua:{line}: ")
    assert message in found


@pytest.mark.parametrize("first", ["-- demo.run.v2: x", "-- demo.walk.v1: x", "-- lock.run.v1: x", "-- run", "x = 1"])
def test_first_line_must_agree_with_the_path(sources: Sources, first: str) -> None:
    sources.script("RETURN ok", header=f"{first}\n--\n")
    assert "demo/run.v1.lua:1: must be '-- demo.run.v1: <text>'" in sources.errors()


def test_file_name(sources: Sources) -> None:
    sources.script("RETURN ok", path="demo/run.lua")
    assert "demo/run.lua:1: the file must be <noun>/<verb>.v<N>.lua" in sources.errors()


def test_description_swallows_no_declaration(sources: Sources) -> None:
    sources.script("RETURN ok", header="-- demo.run.v1: x\n-- KEYS config hash {base}:config\n--\n")
    assert "demo/run.v1.lua:2: a blank comment line must stand" in sources.errors()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("\nfoo(1)\n", "7: foo is not declared"),
        ("\nlocal a = 1\na = KEYS[1]\n", "8: KEYS is not declared"),
        ("\nlimit = 1\n", "7: limit is not declared"),
        ("\nconfig = 'x'\n", "7: config is assigned"),
        ("\nif config then\n", "7: expected end, got the end of the file"),
        ("\nlocal a = 1 // 2\n", "7: expected a name, got '/'"),
        ("\nreturn config", "7: every line must end in a newline"),
    ],
)
def test_malformed_body(sources: Sources, body: str, message: str) -> None:
    sources.script("RETURN ok", body)
    assert f"demo/run.v1.lua:{message}" in sources.errors()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "-- other(a): x\nlocal function help(a) return a end\n",
            ":1: must be '-- help(<parameters>): <text>'",
        ),
        (
            "-- help(a): x\nlocal function help(a, b) return a, b end\n",
            ":1: the parameters (a) must be those",
        ),
        ("-- help(a): x\nlocal function other(a) return a end\n", ":1: must hold one 'local function help'"),
        ("-- help(a): x\nlocal n = 1\nlocal function help(a) return n end\n", ":1: must hold one"),
        (
            "-- help(a): x\nlocal function help(a) return config end\n",
            ":2: config is not declared: add it to",
        ),
        ("-- help(a): x\n-- NEEDS config\nlocal function help(a) return a end\n", ":2: NEEDS config, but"),
        (
            "-- help(a): x\n-- NEEDS config config\nlocal function help(a) return config end\n",
            ":2: NEEDS names config",
        ),
        ("-- help(a): x\n-- NEEDS config\nlocal function help(a) config = a end\n", ":3: config is assigned"),
    ],
)
def test_malformed_include(sources: Sources, text: str, message: str) -> None:
    sources.include("help", text)
    sources.script("RETURN ok\nINCLUDE help", "\nreturn { help(config) }\n")
    assert f"include/help.lua{message}" in sources.errors()


def test_includes_must_be_used_and_satisfied(sources: Sources) -> None:
    sources.include(
        "first", "-- first(): x\n-- NEEDS config second\nlocal function first() return second(config) end\n"
    )
    sources.include("second", "-- second(a): x\nlocal function second(a) return a end\n")
    sources.script("RETURN ok\nINCLUDE first second", "\nreturn { first() }\n")
    assert "demo/run.v1.lua:6: include first needs second: declare INCLUDE second before it" in sources.errors()
    sources.script("RETURN ok\nINCLUDE second first", "\nreturn { first() }\n", header="-- demo.run.v1: x\n--\n")
    assert "include first needs config: declare a key or argument config" in sources.errors()
    sources.script("RETURN ok\nINCLUDE second first", "\nreturn { config }\n")
    assert "demo/run.v1.lua:6: include first is not used" in sources.errors()
    sources.script("RETURN ok\nINCLUDE second", "\nreturn { second(config) }\n")
    assert "include/first.lua:1: no script includes it" in sources.errors()
    sources.script("RETURN ok\nINCLUDE second first", "\nreturn { first() }\n")
    assert set(sources.build()) == {"dist/demo.run.v1.lua", "manifest.json"}


def test_every_broken_file_is_named(sources: Sources) -> None:
    sources.script("RETRUN ok")
    sources.script("KEYS", header="-- demo.walk.v1: x\n--\n", path="demo/walk.v1.lua")
    assert [line.split(":")[0] for line in sources.errors().splitlines()] == [
        "demo/run.v1.lua",
        "demo/walk.v1.lua",
    ]


def test_lua_limits(sources: Sources) -> None:
    names = [f"a{n}" for n in range(200)]
    sources.script("RETURN ok", "\n" + "".join(f"local {name} = 1\n" for name in names))
    assert "locals, at most 199" in sources.errors()
    blocks = "".join(f"do local {name} = 1 end\n" for name in names)
    sources.script("RETURN ok", f"\n{blocks}")
    sources.build()
    many = "".join(f"local {name} = 1\n" for name in names[:60])
    sources.script("RETURN ok", f"\n{many}local function f() return {' + '.join(names[:60])} end\nreturn f()\n")
    assert "has 60 upvalues, at most 59" in sources.errors()


# Generated files


def test_generated_text(sources: Sources) -> None:
    sources.include("help", "-- help(a): says it\nlocal function help(a) return a end\n")
    sources.script("RETURN ok\nFLAGS allow-oom\nINCLUDE help", "\n-- why\nreturn { 'ok', help(config), LAYOUT }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    lines = text.splitlines()
    assert lines[0] == "#!lua flags=allow-oom"
    assert lines[1] == "-- generated from lua/demo/run.v1.lua by lua/bundle.py; do not edit"
    assert lines[2] == "-- demo.run.v1: a demonstration"
    assert "local LAYOUT = 1\n" in text
    assert "MAX_SAFE" not in text
    assert "refuse" not in text
    assert text.index("local function help") < text.index("-- why\nreturn")
    entry = sources.manifest()["scripts"][0]
    assert entry["sha1"] == hashlib.sha1(text.encode()).hexdigest()
    other = "\n".join(["--!df flags=allow-undeclared-keys", *lines[1:]]) + "\n"
    assert entry["sha1_dragonfly"] == hashlib.sha1(other.encode()).hexdigest()
    assert entry["doc"] == "a demonstration in two lines."


def test_without_flags(sources: Sources) -> None:
    sources.script("RETURN ok")
    assert sources.build()["dist/demo.run.v1.lua"].startswith("#!lua\n-- generated")


def test_check_notices_drift(sources: Sources, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        status = bundle.main([*arguments, "--lua", str(sources.root)])
        return status, capsys.readouterr().err

    script = sources.root / "dist/demo.run.v1.lua"
    sources.script("RETURN ok")
    assert run("--check") == (
        1,
        "dist/demo.run.v1.lua: missing\nmanifest.json: missing\nrun: python lua/bundle.py\n",
    )
    assert not script.exists()
    assert run() == (0, "")
    assert run("--check") == (0, "")
    script.write_bytes(script.read_bytes() + b"\n")
    (sources.root / "dist/sub").mkdir()
    (sources.root / "dist/sub/old.lua").write_text("")
    status, text = run("--check")
    assert status == 1
    assert "dist/demo.run.v1.lua: differs" in text
    assert "dist/sub/old.lua: not made from any source" in text
    assert run() == (0, "")
    assert run("--check") == (0, "")
    sources.script("RETURN ok", "\nreturn { 'ok', 1 }\n")
    status, text = run("--check")
    assert status == 1
    assert "dist/demo.run.v1.lua: differs" in text
    assert "manifest.json: differs" in text
    sources.script("NONSENSE")
    status, text = run()
    assert status == 1
    assert text.startswith("demo/run.v1.lua:5: unknown line")


# The generated checks, in Lua. `call` gives the error's text, or the values that the body returns.


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
            return value.decode("latin-1")
        if not hasattr(value, "items"):
            return value
        items = {self.plain(k): self.plain(v) for k, v in value.items()}
        return [items[n] for n in sorted(items)] if all(isinstance(k, int) for k in items) else items


def compiled(sources: Sources, lines: str, result: str, module: Any = lua51) -> Script:
    sources.script(f"{lines}\nRETURN ok", f"\nreturn {{ {result} }}\n")
    return Script(sources.build()["dist/demo.run.v1.lua"], module)


OK: dict[str, list[tuple[str, Any]]] = {
    "id": [("a", "a"), ("A-z.0_9:/@+-", "A-z.0_9:/@+-"), ("x" * 200, "x" * 200)],
    "name": [("a", "a"), ("A-z.0_9@+-", "A-z.0_9@+-"), ("x" * 100, "x" * 100)],
    "lane": [("any", "any"), ("group/a.b", "group/a.b"), ("group/a/inst/b-1", "group/a/inst/b-1")],
    "ids 0..2": [("", []), ("a", ["a"]), ("a,b", ["a", "b"])],
    "ids 1..2": [("a", ["a"]), (f"{'x' * 200},{'y' * 200}", ["x" * 200, "y" * 200])],
    "int 0..": [("0", 0), ("007", 7), ("9007199254740991", 9007199254740991)],
    "int -5..5": [("-5", -5), ("5", 5), ("-0", 0)],
    "int -9007199254740991..": [("-9007199254740991", -9007199254740991)],
    "bytes 0..3": [("", ""), ("\0\n ", "\0\n "), ("abc", "abc")],
    "bytes 2..3": [("ab", "ab"), ("abc", "abc")],
    "enum up|down": [("up", "up"), ("down", "down")],
    "bool": [("0", False), ("1", True)],
    "id ?=": [("", ""), ("x", "x")],
    "name ?=me": [("", "me"), ("you", "you")],
    "lane ?=any": [("", "any"), ("group/g", "group/g")],
    "lane ?=": [("", ""), ("any", "any")],
    "ids 1..2 ?=": [("", []), ("a", ["a"])],
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
BAD: dict[str, tuple[str, list[str]]] = {
    "id": (ID, ["", "a b", "ä", "a\n", "a\0b", "x" * 201, "a%", "\0"]),
    "name": (NAME, ["", "a/b", "a:b", "x" * 101, "\n"]),
    "lane": (
        LANE,
        ["", "any/", "group", "group/", "group/a/", "group/a/inst/", "group/a/b/c", "inst/a", " any",
         "group/a/inst/b/inst/c", "group/a:b", f"group/{'x' * 101}", f"group/a/inst/{'x' * 101}"],
    ),
    "ids 1..2": ("1 to 2 ids with commas between them", ["", ",", "a,", ",a", "a,b,c", "a b", "x" * 201]),
    "int 0..10": ("an integer from 0 to 10", ["", " ", "-1", "11", "1.0", " 1", "+1", "0x1", "-0", "0" * 17]),
    "int -5..5": ("an integer from -5 to 5", ["", "-6", "6", "--1", "-", "1-", "0" * 17, f"-{5:017}"]),
    "int 0..": (
        "an integer from 0 to 9007199254740991",
        ["9007199254740992", "9007199254740993", "10000000000000000", "9" * 400, "inf", "nan"],
    ),
    "enum up|down": ("one of up, down", ["", "left", "UP", "up|down"]),
    "bool": ("0 or 1", ["", "true", "2", "00"]),
    "id ?=": (ID, ["a b"]),
    "name ?=me": (NAME, ["a/b"]),
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
    none = compiled(sources, "KEYS task prefix/hash {base}:task: id", "config, task")
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
    assert script.call("1", "a", "1", "priority", "05")[1] == [[]]


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


def test_there_is_no_negative_zero(sources: Sources) -> None:
    assert compiled(sources, "ARGV a int -5..5", "string.format('%.0f', a)").call("-0") == ["0"]


def test_reserved_words_of_the_body(sources: Sources) -> None:
    script = compiled(sources, "ARGV a int 0..", "LAYOUT, MAX_SAFE, unpack({ a, 2 })", lua54)
    assert script.call("1") == [1, 9007199254740991, 1, 2]
    refusing = compiled(sources, "ARGV a int 0..", "refuse('a', a, 'even').err")
    assert refusing.call("7") == ["ADEQ_ARG a must be even, got 7"]
