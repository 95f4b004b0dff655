"""A script that uses another noun: the grammar, what is generated, and what a client is given."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from lupa.lua51 import LuaRuntime

from pyadeq._core.kernel import call, nouncalls
from pyadeq._core.kernel.call import Call, build_call
from pyadeq._core.kernel.manifest import Library
from pyadeq.errors import ConfigError
from tests.unit.lua_tree import LUA, NOUN, Sources, bundle, lint, model, uses

DEMO = "-- demo.run.v1: x\n--\n"
KEYS = """\
config = { type = "hash", doc = "settings" }
owners = { type = "hash", doc = "who" }
hints = { type = "channel", suffix = "id", doc = "hints" }
"""
TAKE = """\
-- take(a): x
local function take(a)
  local config = { take = a, owners = owners }  -- take and owners, and 'take'
  if a == 0 then return { config, owners, rid } end
  return take(a - 1)
end
"""
BODY = "\nreturn { 'ok', config, lock.take(2)[2], lock.take(0)[1].owners, other.take(), lock.hints .. rid }\n"
RUN = "USES   lock other\nARGV   rid id\nRETURN ok\nROLE work"


@pytest.fixture
def two(sources: Sources) -> Sources:
    """A script of the noun demo that uses the nouns lock and other; all have names in common."""
    sources.include("take", TAKE, "lock/include/a")
    sources.include("take", "-- take(): x\nlocal function take() return '2' .. config end\n", "other/include")
    (sources.root / "lock/keys.toml").write_text(KEYS)
    (sources.root / "other/keys.toml").write_text('config = { type = "hash", at = "other:config", doc = "x" }\n')
    sources.script(RUN, BODY, header=DEMO)
    return sources


def run(text: str, *keys: str) -> list[str]:
    call = LuaRuntime().eval(
        "function(text, keys, rid) KEYS, ARGV = {}, { rid }\n"
        "for key in string.gmatch(keys, '%S+') do KEYS[#KEYS + 1] = key end return loadstring(text)() end"
    )
    return list(call(text.partition("\n")[2], " ".join(keys), "r").values())


def test_each_name_is_that_of_its_noun(two: Sources) -> None:
    text = two.build()["dist/demo.run.v1.lua"]
    assert run(text, "own", "owners", "hints:", "other", "gate") == [
        "ok",
        "own",
        "owners",
        "owners",
        "2other",
        "hints:r",
    ]
    assert "local function lock__take(a) local lock__owners = KEYS[2]\n" in text
    assert "  local config = { take = a, owners = lock__owners }  -- take and owners, and 'take'\n" in text
    assert "  return lock__take(a - 1)\n" in text
    assert "local config, lock__hints = KEYS[1], KEYS[3]\n" in text
    assert "-- USES   lock other\n" in text
    assert re.search(r"^-- DATA   lock_hints +prefix/channel +\{lock\}:hints: +id$", text, re.M)


def test_the_manifest_says_whose_each_key_is(two: Sources) -> None:
    manifest = two.manifest()
    (entry,) = manifest["scripts"]
    assert (entry["uses"], entry["layouts"]) == (["lock", "other"], {"demo": 1, "lock": 1, "other": 1})
    assert entry["keys"] == [
        {"name": "config", "kind": "key", "type": "hash", "template": "{base}:config"},
        {"name": "lock_owners", "kind": "key", "type": "hash", "template": "{lock}:owners", "noun": "lock"},
        {
            "name": "lock_hints", "kind": "prefix", "type": "channel", "template": "{lock}:hints:", "suffix": "id",
            "noun": "lock",
        },
        {"name": "other_config", "kind": "key", "type": "hash", "template": "{other}:other:config", "noun": "other"},
        {"name": "gate", "kind": "key", "type": "gate", "template": "{base}!work"},
    ]  # fmt: skip
    assert entry["data"] == entry["keys"][:-1]
    entry |= {"replay": "rid", "cost": "1", "returns": [{"status": "ok", "fields": [], "then": "done", "doc": "x"}]}
    schema = json.loads((LUA / "manifest.schema.json").read_text())
    one = {"$ref": "#/$defs/script", "$defs": schema["$defs"]}
    jsonschema.validate(entry, one)
    for broken in (
        {name: value for name, value in entry.items() if name != "layouts"},
        {name: value for name, value in entry.items() if name != "uses"},
        {**entry, "uses": []},
    ):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, one)


def test_the_order_of_keys_is_that_of_uses(two: Sources) -> None:
    two.script(RUN.replace("lock other", "other\nUSES lock"), BODY, header=DEMO)
    names = [key["name"] for key in two.manifest()["scripts"][0]["keys"]]
    assert names == ["config", "other_config", "lock_owners", "lock_hints", "gate"]


def test_an_include_of_another_noun_may_be_late(two: Sources) -> None:
    two.script(f"{RUN}\nLATE lock.take", BODY, header=DEMO)
    text = two.build()["dist/demo.run.v1.lua"]
    assert "arg_rare().lock__take(2)[2], arg_rare().lock__take(0)[1].owners" in text
    assert run(text, "own", "owners", "hints:", "other", "gate")[2] == "owners"
    two.script(f"{RUN}\nLATE lock.give", BODY, header=DEMO)
    assert "LATE lock__give: no include that it reaches" in two.errors()


def test_a_late_body_uses_another_noun(two: Sources) -> None:
    two.script(RUN, BODY.replace("return", "local a = lock.hints\n-- LATE BODY\nreturn"), header=DEMO)
    text = two.build()["dist/demo.run.v1.lua"]
    assert text.index("local a = lock__hints") < text.index("function lock__take") < text.index("'ok', config")
    assert run(text, "own", "owners", "hints:", "other", "gate")[4] == "2other"


def test_numbers_of_another_noun_are_its_own(two: Sources) -> None:
    text = "-- wait(): x\nlocal function wait() return DEFAULT_lease_ms .. DEFAULT_how .. 'DEFAULT_how' end\n"
    include = model.Include("wait", "lock/include/wait.lua", text, {"DEFAULT_lease_ms": 2, "DEFAULT_how": 2}, set())
    found, _ = uses.of_noun("lock", "lock", {"wait": include}, {}, {"DEFAULT_lease_ms": "77"})
    written = bundle.text_of(found["lock__wait"])
    assert "local function lock__wait() return 77 .. lock__DEFAULT_how .. 'DEFAULT_how' end" in written
    two.include("wait", text, "lock/include")
    two.script(RUN, BODY.replace("'ok'", "'ok', lock.wait()"), header=DEMO)  # lock has no noun.toml
    assert "lock/include/wait.lua:2: lock__DEFAULT_lease_ms is no parameter" in two.errors()


def test_the_linter_knows_the_keys_of_each_noun(two: Sources) -> None:
    assert lint.unused_keys(two.root) == [
        "demo/keys.toml:1: tasks is declared but not used",
        "demo/keys.toml:1: wake is declared but not used",
        "lock/keys.toml:1: config is declared but not used",
    ]


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("open_own()\nlock.open()\nlock.note()\n", 0),
        ("lock.open()\nredis.call('HGET', config, 'a')\nopen_own()\nredis.call('HSET', config, 'a', 1)\n", 0),
        ("open_own()\nlock.note()\nlock.open()\n", 12),
        ("lock.open()\nredis.call('HSET', config, 'a', 1)\nopen_own()\n", 12),
    ],
)
def test_all_nouns_are_opened_before_the_first_write(two: Sources, body: str, line: int) -> None:
    two.include("open_own", "-- open_own(): x\nlocal function open_own() return config end\n")
    two.include("open", "-- open(): x\nlocal function open() return owners end\n", "lock/include")
    two.include("note", "-- note(): x\nlocal function note() return write() end\n", "lock/include")
    two.include("write", "-- write(): x\nlocal function write() redis.call('DEL', owners) end\n", "lock/include")
    two.script(RUN, f"\nlocal ok = 'ok'\nlock.take(other.take())\n{body}lock.note()\n", header=DEMO)
    findings = lint.lint(two.root)
    assert bool(findings) == bool(line)
    for found in findings:
        assert re.fullmatch(rf"demo/run\.v1\.lua:{line}: (lock\.|)open\w* must come before the first write", found)


@pytest.mark.parametrize(
    ("lines", "body", "message"),
    [
        ("USES", BODY, "demo/run.v1.lua:3: USES must name at least one"),
        ("USES queue", BODY, "demo/run.v1.lua:3: USES names other nouns: allowed are lock, other, got 'queue'"),
        ("USES demo", BODY, "demo/run.v1.lua:3: USES names other nouns: allowed are lock, other, got 'demo'"),
        ("USES lock lock", BODY, "demo/run.v1.lua:3: USES lock stands in line 3 already"),
        (
            "USES lock other",
            "\nreturn { lock.take(1) }\n",
            "demo/run.v1.lua:3: USES other: the script has no other.<name>",
        ),
        ("USES lock\nARGV lock id", BODY, "demo/run.v1.lua:4: lock is a noun that the script uses: take another name"),
        ("USES lock", "\nlocal lock = 1\n", "demo/run.v1.lua:6: lock is a noun that the script uses: give the local"),
        (
            "USES lock",
            "\nreturn { lock }\n",
            "demo/run.v1.lua:6: lock is a noun that the script uses: write lock.<name>",
        ),
        ("USES lock", "\nreturn { lock . take(1) }\n", "demo/run.v1.lua:6: lock is a noun that the script uses: write"),
        ("USES lock", "\nreturn { lock:take(1) }\n", "demo/run.v1.lua:6: lock is a noun that the script uses: write"),
        ("USES lock", "\nreturn { lock['take'] }\n", "demo/run.v1.lua:6: lock is a noun that the script uses: write"),
        (
            "USES lock",
            "\nlock.config = 1\n",
            "demo/run.v1.lua:6: lock.config is assigned, but only arguments and locals",
        ),
        ("USES lock", "\nreturn { lock.give(1) }\n", "demo/run.v1.lua:6: lock.give is not declared: a key, an include"),
        ("USES lock", "\nreturn { lock__take(1) }\n", "demo/run.v1.lua:6: lock__take: two underscores are for what is"),
        ("ARGV a__b id", BODY, "demo/run.v1.lua:3: a name must be small letters, digits and single _, got 'a__b'"),
        ("ITEM a_.b id", BODY, "demo/run.v1.lua:1: a__count: two underscores are for what is"),
        ("RETURN ok", "\nreturn { lock.take(1) }\n", "demo/run.v1.lua:5: lock is not declared: a key, an include"),
        ("USES lock", "\nreturn { lock.take(1) }\n", "demo/run.v1.lua:1: rid is needed by lock/include/a/take.lua"),
        ("USES lock\nITEM rid id", "\nlock.take(1)\n", "demo/run.v1.lua:1: rid is needed by lock/include/a/take.lua"),
    ],
)
def test_what_the_grammar_refuses(two: Sources, lines: str, body: str, message: str) -> None:
    two.script(lines if "RETURN" in lines else f"{lines}\nRETURN ok", body, header=DEMO)
    assert message in two.errors().splitlines()[0]


def test_an_include_of_another_noun_takes_four_arguments_at_most(two: Sources) -> None:
    text = "-- take(): x\nlocal function take() return rid .. now_ms .. trace .. source end\n"
    two.include("take", text, "lock/include/a")
    given = RUN.replace("ARGV", "ARGV now_ms int 0..\nARGV trace id\nARGV source id\nARGV agent id\nARGV")
    two.script(given, BODY, header=DEMO)
    two.build()
    two.include("take", text.replace("rid", "agent"), "lock/include/a")
    assert two.errors() == (
        "lock/include/a/take.lua:2: agent is no parameter: an include that demo/run.v1.lua uses takes only "
        "rid, now_ms, trace, source from outside"
    )


KEY = '{} = {{ type = "hash", doc = "x" }}\nconfig = {{ type = "hash", at = "x", doc = "x" }}\n'
INCLUDE = "-- {0}(): x\nlocal function {0}() return 1 end\n"


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("demo/keys.toml", KEY.format("a__b"), "a__b: a key's name must be small letters, digits and single _"),
        ("demo/keys.toml", KEY.format("lock_owners"), "lock_owners is the name of two keys here, of different nouns"),
        ("demo/keys.toml", KEY.format("lock"), "lock is a key here: let lua in lock/noun.toml be another name"),
        ("kernel/a__b.lua", INCLUDE.format("a__b"), "a__b: two underscores are for what is another noun's"),
        ("kernel/lock.lua", INCLUDE.format("lock"), "lock is an include here: let lua in lock/noun.toml be another"),
    ],
)
def test_names_that_could_be_those_of_another_noun_are_refused(
    two: Sources, path: str, text: str, message: str
) -> None:
    (two.root / path).write_text(text)
    two.script(RUN, BODY.replace("'ok'", "'ok', lock_owners") if "owners" in text else BODY, header=DEMO)
    assert message in two.errors()


def test_a_noun_may_have_another_name_in_lua(two: Sources) -> None:
    own = NOUN.replace('"demo"', '"lock"').replace("{demo:", "{lock:")
    noun = two.root / "lock/noun.toml"
    noun.write_text(f'lua = "locks_of"\n{own}')
    two.script(RUN, BODY, header=DEMO)
    assert "demo/run.v1.lua:3: USES lock: the script has no locks_of.<name>" in two.errors()
    noun.write_text(f'lua = "other"\n{own}')
    assert "lock/noun.toml:1: lua: other is what the noun other is called" in two.errors()
    for bad in ('"a__b"', '"A"', "1"):
        noun.write_text(f"lua = {bad}\n{own}")
        assert "lock/noun.toml:1: lua must be small letters, digits and single _, got" in two.errors()
    noun.write_text(f'lua = "table"\n{own}')
    assert "table is Lua's or the preamble's: let lua in lock/noun.toml be another name" in two.errors()


# Calls

BASE, LOCKS, OTHERS = (f"ade:{{prod}}:{noun}:a" for noun in ("demo", "lock", "other"))


@pytest.fixture
def scripts(two: Sources) -> Library:
    for path, text in two.build().items():
        (two.root / path).parent.mkdir(exist_ok=True)
        (two.root / path).write_text(text)
    return Library(two.root)


def build(scripts: Library, base: str = BASE, **bases: str) -> Call[Any]:
    return build_call("demo.run.v1", base, {"rid": "r"}, bases=bases, decode=lambda reply: reply, scripts=scripts)


def test_a_call_has_the_keys_of_all_bases(scripts: Library) -> None:
    assert scripts["demo.run.v1"].uses == ("lock", "other")
    assert build(scripts, lock=LOCKS, other=OTHERS).keys == (
        *(f"{BASE}:config", f"{LOCKS}:owners", f"{LOCKS}:hints:", f"{OTHERS}:other:config", f"{BASE}!work"),
    )


def test_a_base_is_given_by_the_name_of_its_noun(scripts: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    nouncalls.script_of.cache_clear()
    for module in (call, nouncalls):
        monkeypatch.setattr(module, "library", lambda: scripts)
    try:
        calls = nouncalls.NounCalls(BASE, noun="demo")
        assert (
            calls.build("run", rid="r", lock=LOCKS, other=OTHERS).keys == build(scripts, lock=LOCKS, other=OTHERS).keys
        )
        elsewhere = calls.build("run", rid="r", lock=LOCKS)
        assert f"{BASE}!none:other:config" in elsewhere.keys
        with pytest.raises(TypeError, match="locks: there is no such option"):
            calls.build("run", rid="r", locks=LOCKS, other=OTHERS)
    finally:
        nouncalls.script_of.cache_clear()


@pytest.mark.parametrize(
    ("bases", "message"),
    [
        (
            {"lock": LOCKS, "other": OTHERS, "queue": "q"},
            r"bases: queue is not accepted by demo\.run\.v1; allowed: bases of lock, other",
        ),
        ({"lock": LOCKS, "other": BASE}, r"bases: 'ade:\{prod\}:demo:a' is given twice"),
        (
            {"lock": "ade:{lock:a}", "other": OTHERS},
            r"bases: 'ade:\{prod\}:demo:a' and 'ade:\{lock:a\}' and .* in different hash slots; "
            r"put both nouns in one slot: Adeq\(slot=…\)",
        ),
    ],
)
def test_wrong_bases_are_refused(scripts: Library, bases: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(scripts, **bases)


def test_a_script_of_one_noun_takes_no_bases() -> None:
    with pytest.raises(ConfigError, match=r"bases: lock is not accepted by queue\.length\.v1; allowed: bases of none"):
        build_call("queue.length.v1", "ade:{queue:a}", {}, bases={"lock": LOCKS}, decode=list)
