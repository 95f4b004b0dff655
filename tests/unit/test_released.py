"""A script keeps the contract of the last release, or is a new version."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LUA = Path(__file__).parents[2] / "lua"
sys.path.insert(0, str(LUA / "tools"))

import released  # noqa: E402

MANIFEST: dict[str, Any] = json.loads((LUA / "manifest.json").read_text())
FAIL = "queue.fail.v1"


def of(manifest: dict[str, Any], script_id: str = FAIL) -> dict[str, Any]:
    found: dict[str, Any] = next(script for script in manifest["scripts"] if script["id"] == script_id)
    return found


def findings(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """What is found after a change of the manifest."""
    manifest = copy.deepcopy(MANIFEST)
    change(manifest)
    return list(released.broken(released.promises(MANIFEST), released.promises(manifest)))


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda now: now["scripts"].remove(of(now)), f"{FAIL}: is gone"),
        (lambda now: of(now)["args"].pop(), f"{FAIL}: arguments differ from the last release: now_ms int ?=0"),
        (lambda now: of(now)["args"].reverse(), f"{FAIL}: arguments differ from the last release: the order"),
        (
            lambda now: of(now)["args"].append({"name": "x", "type": "int"}),
            "arguments differ from the last release: x int",
        ),
        (lambda now: of(now)["groups"][0]["fields"].pop(), "fields of item differ"),
        (lambda now: of(now)["groups"][0]["pairs"].pop(0), "options of item differ"),
        (lambda now: of(now)["returns"][0]["fields"].pop(0), f"{FAIL}: answers differ from the last release: ok"),
        (lambda now: of(now)["shapes"]["item"].pop(), "answers of item differ"),
    ],
)
def test_a_broken_promise(change: Callable[[dict[str, Any]], object], finding: str) -> None:
    (found,) = findings(change)
    assert finding in found
    assert found.endswith(("write a new version", "a version stays for one minor release"))


@pytest.mark.parametrize(
    "change",
    [
        lambda now: of(now)["groups"][0]["pairs"].insert(0, {"name": "new", "type": "int"}),
        lambda now: of(now)["keys"].pop(),
        lambda now: now["scripts"].append(of(now) | {"id": "queue.fail.v2"}),
    ],
)
def test_what_may_change_within_a_version(change: Callable[[dict[str, Any]], object]) -> None:
    assert findings(change) == []


def test_nothing_is_promised_before_the_first_release(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"scripts": []}')
    assert released.broken_promises(tmp_path) == []
    (tmp_path / released.FILE).write_text(json.dumps(released.promises(MANIFEST)))
    assert any(one.startswith("released.json: lock.abort.v1: is gone") for one in released.broken_promises(tmp_path))


def test_our_scripts_keep_their_promises() -> None:
    assert (LUA / released.FILE).is_file()
    assert released.broken_promises(LUA) == []
