"""The header grammar's errors, and what --check notices."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import pytest
from lupa.lua51 import LuaRuntime

from tests.unit.lua_tree import Sources, bundle

# What the grammar refuses: the lines of a header, the line of the file that is named, part of the message


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        ("RETRUN ok", 5, "unknown line 'RETRUN': allowed are ARGV, ITEM, PAIR"),
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
        ("ARGV A id\nRETURN ok", 5, "a name must be small letters, digits and single _, got 'A'"),
        ("ARGV a id\nARGV a id\nRETURN ok", 6, "ARGV a stands in line 5 already"),
        ("ARGV end id\nRETURN ok", 5, "end is Lua's or the preamble's"),
        ("ARGV redis id\nRETURN ok", 5, "redis is Lua's or the preamble's"),
        ("ARGV refuse id\nRETURN ok", 5, "refuse is Lua's or the preamble's"),
        ("ARGV arg_at id\nRETURN ok", 5, "arg_at is Lua's or the preamble's"),
        ("ARGV item_id id\nITEM id id\nRETURN ok", 6, "item_id is named by ARGV already"),
        ("ITEM count id\nRETURN ok", 5, "item_count is a local of the preamble"),
        ("ITEM a id\nPAIR a id\nRETURN ok", 6, "item has a field or pair a already"),
        ("PAIRS\nRETURN ok", 5, "must be 'PAIRS <list> [<mark>]'"),
        ("PAIRS other\nRETURN ok", 5, "PAIRS other: there is no demo/pairs/other.lua"),
        ("ITEM id id\nGROUP item 0..1001\nRETURN ok", 6, "within 0..1000"),
        ("GROUP acks 0..5\nRETURN ok", 5, "GROUP acks has no ITEM or PAIR"),
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
        ("RETURN ok\nROLE any", 6, "must be one 'ROLE' line with a role of noun.toml, and not observe or any"),
        ("RETURN ok\nROLE work\nROLE work", 7, "must be one 'ROLE' line"),
        ("RETURN ok\nROLE work\nFLAGS no-writes", 6, "a script with the flag no-writes has no ROLE"),
        ("RETURN ok\nCOST 5 commands; at most many", 6, "COST must end with '; at most <n> commands, <n> steps'"),
        ("RETURN ok\nCOST 5 commands; at most 5000 commands, 1 steps", 6, "COST must end with"),
        ("RETURN ok\nLATE nowhere", 6, "LATE nowhere: no include that it reaches"),
        ("RETURN ok\nEARLY help\nEARLY help", 7, "EARLY help stands in line 6 already"),
    ],
)
def test_malformed_header(sources: Sources, lines: str, line: int, message: str) -> None:
    sources.script(lines)
    found = sources.errors()
    assert found.startswith(f"demo/run.v1.lua:{line}: ")
    assert message in found


def test_a_list_of_pairs_stands_in_several_headers(sources: Sources) -> None:
    (sources.root / "demo/pairs").mkdir()
    lines = "-- PAIR   a         id", "-- PAIR   how enum x|y ?=x  # late\n"
    (sources.root / "demo/pairs/job.lua").write_text("-- job: a list.\n--\n" + "\n".join(lines))
    written = [line.partition("  # ")[0] for line in lines]
    for mark, expected in (("", written), (" late", written[1:])):
        sources.script(f"PAIRS job{mark}\nRETURN ok")
        (script,) = bundle.load(sources.root).scripts
        assert [line for line in script.header.splitlines() if "PAIR" in line] == expected
        assert [pair.name for pair in script.groups["item"].pairs] == [line.split()[2] for line in expected]
        assert expected[-1] in bundle.assemble(script)
    sources.script("PAIR a id\nPAIRS job\nRETURN ok")
    assert "demo/run.v1.lua:6: PAIR item_a stands in line 5 already" in sources.errors()
    sources.script("PAIRS job never\nRETURN ok")
    assert "PAIRS job never: demo/pairs/job.lua has no such line PAIR" in sources.errors()


@pytest.mark.parametrize("first", ["-- demo.run.v2: x", "-- demo.walk.v1: x", "-- lock.run.v1: x", "-- run", "x = 1"])
def test_first_line_must_agree_with_the_path(sources: Sources, first: str) -> None:
    sources.script("RETURN ok", header=f"{first}\n--\n")
    assert "demo/run.v1.lua:1: must be '-- demo.run.v1: <text>'" in sources.errors()


def test_file_name(sources: Sources) -> None:
    sources.script("RETURN ok", path="demo/run.lua")
    assert "demo/run.lua:1: the file must be <noun>/<verb>.v<N>.lua" in sources.errors()


def test_description_swallows_no_declaration(sources: Sources) -> None:
    sources.script("RETURN ok", header="-- demo.run.v1: x\n-- ARGV a id\n--\n")
    assert "demo/run.v1.lua:2: a blank comment line must stand" in sources.errors()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("\nfoo(1)\n", "7: foo is not declared"),
        ("\nlocal a = 1\na = KEYS[1]\n", "8: KEYS is not declared"),
        ("\nlimit = 1\n", "7: limit is assigned"),
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
            "-- help(a): x\nlocal function help(a) return away end\n",
            ":2: away is no key, include or argument of demo/run",
        ),
        (
            "-- help(a): x\n-- LATE\n-- EARLY\nlocal function help(a) return a end\n",
            ":3: must be one line EARLY or LATE",
        ),
        ("-- help(a): x\nlocal function help(a) config = a end\n", ":2: config is assigned"),
    ],
)
def test_malformed_include(sources: Sources, text: str, message: str) -> None:
    sources.include("help", text)
    sources.script("RETURN ok", "\nreturn { help(config) }\n")
    assert f"demo/include/help.lua{message}" in sources.errors()


def test_a_script_has_what_it_reaches(sources: Sources) -> None:
    sources.include("first", "-- first(): x\nlocal function first() return second(tasks) end\n")
    sources.include("second", "-- second(a): x\nlocal function second(a) return a end\n")
    sources.script("RETURN ok", "\nreturn { config, first() }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    assert text.index("local function second") < text.index("local function first")
    assert [key["name"] for key in sources.manifest()["scripts"][0]["keys"]] == ["config", "tasks"]
    assert "\n-- DATA   config hash {base}:config\n-- DATA   tasks  hash {base}:tasks\n-- RETURN ok\n" in text
    sources.keys("tasks = { type = 'hash', at = 'all:tasks', doc = 'x' }\nconfig = { type = 'hash', doc = 'x' }\n")
    keys = sources.manifest()["scripts"][0]["keys"]
    assert [key["template"] for key in keys] == ["{base}:all:tasks", "{base}:config"]
    sources.script("RETURN ok", "\nreturn { second(config) }\n")
    assert "demo/include/first.lua:1: no script uses it" in sources.errors()
    sources.include("second", "-- second(a): x\nlocal function second(a) return a and first() end\n")
    assert "demo/include/first.lua:1: needs itself: first → second → first" in sources.errors()
    sources.include("config", "-- config(a): x\nlocal function config(a) return a end\n")
    assert "demo/include/config.lua:1: config is a key of demo: take another name" in sources.errors()


def test_each_noun_has_names_of_its_own(sources: Sources) -> None:
    sources.include("help", "-- help(a): x\nlocal function help(a) return a .. 'demo' end\n")
    sources.include("help", "-- help(a): x\nlocal function help(a) return a .. 'other' end\n", "other/include/a")
    sources.script("RETURN ok", "\nreturn { help('') }\n")
    sources.script("RETURN ok", "\nreturn { help('') }\n", header="-- other.run.v1: x\n--\n", path="other/run.v1.lua")
    files = sources.build()
    for noun, stranger in (("demo", "other"), ("other", "demo")):
        text = files[f"dist/{noun}.run.v1.lua"]
        assert f"'{noun}'" in text
        assert f"'{stranger}'" not in text
    sources.include("help", "-- help(a): x\nlocal function help(a) return a end\n", "other/include/b")
    assert sources.errors() == "other/include/b/help.lua:1: help is in other/include/a/help.lua already"
    (sources.root / "other/include/b/help.lua").rename(sources.root / "kernel/help.lua")
    assert sources.errors().splitlines() == [
        "demo/include/help.lua:1: help is in kernel/help.lua already",
        "other/include/a/help.lua:1: help is in kernel/help.lua already",
    ]


def test_an_argument_hides_no_name_of_an_include(sources: Sources) -> None:
    sources.include("look", "-- look(): x\nlocal function look() return tasks end\n")
    sources.script("ARGV tasks id\nRETURN ok", "\nreturn { tasks, look() }\n")
    assert "demo/run.v1.lua:5: tasks hides what demo/include/look.lua uses: take another name" in sources.errors()
    sources.script("ARGV tasks id\nRETURN ok", "\nreturn { tasks }\n")
    sources.include("look", "-- look(): x\nlocal function look() return 1 end\n")
    sources.script("RETURN ok", "\nreturn { look() }\n", header="-- demo.walk.v1: x\n--\n", path="demo/walk.v1.lua")
    assert [script["keys"] for script in sources.manifest()["scripts"]] == [[], []]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config = 1", "config: must have type and doc, and may have at, suffix and shown"),
        ("config = { type = 'hash' }", "config: must have type and doc"),
        ("config = { type = 'hash', doc = 'x', kind = 'x' }", "config: must have type and doc"),
        ("config = { type = 'hash', doc = '' }", "config: doc must say what the key holds"),
        ("config = { type = 'table', doc = 'x' }", "config: type must be one of hash, zset, set, list, stream"),
        (
            "config = { type = 'hash', suffix = 'user', doc = 'x' }",
            "config: suffix must be one of id, label, name, lane, limit",
        ),
        ("config = { type = 'hash', at = 'a:', doc = 'x' }", "config: at must be words of a-z 0-9 _ with :"),
        ("Config = { type = 'hash', doc = 'x' }", "Config: a key's name must be small letters"),
        (
            "config = { type = 'hash', doc = 'x' }\nb = { type = 'set', at = 'config', doc = 'x' }",
            "b: template {base}:config is declared already",
        ),
        ("config = ", "Invalid value"),
    ],
)
def test_malformed_keys(sources: Sources, text: str, message: str) -> None:
    sources.keys(text)
    sources.script("RETURN ok")
    assert f"demo/keys.toml:1: {message}" in sources.errors()


STEPS = "\nif config == '' then return { step12(config) } end\nreturn { 'ok', step0(config) }\n"


def chain(sources: Sources, *marked: str) -> None:
    """Includes of which each calls the next, but the 12th calls the last only sometimes."""
    for at in range(14):
        call = {13: "a", 11: "a and step13(a)"}.get(at, f"step{at + 1}(a)")
        mark = "".join(f"-- {line}\n" for line in marked) if at == 12 else ""
        sources.include(f"step{at}", f"-- step{at}(a): x\n{mark}local function step{at}(a) return {call} end\n")
    sources.script(
        "RETURN ok", "\nif config == '' then return { step12(config) } end\nreturn { 'ok', step0(config) }\n"
    )


def early(text: str) -> set[str]:
    """Which of them each call makes."""
    before, _, _ = text.partition("\nfunction arg_rare()")
    return set(re.findall(r"^local function (\w+)", before, re.M))


def test_what_is_not_reached_for_sure_is_made_late(sources: Sources) -> None:
    always = {f"step{at}" for at in range(12)}
    chain(sources)
    text = sources.build()["dist/demo.run.v1.lua"]
    assert early(text) == always
    assert "return a and arg_rare().step13(a)" in text
    assert "return { arg_rare().step12(config) }" in text
    assert "arg_made = { step13 = step13, step12 = step12 }" in text
    run = LuaRuntime().eval("function(text) KEYS, ARGV = { 'k' }, {} return loadstring(text)()[2] end")
    assert run(text.partition("\n")[2]) == "k"
    chain(sources, "EARLY")
    assert early(sources.build()["dist/demo.run.v1.lua"]) == always | {
        "step12",
        "step13",
    }  # it calls the other for sure


@pytest.mark.parametrize(
    ("lines", "made"),
    [
        ("EARLY step13", [*range(12), 13]),
        ("LATE step3", range(3)),
        ("LATE step3\nEARLY step5", [0, 1, 2, *range(5, 12)]),
    ],
)
def test_a_header_decides_otherwise(sources: Sources, lines: str, made: Iterable[int]) -> None:
    chain(sources)
    sources.script(
        f"RETURN ok\n{lines}", "\nif config == '' then return { step12(config) } end\nreturn { step0(config) }\n"
    )
    text = sources.build()["dist/demo.run.v1.lua"]
    assert early(text) == {f"step{at}" for at in made}
    assert "-- LATE" not in text


def test_late_includes_are_called_only(sources: Sources) -> None:
    sources.include("move", "-- move(a): x\nlocal function move(a) return a * 2 end\n")
    sources.include("sweep", "-- sweep(a): x\nlocal function sweep(a) return move(a) + move (a) end\n")
    sources.script("RETURN ok\nLATE move", "\nreturn { 'ok', sweep(20) }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "return arg_rare().move(a) + arg_rare().move (a)" in text
    run = LuaRuntime().eval("function(text) KEYS, ARGV = {}, {} return loadstring(text)()[2] end")
    assert run(text.partition("\n")[2]) == 80
    sources.include("sweep", "-- sweep(a): x\nlocal function sweep(a) return { move } end\n")
    assert "move is made late: it may be called, but is no value" in sources.errors()


def test_a_late_body_has_the_late_includes(sources: Sources) -> None:
    sources.include("base", "-- base(a): x\nlocal function base(a) return a and 1 end\n")
    sources.include("move", "-- move(a): x\nlocal function move(a) return base(a) end\n")
    body = "\nif config == '' then return { base(1) } end\n-- LATE BODY\nreturn { 'ok', move(config) }\n"
    sources.script("RETURN ok", body)
    text = sources.build()["dist/demo.run.v1.lua"]
    assert (
        text.index("function base") < text.index("if config") < text.index("function move") < text.index("'ok', move(")
    )
    sources.script("RETURN ok\nLATE move", body)
    text = sources.build()["dist/demo.run.v1.lua"]
    assert text.index("function base") < text.index("if config") < text.index("\nlocal arg_rare\n")
    assert text.index("\nlocal arg_rare\n") < text.index("function move") < text.index("'ok', arg_rare().move(config)")


def test_a_function_reads_its_keys(sources: Sources) -> None:
    sources.include("look", "-- look(a): x\nlocal function look(a)\n  return config .. tasks\nend\n")
    sources.script("RETURN ok", "\nreturn { 'ok', look(config) }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "\nlocal function look(a) local config, tasks = KEYS[1], KEYS[2]\n" in text
    assert "\nlocal config = KEYS[1]\n\nreturn" in text
    run = LuaRuntime().eval("function(text) KEYS, ARGV = { 'k', 'l' }, {} return loadstring(text)()[2] end")
    assert run(text.partition("\n")[2]) == "kl"


def test_every_broken_file_is_named(sources: Sources) -> None:
    sources.script("RETRUN ok")
    sources.script("ARGV", header="-- demo.walk.v1: x\n--\n", path="demo/walk.v1.lua")
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
    sources.script("RETURN ok\nFLAGS allow-oom", "\n-- why\nreturn { 'ok', help(config), LAYOUT }\n")
    text = sources.build()["dist/demo.run.v1.lua"]
    lines = text.splitlines()
    assert lines[0] == "#!lua flags=allow-oom"
    assert lines[1] == "-- generated from lua/demo/run.v1.lua by lua/bundle.py; do not edit"
    assert lines[2] == "-- demo.run.v1: a demonstration"
    assert "help(config), 1 }" in text
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
