"""Random histories of changes against the model, shrinkable. For long runs see change_histories.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import CLUSTER
from tests.property.change_driver import Driver, load_scripts
from tests.property.change_histories import History
from tests.property.test_histories import play
from tests.quick import examples

T = TypeVar("T")
STEPS = 25


class Drawn:
    """Choices that Hypothesis makes, and makes smaller after a failure."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw: Callable[..., object] = data.draw

    def choice(self, seq: Sequence[T], /) -> T:
        return self.draw(st.sampled_from(seq))  # type: ignore[return-value]

    def randint(self, a: int, b: int, /) -> int:
        return self.draw(st.integers(a, b))  # type: ignore[return-value]


@pytest.mark.parametrize("sweeps", [False, True], ids=["never swept", "swept"])
def test_a_domain_does_what_its_model_does(sweeps: bool, client: redis.Redis, base_name: str) -> None:
    scripts = load_scripts(client)

    @settings(max_examples=examples(24, 200), deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def history(data: st.DataObject) -> None:
        driver = Driver(client, base_name, scripts)
        try:
            History(driver, Drawn(data), sweeps=sweeps).play(data.draw(st.integers(1, STEPS)))
        finally:
            driver.close()

    history()


@pytest.mark.any_engine
@pytest.mark.skipif(CLUSTER, reason="it has a server of its own")
def test_a_short_run(binary: Path) -> None:
    play("change_histories", ["--histories", str(examples(40, 400))], binary)
