"""Partitions: epochs, tasks that have moved, and what is kept of the map."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import item
from pyadeq._core.queue.partitions import PartitionMap
from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused


def enqueue(bench: Workbench, id: str, epoch: int, *, moved: bool = False, rid: str = "", **task: Any) -> str:
    items = [item(id, Task(payload=b"x", **task))]
    (receipt,) = bench.run(bench.calls.enqueue_items(items, rid or f"r-{id}", epoch=epoch, moved=moved))
    return str(receipt.status)


def epoch(bench: Workbench) -> int:
    return int(bench.ask("HGET", ":config", "epoch") or 0)


def test_an_epoch_that_is_seen_is_kept(bench: Workbench) -> None:
    assert enqueue(bench, "a", 0) == "created"
    assert epoch(bench) == 0
    assert enqueue(bench, "b", 2) == "created"
    assert epoch(bench) == 2
    before = bench.dump()
    for old in (0, 1):
        with pytest.raises(Refused, match=r"^ADEQ_EPOCH epoch is 2 here: .*read which"):
            enqueue(bench, "c", old)
    assert bench.dump() == before
    assert enqueue(bench, "c", 2) == "created"
    assert bench.ready() == ["a", "b", "c"]


def test_one_that_has_moved_is_made_where_its_key_is(bench: Workbench) -> None:
    assert enqueue(bench, "a", 1, moved=True, ordering_key="k") == "moved"
    assert bench.ready() == []
    assert enqueue(bench, "a", 1, ordering_key="k") == "created"
    assert enqueue(bench, "b", 1, moved=True, ordering_key="k") == "created"
    assert enqueue(bench, "c", 1, moved=True, ordering_key="another") == "moved"
    for id in "ab":
        (lease,) = bench.claim(10)
        assert lease.id == id
        bench.run(bench.calls.ack([(lease, None)]))
    assert enqueue(bench, "d", 1, moved=True, ordering_key="k") == "moved"
    check_queue(bench)


@pytest.mark.parametrize("tie", ["parent", "after"])
def test_one_that_has_moved_is_made_where_its_family_is(bench: Workbench, tie: str) -> None:
    enqueue(bench, "a", 1)
    there: dict[str, Any] = {"parent": "a"} if tie == "parent" else {"after": ["a"]}
    elsewhere: dict[str, Any] = {"parent": "z"} if tie == "parent" else {"after": ["z"]}
    assert enqueue(bench, "b", 1, moved=True, **there) == "created"
    assert enqueue(bench, "c", 1, moved=True, **elsewhere) == "moved"
    assert enqueue(bench, "d", 1, moved=True) == "moved"


@pytest.mark.parametrize("key", ["unique", "scope", "idempotency_key"])
def test_one_that_has_moved_is_deduplicated_where_the_other_is(bench: Workbench, key: str) -> None:
    same: dict[str, Any] = {key: "k"}
    another: dict[str, Any] = {key: "another"}
    enqueue(bench, "a", 1, **same)
    assert enqueue(bench, "b", 1, moved=True, **same) == "deduplicated"
    assert enqueue(bench, "c", 1, moved=True, **another) == "moved"
    check_queue(bench)


def test_one_that_has_moved_does_so_again_though_a_later_item_has_its_scope(bench: Workbench) -> None:
    enqueue(bench, "p", 1)
    one = Task(payload=b"moved", scope="s", coalesce="last")
    items = [item("a", one), item("b", Task(payload=b"here", scope="s", parent="p"))]
    for _ in range(2):
        receipts = bench.run(bench.calls.enqueue_items(items, "r", epoch=1, moved=True))
        assert [str(one.status) for one in receipts] == ["moved", "created"]
    assert bench.ask("GET", ":payload:b") == b"here"
    check_queue(bench)


def test_an_id_that_is_there_is_known_though_it_has_moved(bench: Workbench) -> None:
    enqueue(bench, "a", 1, rid="r")
    assert enqueue(bench, "a", 2, moved=True, rid="r") == "created"
    assert enqueue(bench, "a", 2, moved=True, rid="s") == "exists"


def test_the_map_is_kept_with_the_partitions_before(bench: Workbench) -> None:
    def known() -> PartitionMap:
        return bench.real(bench.calls.partition_map())

    assert known() == PartitionMap()
    assert bench.run(bench.calls.partition(1, ["0-1", "1-2"], "r1")) == ("ok", 1)
    assert known() == PartitionMap(1, ("0-1", "1-2"), (("-",),))
    assert bench.run(bench.calls.partition(1, ["0-1", "1-2"], "r1")) == ("ok", 1)
    assert bench.run(bench.calls.partition(1, ["other"], "r2")) == ("conflict", 1)
    assert bench.run(bench.calls.partition(3, ["other"], "r2")) == ("conflict", 1)
    assert bench.run(bench.calls.partition(2, ["0-1"], "r2")) == ("ok", 2)
    assert known() == PartitionMap(2, ("0-1",), (("-",), ("0-1", "1-2")))
    assert bench.run(bench.calls.partition(3, ["0-1"], "r3", settle=True)) == ("ok", 3)
    assert known() == PartitionMap(3, ("0-1",), (), (("-",), ("0-1", "1-2"), ("0-1",)))
    assert bench.run(bench.calls.partition(4, ["2-1"], "r4")) == ("ok", 4)
    assert known() == PartitionMap(4, ("2-1",), (("0-1",),), (("-",), ("0-1", "1-2"), ("0-1",)))
    with pytest.raises(Refused, match="ADEQ_EPOCH epoch is 4 here"):
        enqueue(bench, "a", 2)


def test_without_partitions_only_earlier_epochs_are_refused(bench: Workbench) -> None:
    assert bench.run(bench.calls.partition(3, [], "r1")) == ("ok", 3)
    assert bench.run(bench.calls.partition(2, [], "r2")) == ("ok", 3)
    assert epoch(bench) == 3
    assert bench.real(bench.calls.partition_map()) == PartitionMap()
    check_queue(bench)
