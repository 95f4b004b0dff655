"""What each path costs: the commands of its script, most of its price, and the bytes of its reply. See costs.toml."""

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.lua.bench import Bench, MakeAny
from tests.lua.scenarios import SCENARIOS, Scenario
from tests.lua.watched import Refused

pytestmark = pytest.mark.any_engine

FILE = Path(__file__).with_name("costs.toml")
UPDATE = os.environ.get("ADEQ_UPDATE_COSTS") == "1"
HEADING = """\
# How many commands (redis.call) the script of a call sends, and how many bytes its reply has in RESP2, by path; n is
# the number of items, where there are any. Commands are most of what a script costs the server, and replies of what it
# costs the wire and the client. A rise needs a reason in the same commit; a fall is welcome.
# After a change: ADEQ_UPDATE_COSTS=1 python -m pytest tests/lua/test_costs.py

"""
SCANS = {"limits", "stats", "weights", "workers"}  # who is on a page of theirs depends on the server's hash seed
ROOM = 1.05  # for their replies
RECORDED: dict[str, dict[str, int]] = {} if UPDATE else tomllib.loads(FILE.read_text())


if UPDATE:

    def test_record_the_costs(make_any: MakeAny) -> None:
        lines = []
        for scenario in sorted(SCENARIOS, key=lambda one: one.name):
            bench = make_any(scenario.noun, scenario.clock)
            cost = ", ".join(f"{what} = {number}" for what, number in costs(scenario, bench).items())
            lines.append(f'"{scenario.name}" = {{ {cost} }}\n')
            bench.remove()
        FILE.write_text(HEADING + "".join(lines))

else:

    @pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
    def test_a_path_costs_what_is_recorded(scenario: Scenario, make_any: MakeAny) -> None:
        found, recorded = costs(scenario, make_any(scenario.noun, scenario.clock)), RECORDED.get(scenario.name)
        assert recorded is not None, "see the top of costs.toml"
        assert found["commands"] == recorded["commands"], "see the top of costs.toml"
        room = ROOM if scenario.verb in SCANS else 1
        assert recorded["reply"] / room <= found["reply"] <= recorded["reply"] * room, "see the top of costs.toml"

    def test_every_recorded_path_exists() -> None:
        assert RECORDED.keys() <= {scenario.name for scenario in SCENARIOS}


def costs(scenario: Scenario, bench: Bench) -> dict[str, int]:
    call, reply = scenario(bench), 0
    with suppress(Refused):
        reply = size(bench.watched.call(call))
    return {"commands": len(bench.watched.last.commands), "reply": reply}


def size(reply: Any) -> int:
    """Its bytes on the wire, where its integers are those of a script."""
    match reply:
        case list():
            return len(b"*%d\r\n" % len(reply)) + sum(map(size, reply))
        case int():
            return len(b":%d\r\n" % reply)
        case bytes():
            return len(b"$%d\r\n" % len(reply)) + len(reply) + 2
    raise TypeError(f"{type(reply).__name__} in a reply")


@pytest.mark.parametrize(
    ("reply", "expected"), [([], 4), ([b"ok", 1, [b"a"]], 4 + 8 + 4 + 4 + 7), (b"x" * 10, 17), (-12, 6)]
)
def test_the_size_of_a_reply(reply: Any, expected: int) -> None:
    assert size(reply) == expected
