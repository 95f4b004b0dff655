"""Seams: what a dispatcher does, and which declarations and hooks the bundler refuses. See lua/tools/seams.py."""

from __future__ import annotations

import pytest
from lupa.lua51 import LuaRuntime

from tests.unit.lua_tree import NOUN, SCRIPTS, Sources, bundle, lint

SEAM = """
[seams.on_end]
params = "ctx, id, how"
record = "tasks"
reads = ["size"]
order = ["late", "early"]
"""
LATE = """\
-- late_on_end(id, own, how): says the parent
-- READS parent
-- WHEN own.parent and how ~= 'gone'
local function late_on_end(id, own, how)
  redis.call('SADD', id, own.parent .. how)
end
"""
EARLY = """\
-- early_on_end(ctx, own): says the parent again
-- READS parent key
local function early_on_end(ctx, own)
  redis.call('SADD', ctx, own.parent or own.key)
end
"""
TASKS = "ade:{demo:n}:tasks"
CALL = "\nreturn { 'ok', on_end(lease_ms, how, mode).size }\n"


@pytest.fixture
def demo(sources: Sources) -> Sources:
    """A noun with one seam, two features that use it, and a script that calls it beside those of the other tests."""
    add_noun(sources, SEAM)
    for verb, text in SCRIPTS.items():
        (sources.root / f"demo/{verb}.v1.lua").write_text(text)
    sources.script(
        "ARGV lease_ms id\nARGV how id\nARGV mode id\nRETURN ok\nREPLAY idempotent",
        CALL,
        header="-- demo.end.v1: x\n--\n",
        path="demo/end.v1.lua",
    )
    hook(sources, "late", LATE)
    hook(sources, "early", EARLY)
    return sources


def add_noun(sources: Sources, seams: str) -> None:
    (sources.root / "demo/noun.toml").write_text(NOUN + seams)


def hook(sources: Sources, feature: str, text: str, seam: str = "on_end") -> None:
    folder = sources.root / f"demo/include/{feature}"
    folder.mkdir(exist_ok=True)
    (folder / f"{seam}.lua").write_text(text)


def sent(text: str, how: str, record: dict[str, str]) -> tuple[list[list[str]], object]:
    """The commands of a call, of which HMGET answers fields of the record; and what the seam gives."""
    lua, commands = LuaRuntime(), list[list[str]]()

    def call(*words: str) -> object:
        commands.append([str(word) for word in words])
        return lua.table_from([record.get(field, False) for field in words[2:]]) if words[0] == "HMGET" else 1

    run = lua.eval(
        "function(text, call, how, keys) redis = { call = call } KEYS, ARGV = keys, { 'c', 'i', how }"
        " return loadstring(text)()[2] end"
    )
    keys = [TASKS, "ade:{demo:n}:nowhere"] if "nowhere" in text else [TASKS]
    return commands, run(text.partition("\n")[2], call, how, lua.table_from(keys))


def test_a_seam_of_a_script_that_uses_another_noun_may_write(demo: Sources) -> None:
    demo.include("open", "-- open(): x\nlocal function open() return own end\n", "lock/include/core")
    (demo.root / "lock/keys.toml").write_text('own = { type = "hash", doc = "x" }\n')
    lines = "USES lock\nARGV lease_ms id\nARGV how id\nARGV mode id\nRETURN ok\nREPLAY idempotent"
    for body, found in (
        (f"\nlocal own = lock.open(){CALL}", []),
        (CALL.replace("return {", "return { lock.open(),"), []),
        (
            "\nlocal own = on_end(lease_ms, how, mode)\nreturn { 'ok', lock.open(own) }\n",
            ["demo/end.v1.lua:11: lock.open"],
        ),
    ):
        demo.script(lines, body, header="-- demo.end.v1: x\n--\n", path="demo/end.v1.lua")
        findings = [finding.partition(" must come")[0] for finding in lint.lint(demo.root)]
        assert [finding for finding in findings if "end.v1" in finding] == found


