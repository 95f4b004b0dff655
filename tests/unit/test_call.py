"""A call is checked by the manifest before any I/O, and its reply is read by the manifest."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pyadeq._core.kernel.call import MAX_BYTES, Answer, Call, build_call, parse_reply
from pyadeq._core.kernel.manifest import Library, library
from pyadeq._core.kernel.packing import pack
from pyadeq.errors import AdeqError, BadArgument, ConfigError

BASE = "ade:{queue:default}"
TEXT = "#!lua\nreturn {'ok'}\n"


def arg(name: str, type: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **more}


SCRIPT: dict[str, Any] = {
    "id": "queue.try.v1",
    "doc": "everything that a header can declare.",
    "file": "dist/queue.try.v1.lua",
    "sha1": hashlib.sha1(TEXT.encode()).hexdigest(),
    "read_only": True,
    "role": "observe",
    "replay": "read",
    "commands": ["TIME"],
    "keys": [
        {"name": "config", "kind": "key", "type": "hash", "template": "{base}:config"},
        {"name": "task", "kind": "prefix", "type": "hash", "template": "{base}:task:", "suffix": "id"},
    ],
    "data": [],
    "args": [
        arg("rid", "id"),
        arg("limit", "int", min=0, max=100, default=10),
        arg("how", "enum", values=["fast", "slow"], default="fast"),
        arg("all", "bool", default=False),
        arg("ids", "ids", min=0, max=3, default=""),
        arg("trace", "bytes", min=0, max=8, default=""),
    ],
    "groups": [
        {
            "name": "item",
            "min": 1,
            "max": 1000,
            "fields": [arg("id", "id"), arg("payload", "bytes", min=0, max=MAX_BYTES)],
            "pairs": [arg("priority", "int", min=0, max=9, default=5), arg("lane", "lane", default="any")],
        },
        {"name": "worker", "min": 0, "max": 1000, "fields": [arg("name", "name")], "pairs": []},
        {"name": "rule", "min": 0, "max": 1000, "fields": [arg("key", "limit")], "pairs": []},
    ],
    "returns": [
        {
            "status": "ok",
            "fields": [
                {"name": "now_ms", "type": "int"},
                {"name": "who", "type": "name"},
                {"name": "blob", "type": "bytes"},
                {"name": "ids", "type": "ids"},
                {"name": "record", "type": "pairs"},
                {"name": "items", "type": "list", "of": "item"},
            ],
        },
        {"status": "gone", "fields": []},
    ],
    "shapes": {
        "item": [
            {"status": "found", "fields": [{"name": "state", "type": "text"}]},
            {"status": "none", "fields": []},
        ]
    },
    "errors": ["ADEQ_ARG"],
    "events": [],
}


@pytest.fixture
def scripts(tmp_path: Path) -> Library:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/queue.try.v1.lua").write_text(TEXT)
    (tmp_path / "manifest.json").write_text(json.dumps({"contract": 1, "scripts": [SCRIPT]}))
    return Library(tmp_path)


def build(scripts: Library, scalars: dict[str, Any], base: str = BASE, **groups: Any) -> Call[Any]:
    groups = {"item": [("a", b"", {})], **groups}
    return build_call("queue.try.v1", base, scalars, groups, decode=lambda reply: reply, scripts=scripts)


def test_half_of_a_surrogate_pair_is_refused_with_the_name_of_its_field(scripts: Library) -> None:
    half = r": a text with half of a surrogate pair \(2 characters\) is not accepted; allowed: .* bytes of UTF-8"
    with pytest.raises(BadArgument, match=f"trace{half}"):
        build(scripts, {"rid": "r", "trace": "a\ud800"})
    with pytest.raises(BadArgument, match=rf"item\[0\]\.\w+{half}"):
        build(scripts, {"rid": "r"}, item=[("a", "a\ud800", {})])


def test_arguments_go_out_in_the_order_of_the_manifest(scripts: Library) -> None:
    call = build(
        scripts,
        {"all": True, "ids": ["x", "y"], "rid": "r/1", "how": "slow", "trace": "né"},
        item=[("a", b"\xff", {"lane": "group/g", "priority": 0}), ("b", "text", {"priority": None})],
        worker=[("w1",)],
        rule=[("all",), ("tag:*",)],
    )
    assert call.keys == (f"{BASE}:config", f"{BASE}:task:")
    assert call.args == (
        *("r/1", b"", "slow", 1, "x,y", "né".encode()),
        *(2, "a", b"\xff", 2, "lane", "group/g", "priority", 0, "b", b"text", 0),
        *(1, "w1", 2, "all", "tag:*"),
    )
    assert call.command() == ("EVALSHA_RO", SCRIPT["sha1"], 2, *call.keys, *call.args)
    assert call.packed() == call.packed() == pack(*call.command())
    assert call.script.text == TEXT


def test_what_is_left_out_or_none_takes_its_default(scripts: Library) -> None:
    assert build(scripts, {"rid": "r"}).args[:6] == ("r", b"", b"", b"", b"", b"")
    assert build(scripts, {"rid": "r", "limit": None}).args == build(scripts, {"rid": "r"}).args


ITEM: tuple[Any, ...] = ("a", b"", {})


@pytest.mark.parametrize(
    ("scalars", "groups", "told"),
    [
        ({}, {}, "rid: None is not accepted; allowed: 1 to 200 of A-Z"),
        ({"rid": ""}, {}, "rid: ''"),
        ({"rid": "a b"}, {}, "rid: 'a b'"),
        ({"rid": "a\n"}, {}, r"rid: 'a\\n'"),
        ({"rid": "é"}, {}, "rid: 'é'"),
        ({"rid": b"r"}, {}, "rid: <1 bytes>"),
        ({"rid": "x" * 1000}, {}, r"rid: 'x{76}\.\.\. is not"),
        ({"rid": "r", "limit": 101}, {}, "limit: 101 is not accepted; allowed: an integer from 0 to 100"),
        ({"rid": "r", "limit": -1}, {}, "limit: -1"),
        ({"rid": "r", "limit": 1.0}, {}, r"limit: 1\.0"),
        ({"rid": "r", "limit": True}, {}, "limit: True"),
        ({"rid": "r", "limit": "1"}, {}, "limit: '1'"),
        ({"rid": "r", "how": "well"}, {}, "how: 'well' is not accepted; allowed: fast or slow"),
        ({"rid": "r", "all": 1}, {}, "all: 1 is not accepted; allowed: True or False"),
        ({"rid": "r", "ids": "abc"}, {}, "ids: 'abc' is not accepted; allowed: a list of 0 to 3 ids"),
        ({"rid": "r", "ids": ["a"] * 4}, {}, "ids: .* a list of 0 to 3 ids"),
        ({"rid": "r", "ids": ["a", "b,c"]}, {}, "ids: 'b,c'"),
        ({"rid": "r", "trace": b"secrets!!"}, {}, "trace: <9 bytes> is not accepted; allowed: 0 to 8 bytes"),
        ({"rid": "r", "trace": "secrets!!"}, {}, "trace: <9 bytes>"),
        ({"rid": "r", "trace": ["secret"]}, {}, "trace: <class 'list'>"),
        ({"rid": "r", "colour": 1}, {}, "colour: unknown is not accepted; allowed: all, how, ids, item"),
        ({"rid": "r"}, {"rooms": []}, "rooms: unknown"),
        ({"rid": "r"}, {"item": []}, "item: 0 items is not accepted; allowed: 1 to 1000 items"),
        ({"rid": "r"}, {"item": [ITEM] * 1001}, "items: 1001"),
        ({"rid": "r"}, {"item": [ITEM] * 600, "worker": [("w",)] * 401}, "items: 1001"),
        ({"rid": "r"}, {"item": [ITEM, ("b!", b"", {})]}, r"item\[1\]\.id: 'b!'"),
        ({"rid": "r"}, {"item": [("a", None, {})]}, r"item\[0\]\.payload: <class 'NoneType'>"),
        ({"rid": "r"}, {"item": [("a", b"")]}, r"item\[0\]\.fields: 2 .* 3 in this order: id, payload, pairs"),
        ({"rid": "r"}, {"item": [("a", b"", {"priority": 10})]}, r"item\[0\]\.priority: 10"),
        ({"rid": "r"}, {"item": [("a", b"", {"speed": 1})]}, r"item\[0\]\.speed: 1 .* only the names priority, lane"),
        ({"rid": "r"}, {"worker": [("a/b",)]}, r"worker\[0\]\.name: 'a/b'"),
        ({"rid": "r"}, {"rule": [("user:*",), ("user",)]}, r"rule\[1\]\.key: 'user' .* all, or user: or tag:"),
        ({"rid": "r"}, {"item": [("a", bytes(MAX_BYTES), {})]}, r"arguments: 1677\d+ bytes .* smaller batches"),
    ],
)  # fmt: skip
def test_a_refusal_names_field_value_and_what_is_allowed(
    scripts: Library, scalars: dict[str, Any], groups: dict[str, Any], told: str
) -> None:
    with pytest.raises(BadArgument, match=rf"^queue\.try\.v1: {told}") as refused:
        build(scripts, scalars, **groups)
    assert refused.value.code == "ADEQ_ARG"
    assert "secret" not in str(refused.value)


def test_keys_in_different_slots_are_refused(scripts: Library) -> None:
    with pytest.raises(ConfigError, match=r"base: 'ade:default' .* give it a hash tag"):
        build(scripts, {"rid": "r"}, base="ade:default")


def test_payloads_are_not_in_the_repr_of_a_call(scripts: Library) -> None:
    assert "secret" not in repr(build(scripts, {"rid": "r"}, item=[("a", b"secret", {})]))


def test_a_reply_is_read_by_its_declared_types(scripts: Library) -> None:
    items = [[b"found", b"ready"], [b"none"]]
    reply = [b"ok", 7, b"w1", b"\xff", [b"a", b"b"], [b"k", b"\xfe"], items]
    answer = parse_reply(scripts["queue.try.v1"], reply)
    assert answer.status == "ok"
    assert answer.fields == {
        "now_ms": 7,
        "who": "w1",
        "blob": b"\xff",
        "ids": ["a", "b"],
        "record": {"k": b"\xfe"},
        "items": [Answer("found", {"state": "ready"}), Answer("none", {})],
    }
    assert answer["now_ms"] == 7
    assert parse_reply(scripts["queue.try.v1"], [b"gone"]) == Answer("gone", {})


@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        b"gone",
        [b"what"],
        ["gone"],
        [b"gone", 1],
        [b"ok", 7],
        [b"ok", b"x", b"w", b"", [], [], []],
        [b"ok", 7, 1, b"", [], [], []],
        [b"ok", 7, b"\xff", b"", [], [], []],
        [b"ok", 7, b"w", 5, [], [], []],
        [b"ok", 7, b"w", b"", None, [], []],
        [b"ok", 7, b"w", b"", [], [b"k"], []],
        [b"ok", 7, b"w", b"", [], [], [[b"lost"]]],
        [b"ok", 7, b"w", b"", [], [], [[b"found"]]],
    ],
)
def test_a_reply_that_is_not_declared_is_an_error(scripts: Library, reply: Any) -> None:
    with pytest.raises(AdeqError, match=r"queue\.try\.v1: .* script and manifest differ"):
        parse_reply(scripts["queue.try.v1"], reply)


def test_an_unknown_script_is_refused_with_those_there_are(scripts: Library) -> None:
    assert (list(scripts), len(scripts)) == (["queue.try.v1"], 1)
    with pytest.raises(ConfigError, match=r"'queue\.no\.v1' is unknown; allowed: queue\.try\.v1"):
        scripts["queue.no.v1"]


def test_a_folder_without_a_manifest_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="make gen"):
        len(Library(tmp_path))


def test_another_contract_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"contract": 2, "scripts": []}')
    with pytest.raises(ConfigError, match="contract 2"):
        len(Library(tmp_path))


def test_every_script_of_the_library_can_be_called_and_has_its_sum() -> None:
    for script_id in library():
        script = library()[script_id]
        assert hashlib.sha1(script.text.encode()).hexdigest() == script.sha1
        with pytest.raises(BadArgument, match="unknown"):
            build_call(script_id, BASE, {"no-such-name": 1}, decode=lambda reply: reply)
        for status in script.returns:
            with pytest.raises(AdeqError, match="differ"):
                parse_reply(script, [status.encode(), *[object()] * 50])
