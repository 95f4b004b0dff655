"""What the pages of the board remember: never more than a bound, and nothing that is too old."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from pyadeq.errors import WaitTimeout
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


class Names:
    """A client whose scan of names ends early. lost: the names that the last scan did not reach."""

    lost: frozenset[str] = frozenset()

    async def names(self, noun: str, timeout: float) -> AsyncIterator[str]:
        for name in ("busy", "calm"):
            if name not in self.lost:
                yield name
        if self.lost:
            raise WaitTimeout("the time is over")


async def test_a_name_that_a_scan_did_not_reach_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(looks, "monotonic", lambda: now)
    adeq = Names()
    naming = SimpleNamespace(start=lambda: None, is_complete=False)
    found: Any = Looks(SimpleNamespace(adeq=adeq), naming)  # type: ignore[arg-type]
    assert await found.names("queue") == ["busy", "calm"]
    assert not looks.lacks_names.get()
    now += 61.0
    adeq.lost = frozenset({"busy"})
    assert await found.names("queue") == ["busy", "calm"]
    assert looks.lacks_names.get()
