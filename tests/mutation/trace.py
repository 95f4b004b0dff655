"""Which lines of which sources each test runs under watch, and what it costs."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pyadeq._core.kernel.call import Call, Reply
from pyadeq._core.kernel.manifest import library
from tests.nouns.sources import origins
from tests.nouns.sources import sources as known
from tests.nouns.watched import WatchedClient
from tests.property.link import Link
from tests.unit.lua_tree import LUA

ROOT = LUA.parent
Line = tuple[str, int]  # a source and a line of it
SCENARIOS = "tests/nouns/test_scenarios.py"
# Their calls are not seen: they count as running every line of a lock script, and cost so many µs.
UNSEEN = {"tests/property/locks/test_histories.py": 1_000_000, "tests/property/locks/test_corners.py": 20_000}


class Traced(NamedTuple):
    lines: frozenset[Line]
    cost: int  # about µs, from what was counted: the same on each machine


class Recorder:
    """What the tests run while it is watching; each is noted at its end."""

    def __init__(self) -> None:
        self._lines: set[tuple[str, int]] = set()  # of generated scripts
        self._cost = 0
        self._found: dict[str, Traced] = {}

    def end(self, name: str) -> None:
        found = {sources()[line] for line in self._lines if line in sources()}
        self._found[name] = Traced(frozenset(found), 5_000 + self._cost)
        self._lines, self._cost = set(), 0

    def complete(self, names: Iterable[str]) -> dict[str, Traced]:
        """Those of all these tests: what was not run is told from the scenarios."""
        of_locks = [one for name, one in self._found.items() if name.startswith(SCENARIOS) and "[lock " in name]
        locks = frozenset(line for one in of_locks for line in one.lines)
        for name in names:
            if cost := unseen(name):
                self._found[name] = Traced(locks, cost)
        return self._found

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Until the end, the models' queues run their scripts under watch as well."""
        usual = WatchedClient.run_text
        clients: dict[int, WatchedClient] = {}

        def run_text(client: WatchedClient, *args: Any) -> Reply:
            try:
                return usual(client, *args)
            finally:
                run = client.last
                self._lines |= {(run.script.id, line) for line in run.lines}
                self._cost += 500 + 60 * len(run.commands) + run.steps

        def run(link: Link, call: Call[Any]) -> Any:
            if id(link.client) not in clients:
                clients[id(link.client)] = WatchedClient(link.client)
            return call.decode(clients[id(link.client)].call(call))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(WatchedClient, "run_text", run_text)
            patch.setattr(Link, "run", run)
            yield


def unseen(name: str) -> int:
    """What a test costs whose calls cannot be seen; 0 if they can."""
    return next((cost for beginning, cost in UNSEEN.items() if name.startswith(beginning)), 0)


@cache
def sources() -> dict[tuple[str, int], Line]:
    """From a line of a generated script to the source and its line."""
    return {
        (script.id, at): line
        for script in known().scripts
        for at, line in origins(script.id, library()[script.id].text).items()
    }


def fingerprint(names: Sequence[str]) -> str:
    """Of all that a trace depends on."""
    found = hashlib.sha256("\n".join([*names, *(library()[id].sha1 for id in library())]).encode())
    for folder in ("tests/nouns", "tests/property", "tests/mutation"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found.update(path.read_bytes())
    return found.hexdigest()


def load(file: Path, key: str) -> dict[str, Traced] | None:
    if not file.exists():
        return None
    stored: str
    traces: dict[str, Traced]
    stored, traces = pickle.loads(file.read_bytes())
    return traces if stored == key or os.environ.get("MUTANTS_TRACE") == "old" else None


def store(file: Path, key: str, traces: dict[str, Traced]) -> None:
    file.write_bytes(pickle.dumps((key, traces)))
