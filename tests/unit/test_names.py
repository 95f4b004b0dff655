"""The public names are all there, and each module is imported no sooner than it is needed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import pyadeq
import pyadeq.asyncio
import pyadeq.models
from pyadeq import _exports, _names

ROOT = Path(__file__).parents[2]
TWINS = {pyadeq: _names.homes("_sync", {}), pyadeq.asyncio: _names.homes("_async", _names.WORKER)}
TWIN = pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)


@TWIN
def test_the_names_of_the_table_are_generated(
    twin: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(twin, type(pyadeq))
    source, copy = Path(str(twin.__file__)), tmp_path / "pyadeq/copy.py"
    copy.parent.mkdir()
    text = source.read_text()
    copy.write_text(text.replace("        RunNow,\n", "").replace('    "RunNow",\n', ""))
    monkeypatch.setattr(_exports, "ROOT", copy.parent)
    monkeypatch.setattr(_exports, "TWINS", {copy: _exports.TWINS[source]})
    assert _exports.main(["--check"]) == 1
    assert "pyadeq/copy.py is not current" in capsys.readouterr().err
    assert _exports.main([]) == 0
    assert copy.read_text() == text
    assert _exports.main(["--check"]) == 0
    assert sorted({*TWINS[twin], *(["__version__"] if twin is pyadeq else [])}) == sorted(twin.__all__)


@TWIN
def test_every_name_is_there(twin: object) -> None:
    assert isinstance(twin, type(pyadeq))
    for name, home in TWINS[twin].items():
        assert getattr(twin, name) is getattr(sys.modules[home], name)
        assert name in dir(twin)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        twin.Nothing  # noqa: B018


def test_public_modules_are_there() -> None:
    for name in _names.MODULES.split():
        assert getattr(pyadeq, name) is sys.modules[f"pyadeq.{name}"]


def test_the_models_of_the_queue_are_names_of_the_package() -> None:
    names: dict[str, object] = {}
    exec("from pyadeq.models import *", names)
    for name in ("Seconds", "Task", "to_ms"):
        assert names[name] is getattr(pyadeq.models, name)
        assert name in dir(pyadeq.models)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        pyadeq.models.Nothing  # type: ignore[attr-defined] # noqa: B018


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded for this code."""
    code = f"import json, sys; before = set(sys.modules); {code}; print(json.dumps(sorted({{*sys.modules}} - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(json.loads(done.stdout))


def within(modules: set[str], *packages: str) -> set[str]:
    return {module for module in modules if f"{module}.".startswith(tuple(f"{package}." for package in packages))}


def test_import_pyadeq_loads_nothing_else() -> None:
    modules = loaded("import pyadeq, pyadeq.asyncio")
    assert within(modules, "pyadeq") == {
        "pyadeq",
        "pyadeq._importing",
        "pyadeq._names",
        "pyadeq._version",
        "pyadeq.asyncio",
    }
    assert within(modules, "asyncio", "hiredis", "pydantic", "redis") == set()


@pytest.mark.parametrize("name", ["Adeq", "QueueCalls", "Task", "Tasks", "errors"])
def test_a_name_that_does_not_connect_loads_no_redis(name: str) -> None:
    modules = loaded(f"from pyadeq import {name}")
    assert within(modules, "redis", "pyadeq._async", "pyadeq._worker", "pyadeq.ext") == set()


def test_a_client_loads_only_the_nouns_that_are_used() -> None:
    client = "from pyadeq import Adeq; adeq = Adeq.from_url('redis://localhost')"
    queue, lock = "pyadeq._sync.queue", "pyadeq._sync.lock"
    assert within(loaded(client), queue, lock) == set()
    assert within(loaded(f"{client}; adeq.queue('jobs')"), lock) == set()
    locks = loaded(f"{client}; adeq.locks('repo')")
    assert within(locks, queue, "pyadeq._core.queue", "pyadeq.models.queue", "pyadeq._tasks") == set()
