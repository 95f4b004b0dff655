"""The lock around the imports at a first use.

A forked child has only the thread that forked. If another thread was importing a module, the child's import of that
module would wait for ever. So a fork waits until no first use is importing. Only modules of pyadeq, and what they need,
are imported under the lock. A module of a program may use pyadeq while it is imported.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 # see below
import logging  # noqa: F401 # see below
import os
from importlib import import_module
from threading import RLock
from types import ModuleType

IMPORTING = RLock()

# Before a fork, hooks run in reverse order. `logging` has a lock and a hook, too, and modules need that lock while they
# are imported. Its hook must run after this one, so `logging` is imported first. So is `concurrent.futures.thread`: if
# it were imported while a fork waits, Python would call only its hook for after the fork, which prints an error.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IMPORTING.acquire, after_in_parent=IMPORTING.release, after_in_child=IMPORTING.release)


def load(module: str) -> ModuleType:
    """Import a module by its name, after its packages.

    Python locks a module before it imports its package. If another thread imports the package first, and that imports
    the module, the two wait for each other.
    """
    with IMPORTING:
        parts = module.split(".")
        for end in range(1, len(parts)):
            import_module(".".join(parts[:end]))
        return import_module(module)
