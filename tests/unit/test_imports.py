"""Imports point one way, from layer to layer, and no files import each other.

The core is pure, and ext uses public names only.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GROUND, MODELS, CORE, TASKS, RIM, WORKER, PUBLIC, EXT = range(8)
# Modules and folders of pyadeq. Others are public; one whose name begins with "_" must be here.
LAYERS = {
    "codec": GROUND,
    "errors": GROUND,
    "keys": GROUND,
    "_importing": GROUND,
    "_supervisor": GROUND,
    "_nouns": GROUND,
    "_options": GROUND,
    "_settings": GROUND,
    "_unasync": GROUND,
    "_version": GROUND,
    "models": MODELS,
    "tiers": MODELS,
    "_core": CORE,
    "ids": TASKS,  # of the standard library only, but it draws random numbers, so the pure layers may not use it
    "_tasks": TASKS,
    "_async": RIM,
    "_sync": RIM,
    "_twins": RIM,
    "embedded": RIM,
    "_renewer": WORKER,
    "_worker": WORKER,
    "_names": PUBLIC,
    "_exports": PUBLIC,
    "ext": EXT,
}
# These have a folder, or a file, for each noun; no noun imports another.
NOUN_LAYERS = {"models", "_core", "_async", "_sync"}
IMPURE = {"asyncio", "random", "redis", "secrets", "select", "socket", "subprocess", "threading", "time"}
# These import besides the standard library only what is named.
ALONE = {
    "_importing": set[str](),
    "_supervisor": set[str](),
    "_nouns": set[str](),
    "_options": set[str](),
    "_settings": set[str](),
    "_unasync": set[str](),
    "embedded": {"errors"},
}


@cache
def imports(path: str, source: str) -> tuple[str, ...]:
    """The full name of everything that a file of pyadeq imports."""
    return tuple(_imports(path, source))


def _imports(path: str, source: str) -> Iterator[str]:
    package = path.split("/")[:-1]
    for node in ast.walk(ast.parse(source, path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{name.name}" for name in node.names)


def private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def layer(part: str) -> int:
    return LAYERS[part] if private(part) else LAYERS.get(part, PUBLIC)


def noun(path: str) -> str | None:
    """The noun in whose folder, or file of models, a module is."""
    parts = path.split("/")
    return parts[2] if len(parts) > 2 and parts[1] in NOUN_LAYERS and parts[2] in ("queue", "lock") else None


def upward(path: str, name: str) -> bool:
    """Whether the kernel of a layer imports a noun, or the client that gives the nouns out."""
    own, target = path.split("/")[:3], name.split(".")[:3]
    return own[1] in NOUN_LAYERS and own[2:] == ["kernel"] and target[:2] == own[:2] and target[2:] != ["kernel"]


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every import, in files named by their paths, that points the wrong way."""
    parts = {Path(path).parts[1].removesuffix(".py") for path in sources} | LAYERS.keys()
    found = []
    for path, source in sources.items():
        own = Path(path).parts[1].removesuffix(".py")
        for name in imports(path, source):
            top, _, rest = name.partition(".")
            if top != "pyadeq":
                impure = layer(own) <= CORE and own not in ALONE and top in IMPURE
                sync_awaits = own == "_sync" and (top == "asyncio" or name.startswith("redis.asyncio"))
                foreign = own in ALONE and top not in sys.stdlib_module_names
                wrong = impure or sync_awaits or foreign
            else:
                part = rest.partition(".")[0]
                target = part if part in parts or private(part) else "__init__"
                wrong = (
                    layer(target) > layer(own)
                    or len({noun(path.removesuffix(".py")), noun(name.replace(".", "/"))} - {None}) > 1
                    or upward(path, name)
                    or (path.startswith("pyadeq/ext/prove/") and name.startswith("pyadeq.ext.cli"))
                    or {own, target} == {"_async", "_sync"}
                    or (layer(own) == EXT and private(target))
                    or (own in ALONE and target not in ALONE[own])
                )
            if wrong:
                found.append(f"{path} imports {name}")
    return found


