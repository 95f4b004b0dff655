"""Imports point one way: core -> rim -> public -> ext. The core is pure, and ext uses public names only."""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE, RIM, PUBLIC, EXT = range(4)
# Modules and folders of pyadeq. Others are of the rim if their names begin with "_", and public if not.
LAYERS = {
    "codec": CORE,
    "errors": CORE,
    "keys": CORE,
    "limit_models": CORE,
    "partition_models": CORE,
    "lock_models": CORE,
    "worker_models": CORE,
    "schedule_models": CORE,
    "models": CORE,
    "_core": CORE,
    "embedded": RIM,
    "ids": RIM,
    "ext": EXT,
}
IMPURE = {"asyncio", "random", "redis", "secrets", "select", "socket", "subprocess", "threading", "time"}
# These import besides the standard library only what is named.
ALONE = {"_supervisor": set[str](), "_unasync": set[str](), "embedded": {"errors"}}


def imports(path: str, source: str) -> Iterator[str]:
    """The full name of everything that a file of pyadeq imports."""
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
    return LAYERS.get(part, RIM if private(part) else PUBLIC)


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every import, in files named by their paths, that points the wrong way."""
    parts = {Path(path).parts[1].removesuffix(".py") for path in sources} | LAYERS.keys()
    found = []
    for path, source in sources.items():
        own = Path(path).parts[1].removesuffix(".py")
        for name in imports(path, source):
            top, _, rest = name.partition(".")
            if top != "pyadeq":
                impure = layer(own) == CORE and top in IMPURE
                sync_awaits = own == "_sync" and (top == "asyncio" or name.startswith("redis.asyncio"))
                foreign = own in ALONE and top not in sys.stdlib_module_names
                wrong = impure or sync_awaits or foreign
            else:
                part = rest.partition(".")[0]
                target = part if part in parts or private(part) else "__init__"
                wrong = (
                    layer(target) > layer(own)
                    or {own, target} == {"_async", "_sync"}
                    or (layer(own) == EXT and private(target))
                    or (own in ALONE and target not in ALONE[own])
                )
            if wrong:
                found.append(f"{path} imports {name}")
    return found


def test_imports_point_one_way() -> None:
    files = (path for path in (ROOT / "pyadeq").rglob("*.py"))
    assert violations({str(path.relative_to(ROOT)): path.read_text() for path in files}) == []


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
        ("pyadeq/_sync/queue.py", "from redis.asyncio import Redis"),
        ("pyadeq/__init__.py", "from pyadeq.ext.cli import main"),
        ("pyadeq/ext/cli.py", "from pyadeq._core.queue import item"),
        ("pyadeq/ext/cli.py", "from pyadeq import _sync"),
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
