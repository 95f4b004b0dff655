"""The settings of queues and lock domains, as they are generated from their noun.toml."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pyadeq import BadArgument, LockCalls, QueueCalls, _settings
from pyadeq.models.settings import SETTINGS
from tests.other_settings import others

LINE = 'trial_keep_ms = ["int 1000..86400000", 60000, "how long; at most presence_ms", { label = "Trial" }]'


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the generator reads, of which tests change copies."""
    for noun in _settings.NOUNS:
        (tmp_path / f"lua/{noun}").mkdir(parents=True)
        shutil.copy(_settings.ROOT / f"lua/{noun}/noun.toml", tmp_path / f"lua/{noun}")
    shutil.copy(_settings.ROOT / "lua/manifest.json", tmp_path / "lua")
    (tmp_path / "pyadeq/models").mkdir(parents=True)
    monkeypatch.setattr(_settings, "ROOT", tmp_path)
    return tmp_path


def add(root: Path, line: str, **entry: object) -> None:
    """Add a setting to the queue, in its noun.toml and in the manifest."""
    facts, manifest = root / "lua/queue/noun.toml", root / "lua/manifest.json"
    facts.write_text(facts.read_text().replace("\n[texts]", f"{line}\n\n[texts]", 1))
    read = json.loads(manifest.read_text())
    read["nouns"]["queue"]["settings"].append(entry)
    manifest.write_text(json.dumps(read))


def test_a_line_is_all_that_a_setting_needs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _settings.main([]) == 0
    assert _settings.main(["--check"]) == 0
    bounds = {"type": "int", "min": 1000, "max": 86_400_000, "default": 60_000}
    add(root, LINE, name="trial_keep_ms", doc="how long; at most presence_ms", **bounds)
    assert _settings.main(["--check"]) == 1
    assert "queue_settings.py is not current: run `make gen`" in capsys.readouterr().err
    assert _settings.main([]) == 0
    model = (root / "pyadeq/models/queue_settings.py").read_text()
    assert "\n    trial_keep: Seconds\n" in model
    assert "\n    trial_keep: how long; at most `presence`.\n" in model
    assert "\n    trial_keep: float = 60.0\n" in model
    row = (root / "pyadeq/models/settings.py").read_text().partition('name="trial_keep"')[2].partition("),\n")[0]
    assert row.split("\n            ")[1:] == [
        'wire="trial_keep_ms",',
        'kind="seconds",',
        "default=60.0,",
        'doc="how long; at most `presence`",',
        "least=1,",
        "most=86400,",
        'label="Trial",\n        ',
    ]


def test_types_of_many_words_are_lines(root: Path) -> None:
    words = [f"a_rather_long_word_{number}" for number in range(9)]
    add(root, 'shape = ["enum a|b", "", "x"]', name="shape", type="enum", values=words, default="", doc="x")
    model = _settings.generate()[root / "pyadeq/models/queue_settings.py"]
    assert 'QueueShape = Literal[\n    "a_rather_long_word_0",\n' in model
    assert "\n    shape: QueueShape | None = None\n" in model


@pytest.mark.parametrize("noun", SETTINGS)
def test_errors_name_a_setting_as_python_does(noun: str) -> None:
    calls = QueueCalls("ade:{queue:q}") if noun == "queue" else LockCalls("ade:{lock:d}")
    for name in others(noun).keys() - {"backoff"}:
        (setting,) = [one for one in SETTINGS[noun] if one.name == name]
        wrong = "no" if setting.kind != "seconds" else int(setting.most) + 1
        with pytest.raises(BadArgument, match=rf"\b{name}: '?{wrong}'? is not accepted"):
            calls.configure(**{name: wrong})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^leese: there is no such option; did you mean lease\?"):
        calls.configure(leese=1)  # type: ignore[call-arg]
