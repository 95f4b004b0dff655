"""The public names are all there, and each module is imported no sooner than it is needed."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import pyadeq
import pyadeq.asyncio
import pyadeq.models
from pyadeq import _names

ROOT = Path(__file__).parents[2]
TWINS = {pyadeq: _names.homes("_sync", {}), pyadeq.asyncio: _names.homes("_async", _names.WORKER)}
TWIN = pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)


def seen_by_type_checkers(path: Path) -> dict[str, str]:
    """Name -> the module from which a type checker imports it."""
    (block,) = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {name.name: str(node.module) for node in imports for name in node.names}


@TWIN
def test_the_table_is_what_type_checkers_see(twin: object) -> None:
    assert isinstance(twin, type(pyadeq))
    homes = TWINS[twin]
    assert homes == seen_by_type_checkers(Path(str(twin.__file__)))
    assert sorted({*homes, *(["__version__"] if twin is pyadeq else [])}) == sorted(twin.__all__)


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


@pytest.mark.parametrize(
    ("old", "new"),
    [("lock", "lock"), ("limit", "limit"), ("schedule", "schedule"), ("worker", "worker"), ("partition", "partition")],
)
def test_old_modules_have_the_models(old: str, new: str) -> None:
    __import__(f"pyadeq.{old}_models")
    models = {name: value for name, value in vars(sys.modules[f"pyadeq.models.{new}"]).items() if name[0] != "_"}
    assert models.items() <= vars(sys.modules[f"pyadeq.{old}_models"]).items()


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
