"""The generated methods of a client that give out nouns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pyadeq import _nouns


def test_of_a_noun_without_a_class_it_is_said_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("lua", "pyadeq/_async/kernel", "pyadeq/_async/note"):
        (tmp_path / folder).mkdir(parents=True)
    noun = {"word": "note", "title": "note book", "method": "short_notes", "field": "book"}
    (tmp_path / "lua/manifest.json").write_text(json.dumps({"nouns": {"note": noun}}))
    monkeypatch.setattr(_nouns, "ROOT", tmp_path)
    monkeypatch.setattr(_nouns, "TARGET", tmp_path / "pyadeq/_async/kernel/nouns.py")
    missing = "missing: pyadeq/_async/note/__init__.py with a class ShortNotes\n"
    assert _nouns.main([]) == 0
    assert capsys.readouterr().out == f"{missing}changed: pyadeq/_async/kernel/nouns.py\n"
    assert _nouns.main(["--check"]) == 0
    assert capsys.readouterr().out == missing
    (tmp_path / "pyadeq/_async/note/__init__.py").touch()
    assert _nouns.main([]) == 0
    assert capsys.readouterr().out == "changed: pyadeq/_async/kernel/nouns.py\n"
    assert "    def note_books(self" in _nouns.TARGET.read_text()
