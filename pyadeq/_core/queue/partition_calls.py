"""A queue's calls that have to do with its partitions."""

from __future__ import annotations

from collections.abc import Sequence

from pyadeq._core.kernel.call import Answer, Call
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq._core.queue.partitions import PartitionMap, read_map


class PartitionCalls(NounCalls):
    """The calls of a queue's partitions."""

    def partition(self, epoch: int, tags: Sequence[str], rid: str, *, settle: bool = False) -> Call[tuple[str, int]]:
        """Store a new map with this epoch; without tags, only refuse new tasks of earlier epochs. Returns status and
        epoch.
        """
        return self.ask(
            "partition", lambda answer: (answer.status, answer["epoch"]), epoch=epoch, item=tags, rid=rid, settle=settle
        )

    def partition_map(self) -> Call[PartitionMap]:
        """Read the map from the queue's own base."""
        return self.ask("settings", _map)


def _map(answer: Answer) -> PartitionMap:
    return read_map({name: value.decode() for name, value in answer["settings"].items()})
