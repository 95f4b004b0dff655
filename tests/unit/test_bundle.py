"""The header grammar's errors, and what --check notices."""

from __future__ import annotations

import hashlib

import pytest
from lupa.lua51 import LuaRuntime

from tests.unit.lua_tree import Sources, bundle

# What the grammar refuses: the lines of a header, the line of the file that is named, part of the message


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ("RETRUN ok", 5, "unknown line 'RETRUN': allowed are KEYS, ARGV, ITEM, PAIR"),
        (
            "ARGV a text\nRETURN ok",
            5,
            "unknown type 'text': allowed are id, label, name, lane, limit, ids, labels, lanes, int",
        ),
        ("ARGV a int\nRETURN ok", 5, "int needs <min>..<max>, got None"),
        ("ARGV a int 5\nRETURN ok", 5, "int needs <min>..<max>, got '5'"),
        ("ARGV a int 5..4\nRETURN ok", 5, "int 5..4 must rise"),
        ("ARGV a int 0..9007199254740992\nRETURN ok", 5, "stay within -9007199254740991..9007199254740991"),
        ("ARGV a bytes 0..\nRETURN ok", 5, "bytes needs <min>..<max>"),
        ("ARGV a ids 0..1001\nRETURN ok", 5, "stay within 0..1000"),
        ("ARGV a lanes\nRETURN ok", 5, "lanes needs <min>..<max>, got None"),
        ("ARGV a lanes 0..1001\nRETURN ok", 5, "stay within 0..1000"),
        ("ARGV a id 1..2\nRETURN ok", 5, "id takes no '1..2'"),
        ("ARGV a limit 1..2\nRETURN ok", 5, "limit takes no '1..2'"),
        ("ARGV a enum x|x\nRETURN ok", 5, "enum must be different words"),
        ("ARGV a enum\nRETURN ok", 5, "enum must be different words"),
        ("ARGV a int 1..5 ?=9\nRETURN ok", 5, "default '9' is not what a accepts"),
        ("ARGV a int 1..5 ?=\nRETURN ok", 5, "default '' is not what a accepts"),
        ("ARGV a bool ?=true\nRETURN ok", 5, "default 'true' is not what a accepts"),
        ("PAIR a bool\nRETURN ok", 5, "a bool pair needs a default, as a rule ?=0: Lua takes a stored '0' for true"),
        ("ARGV a lane ?=somewhere\nRETURN ok", 5, "default 'somewhere' is not what a accepts"),
        ("ARGV a limit ?=any\nRETURN ok", 5, "default 'any' is not what a accepts"),
        ("ARGV a ids 1..5 ?=x\nRETURN ok", 5, "the default of ids can only be empty"),
        ("ARGV a lanes 1..5 ?=any\nRETURN ok", 5, "the default of lanes can only be empty"),
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
        ("KEYS a prefix/hash {base}:a: user\nRETURN ok", 5, "suffix type must be one of id, label, name, lane, limit"),
        ("KEYS a prefix {base}:a: id\nRETURN ok", 5, "type must be one of hash, zset"),
        ("KEYS a table {base}:a\nRETURN ok", 5, "type must be one of hash, zset, set, list, stream, string, channel"),
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
        ("RETURN ok\nROLE boss", 6, "must be one 'ROLE' line with one of produce, work, operate"),
        ("RETURN ok\nROLE work\nROLE work", 7, "must be one 'ROLE' line"),
        ("RETURN ok\nROLE work\nFLAGS no-writes", 6, "a script with the flag no-writes has no ROLE"),
        ("RETURN ok\nCOST 5 commands; at most many", 6, "COST must end with '; at most <n> commands, <n> steps'"),
        ("RETURN ok\nCOST 5 commands; at most 5000 commands, 1 steps", 6, "COST must end with"),
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


def test_rare_includes_are_made_when_one_is_called(sources: Sources) -> None:
    sources.include("base", "-- base(a): x\nlocal function base(a) return a end\n")
    sources.include("deep", "-- deep(a): x\n-- NEEDS base\nlocal function deep(a) return base(a) + 1 end\n")
    sources.include("move", "-- move(a): x\n-- NEEDS deep\nlocal function move(a) return deep(a) * 2 end\n")
    sources.include(
        "sweep", "-- sweep(a): x\n-- NEEDS move\nlocal function sweep(a)\n  return move(a) + move (a)\nend\n"
    )
    sources.script("RETURN ok\nINCLUDE base sweep\nRARELY deep move", "\nreturn { 'ok', sweep(base(20)) }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "return arg_rare().move(a) + arg_rare().move (a)" in text
    assert "arg_made = { move = move }" in text  # nothing outside calls the other
    run = LuaRuntime().eval("function(text) KEYS, ARGV = { 'k' }, {} return loadstring(text)()[2] end")
    assert run(text.partition("\n")[2]) == 84
    sources.script("RETURN ok\nRARELY deep move\nINCLUDE base sweep", "\nreturn { sweep(1) }\n")
    assert "INCLUDE lines stand before RARELY lines" in sources.errors()
    sources.script("RETURN ok\nINCLUDE base sweep\nRARELY move deep", "\nreturn { sweep(base(1)) }\n")
    assert "include move needs deep: declare INCLUDE deep before it" in sources.errors()
    sources.include("sweep", "-- sweep(a): x\n-- NEEDS move\nlocal function sweep(a) return { move } end\n")
    sources.script("RETURN ok\nINCLUDE base sweep\nRARELY deep move", "\nreturn { 'ok', sweep(base(20)) }\n")
    assert "move is a RARELY include: it may be called, but is no value" in sources.errors()


def test_a_function_reads_its_keys(sources: Sources) -> None:
    sources.include(
        "look", "-- look(a): x\n-- NEEDS config tasks\nlocal function look(a)\n  return config .. tasks\nend\n"
    )
    sources.script("KEYS tasks hash {base}:tasks\nRETURN ok\nINCLUDE look", "\nreturn { 'ok', look(config) }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "\nlocal function look(a) local config, tasks = KEYS[1], KEYS[2]\n" in text
    assert "\nlocal config = KEYS[1]\n\nreturn" in text
    run = LuaRuntime().eval("function(text) KEYS, ARGV = { 'k', 'l' }, {} return loadstring(text)()[2] end")
    assert run(text.partition("\n")[2]) == "kl"


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
