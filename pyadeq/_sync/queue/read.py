# Generated from pyadeq/_async/queue/read.py by pyadeq/_unasync.py; do not edit.
"""Reading the tasks of a queue: one, several, or all that match a filter; and how many there are."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Unpack

from pyadeq._sync.queue.settings import Configuring
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq._core.queue.items import MAX_ITEMS
from pyadeq.models.queue import Page, QueueStats, State, TaskFilter, TaskView

PAGE = 50
"""Tasks that `iterate` reads in one call, which takes a few milliseconds of the server."""

GATHERED = 100
"""Children of a task that are read at a time: each may have a result of 1 MiB."""


class Reading(Configuring):
    """The part of a queue for reading tasks."""

    def get(self, id: str) -> TaskView | None:
        """Return a task as it is now, with payload and result; None if it does not exist."""
        return (self.get_many([id]))[0]

    def get_many(self, ids: Sequence[str]) -> builtins.list[TaskView | None]:
        """Return tasks as they are now; None for each that does not exist."""
        ids = checked_list("ids", ids)
        found: builtins.list[TaskView | None] = []
        while len(found) < len(ids):
            found += self._runner.send(self.calls.get(ids[len(found) : len(found) + MAX_ITEMS]))
        return found

    def stats(self) -> QueueStats:
        """Return how many tasks are in each state, how many workers are alive, and the totals since the queue began."""
        return self._runner.send(self.calls.stats())

    def list(
        self, state: State | None = None, *, cursor: str = "", limit: int = 100, **filter: Unpack[TaskFilter]
    ) -> Page:
        """Return one page of the tasks in a state, of a user, with a tag, of a parent.

        At least one condition must be given, and all given conditions must match. Tasks of a user come in the order of
        creation, tasks of a state in the order of that state. If only `ready` is given, the tasks are those of one
        lane, by default `any`. A page may be empty although there are more tasks: check the cursor.
        """
        checked_options(filter, TaskFilter.__annotations__, besides=("state", "cursor", "limit"))
        return self._runner.send(self.calls.list(state, cursor=cursor, limit=limit, **filter))

    def iterate(self, state: State | None = None, **filter: Unpack[TaskFilter]) -> Iterator[TaskView]:
        """Iterate over all tasks that `list` finds, page by page. A task that does not move meanwhile is returned
        exactly once.
        """
        cursor = ""
        # a renewed lease moves on in the list: skip known ids
        moving: set[str] | None = set() if state in ("running", "stalled") else None
        while True:
            page = self.list(state, cursor=cursor, limit=PAGE, **filter)
            for task in page.tasks:
                if moving is None:
                    yield task
                elif task.id not in moving:
                    moving.add(task.id)
                    yield task
            cursor = page.cursor
            if not cursor:
                return

    def _gathered_page(self, id: str, cursor: str) -> tuple[builtins.list[TaskView], str]:
        """Return some children of a task, and the cursor for the next page, empty on the last page."""
        page = self.list(parent=id, cursor=cursor, limit=GATHERED)
        found = self.get_many([task.id for task in page.tasks])
        return [task for task in found if task is not None], page.cursor
