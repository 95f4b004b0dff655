"""What the pages of the board remember: never more than a bound, and nothing that is too old."""

from typing import Any

import pytest

from pyadeq.ext.server.board import looks
from pyadeq.ext.server.board.looks import MOST, Looks


async def nothing() -> None:
    return


async def test_reads_that_are_too_old_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(looks, "monotonic", lambda: now)
    found: Any = Looks(None, None)  # type: ignore[arg-type]
    for number in range(100):
        await found.shared(("task", number), 1.0, nothing)
    assert len(found._found) == 100
    now += 2.0
    await found.shared(("task", "z"), 1.0, nothing)
    assert list(found._found) == [("task", "z")]


async def test_no_more_than_a_bound_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "monotonic", lambda: 1000.0)
    found: Any = Looks(None, None)  # type: ignore[arg-type]
    for number in range(MOST + 10):
        await found.shared(("task", number), 60.0, nothing)
    assert len(found._found) == MOST
    assert ("task", 9) not in found._found
    assert ("task", MOST + 9) in found._found
