"""The facts of a noun: what reaches the manifest and the scripts, and how they may not fit the headers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pyadeq import LockSettings, Settings
from pyadeq._core.kernel import refusals
from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.refusals import Refusal, is_passing, refusal_error
from pyadeq._core.lock import replies as lock_replies
from pyadeq._core.queue import replies as queue_replies
from pyadeq.errors import TransportError
from pyadeq.keys import lock_base, partition_base, queue_base
from tests.unit.lua_tree import ERRORS, LUA, NOUN, SCRIPTS, Sources, lint

SCHEMA = json.loads((LUA / "manifest.schema.json").read_text())


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    made = Sources(tmp_path)
    (tmp_path / "demo/noun.toml").write_text(NOUN)
    for verb, text in SCRIPTS.items():
        (tmp_path / f"demo/{verb}.v1.lua").write_text(text)
    return made


def test_the_manifest_has_the_facts(sources: Sources) -> None:
    manifest = sources.manifest()
    jsonschema.validate(manifest, SCHEMA)
    noun = manifest["nouns"]["demo"]
    assert noun["settings"][:2] == [
        {"name": "lease_ms", "type": "int", "min": 1, "max": 100, "default": 15, "doc": "how long"},
        {"name": "how", "type": "enum", "values": ["fast", "slow"], "default": "fast", "doc": "how"},
    ]
    assert noun["tables"]["task"] == [
        {"name": "how", "type": "enum", "values": ["a", "b"]},
        {"name": "rid", "type": "text"},
    ]
    assert [one["name"] for one in noun["tables"]["settings"]] == ["lease_ms", "how", "fair", "keep_ms", "layout"]
    assert [one["name"] for one in noun["tables"]["counters"]] == ["done", "run_ms:<b>"]
    assert noun["hints"]["wake"]["template"] == "{base}:wake:<lane>"
    back, run = manifest["scripts"]
    assert run["returns"][0] == {
        "status": "ok",
        "fields": [
            {"name": "mode", "type": "text", "values": ["up", "down"]},
            {"name": "record", "type": "pairs", "table": "task"},
        ],
        "then": "done",
        "doc": "carried out",
    }
    assert back["returns"][0]["fields"][-1]["values"] == ["up"]
    assert [run["returns"][1]["then"], back["returns"][1]["then"]] == ["again", "stop"]
    assert [one["name"] for one in back["groups"][0]["pairs"]] == ["lease_ms", "how", "fair", "keep_ms"]
    assert (run["replay"], back["replay"]) == ("idempotent", "idempotent")


def test_what_most_nouns_share_is_said_once(sources: Sources) -> None:
    """A noun has the shared facts that its scripts use, and its own go first."""
    (sources.root / "kernel").mkdir(exist_ok=True)
    (sources.root / "kernel/noun.toml").write_text(
        '[bases]\nusual = "<prefix>:{$word:<name>}"\n[names]\nname = ["name", "the name of the $field"]\n'
        'slot = ["name", "a slot"]\n[texts]\ncursor = "shared"\nother = "unused"\n'
        '[statuses]\nok = ["done", "shared"]\ngone = ["done", "shared"]\n'
    )
    own = NOUN.replace('usual = "<prefix>:{demo:<name>}"\n', "").replace('ok = ["done", "carried out"]\n', "")
    (sources.root / "demo/noun.toml").write_text(own.replace('cursor = "opaque"\n', ""))
    manifest = sources.manifest()
    noun = manifest["nouns"]["demo"]
    assert noun["bases"] == {"usual": "<prefix>:{demo:<name>}"}
    assert {name: fact["doc"] for name, fact in noun["names"].items()} == {
        "prefix": "the first part", "name": "the name", "slot": "a slot",
    }  # fmt: skip
    _, run = manifest["scripts"]
    assert [one["doc"] for one in run["returns"]] == ["shared", "it is not there"]


def test_defaults_and_waits_stand_for_their_names(sources: Sources) -> None:
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "row[1] or 15, 'how', row[2] or 'fast', 'block', 1000)" in text


CONFLICT = 'ADEQ_CONFLICT = { retry = "never", doc = "other" }\n'
OPEN = """\
-- open(): x
local function open()
  local row = redis.call('HMGET', config, SETTING_NAMES)
  return { now = 1, CTX_FIELDS }