def files_imported(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The files that each file imports, for type checkers too, and the packages in which those are.

    A package in which the file itself is does not count: Python has begun to import it already.
    """
    files = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in sources}
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        targets = found.setdefault(path, set())
        for imported in imports(path, sources[path]):
            name = imported
            while name not in files and "." in name:
                name = name.rpartition(".")[0]
            if name in files and name != module:
                targets.add(files[name])
            while "." in name:
                name = name.rpartition(".")[0]
                if name in files and not f"{module}.".startswith(f"{name}."):
                    targets.add(files[name])
    return found


def cycle(sources: Mapping[str, str]) -> list[str]:
    """The files of a cycle of imports, if there is one."""
    try:
        TopologicalSorter(files_imported(sources)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def sources_of(folder: str) -> dict[str, str]:
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in (ROOT / folder).rglob("*.py")}


def test_imports_point_one_way() -> None:
    assert violations(sources_of("pyadeq")) == []


@pytest.mark.parametrize("folder", ["pyadeq", "bench"])
def test_no_files_import_each_other(folder: str) -> None:
    assert cycle(sources_of(folder)) == []


@pytest.mark.parametrize(
    "sources",
    [
        {"p/a.py": "from p.b import B", "p/b.py": "from p import a"},
        {"p/a.py": "from p.b import B", "p/b.py": "if TYPE_CHECKING:\n    from p.a import A"},
        {"p/a.py": "from p.b import B", "p/b.py": "def late():\n    from p.c import C", "p/c.py": "import p.a"},
        {"p/a.py": "from p.q.b import B", "p/q/__init__.py": "from p.a import A", "p/q/b.py": ""},
    ],
)
def test_a_cycle_is_found(sources: dict[str, str]) -> None:
    assert cycle(sources)


def test_a_package_may_import_its_own_modules() -> None:
    assert cycle({"p/__init__.py": "from p.a import A", "p/a.py": "from p.b import B", "p/b.py": ""}) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pyadeq/_core/queue.py", "import redis"),
        ("pyadeq/_core/queue.py", "from time import monotonic"),
        ("pyadeq/_core/queue.py", "from pyadeq._async.queue import Queue"),
        ("pyadeq/_core/queue.py", "from .._async import queue"),
        ("pyadeq/_core/queue.py", "from pyadeq import Adeq"),
        ("pyadeq/keys.py", "import pyadeq.ids"),
        ("pyadeq/_async/queue.py", "from pyadeq import ext"),
        ("pyadeq/_async/queue.py", "from pyadeq.asyncio import Adeq"),
        ("pyadeq/_async/queue.py", "from pyadeq._sync.queue import Queue"),
        ("pyadeq/_async/queue.py", "from pyadeq._worker.worker import Worker"),
        ("pyadeq/_tasks/context.py", "from pyadeq._async.queue import Queue"),
        ("pyadeq/_tasks/functions.py", "from pyadeq._worker.runs import Runs"),
        ("pyadeq/models/queue.py", "from pyadeq._core.queue import items"),
        ("pyadeq/errors.py", "from pyadeq.models.lock import CycleEdge"),
        ("pyadeq/_core/lock/calls.py", "from pyadeq._core.queue.items import held"),
        ("pyadeq/_async/queue/leases.py", "from pyadeq.models.lock import LockRequest"),
        ("pyadeq/_async/kernel/noun.py", "from pyadeq._async.client.client import Adeq"),
        ("pyadeq/_core/kernel/call.py", "if TYPE_CHECKING:\n    from pyadeq._core.lock.calls import acquire"),
        ("pyadeq/_sync/queue.py", "from redis.asyncio import Redis"),
        ("pyadeq/__init__.py", "from pyadeq.ext.cli import main"),
        ("pyadeq/ext/cli.py", "from pyadeq._core.queue import item"),
        ("pyadeq/ext/cli.py", "from pyadeq import _sync"),
        ("pyadeq/ext/prove/demo/run.py", "from pyadeq.ext.cli.shared.tables import print_rows"),
        ("pyadeq/embedded.py", "from pyadeq.keys import hash_slot"),
        ("pyadeq/embedded.py", "import redis"),
        ("pyadeq/_supervisor.py", "from pyadeq.errors import ConfigError"),
    ],
)
def test_a_wrong_import_is_found(path: str, source: str) -> None:
    others = {"pyadeq/asyncio.py": "", "pyadeq/ext/cli.py": ""}
    assert len(violations({**others, path: source})) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("pyadeq/_core/queue.py", "from pyadeq.errors import ConfigError\nfrom .call import Call"),
        ("pyadeq/_async/queue.py", "import asyncio, time\nfrom pyadeq._core.queue import item"),
        ("pyadeq/__init__.py", "from pyadeq._sync.client import Adeq"),
        ("pyadeq/ext/cli.py", "from pyadeq import Adeq, __version__\nfrom pyadeq.errors import AdeqError"),
        ("pyadeq/embedded.py", "from pyadeq.errors import ConfigError"),
    ],
)
def test_a_right_import_passes(path: str, source: str) -> None:
    assert violations({path: source}) == []
