"""The generated methods of a client that give out nouns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pyadeq import _nouns


def test_of_a_noun_without_a_class_it_is_said_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("lua", "pyadeq/_async/client", "pyadeq/_async/note"):
        (tmp_path / folder).mkdir(parents=True)
    noun = {"word": "note", "title": "note book", "method": "short_notes", "field": "book"}
    (tmp_path / "lua/manifest.json").write_text(json.dumps({"nouns": {"note": noun}}))
    monkeypatch.setattr(_nouns, "ROOT", tmp_path)
    monkeypatch.setattr(_nouns, "TARGET", tmp_path / "pyadeq/_async/client/nouns.py")
    missing = "missing: pyadeq/_async/note/__init__.py with a class ShortNotes\n"
    assert _nouns.main([]) == 0
    assert capsys.readouterr().out == f"{missing}changed: pyadeq/_async/client/nouns.py\n"
    assert _nouns.main(["--check"]) == 0
    assert capsys.readouterr().out == missing
    (tmp_path / "pyadeq/_async/note/__init__.py").touch()
    assert _nouns.main([]) == 0
    assert capsys.readouterr().out == "changed: pyadeq/_async/client/nouns.py\n"
    assert "    def note_books(self" in _nouns.TARGET.read_text()


def noun(word: str, title: str, method: str) -> dict[str, Any]:
    return {"word": word, "title": title, "method": method, "field": "name"}


@pytest.mark.parametrize(
    ("title", "method", "taken"),
    [
        ("annotation", "badges", "annotations is in pyadeq/_async/client/client.py"),  # a method of the client
        ("badge", "names", "names is in pyadeq/_async/client/source.py"),
        ("badge", "client", "client is in pyadeq/_async/client/client.py"),  # an attribute
        ("queue", "badges", "queues is in the noun queue"),
        ("badge", "queue", "queue is in the noun queue"),
        ("badge", "badges", "badges is in the noun stamp"),  # its plural is its method
    ],
)
def test_a_name_that_the_client_has_already_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], title: str, method: str, taken: str
) -> None:
    nouns = {**_nouns._manifest()["nouns"], "stamp": noun("stamp", title, method)}
    monkeypatch.setattr(_nouns, "_manifest", lambda: {"nouns": nouns})
    assert _nouns.main(["--check"]) == 1
    assert f"the noun stamp: its method {taken} already" in capsys.readouterr().err


def test_the_nouns_have_names_of_their_own() -> None:
    assert _nouns.collisions() == []
