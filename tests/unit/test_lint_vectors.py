"""Each finding of the check of conformance vectors, on a small manifest, and that our own have none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.lua_tree import CONFIG, LUA, Sources, lint, vectors

LISTED = [{"name": "items", "type": "list", "of": "item"}]
NESTED = [{"name": "parts", "type": "list", "of": "part"}]
SCRIPT: dict[str, Any] = {
    "id": "demo.run.v1",
    "returns": [{"status": "ok", "fields": LISTED}, {"status": "gone", "fields": []}],
    "shapes": {
        "item": [{"status": "done", "fields": NESTED}, {"status": "lost", "fields": []}],
        "part": [{"status": "part", "fields": []}],
    },
    "errors": ["ADEQ_ARG"],
    "replay": "idempotent",
}
PATH = "conformance/demo.run.v1.json"


def vector(name: str, **own: Any) -> dict[str, Any]:
    return {"name": name, "shows": vectors.shows(SCRIPT, own), **own}


def complete() -> list[dict[str, Any]]:
    return [
        vector("all", answer=["ok", [["lost"], ["done", [["part"]]], ["lost"]]]),
        vector("none", answer=["gone"]),
        vector("bad", error="ADEQ_ARG id must be an id"),
    ]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "conformance").mkdir()
    (tmp_path / "manifest.json").write_text(json.dumps({"scripts": [SCRIPT]}))
    return tmp_path


def findings(root: Path, every: Any, script: str = "demo.run.v1") -> list[str]:
    (root / PATH).write_text(json.dumps({"script": script, "vectors": every}))
    found: list[str] = vectors.check(root)
    assert all(text.startswith(f"{PATH}: ") for text in found)
    return [text.removeprefix(f"{PATH}: ") for text in found]


def test_clean(root: Path) -> None:
    assert findings(root, complete()) == []


def test_what_a_vector_shows_has_the_order_of_the_manifest() -> None:
    shown = [one["shows"] for one in complete()]
    assert shown == [["ok", "item.done", "item.lost", "part.part"], ["gone"], ["ADEQ_ARG"]]


@pytest.mark.parametrize(
    ("at", "missing"), [(0, ["ok", "item.done", "item.lost", "part.part"]), (1, ["gone"]), (2, ["ADEQ_ARG"])]
)
def test_what_is_declared_and_not_shown(root: Path, at: int, missing: list[str]) -> None:
    found = findings(root, [one for index, one in enumerate(complete()) if index != at])
    assert [text.partition(";")[0] for text in found] == [f"no vector of demo.run.v1 shows {one}" for one in missing]
    assert all(vectors.RECORD in text for text in found)


def test_shows_must_agree_with_the_answer(root: Path) -> None:
    every = complete()
    every[1]["shows"] = ["ok"]
    (found,) = findings(root, every)
    assert found.startswith("'none' shows ['gone'], not ['ok']: ")


def test_a_file_of_another_script(root: Path) -> None:
    (found,) = findings(root, complete(), "demo.other.v1")
    assert found.startswith("it is of demo.other.v1: ")


@pytest.mark.parametrize(
    "every",
    [
        None,
        [{}],
        [{"name": "a", "shows": [], "answer": []}],
        [{"name": "a", "shows": [], "answer": ["strange"]}],
        [{"name": "a", "shows": [], "answer": ["gone", 1]}],
        [{"name": "a", "shows": [], "answer": ["ok", [["strange"]]]}],
    ],
)
def test_what_the_manifest_does_not_declare(root: Path, every: Any) -> None:
    (found,) = findings(root, every)
    assert found.startswith("it is not what the manifest declares (")


def test_text_that_is_no_json(root: Path) -> None:
    (root / PATH).write_text("{")
    (found,) = vectors.check(root)
    assert found.startswith(f"{PATH}: it is not what the manifest declares (JSONDecodeError")


def test_files_and_scripts_belong_together(root: Path) -> None:
    (root / "conformance/demo.gone.v1.json").write_text("{}")
    assert vectors.check(root) == [
        f"{PATH}: there are no vectors of demo.run.v1: {vectors.RECORD}",
        "conformance/demo.gone.v1.json: there is no such script in the manifest: delete it",
    ]


def test_a_tree_without_a_manifest_has_nothing_to_show(tmp_path: Path) -> None:
    assert vectors.check(tmp_path) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "without_facts", lambda root: [])
    sources = Sources(tmp_path)
    sources.keys(CONFIG)
    sources.script("RETURN ok", "\nreturn { 'ok', redis.call('HGET', config, 'a') }\n")
    (tmp_path / "manifest.json").write_text(sources.build()["manifest.json"])
    assert lint.main(["--lua", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{PATH}: there are no vectors of demo.run.v1: {vectors.RECORD}\n"


def story(root: Path, **own: Any) -> list[str]:
    """The findings about one story, of two calls that are the same but for their clock."""
    step = {"script": "demo.run.v1", "call": {"args": {"rid": "r"}, "groups": {}}, "answer": ["gone"], **own}
    later = {**step, "call": {**step["call"], "args": {"rid": "r", "now_ms": 5}}}
    (root / "conformance/stories").mkdir()
    told = {"story": "twice", "noun": "demo", "steps": [step, later]}
    (root / "conformance/stories/demo.twice.json").write_text(json.dumps(told))
    (root / "manifest.json").write_text(json.dumps({"scripts": [{**SCRIPT, "replay": "rid"}]}))
    (root / PATH).write_text(json.dumps({"script": "demo.run.v1", "vectors": complete()}))
    found: list[str] = vectors.check(root)
    return found


def test_a_story_that_fits(root: Path) -> None:
    assert story(root) == []


def test_a_kind_of_replay_without_a_story(root: Path) -> None:
    (root / "manifest.json").write_text(json.dumps({"scripts": [{**SCRIPT, "replay": "token"}]}))
    (root / PATH).write_text(json.dumps({"script": "demo.run.v1", "vectors": complete()}))
    assert vectors.check(root) == ["conformance/stories: no story sends a call again whose replay is by token"]


@pytest.mark.parametrize(
    "own", [{"script": "demo.gone.v1"}, {"answer": ["left"]}, {"answer": ["gone", 1]}, {"call": {}}]
)
def test_a_story_that_the_manifest_does_not_declare(root: Path, own: dict[str, Any]) -> None:
    if "call" in own:
        (root / "conformance/stories").mkdir()
        (root / "conformance/stories/x.json").write_text("{}")
        (root / PATH).write_text(json.dumps({"script": "demo.run.v1", "vectors": complete()}))
        assert "it is not what the manifest declares (KeyError" in vectors.check(root)[0]
    else:
        assert "demo.twice.json: it is not what the manifest declares" in story(root, **own)[0]


def test_own_vectors() -> None:
    assert vectors.check(LUA) == []
