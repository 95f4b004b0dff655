"""The commands that play random histories, for a short while: of limits, also with a child forked midway, and of
partitions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CLUSTER
from tests.quick import slow_after


@pytest.mark.any_engine
@pytest.mark.parametrize("how", slow_after(1, [[], ["--fork"]]), ids=["alone", "fork"])
def test_a_short_run(how: list[str], binary: Path) -> None:
    play("histories", ["--steps", "600", *how, *(["--cluster"] if CLUSTER else [])], binary)


@pytest.mark.slow
@pytest.mark.skipif(CLUSTER, reason="it has a cluster of its own")
def test_a_short_run_of_partitions(binary: Path) -> None:
    play("partition_histories", ["--steps", "300"], binary)


def play(program: str, how: list[str], binary: Path) -> None:
    command = [sys.executable, "-m", f"tests.property.{program}", *how]
    environment = {**os.environ, "ADEQ_TEST_SERVER": str(binary)}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "steps in" in found.stdout
    assert "without a violation" in found.stdout
