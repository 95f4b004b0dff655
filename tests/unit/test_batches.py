"""How many tasks go in one call: neither their bytes nor their tags, limits and dependencies are too many."""

from typing import Any

import pytest

from pyadeq._core.queue.items import MAX_BATCH_BYTES, MAX_PARTS, Failure, by_bytes, by_limits, item, size_of
from pyadeq.models import Lease, Task


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


HEAVY = {"user": b"u", "tags": b",".join([b"t"] * 16), "limits": b",".join([b"k"] * 8)}  # 26 limits, with that of all


def lease(at: int, record: dict[str, bytes]) -> Lease:
    return Lease(f"t{at}", f"k{at}", at, 1, 1, 0.0, b"", record)


@pytest.mark.parametrize(
    ("number", "record", "expected"),
    [
        (0, {}, []),
        (1000, {}, [1000]),
        (2001, {"kind": b"a"}, [1000, 1000, 1]),
        (1000, {"user": b"u", "tags": b"a,b,c,d,e,f"}, [1000]),
        (1001, {"user": b"u", "tags": b"a,b,c,d,e,f,g"}, [888, 113]),
        (1000, HEAVY, [307, 307, 307, 79]),
    ],
)
def test_leases_that_hold_many_limits_end_in_several_calls(
    number: int, record: dict[str, bytes], expected: list[int]
) -> None:
    leases = [lease(at, record) for at in range(number)]
    assert [len(some) for some in by_limits(leases)] == expected
    assert [len(some) for some in by_limits([(one, None) for one in leases])] == expected
    assert [len(some) for some in by_limits([Failure(one) for one in leases])] == expected
    assert [one for some in by_limits(leases) for one in some] == leases


def test_of_an_id_and_a_token_no_limits_are_known() -> None:
    assert [len(some) for some in by_limits([("t", "k")] * 1001)] == [1000, 1]
    assert [len(some) for some in by_limits([(("t", "k"), 1.0)] * 1001)] == [1000, 1]
