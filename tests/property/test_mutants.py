"""The tests notice what they are there for: with each of these lines of Lua changed, one fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from pyadeq._core.kernel.manifest import library
from pyadeq.keys import queue_base
from tests.lua.sources import changing, stands_in
from tests.property.driver import Driver
from tests.property.link import Scripts, load_scripts
from tests.property.mutants import BY_CORNERS, BY_THE_MACHINE
from tests.property.mutants_of_chains import Mutant, Scenario
from tests.property.mutants_of_schedules import BY_HISTORIES, OF_SCHEDULES
from tests.property.test_queue_machine import QueueMachine
from tests.property.test_schedules import History, ScheduleDriver

pytestmark = [pytest.mark.any_engine, pytest.mark.mutants]

NOTICED = AssertionError, redis.ResponseError
EXAMPLES = 1500  # at the most; most mutants are noticed within ten
HISTORIES = 100  # likewise
CORNERS = {name: (scenario, mutant) for scenario, mutants in BY_CORNERS for name, mutant in mutants.items()}
SCHEDULES = {name: (scenario, mutant) for scenario, mutants in OF_SCHEDULES for name, mutant in mutants.items()}


def load_mutant(client: redis.Redis, mutant: Mutant) -> Scripts:
    old, new = mutant
    assert any(stands_in(old, library()[id].text) for id in library()), f"no script has the line any more: {old}"
    return load_scripts(client, changing(old, new))


@pytest.mark.parametrize("mutant", BY_THE_MACHINE)
def test_the_machine_notices(mutant: str, client: redis.Redis) -> None:
    QueueMachine.client, QueueMachine.scripts = client, load_mutant(client, BY_THE_MACHINE[mutant])
    quick = settings(
        derandomize=True,
        max_examples=EXAMPLES,
        stateful_step_count=50,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with pytest.raises(NOTICED):
        run_state_machine_as_test(QueueMachine, settings=quick)


@pytest.mark.parametrize(("scenario", "mutant"), CORNERS.values(), ids=CORNERS)
def test_a_corner_notices(scenario: Scenario, mutant: Mutant, client: redis.Redis, base_name: str) -> None:
    queue = Driver(client, queue_base(base_name), load_mutant(client, mutant))
    queue.do("register", "w", "i1")
    with pytest.raises(NOTICED):
        scenario(queue)
    queue.close()


@pytest.mark.parametrize("mutant", BY_HISTORIES)
def test_a_history_of_schedules_notices(mutant: str, client: redis.Redis) -> None:
    scripts = load_mutant(client, BY_HISTORIES[mutant])

    def run() -> None:
        for seed in range(HISTORIES):
            History(client, scripts, seed).run([True] * 80)

    with pytest.raises(NOTICED):
        run()


@pytest.mark.parametrize(("scenario", "mutant"), SCHEDULES.values(), ids=SCHEDULES)
def test_a_corner_of_schedules_notices(
    scenario: Callable[[ScheduleDriver], None], mutant: Mutant, client: redis.Redis, base_name: str
) -> None:
    queue = ScheduleDriver(client, queue_base(base_name), load_mutant(client, mutant))
    queue.do("register", "w", "i1")
    with pytest.raises(NOTICED):
        scenario(queue)
    queue.close()
