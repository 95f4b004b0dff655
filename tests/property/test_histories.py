"""The command that plays random histories of limits, for a short while: alone, and with a child forked midway."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CLUSTER


@pytest.mark.any_engine
@pytest.mark.parametrize("how", [[], ["--fork"]], ids=["alone", "fork"])
def test_a_short_run(how: list[str], binary: Path) -> None:
    command = [sys.executable, "-m", "tests.property.histories", "--steps", "600", *how]
    environment = {**os.environ, "ADEQ_TEST_SERVER": str(binary)}
    found = subprocess.run(
        [*command, *(["--cluster"] if CLUSTER else [])], env=environment, capture_output=True, text=True, timeout=600
    )
    assert found.returncode == 0, found.stdout + found.stderr
    assert "steps in" in found.stdout
    assert "without a violation" in found.stdout
