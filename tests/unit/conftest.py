"""What the unit tests share."""

from pathlib import Path

import pytest

from tests.unit.lua_tree import Sources


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)
