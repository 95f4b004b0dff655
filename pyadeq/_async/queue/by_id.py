"""What is done to tasks by their ids, in a queue and in a queue in partitions alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.nouncalls import statuses
from pyadeq.models.queue import CancelStatus

A = TypeVar("A")


class ById:
    """The verbs for tasks by id. Each is a script with the group `item` of ids, and the argument `rid`."""

    async def _each(
        self, verb: str, decode: Callable[[Answer], list[A]], ids: Sequence[str], /, **arguments: Any
    ) -> list[A]:
        """Call the script of a verb for these ids. Returns an answer for each.

        decode: `statuses`, or `models(…)` if the entries of the answer have fields.
        """
        raise NotImplementedError

    async def cancel(self, id: str, tree: bool = False) -> CancelStatus:
        """Cancel a task. A waiting or dead task is `cancelled` at once. A running task is `cancelling`, and its worker
        is notified.

        tree: also cancel all tasks below it, even if the task itself cannot be cancelled. 100 of them are cancelled at
        once, the others by the next claims of the queue's workers. Dead children stay dead.
        """
        return (await self.cancel_many([id], tree))[0]

    async def cancel_many(self, ids: Sequence[str], tree: bool = False) -> list[CancelStatus]:
        """Cancel many tasks. Returns a status for each, as `cancel` does."""
        return await self._each("cancel", statuses, ids, tree=tree)
