"""The nouns whose tests are in folders beside this file.

A folder has scenarios.py, and if need be model.py, bench.py and arguments.py.

Whatever tests all nouns finds them here. Queues and locks are older: their modules are elsewhere in tests.
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


def load_scenarios() -> None:
    """Import those of each noun, which adds them to the others."""
    for noun in NOUNS:
        import_module(f"tests.nouns.{noun}.scenarios")