def test_another_noun_uses_a_seam(demo: Sources) -> None:
    lines = "USES demo\nARGV lease_ms id\nARGV how id\nARGV mode id\nRETURN ok"
    header, path = "-- other.end.v1: x\n--\n", "other/end.v1.lua"
    (demo.root / "other").mkdir()
    demo.script(lines, CALL.replace("on_end", "demo.on_end"), header=header, path=path)
    own, theirs = (demo.build()[f"dist/{noun}.end.v1.lua"] for noun in ("demo", "other"))
    assert sent(theirs, "done", {"parent": "p", "size": "7"}) == sent(own, "done", {"parent": "p", "size": "7"})
    demo.script(lines, CALL.replace("on_end", "demo.late_on_end"), header=header, path=path)
    assert "other/end.v1.lua:9: demo.late_on_end is a hook: call on_end" in demo.errors()


def test_a_dispatcher_reads_once_and_calls_each_hook_in_order(demo: Sources) -> None:
    text = demo.build()["dist/demo.end.v1.lua"]
    reads = ["HMGET", f"{TASKS}i", "parent", "key", "size"]
    both = [reads, ["SADD", "i", "pdone"], ["SADD", "c", "p"]]
    assert "-- on_end(ctx, id, how): generated from lua/demo/noun.toml: calls the hooks of late, early.\n" in text
    assert sent(text, "done", {"parent": "p", "size": "5"}) == (both, "5")
    assert sent(text, "gone", {"parent": "p"}) == ([reads, both[2]], False)
    assert sent(text, "done", {"key": "k"}) == ([reads, ["SADD", "c", "k"]], False)


def test_a_build_may_leave_a_feature_out(demo: Sources) -> None:
    helper = "-- help(a): x\nlocal function help(a) return a end\n"
    (demo.root / "demo/include/late/help.lua").write_text(helper)
    hook(demo, "late", LATE.replace("own.parent .. how)", "help(own.parent))"))
    text = bundle.build(demo.root, without=("late",))["dist/demo.end.v1.lua"]
    assert sent(text, "done", {"parent": "p"}) == (
        [["HMGET", f"{TASKS}i", "parent", "key", "size"], ["SADD", "c", "p"]],
        False,
    )
    assert "local function help(a) return redis.call('WITHOUT', 'late') end" in text
    assert bundle.main(["--without", "late", "--without", "early", "--lua", str(demo.root)]) == 0
    both = (demo.root / "dist/demo.end.v1.lua").read_text()
    assert sent(both, "done", {"size": "5"}) == ([["HMGET", f"{TASKS}i", "size"]], "5")


