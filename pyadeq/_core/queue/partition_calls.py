"""A queue's calls that have to do with its partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyadeq._core.kernel.call import Call, Reply, build_call
from pyadeq._core.queue.partitions import PartitionMap, read_map
from pyadeq._core.queue.replies import texts


class PartitionCalls:
    """The calls of a queue's partitions."""

    base: str
    now_ms: Callable[[], int]

    def partition(self, epoch: int, tags: Sequence[str], rid: str, *, settle: bool = False) -> Call[tuple[str, int]]:
        """Store a new map with this epoch; without tags, only refuse new tasks of earlier epochs. Returns status and
        epoch.
        """
        return build_call(
            "queue.partition.v1",
            self.base,
            {"now_ms": self.now_ms(), "rid": rid, "epoch": epoch, "settle": settle},
            {"item": [(tag,) for tag in tags]},
            decode=lambda reply: (reply[0].decode(), int(reply[2])),
        )

    def partition_map(self) -> Call[PartitionMap]:
        """Read the map from the queue's own base."""
        return build_call("queue.settings.v1", self.base, {"now_ms": self.now_ms()}, decode=_map)


def _map(reply: Reply) -> PartitionMap:
    return read_map(texts(reply[2]))
