"""Models of a queue's partitions."""

from __future__ import annotations

from pyadeq.models.base import Model


class Partition(Model):
    """A part of a queue, in a hash slot of its own.

    tag: its name; `-` is the queue without partitions.
    slot: the cluster slot, 0 to 16383.
    current: whether new tasks go to it. Clients stop using a partition that is not current when it is empty.
    """

    tag: str
    base: str
    slot: int
    current: bool
