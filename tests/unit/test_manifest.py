"""The manifest against its schema, and against the files it describes."""

from __future__ import annotations

import copy
import hashlib
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from string import ascii_letters, digits
from typing import Any

import jsonschema
import pytest

from pyadeq.keys import PATTERNS

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA))

import bundle  # noqa: E402

from tests.unit.lua_tree import ERRORS  # noqa: E402

SCHEMA = json.loads((LUA / "manifest.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
EVERYTHING = """\
-- demo.run.v1: every kind of line
-- that the grammar has.
--
-- ARGV   worker    name
-- ARGV   lane      lane           ?=any
-- ARGV   key       limit          ?=all
-- ARGV   tags      ids 1..5
-- ARGV   lanes     lanes 1..3     ?=
-- ARGV   limit     int 0..100     ?=10
-- ARGV   delta     int ..5
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   mode      enum up|down   ?=up
-- ARGV   dry       bool           ?=0
-- ITEM   acks.id   id
-- ITEM   fails.id  id
-- PAIR   fails.priority  int 0..9 ?=5
-- PAIR   fails.at        int 0..  ?=
-- GROUP  acks      1..10
-- RETURN ok        now_ms:int  items:list(item)
-- RETURN gone
-- EACH   item      done        record:pairs(task)  ids:ids  by:limit
-- ERROR  ADEQ_LAYOUT
-- EVENT  task.done task.gone
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   2 + n commands; at most 1,000 commands, 50 steps
"""


BACK = "-- demo.back.v1: x\n--\n-- RETURN ok\n-- REPLAY state\n\nreturn { 'ok' }\n"
KEYS = """\
config = { type = "hash", doc = "x" }
by_user = { type = "zset", at = "by:user", suffix = "id", doc = "x" }
channel = { type = "channel", suffix = "id", doc = "x" }
waiting = { type = "zset", suffix = "limit", doc = "x" }
"""
FACTS = """\
word = "demo"
plural = "demos"
title = "demo"
method = "demo"
field = "demo"
bases.usual = "{demo:<name>}"
names.name = ["name", "the name"]
roles.work = "works"
events = { "task.done" = "done", "task.gone" = "gone" }
settings = {}
texts = {}
tables.task.x = "int"
counters = {}
hints = {}
waits = {}
[statuses]
ok = ["done", "a"]
gone = ["stop", "b"]
done = ["done", "c"]
"""


@pytest.fixture
def manifest(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "demo").mkdir()
    (tmp_path / "errors.toml").write_text(ERRORS)
    (tmp_path / "demo/noun.toml").write_text(FACTS)
    (tmp_path / "demo/keys.toml").write_text(KEYS)
    (tmp_path / "demo/run.v1.lua").write_text(
        f"{EVERYTHING}\nredis.call('TIME')\nreturn {{ 'ok', redis.pcall('DEL', config), by_user, channel, waiting }}\n"
    )
    (tmp_path / "demo/back.v1.lua").write_text(BACK)
    made: dict[str, Any] = json.loads(bundle.build(tmp_path)["manifest.json"])
    return made


def test_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_entry(manifest: dict[str, Any]) -> None:
    VALIDATOR.validate(manifest)
    assert [script["id"] for script in manifest["scripts"]] == ["demo.back.v1", "demo.run.v1"]
    entry = manifest["scripts"][1]
    assert re.fullmatch("[0-9a-f]{40}", entry.pop("sha1"))
    assert re.fullmatch("[0-9a-f]{40}", entry.pop("sha1_dragonfly"))
    assert entry == {
        "id": "demo.run.v1",
        "noun": "demo",
        "verb": "run",
        "version": 1,
        "doc": "every kind of line that the grammar has.",
        "source": "demo/run.v1.lua",
        "file": "dist/demo.run.v1.lua",
        "layout": 1,
        "read_only": False,
        "role": "work",
        "replay": "state",
        "commands": ["DEL", "TIME"],
        "flags": ["allow-oom"],
        "cost": "2 + n commands",
        "budget": {"commands": 1000, "steps": 50},
        "keys": [
            {"name": "config", "kind": "key", "type": "hash", "template": "{base}:config"},
            {"name": "gate", "kind": "key", "type": "gate", "template": "{base}!work"},
        ],
        "data": [
            {"name": "config", "kind": "key", "type": "hash", "template": "{base}:config"},
            {
                "name": "by_user",
                "kind": "prefix",
                "type": "zset",
                "template": "{base}:by:user:",
                "suffix": "id",
            },
            {
                "name": "channel",
                "kind": "prefix",
                "type": "channel",
                "template": "{base}:channel:",
                "suffix": "id",
            },
            {
                "name": "waiting",
                "kind": "prefix",
                "type": "zset",
                "template": "{base}:waiting:",
                "suffix": "limit",
            },
        ],
        "args": [
            {"name": "worker", "type": "name"},
            {"name": "lane", "type": "lane", "default": "any"},
            {"name": "key", "type": "limit", "default": "all"},
            {"name": "tags", "type": "ids", "min": 1, "max": 5},
            {"name": "lanes", "type": "lanes", "min": 1, "max": 3, "default": ""},
            {"name": "limit", "type": "int", "min": 0, "max": 100, "default": 10},
            {"name": "delta", "type": "int", "min": -9007199254740991, "max": 5},
            {"name": "trace", "type": "bytes", "min": 0, "max": 128, "default": ""},
            {"name": "mode", "type": "enum", "values": ["up", "down"], "default": "up"},
            {"name": "dry", "type": "bool", "default": False},
        ],
        "groups": [
            {"name": "acks", "min": 1, "max": 10, "fields": [{"name": "id", "type": "id"}], "pairs": []},
            {
                "name": "fails",
                "min": 0,
                "max": 1000,
                "fields": [{"name": "id", "type": "id"}],
                "pairs": [
                    {"name": "priority", "type": "int", "min": 0, "max": 9, "default": 5},
                    {"name": "at", "type": "int", "min": 0, "max": 9007199254740991, "default": ""},
                ],
            },
        ],
        "returns": [
            {
                "status": "ok",
                "fields": [
                    {"name": "now_ms", "type": "int"},
                    {"name": "items", "type": "list", "of": "item"},
                ],
                "then": "done",
                "doc": "a",
            },
            {"status": "gone", "fields": [], "then": "stop", "doc": "b"},
        ],
        "shapes": {
            "item": [
                {
                    "status": "done",
                    "fields": [
                        {"name": "record", "type": "pairs", "table": "task"},
                        {"name": "ids", "type": "ids"},
                        {"name": "by", "type": "limit"},
                    ],
                    "then": "done",
                    "doc": "c",
                }
            ]
        },
        "errors": ["ADEQ_ARG", "ADEQ_LAYOUT"],
        "events": ["task.done", "task.gone"],
    }


def set_(*path: Any) -> Callable[[dict[str, Any]], None]:
    *where, value = path

    def change(manifest: dict[str, Any]) -> None:
        place: Any = manifest
        for step in where[:-1]:
            place = place[step]
        if value is None:
            del place[where[-1]]
        else:
            place[where[-1]] = value

    return change


RUN = ("scripts", 1)


@pytest.mark.parametrize(
    "change",
    [
        set_("extra", 1),
        set_("nouns", "demo", "layout", None),
        set_("contract", 2),
        set_("errors", "ADEQ_ARG", None),
        set_("errors", "EOTHER", {"retry": "never", "may_have_applied": False, "doc": "x"}),
        set_("errors", "ADEQ_ARG", "retry", "always"),
        set_("server_errors", []),
        set_("nouns", "demo", "waits", None),
        set_("nouns", "demo", "hints", {"wake": {"how": "BLPOP"}}),
        set_(*RUN, "replay", ""),
        set_(*RUN, "returns", 0, "then", "wait"),
        set_(*RUN, "shapes", "item", 0, "fields", 0, "table", None),
        set_(*RUN, "returns", 0, "fields", 0, "type", "text"),
        set_("types", "float", {"doc": "x"}),
        set_("limits", "more", 1),
        set_(*RUN, "extra", 1),
        set_(*RUN, "cost", None),
        set_(*RUN, "budget", {"commands": 1}),
        set_(*RUN, "budget", {"commands": 0, "steps": 1}),
        set_(*RUN, "sha1", "x"),
        set_(*RUN, "flags", ["no-cluster"]),
        set_(*RUN, "returns", []),
        set_(*RUN, "keys", 0, "suffix", "id"),
        set_(*RUN, "keys", 0, "template", "{base}:config:"),
        set_(*RUN, "data", 1, "suffix", None),
        set_(*RUN, "data", 1, "template", "{base}:by"),
        set_(*RUN, "args", 0, "min", 1),
        set_(*RUN, "args", 0, "type", "float"),
        set_(*RUN, "args", 2, "min", 1),
        set_(*RUN, "args", 2, "default", 1),
        set_(*RUN, "args", 3, "max", None),
        set_(*RUN, "args", 4, "max", None),
        set_(*RUN, "args", 5, "default", "ten"),
        set_(*RUN, "args", 8, "values", None),
        set_(*RUN, "args", 8, "default", 1),
        set_(*RUN, "groups", 0, "pairs", None),
        set_(*RUN, "returns", 0, "fields", 1, "of", None),
        set_(*RUN, "returns", 0, "fields", 0, "of", "item"),
    ],
)
def test_schema_is_strict(manifest: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> None:
    broken = copy.deepcopy(manifest)
    change(broken)
    assert broken != manifest
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(broken)


def test_types_of_the_manifest(manifest: dict[str, Any]) -> None:
    lane = re.compile(manifest["types"]["lane"]["pattern"])
    assert lane.fullmatch("group/a/inst/b")
    assert not lane.fullmatch("group/a/b")
    assert re.fullmatch(manifest["types"]["id"]["pattern"], "a:b/c")
    assert not re.fullmatch(manifest["types"]["name"]["pattern"], "a:b")
    limit = re.compile(manifest["types"]["limit"]["pattern"])
    assert all(limit.fullmatch(key) for key in ("all", "user:*", "tag:a/b", "key:a:b", "user:日本"))
    label = re.compile(manifest["types"]["label"]["pattern"])
    for code in range(0x3100):
        named = chr(code) in ascii_letters + digits + "._:/@+-"
        allowed = named if code < 128 else code > 0x9F and not chr(code).isspace()
        assert bool(label.fullmatch(chr(code))) == allowed == bool(PATTERNS["label"].fullmatch(chr(code))), hex(code)
    assert not any(limit.fullmatch(key) for key in ("key:é", "*", "all:a", "user:", "user:**", "lane:a", "user:a b"))


# Our own: what is committed


def test_own_manifest() -> None:
    manifest = json.loads((LUA / "manifest.json").read_text())
    VALIDATOR.validate(manifest)
    assert manifest["scripts"]
    for script in manifest["scripts"]:
        text = (LUA / script["file"]).read_bytes()
        assert hashlib.sha1(text).hexdigest() == script["sha1"], script["id"]
        dragonfly = b"--!df flags=allow-undeclared-keys" + text[text.index(b"\n") :]
        assert hashlib.sha1(dragonfly).hexdigest() == script["sha1_dragonfly"], script["id"]
        assert set(script["errors"]) <= manifest["errors"].keys()


@pytest.mark.slow  # `make check` shows the same
def test_own_files_are_current() -> None:
    assert bundle.differences(LUA, bundle.build(LUA)) == []
