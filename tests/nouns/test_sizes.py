"""Every script in the worst legal state: a call keeps to the budget that its header states, and loses nothing.

`make sizes` runs them, apart from the other tests, for the states take minutes to build. After a change that a budget
has to follow, ADEQ_UPDATE_BUDGETS=1 make sizes writes new ones into the headers, then make gen. A rise needs a reason.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import library
from tests.audit import audit
from tests.nouns import watched
from tests.nouns.found import NOUNS
from tests.nouns.scenario import load
from tests.nouns.script_bench import MakeAny
from tests.nouns.size import SIZES, Size
from tests.nouns.watched import Refused, WatchedClient

load("sizes_of_*.py", "*/sizes*.py", "*/verb_*.py")

pytestmark = pytest.mark.any_engine

LUA = Path(__file__).parents[2] / "lua"
UPDATE = os.environ.get("ADEQ_UPDATE_BUDGETS") == "1"
BUDGETS: dict[str, dict[str, int]] = {
    script["id"]: script.get("budget", {}) for script in json.loads((LUA / "manifest.json").read_text())["scripts"]
}
ROOM = 1.1  # between what was found and the budget
ROOM_OF_SORTS = 1.6  # where the order of a hash, which is random, says how many steps a sort takes
ROUNDS_OF_SORTS = 10
MOST_REPLY = 6 * 2**20  # bytes: a claim stops before 4 MiB but for one task, and names and numbers come on top


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch, pool: redis.ConnectionPool) -> Iterator[WatchedClient]:
    """A watched client that lets each script run as long as its budget says, and waits longer for the server."""
    monkeypatch.setattr(watched, "PATIENCE", 60)
    monkeypatch.setattr(
        watched, "allowance", lambda script, _: BUDGETS[script.id].get("steps", 10**8) if not UPDATE else 10**8
    )
    client = WatchedClient(redis.Redis(connection_pool=pool))
    yield client
    client.server.close()


def run(size: Size, make_any: MakeAny, patient: WatchedClient) -> tuple[int, int]:
    """How many commands and lines the call took. Nothing is lost, and the reply is bounded."""
    bench = make_any(size.noun)
    usual, bench.server = bench.server, patient.server  # which is closed before the bench is removed
    try:
        return measured(size, bench, patient)
    finally:
        bench.server = usual


def measured(size: Size, bench: Any, patient: WatchedClient) -> tuple[int, int]:
    call: Call[Any] = size(bench)
    before = held(bench)
    try:
        reply = patient.call(call)
    except Refused:
        if size.noun not in NOUNS:  # those have scenarios for sizes, and some of them are refused
            raise
        return 0, 0
    assert weight(reply) <= MOST_REPLY
    if size.noun != "lock":  # the audit of so large a domain takes a minute
        assert list(audit(bench.client, bench.base)) == []
    if size.verb not in ("purge", "abandon", "trim") and "sweep" not in size.name:
        assert before <= held(bench), "tasks were lost"
    return len(patient.last.commands), patient.last.steps


def held(bench: Any) -> set[bytes]:
    """The tasks of a queue, or the requests of a domain that have not ended."""
    if bench.noun == "queue":
        return set(bench.client.scan_iter(f"{bench.base}:task:*", count=10_000))
    return set()


def weight(reply: Any) -> int:
    return sum(map(weight, reply)) if isinstance(reply, list) else len(reply) if isinstance(reply, bytes) else 8


def check(size: Size, make_any: MakeAny, patient: WatchedClient) -> None:
    commands, steps = run(size, make_any, patient)
    budget = BUDGETS[size.script_id]
    assert budget, f"{size.script_id}: the header has no COST line with a budget: see the top of this file"
    assert commands <= budget["commands"], "see the top of this file"
    assert steps <= budget["steps"], "see the top of this file"


USUAL = [size for size in SIZES if size.usual]
LARGEST = [size for size in SIZES if not any(size.prepare is one.prepare and size.items < one.items for one in SIZES)]

if UPDATE:

    @pytest.mark.sizes
    @pytest.mark.parametrize("script_id", sorted({size.script_id for size in SIZES}))
    def test_record_the_budget(script_id: str, make_any: MakeAny, patient: WatchedClient) -> None:
        sorts = "table.sort" in library()[script_id].text
        largest = [size for size in LARGEST if size.script_id == script_id]
        found = [run(size, make_any, patient) for size in largest for _ in range(ROUNDS_OF_SORTS if sorts else 1)]
        noun, verb, version = script_id.split(".")
        path = LUA / noun / f"{verb}.{version}.lua"
        if not path.exists():  # it is generated, from a source that all nouns share
            return
        room = ROOM_OF_SORTS if sorts else ROOM
        most = [rounded(max(counts) * room) for counts in zip(*found, strict=True)]
        budget = f"; at most {most[0]:,} commands, {most[1]:,} steps"
        text = re.sub(r"^(-- COST .*?)(; at most .*)?$", rf"\1{budget}", path.read_text(), count=1, flags=re.M)
        path.write_text(text)

else:

    @pytest.mark.sizes
    @pytest.mark.parametrize("size", USUAL, ids=lambda size: size.name)
    def test_a_usual_call_keeps_to_the_budget(size: Size, make_any: MakeAny, patient: WatchedClient) -> None:
        check(size, make_any, patient)

    @pytest.mark.sizes
    @pytest.mark.parametrize("size", [one for one in LARGEST if not one.usual], ids=lambda size: size.name)
    def test_the_largest_call_keeps_to_the_budget(size: Size, make_any: MakeAny, patient: WatchedClient) -> None:
        check(size, make_any, patient)


def test_every_script_states_its_budget() -> None:
    assert [id for id, budget in BUDGETS.items() if not budget] == [], "see the top of this file"


def test_every_script_has_sizes() -> None:
    sizes: defaultdict[str, int] = defaultdict(int)
    for size in SIZES:
        sizes[size.script_id] += 1
    assert [id for id in library() if not sizes[id]] == [], "see sizes_of_*.py and verb_*.py"


def rounded(number: float) -> int:
    """Up to two digits."""
    unit: int = 10 ** max(0, len(str(int(number))) - 2)
    return -(-int(number + 1) // unit) * unit
