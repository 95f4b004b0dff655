"""What a message of Celery becomes. The messages are recorded: tests/migrate/record_celery.py."""

from __future__ import annotations

import base64
import json
import sys
import uuid
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from pyadeq import Tasks
from pyadeq.ext.move.migrate import CeleryQueues, Left, Moving, Place

HERE = Path(__file__).parent
MESSAGES: dict[str, str] = json.loads((HERE / "celery_messages.json").read_text(encoding="utf-8"))
PLACE = Place("celery\x06\x163", "celery", 3)
AT = 1_896_080_400.0  # 2030-01-31 09:00 UTC
tasks = Tasks()


@tasks.task(name="app.add", max_attempts=4, timeout=900)
def add(a: int, b: int, z: int = 0) -> int:
    return a + b + z


@tasks.task(name="app.types")
def types(text: bytes, binary: bytes, at: datetime, day: date, price: Decimal, id: uuid.UUID) -> None: ...


def read(message: str | bytes, functions: Tasks | None = None) -> Moving | Left:
    source = CeleryQueues(Redis(), tasks=functions)
    (found,) = source.read(PLACE, [message.encode() if isinstance(message, str) else message])
    return found


def given(name: str, functions: Tasks | None = tasks) -> dict[str, Any]:
    """The options of a task that are not the default."""
    found = read(MESSAGES[name], functions)
    assert isinstance(found, Moving), found
    task = found.task.model_dump(exclude_defaults=True, warnings=False)
    payload = task.pop("payload")
    return {**task, "payload": json.loads(payload) if isinstance(payload, bytes) else payload}


def changed(name: str, **headers: Any) -> str:
    """A message with other headers."""
    message = json.loads(MESSAGES[name])
    return json.dumps({**message, "headers": {**message["headers"], **headers}})


def test_arguments_become_an_object_by_name() -> None:
    basis = {"id": "plain", "kind": "app.add", "priority": 3}
    assert given("plain") == {**basis, "payload": {"a": 1, "b": 2, "z": 3}, "max_attempts": 4, "timeout": 900}
    assert given("plain", None) == {**basis, "payload": {"args": [1, 2], "kwargs": {"z": 3}}}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("priority", {"priority": 3}),  # of its list, so that no order turns around
        ("later", {"run_after": AT, "expires_at": AT + 3600}),
        ("zoneless", {"run_after": AT}),  # UTC, as workers of Celery read it: tests/migrate/test_moving.py
        ("limits", {"timeout": 60.0, "result_ttl": 0}),
        ("soft", {"timeout": 50.0}),
        ("retried", {"headers": {"celery": {"retries": 2}}}),
        ("zlib", {"payload": {"args": [1, 2], "kwargs": {}}}),
        ("group", {"headers": {"celery": {"group": "g1"}}}),
        ("protocol-1", {"run_after": AT, "payload": {"args": [1, 2], "kwargs": {"z": 3}}}),
    ],
)
def test_options(name: str, options: dict[str, Any]) -> None:
    found = given(name, None)
    usual = {"id": found["id"], "kind": "app.add", "priority": 3, "payload": {"args": [1, 2], "kwargs": {}}}
    assert found == {**usual, **options}


def test_attempts_that_are_left_count_on() -> None:
    assert given("retried")["max_attempts"] == 2


def test_types_that_kombu_marks_in_json() -> None:
    found = read(MESSAGES["types"], tasks)
    assert isinstance(found, Left), "a byte above 127 has no form in JSON"
    message = json.loads(MESSAGES["types"])
    body = base64.b64decode(message["body"]).replace(b'"/w=="', b'"YQ=="')
    found = read(json.dumps({**message, "body": base64.b64encode(body).decode()}), tasks)
    assert isinstance(found, Moving), found
    assert json.loads(found.task.payload) == {
        "text": "text",
        "binary": "a",
        "at": "2030-01-31T09:00:00Z",
        "day": "2030-01-31",
        "price": "1.50",
        "id": str(uuid.UUID(int=7)),
    }
    assert given("types", None)["payload"]["args"][0] == {"__type__": "bytes", "__value__": "text"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pickle", "it is a pickle, which is only loaded with --trust-pickle"),
        ("yaml", "its body is application/x-yaml; only JSON is read"),
        ("bzip2", "its body is compressed with application/x-bz2; only zlib is read"),
        ("unknown", "its task 'app.unknown' is not in --tasks"),
        ("misfit", "app.add: a: Input should be a valid integer"),
        ("callback", "other tasks depend on it (callbacks)"),
        ("errback", "other tasks depend on it (errbacks)"),
        ("chain", "other tasks depend on it (chain)"),
        ("chord", "other tasks depend on it (chord)"),
    ],
)
def test_what_cannot_move_is_named_without_its_content(name: str, why: str) -> None:
    found = read(MESSAGES[name], tasks)
    assert isinstance(found, Left), found
    assert found.why.startswith(why)
    assert found.id
    assert "one" not in found.why.split()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b"null",
        b'{"headers": {}, "properties": {}, "body": 1, "content-type": "application/json"}',
        b"[" * 100_000,
        changed("plain", eta="soon"),
        changed("plain", retries="x"),
        changed("plain", timelimit=5),
        changed("zlib", compression="zlib").replace('"body": "', '"body": "AAAA'),
    ],
)
def test_other_messages_are_left(message: str | bytes) -> None:
    assert isinstance(read(message, tasks), Left)


def test_an_id_that_no_encoding_knows_is_left() -> None:
    found = read(changed("plain", id="x\ud800"))
    assert isinstance(found, Left), found
    assert found == ("x\ud800", "its id has half of a surrogate pair", None)


def test_a_pickle_is_loaded_only_if_it_is_trusted() -> None:
    source = CeleryQueues(Redis(), tasks=tasks, trust_pickle=True)
    (found,) = source.read(PLACE, [MESSAGES["pickle"].encode()])
    assert isinstance(found, Moving), found
    assert json.loads(found.task.payload) == {"a": 1, "b": 2}


def test_the_digest_is_the_same_for_another_delivery_only() -> None:
    def digest(message: str) -> str:
        found = read(message)
        assert isinstance(found, Moving)
        return found.digest

    first = digest(MESSAGES["plain"])
    assert digest(changed("plain", redelivered=True)) == first
    assert len({first, digest(changed("plain", retries=1)), digest(changed("plain", task="app.other"))}) == 3


def test_scripts_state_the_bounds_of_their_loops() -> None:
    tools = HERE.parents[1] / "lua" / "tools"
    sys.path.insert(0, str(tools))
    from bounds import check_bounds
    from scan import tokens

    import pyadeq.ext.move.migrate as package

    scripts = sorted((Path(package.__file__).parent / "lua").glob("*.lua"))
    assert len(scripts) > 4
    found = [check_bounds(path.name, text := path.read_text(encoding="utf-8"), tokens(text)) for path in scripts]
    assert found == [[]] * len(scripts)
