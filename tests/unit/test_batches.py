"""How many tasks go in one call: neither their bytes nor their tags, limits and dependencies are too many."""

from typing import Any

import pytest

from pyadeq._core.queue.items import MAX_BATCH_BYTES, MAX_PARTS, by_bytes, item, size_of
from pyadeq.models import Task


def batches(number: int, **task: Any) -> list[int]:
    items = [item(f"t{at}", Task(**task)) for at in range(number)]
    return [len(batch) for batch in by_bytes(items, lambda one: size_of(one[1], one[2]))]


def test_small_tasks_go_together() -> None:
    assert batches(1000, payload=1, tags=["a", "b", "c"]) == [1000]


@pytest.mark.parametrize(
    ("parts", "each"),
    [
        ({"tags": ["t"] * 16}, 16),
        ({"limits": ["k"] * 8}, 8),
        ({"after": ["a"] * 64}, 64),
        ({"tags": ["t"] * 16, "limits": ["k"] * 8, "after": ["a"] * 64}, 88),
    ],
)
def test_a_call_has_no_more_parts_than_the_script_takes(parts: dict[str, Any], each: int) -> None:
    found = batches(1200, payload=1, **parts)
    assert sum(found) == 1200
    assert max(found) * each <= MAX_PARTS
    assert found[0] > 0.9 * MAX_PARTS / each


def test_large_tasks_are_split_by_their_bytes() -> None:
    found = batches(40, payload=b"x" * 2**20, tags=["t"])
    assert sum(found) == 40
    assert max(found) * 2**20 <= MAX_BATCH_BYTES
