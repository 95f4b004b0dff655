# Generated from pyadeq/_async/queue/partitions/read.py by pyadeq/_unasync.py; do not edit.
"""Reading the tasks and the settings of a queue in partitions."""

from __future__ import annotations

from typing import Unpack

from pyadeq._sync.queue import Queue
from pyadeq._sync.queue.partitions.base import PartitionedBase
from pyadeq._sync.queue.partitions.routes import chain, first, named, total, where_it_is
from pyadeq._core.queue.partitions import WHOLE
from pyadeq._core.queue.partitions import total as added_up
from pyadeq.models.queue_settings import Settings, SettingsChange


@named
class PartitionedReading(PartitionedBase):
    """The part of a partitioned queue for reading tasks and settings."""

    get = where_it_is("", Queue.get, lambda task: task is not None)
    iterate = chain("", Queue.iterate)
    stats = total(
        "",
        Queue.stats,
        added_up,
        """The sums of all partitions: how many tasks are in each state, and the totals since the queue began.

        workers: of the partition that has most of them, for a worker is known in each.
        """,
    )
    settings = first("", Queue.settings)

    def configure(
        self, *, clock: str | None = None, expect: str | None = None, **settings: Unpack[SettingsChange]
    ) -> Settings:
        """Change settings of every partition and return those of the first. Settings not given stay unchanged.

        expect: as for `Queue.configure`. The first partition decides: if it refuses, no other is changed.
        """
        if clock is not None:  # set the clock first: the other calls already use it
            self.part(WHOLE).configure(clock=clock)

        def change(queue: Queue, expect: str | None = None) -> Settings:
            return queue.configure(clock=clock, expect=expect, **settings)

        self._in_each_part(change, None if expect is None else lambda queue: change(queue, expect))
        return self.settings()
