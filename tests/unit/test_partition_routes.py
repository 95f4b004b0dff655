"""The routing table of a partitioned queue."""

import inspect
import typing
from types import SimpleNamespace
from typing import Any

import pytest

import pyadeq
import pyadeq.asyncio
from pyadeq._sync.queue.partitions.routes import PartitionedArea, each, total


class Part:
    """A partition with one area, which counts what it gets."""

    def count(self, items: Any) -> int:
        return len(list(items))

    @property
    def area(self) -> "Part":
        return self


class Area(PartitionedArea):
    total = total("area", Part.count, list)
    each = each("area", Part.count, list)


@pytest.mark.parametrize("route", ["total", "each"])
def test_every_partition_gets_all_of_an_iterator(route: str) -> None:
    parts = [Part(), Part(), Part()]
    queue: Any = SimpleNamespace(_parts_now=lambda: parts, _in_each_part=lambda act, _: [act(part) for part in parts])
    assert getattr(Area(queue), route)(one for one in "ab") == [2, 2, 2]


@pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)
def test_the_types_of_every_row_can_be_read(twin: Any) -> None:
    areas = [kind for _, kind in inspect.getmembers(twin.PartitionedQueue) if isinstance(kind, type)]
    rows = [row for kind in areas for row in vars(kind).values() if hasattr(row, "route")]
    assert len(rows) > 15
    for row in rows:
        assert typing.get_type_hints(row) == typing.get_type_hints(row.__wrapped__)
        assert "return" in typing.get_type_hints(row)
