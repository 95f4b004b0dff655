"""The queue that a name means, with all of its partitions, if it has any."""

from __future__ import annotations

from pyadeq import Adeq, PartitionedQueue, PartitionedSchedules, Queue, Schedules

AnyQueue = Queue | PartitionedQueue
AnySchedules = Schedules | PartitionedSchedules


def named(adeq: Adeq, name: str) -> AnyQueue:
    """A queue with all of its partitions, if it has any."""
    if adeq.slot is not None:
        return adeq.queue(name)
    queue = adeq.partitioned(name)
    return queue if len(queue.partitions()) > 1 else adeq.queue(name)


def parts(queue: AnyQueue) -> list[Queue]:
    """The partitions of a queue, or the queue itself."""
    return [queue.part(one.tag) for one in queue.partitions()] if isinstance(queue, PartitionedQueue) else [queue]


def holder(adeq: Adeq, name: str, id: str) -> Queue:
    """The partition that a task is in, or the queue itself."""
    queue = named(adeq, name)
    return queue.part_of(id) or adeq.queue(name) if isinstance(queue, PartitionedQueue) else queue
