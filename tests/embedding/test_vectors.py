"""The conformance vectors of all scripts: they are what the scripts do, and a client that sends them gets them.

ADEQ_UPDATE_CONFORMANCE   1: write lua/conformance, instead of comparing it
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.kernel.manifest import Script, library
from tests.conftest import audited
from tests.embedding.choose import text_of
from tests.embedding.printing import printed
from tests.embedding.stage import Stage
from tests.embedding.states import overlaid
from tests.embedding.vectors import Vector, decode, encode, plain, plain_reply, shown
from tests.unit.lua_tree import LUA
from tests.unit.lua_tree import vectors as checks

UPDATE = os.environ.get("ADEQ_UPDATE_CONFORMANCE") == "1"
SCRIPTS = [library()[script_id] for script_id in library()]
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.id)


@pytest.fixture(scope="module")
def stage(binary: Path) -> Iterator[Stage]:
    """On a server that is nobody else's: the base of vectors is always the same, and memory is full at times."""
    with audited(binary) as server, redis.Redis.from_url(server.url) as client:
        stage = Stage(client)
        yield stage
        stage.clear()


def file_of(script: Script) -> Path:
    return LUA / checks.path_of(script.id)


@pytest.mark.slow
@pytest.mark.any_engine
@pytest.mark.skipif("ADEQ_TEST_SERVER" in os.environ, reason="they are recorded on the server of `make test`")
@every_script
def test_the_vectors_are_what_the_scenarios_show(script: Script, stage: Stage) -> None:
    text, file = text_of(stage, script), file_of(script)
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.is_file(), f"there is no {file}: {checks.RECORD}"
    assert file.read_text() == text, (
        f"the scripts do no longer what {file.name} says. If they should not, {checks.RECORD}"
    )


@pytest.mark.skipif(UPDATE, reason="they are being written")
@every_script
def test_a_call_answers_and_does_what_its_vector_says(script: Script, stage: Stage) -> None:
    for vector in json.loads(file_of(script).read_bytes())["vectors"]:
        replay(script, vector, stage)


def replay(script: Script, vector: Vector, stage: Stage) -> None:
    argv = encode(script, vector["call"])
    assert [shown(word) for word in argv] == vector["argv"]
    assert decode(script, argv) == vector["call"]
    reply, state = stage.perform(script, vector["before"], argv, full=vector.get("memory") == "full")
    if isinstance(reply, str):
        assert (reply, {}) == (vector["error"], vector["after"])
    else:
        # Decoded, for what is answered as `pairs` has another order in the Lua of Redis than in that of Valkey.
        assert parse_reply(script, reply) == parse_reply(script, plain_reply(vector["answer"]))
    assert state == overlaid(vector["before"], vector["after"])


def test_text_that_is_no_utf8() -> None:
    assert shown(b"\xff\x00") == {"base64": "/wA="}
    assert plain({"base64": "/wA="}) == b"\xff\x00"
    assert shown("ü".encode()) == "ü"


@pytest.mark.parametrize(
    "argv",
    [
        (b"", b"s"),  # too few
        (b"", b"s", b"1", b"1", b"a", b"t", b"r", b"more"),
        (b"", b"s", b"01", b"1", b"a", b"t", b"r"),
        (b"", b"s", b"x", b"1", b"a", b"t", b"r"),
    ],
)
def test_what_no_typed_call_sends(argv: tuple[bytes, ...]) -> None:
    with pytest.raises((ValueError, StopIteration)):
        decode(library()["queue.ack.v1"], argv)


def test_pairs_are_sent_in_the_order_of_the_manifest() -> None:
    script = library()["queue.progress.v1"]
    sent = (b"r", b"", b"", b"1", b"1", b"a", b"t", b"2", b"line", b"l", b"ppm", b"5")
    call = decode(script, sent)
    assert call == {
        "args": {"rid": "r", "now_ms": 1},
        "groups": {"item": [{"id": "a", "token": "t", "ppm": 5, "line": "l"}]},
    }
    assert encode(script, call) == [*sent[:8], b"ppm", b"5", b"line", b"l"]


def test_what_is_left_out() -> None:
    script = library()["queue.cancel.v1"]
    call = decode(script, (b"", b"", b"s", b"", b"0", b"1", b"a"))
    assert call["args"] == {"rid": "", "source": "s", "tree": False}


def test_each_vector_has_a_line() -> None:
    document = {
        "script": "x",
        "vectors": [{"argv": ["a"], "answer": ["ok", [["a"]]]}, {"argv": [], "error": "ADEQ_ARG"}],
    }
    text = printed(document)
    assert json.loads(text) == document
    assert text.splitlines()[3:5] == [
        '  {"argv": ["a"], "answer": ["ok", [["a"]]]},',
        '  {"argv": [], "error": "ADEQ_ARG"}',
    ]