end
"""


def test_open_reads_the_settings_that_a_script_names(sources: Sources) -> None:
    (sources.root / "kernel/open").mkdir()
    (sources.root / "kernel/open/open.lua").write_text(OPEN)
    names = "ctx.settings.keep_ms, ctx.settings.how, ctx.settings.layout, ctx.settings.lease_ms"
    opened = SCRIPTS["run"].replace("local row", f"local ctx = open()\nredis.call('GET', {names})\nlocal row")
    (sources.root / "demo/run.v1.lua").write_text(opened)
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'how', 'keep_ms', 'layout')" in text
    assert (
        "{ now = 1, settings_lease_ms = tonumber(row[3] or 15), settings_how = row[4] or 'fast',"
        " settings_keep_ms = tonumber(row[5]), settings_layout = tonumber(row[6] or 0) }" in text
    )
    assert "redis.call('GET', ctx.settings_keep_ms, ctx.settings_how, " in text
    (sources.root / "demo/run.v1.lua").write_text(opened.replace("settings.how", "settings.who"))
    assert "demo/run.v1.lua:2: who is no setting" in sources.errors()


CALL = """\
[work]
start = "{}"
where = "lease_ms"
by = ["run"]
doc = "what is left"
[rest]
start = "1"
by = []
doc = "the rest"
"""


def test_open_begins_the_fields_of_a_call(sources: Sources) -> None:
    (sources.root / "kernel/open").mkdir()
    (sources.root / "kernel/open/open.lua").write_text(OPEN)
    (sources.root / "demo/call.toml").write_text(CALL)
    run = sources.root / "demo/run.v1.lua"
    opened = SCRIPTS["run"].replace("local row", "local ctx = open()\nctx.work = ctx.work - 1\nlocal row")
    run.write_text(opened)
    text = sources.build()["dist/demo.run.v1.lua"]
    assert "return { now = 1, settings_lease_ms = tonumber(row[3] or 15), work = row[3] and {} }" in text
    _, *found = lint.lint(sources.root)  # the first one is of another script
    assert found == []
    assert lint.unused_fields(sources.root) == ["demo/call.toml:1: rest is declared but not used"]
    run.write_text(opened.replace("ctx.work = ctx.work - 1", "local x, y\nx, ctx.rest, ctx.now = y.ctx.z, ctx.more, 1"))
    _, *found = lint.lint(sources.root)
    assert found == [
        "demo/run.v1.lua:12: ctx.more is not declared: see call.toml of the noun",
        "demo/run.v1.lua:12: run writes ctx.rest, but by in demo/call.toml does not name it",
        "demo/run.v1.lua:12: ctx.now is for reading",
    ]
    (sources.root / "demo/call.toml").write_text(CALL.replace('doc = "the rest"', 'end = "1"'))
    assert "demo/call.toml:1: rest: must have by and doc, and may have start and where" in sources.errors()


def test_a_noun_has_the_scripts_of_the_kernel_unless_it_has_its_own(sources: Sources) -> None:
    for folder in ("open", "scripts", "settings"):
        shutil.copytree(LUA / "kernel" / folder, sources.root / "kernel" / folder)
    facts = NOUN.replace("[roles]", '[roles]\noperate = "sets"')
    facts = facts.replace(
        'ok = ["done", "carried out"]', 'ok = ["done", "carried out"]\nconfirmed = ["done", "written"]'
    )
    facts = facts.replace("settings = true", 'settings = true\nclock = "text"')
    (sources.root / "demo/noun.toml").write_text(facts)
    (sources.root / "errors.toml").write_text(ERRORS.replace("[[server]]", CONFLICT + "[[server]]", 1))
    manifest = sources.manifest()
    jsonschema.validate(manifest, SCHEMA)
    scripts = {one["verb"]: one for one in manifest["scripts"]}
    assert scripts.keys() == {"back", "configure", "confirm", "migrate", "run"}
    confirm, text = scripts["confirm"], sources.build()["dist/demo.confirm.v1.lua"]
    assert (confirm["id"], confirm["source"]) == ("demo.confirm.v1", "kernel/scripts/confirm.v1.lua")
    assert "-- demo.confirm.v1: make one small write" in text
    assert [one["name"] for one in scripts["configure"]["groups"][0]["pairs"]] == ["lease_ms", "how", "fair", "keep_ms"]
    assert "since this ' .. 'demo'" in sources.build()["dist/demo.configure.v1.lua"]
    own = (LUA / "kernel/scripts/confirm.v1.lua").read_text().replace("$word", "demo")
    (sources.root / "demo/confirm.v1.lua").write_text(own)
    assert [one["source"] for one in sources.manifest()["scripts"]][2] == "demo/confirm.v1.lua"


def test_of_a_noun_that_cannot_be_read_nothing_else_is_said(sources: Sources) -> None:
    """Its scripts, and those of the kernel that it would have, cannot be judged."""
    shutil.copytree(LUA / "kernel/scripts", sources.root / "kernel/scripts")
    (sources.root / "demo/noun.toml").write_text(NOUN.replace('"bool", 0', '"bull", 0'))
    (problem,) = sources.errors().splitlines()
    assert problem.startswith("demo/noun.toml:1: settings.fair: unknown type 'bull'")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('word = "demo"', 'word = "other"', "word must be demo"),
        ('title = "demo"\n', "", "must have word"),
        ('ok = ["done", "carried out"]\n', "", "statuses: ok is missing"),
        ('done = ["done", ', 'done = ["over", ', "statuses.done: must be [<done|ask|again|stop>"),
        ('"back.gone"', '"back.came"', "statuses: back.came is no status of a script back"),
        ('"task.gone" = "it is gone"\n', "", "events: task.gone is missing"),
        ("[roles]", '[roles]\nrest = "rests"', "roles: no script declares rest"),
        ('"int 1..100", 15', '"int 1..100", 0', "settings.lease_ms: the default 0 is not what it accepts"),
        ('"int 1..100", 15', '"int 1..", 15, 1, 2', "settings.lease_ms: must be [<type>"),
        ('"int 1..100", 15', '"int 1..", 15, 1', "settings.lease_ms: a table at the end may have python, label, more"),
        ("[texts]", 'more = ["int 1..5", 3, "x"]\n[texts]', "settings: no source reads more"),
        ('mode = ["up", "down"]', 'mode = ["up", "left"]', "no source gives the word 'left'"),
        ('mode = ["up", "down"]', 'mode = "a form"', "its words must be among those of texts"),
        ('cursor = "opaque"\n', "", "does not say in texts what it holds"),
        ("[tables.task]", '[texts.more]\n[tables.task]', "texts: no reply has a text more"),
        ("[tables.task]", "[tables.other]\n[tables.task]", "tables: no reply has pairs(other)"),
        ('pairs_of = "run"', 'pairs_of = "ran"', "tables.task: no script ran has pairs"),
        ('rid = "text"', 'rid = "float"', "tables.task.rid: unknown type 'float'"),
        ('key = "wake"', 'key = "config"', "hints.wake: config must be a key of type list"),
        ('messages = ["1"]', 'messages = ["2"]', "hints.wake: no source gives the message '2'"),
        ("block_ms = [1000,", "longest_ms = [1000,", "has globals: WAIT_block_ms"),
        ("<prefix>:{demo", "<start>:{demo", "bases.usual: must have one hash tag"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(sources: Sources, old: str, new: str, message: str) -> None:
    assert old in NOUN
    (sources.root / "demo/noun.toml").write_text(NOUN.replace(old, new, 1))
    assert message in sources.errors()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-- REPLAY idempotent", "-- REPLAY often", "must be one 'REPLAY' line with one of rid, slot, token"),
        ("-- REPLAY idempotent", "-- REPLAY rid", "REPLAY rid needs the arguments rid"),
        ("-- REPLAY idempotent", "-- REPLAY slot", "REPLAY slot needs the arguments incarnation, n, slot, worker"),
        ("-- REPLAY idempotent\n", "", "no REPLAY: what makes a call that is sent again the same call?"),
        ("-- REPLAY idempotent", "-- REPLAY idempotent\n-- FLAGS  no-writes", "no-writes has no ROLE"),
        ("row[1] or DEFAULT_lease_ms", "row[1] or 15", "no source reads the default of lease_ms as DEFAULT_lease_ms"),
        ("row[2] or", "DEFAULT_now or", "has globals: DEFAULT_now"),
        ("pairs(task)", "pairs", "must be pairs(<table>)"),
        ("-- REPLAY idempotent", "-- ARGV   url name\n-- REPLAY idempotent", "url is an option of each command"),
        ("mode:text", "mode:text(up|right)", "its words must be among those of texts"),
    ],
)
def test_a_header_that_does_not_fit_is_an_error(sources: Sources, old: str, new: str, message: str) -> None:
    assert old in SCRIPTS["run"]
    (sources.root / "demo/run.v1.lua").write_text(SCRIPTS["run"].replace(old, new))
    assert message in sources.errors()


def test_settings_need_the_file(sources: Sources) -> None:
    (sources.root / "demo/noun.toml").unlink()
    assert "SETTINGS needs a noun.toml beside the script" in sources.errors()
    (sources.root / "demo/back.v1.lua").unlink()
    (sources.root / "demo/run.v1.lua").write_text(
        SCRIPTS["run"].partition("local row")[0] + "return { 'ok', wake, config }\n"
    )
    assert lint.without_facts(sources.root) == ["demo/noun.toml:1: missing: a noun needs one, see README.md"]


# Our own


def facts(noun: str) -> dict[str, Any]:
    found: dict[str, Any] = library().manifest["nouns"][noun]
    return found


def filled(template: str, **parts: str) -> str:
    for name, value in parts.items():
        template = template.replace(f"<{name}>", value)
    return template


def test_bases_are_those_of_python() -> None:
    queue, lock = facts("queue")["bases"], facts("lock")["bases"]
    assert filled(queue["usual"], prefix="p", name="n") == queue_base("n", "p")
    assert filled(queue["in_slot"], prefix="p", name="n", slot="s") == queue_base("n", "p", "s")
    assert filled(queue["partition"], prefix="p", name="n", tag="t") == partition_base("n", "t", "p")
    assert filled(lock["usual"], prefix="p", name="n") == lock_base("n", "p")
    assert filled(lock["in_slot"], prefix="p", name="n", slot="s") == lock_base("n", "p", "s")


def read(noun: str, stored: dict[str, Any]) -> Any:
    flat = [word for name, value in stored.items() for word in (name.encode(), str(value).encode())]
    replies: Any = queue_replies if noun == "queue" else lock_replies
    return replies.settings(parse_reply(library()[f"{noun}.configure.v1"], [b"ok", 0, flat]))


@pytest.mark.parametrize("noun", ["queue", "lock"])
def test_python_reads_every_setting_and_has_the_same_defaults(noun: str) -> None:
    assert read(noun, {}) == (Settings() if noun == "queue" else LockSettings())
    for setting in facts(noun)["settings"]:
        name, default = setting["name"], setting["default"]
        if default != "":
            assert read(noun, {name: int(default) if isinstance(default, bool) else default}) == read(noun, {}), name
        other = setting["values"][-1] if "values" in setting else setting.get("max", int(default is not True))
        other = setting["min"] if other == default and setting["type"] == "int" else other
        assert read(noun, {name: other}) != read(noun, {}), name


@pytest.mark.parametrize(
    "error", library().manifest["server_errors"], ids=lambda error: error.get("code") or error["doc"]
)
def test_python_takes_each_error_of_the_server_as_the_manifest_has_it(error: dict[str, Any]) -> None:
    for refusal in [Refusal(error.get("code", "ERR"), text) for text in error.get("text", ["why"])]:
        assert is_passing(refusal) == (error["retry"] in ("soon", "load"))
        raised = refusal_error("x", refusal, maybe_applied=False)
        assert isinstance(raised, TransportError)
        assert raised.retryable == (error["retry"] in ("soon", "load", "later"))
        assert raised.may_have_applied == error["may_have_applied"]


def test_the_manifest_has_all_errors_of_the_server_that_python_knows() -> None:
    errors = library().manifest["server_errors"]
    assert {error["code"] for error in errors if "code" in error} == refusals._MEANINGS.keys()
    assert {text for error in errors for text in error.get("text", [])} == refusals._WORDS.keys()
    assert errors[-1].keys() == {"retry", "may_have_applied", "doc"}