def test_a_seam_may_read_nothing(demo: Sources) -> None:
    add_noun(demo, '[seams.on_end]\nparams = "ctx, id, how"\norder = ["late"]\n')
    (demo.root / "demo/include/early/on_end.lua").unlink()
    hook(
        demo,
        "late",
        "-- late_on_end(how): x\n-- WHEN how\nlocal function late_on_end(how)\n  redis.call('DEL', how)\nend\n",
    )
    (demo.root / "demo/end.v1.lua").write_text((demo.root / "demo/end.v1.lua").read_text().replace(").size", ")"))
    text = demo.build()["dist/demo.end.v1.lua"]
    assert "\nlocal function on_end(ctx, id, how)\n  if how then late_on_end(how) end\nend\n" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"late", "early"', '"late"', "early/on_end.lua:1: early is missing in the order of on_end in demo/noun.toml"),
        (
            '"late", "early"',
            '"late", "early", "fair"',
            "on_end: fair has no hook: demo/include/fair/on_end.lua is missing",
        ),
        ('"late", "early"', '"late", "late"', "order must name features, each once"),
        ("seams.on_end", "seams.on_exit", "early/on_end.lua:1: demo/noun.toml has no seam on_end, it has on_exit"),
        ("order =", "orders =", "seams.on_end: must have params and order, and may have record and reads"),
        ("reads =", "fields =", "seams.on_end: must have params and order, and may have record and reads"),
        ("ctx, id, how", "ctx, how", "seams.on_end: with a record the params must have id"),
        ("ctx, id, how", "ctx, id", "how is no parameter of this seam, which has ctx, id, own"),
        ("ctx, id, how", "ctx, id, How", "params must be names with commas between them, got 'ctx, id, How'"),
        ('record = "tasks"\nreads = ["size"]', "", "own is no parameter of this seam, which has ctx, id, how"),
        ('record = "tasks"', 'record = "nothing"', "nothing is no key, include or argument of demo/end.v1.lua"),
        (
            "[seams.on_end]",
            "[seams.on_walk]\nparams = 'ctx'\norder = []\n[seams.on_end]",
            "seams.on_walk: order must name features",
        ),
        (
            "[seams.on_end]",
            "[seams.walk]\nparams = 'ctx'\norder = ['a']\n[seams.on_end]",
            "seams.walk: the name must begin with on_",
        ),
        (
            "[seams.on_end]",
            "[seams.on_walk]\nparams = 'A'\norder = ['a']\n[seams.on_end]",
            "seams.on_walk: params must be names",
        ),
        (
            "[seams.on_end]",
            "[seams.on_walk]\nparams = 'a'\nreads = ['b']\norder = ['a']\n[seams.on_end]",
            "reads needs a record",
        ),
        (
            "[seams.on_end]",
            "[seams.on_walk]\nparams = 'a'\nrecord = 'tasks'\norder = ['a']\n[seams.on_end]",
            "the params must have id",
        ),
    ],
)
def test_malformed_seams(demo: Sources, old: str, new: str, message: str) -> None:
    assert old in SEAM
    add_noun(demo, SEAM.replace(old, new))
    assert message in demo.errors()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("late_on_end", "on_end", ":1: must be '-- late_on_end(<parameters>): <text>', got '-- on_end("),
        ("(id, own, how)", "(id, own, who)", ":1: who is no parameter of this seam, which has ctx, id, how, own"),
        ("READS parent", "READS key", ":3: own.parent is not in READS"),
        ("-- READS parent\n", "", ":2: own.parent is not in READS"),
        ("own.parent .. how", "own.size .. how", ":5: own.size is not in READS"),
        ("-- READS parent", "-- READS parent\n-- READS key", ":3: must be one line READS"),
        ("WHEN own.parent and", "WHEN own.parent and and", ":3: WHEN is no expression"),
        ("how ~= 'gone'", "trace ~= 'gone'", ":3: WHEN may use ctx, id, how, own, not trace"),
        ("how ~= 'gone'", "how('gone')", ":3: WHEN calls nothing"),
    ],
)
def test_malformed_hooks(demo: Sources, old: str, new: str, message: str) -> None:
    assert old in LATE
    hook(demo, "late", LATE.replace(old, new))
    assert f"demo/include/late/on_end.lua{message}" in demo.errors()


def test_only_a_seam_with_a_record_is_read(demo: Sources) -> None:
    add_noun(demo, '[seams.on_end]\nparams = "ctx, id, own, how"\norder = ["late", "early"]\n')
    assert "demo/include/early/on_end.lua:2: READS needs a record, and this seam has none" in demo.errors()


def test_nothing_calls_a_hook_but_its_dispatcher(demo: Sources) -> None:
    demo.script(
        "RETURN ok", "\nreturn { late_on_end(1, {}, 2) }\n", header="-- demo.walk.v1: x\n--\n", path="demo/walk.v1.lua"
    )
    assert "demo/walk.v1.lua:5: late_on_end is a hook: call on_end" in demo.errors()
    hook(demo, "early", EARLY.replace("own.parent or own.key", "late_on_end(1, own, 2)"))
    assert "demo/include/early/on_end.lua:4: late_on_end is a hook: call on_end" in demo.errors()


def test_a_seam_has_a_name_of_its_own(demo: Sources) -> None:
    demo.keys("on_end = { type = 'hash', doc = 'x' }\ntasks = { type = 'hash', suffix = 'id', doc = 'x' }\n")
    assert "demo/noun.toml#on_end:1: on_end is a key of demo: take another name" in demo.errors()


def test_a_seam_that_no_script_reaches(demo: Sources) -> None:
    (demo.root / "demo/end.v1.lua").unlink()
    assert "demo/noun.toml#on_end:1: no script uses on_end" in demo.errors()
