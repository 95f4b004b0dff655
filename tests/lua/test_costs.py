"""What each path costs: the commands of its script, which are most of its price. See costs.toml."""

import os
import tomllib
from contextlib import suppress
from pathlib import Path

import pytest

from tests.lua.bench import Bench, MakeAny
from tests.lua.scenarios import SCENARIOS, Scenario
from tests.lua.watched import Refused

pytestmark = pytest.mark.any_engine

FILE = Path(__file__).with_name("costs.toml")
UPDATE = os.environ.get("ADEQ_UPDATE_COSTS") == "1"
HEADING = """\
# How many commands (redis.call) the script of a call sends, by path; n is the number of items, where there are any.
# Commands are most of what a script costs the server. A rise needs a reason in the same commit; a fall is welcome.
# After a change: ADEQ_UPDATE_COSTS=1 python -m pytest tests/lua/test_costs.py

"""
RECORDED: dict[str, int] = {} if UPDATE else tomllib.loads(FILE.read_text())


if UPDATE:

    def test_record_the_costs(make_any: MakeAny) -> None:
        costs = {}
        for scenario in SCENARIOS:
            bench = make_any(scenario.noun, scenario.clock)
            costs[scenario.name] = commands(scenario, bench)
            bench.remove()
        FILE.write_text(HEADING + "".join(f'"{name}" = {costs[name]}\n' for name in sorted(costs)))

else:

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
    def test_a_path_costs_what_is_recorded(scenario: Scenario, make_any: MakeAny) -> None:
        assert commands(scenario, make_any(scenario.noun, scenario.clock)) == RECORDED.get(scenario.name), (
            "see the top of costs.toml"
        )

    def test_every_recorded_path_exists() -> None:
        assert RECORDED.keys() <= {scenario.name for scenario in SCENARIOS}


def commands(scenario: Scenario, bench: Bench) -> int:
    call = scenario(bench)
    with suppress(Refused):
        bench.watched.call(call)
    return len(bench.watched.last.commands)
