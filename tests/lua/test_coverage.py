"""The scenarios together run every line of every source that holds a statement."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress

import pytest

from pyadeq._core.manifest import library
from tests.lua.bench import MakeAny
from tests.lua.coverage import LUA, origins, statement_lines
from tests.lua.scenarios import small
from tests.lua.watched import Refused

pytestmark = pytest.mark.any_engine

Line = tuple[str, int]


def test_the_scenarios_run_every_line(make_any: MakeAny) -> None:
    ran: defaultdict[str, set[int]] = defaultdict(set)
    for scenario in small():
        bench = make_any(scenario.noun, scenario.clock)
        call = scenario(bench)
        with suppress(Refused):
            bench.watched.call(call)
        ran[call.script.id] |= bench.watched.last.lines
        bench.remove()
    statements: set[Line] = set()
    covered: set[Line] = set()
    for entry in library().manifest["scripts"]:
        text = library()[entry["id"]].text
        origin = origins(entry["source"], text)
        of_script = statement_lines(text)
        statements |= {origin[line] for line in of_script if line in origin}
        covered |= {origin[line] for line in ran[entry["id"]] & of_script if line in origin}
        assert {entry["source"]} <= {name for name, _ in origin.values()}
    used = {name for name, _ in statements}
    folders = {"include", *(entry["noun"] for entry in library().manifest["scripts"])}
    assert used == {path.relative_to(LUA).as_posix() for folder in folders for path in (LUA / folder).iterdir()}
    missed = [f"lua/{name}:{line}" for name, line in sorted(statements - covered)]
    assert not missed, f"no scenario in tests/lua/scenarios.py runs {', '.join(missed)}"
