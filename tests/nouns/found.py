"""What a noun has in its folder beside this file, in place of a default.

A folder has scenarios.py, and if need be model.py, bench.py and arguments.py. Queues and locks are older: they have a
bench and models of their own.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pyadeq._core.kernel.manifest import library

HERE = Path(__file__).parent
OLDER: Final = ("queue", "lock")
NOUNS: Final = tuple(noun for noun in library().manifest["nouns"] if noun not in OLDER)


def own(noun: str, module: str, name: str, default: Any) -> Any:
    """What a noun has in place of a default, in a module of its folder."""
    if not (HERE / noun / f"{module}.py").exists():
        return default
    return getattr(import_module(f"tests.nouns.{noun}.{module}"), name, default)
