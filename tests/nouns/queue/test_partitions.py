"""Partitions: epochs, tasks that have moved, and what is kept of the map."""

from __future__ import annotations

from pyadeq._core.queue.partitions import PartitionMap
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def epoch(bench: Workbench) -> int:
    return int(bench.ask("HGET", ":config", "epoch") or 0)


def test_without_partitions_only_earlier_epochs_are_refused(bench: Workbench) -> None:
    assert bench.run(bench.calls.partition(3, [], "r1")) == ("ok", 3)
    assert bench.run(bench.calls.partition(2, [], "r2")) == ("ok", 3)
    assert epoch(bench) == 3
    assert bench.real(bench.calls.partition_map()) == PartitionMap()
    check_queue(bench)
