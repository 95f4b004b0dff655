"""The histories notice what they are there for: with each of these lines of Lua changed, one fails."""

from __future__ import annotations

import pytest
import redis

from pyadeq._core.kernel.manifest import library
from pyadeq.keys import lock_base
from tests.lua.sources import changing, stands_in
from tests.property.locks.driver import NOTICED, Driver, write_history
from tests.property.locks.link import Scripts, load_scripts
from tests.property.locks.mutants import BY_CORNERS, BY_HISTORIES, Mutant, Scenario
from tests.property.locks.test_histories import STEPS

pytestmark = [pytest.mark.any_engine, pytest.mark.mutants]

MOST = 4000  # histories; most mutants are noticed within ten


def load_mutant(client: redis.Redis, mutant: Mutant) -> Scripts:
    old, new = mutant
    texts = [library()[id].text for id in library() if id.startswith("lock.")]
    assert any(stands_in(old, text) for text in texts), f"no script has the line any more: {old}"
    return load_scripts(client, changing(old, new))


@pytest.mark.parametrize("mutant", BY_HISTORIES)
def test_a_history_notices(mutant: str, client: redis.Redis) -> None:
    scripts = load_mutant(client, BY_HISTORIES[mutant])
    assert any(write_history(client, scripts, seed, STEPS)[1] for seed in range(MOST)), "nothing noticed it"


@pytest.mark.parametrize(("scenario", "mutant"), BY_CORNERS.values(), ids=BY_CORNERS)
def test_a_corner_notices(scenario: Scenario, mutant: Mutant, client: redis.Redis, base_name: str) -> None:
    driver = Driver(client, lock_base(base_name), load_mutant(client, mutant))
    try:
        with pytest.raises(NOTICED):
            scenario(driver)
    finally:
        driver.close()
