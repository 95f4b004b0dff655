"""Partitions of a queue."""

from __future__ import annotations

from pyadeq.models.base import Model


class Partition(Model):
    """A part of a queue, in a hash slot of its own. tag: its name; `-` is the queue without partitions.

    slot: of the cluster, 0 to 16383. current: whether new tasks belong to it; another one is left when it is empty.
    """

    tag: str
    base: str
    slot: int
    current: bool
