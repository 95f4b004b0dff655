"""Claims that wait for company, and what is done with one lane alone: its length, and purging it."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Claimed
from tests.nouns.queue.workbench import Workbench

LANE, OTHER = "group/s", "group/t"


@pytest.fixture
def bench(bench: Workbench) -> Workbench:
    """A queue with a worker."""
    bench.worker()
    return bench


def claim(bench: Workbench, n: int, *lanes: str, window: float = 0.05, **fields: Any) -> Claimed:
    return bench.run(bench.calls.claim("w", "i", 7, n, lanes=lanes or (LANE,), window=window, **fields))


def ids(claimed: Claimed) -> list[str]:
    return [lease.id for lease in claimed.leases]


def due_ms(claimed: Claimed) -> int | None:
    """Milliseconds until it is time to come again."""
    return None if claimed.next_due is None else round((claimed.next_due - claimed.now) * 1000)


@pytest.mark.parametrize(("delay", "due"), [(0.02, 20), (5, 50)])
def test_what_is_due_before_the_windows_end_is_told(bench: Workbench, delay: float, due: int) -> None:
    bench.fill(1, lane=LANE, delay=delay)
    bench.fill(1, lane=LANE)
    assert due_ms(claim(bench, 1)) == due


# kinds that are leased alone


ALONE = ("note", "n/2")


def mix(bench: Workbench, *kinds: str | None, **own: Any) -> list[str]:
    """Tasks in line, one of each of these kinds."""
    return [id for kind in kinds for id in bench.fill(1, lane=LANE, kind=kind, **own)]


def test_a_claim_without_a_window_leases_alone_too(bench: Workbench) -> None:
    line = mix(bench, None, "note", None)
    assert [ids(claim(bench, n, alone_kinds=ALONE, window=0)) for n in (1, 2, 3)] == [[id] for id in line]
