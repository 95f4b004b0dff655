# Generated from pyadeq/_async/queue/whole.py by pyadeq/_unasync.py; do not edit.
"""What `queue.admin` has in a queue and in a queue in partitions alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.nouncalls import models, status
from pyadeq.ids import new_ulid
from pyadeq.models.queue import RunNow

A = TypeVar("A")
T = TypeVar("T")


class Whole:
    """The part of `queue.admin` whose calls go to every partition, or to that of a task."""

    def _everywhere(self, verb: str, decode: Callable[[Answer], T], /, **arguments: Any) -> list[T]:
        """Call the script of a verb in every partition. Returns their answers; a queue without partitions has one."""
        raise NotImplementedError

    def _each(
        self, verb: str, decode: Callable[[Answer], list[A]], ids: Sequence[str], /, **arguments: Any
    ) -> list[A]:
        """Call the script of a verb for these ids, as `ById` does."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stop leasing tasks until `resume`. New tasks are accepted, and running tasks continue."""
        self._everywhere("pause", status, rid=new_ulid())

    def drain(self) -> None:
        """Stop accepting new tasks until `resume`: enqueue raises QueueDraining. Existing tasks run to their end."""
        self._everywhere("drain", status, rid=new_ulid())

    def resume(self) -> None:
        """End `pause` or `drain`."""
        self._everywhere("resume", status, rid=new_ulid())

    def snapshot(self) -> bool:
        """Add the counters to the history, if this minute has no snapshot yet. Claims also do this. Returns whether."""
        return any(self._everywhere("snapshot", lambda answer: bool(answer["taken"])))

    def run_now(self, id: str) -> RunNow:
        """Make a delayed task due at once: one that waits for its time or its next attempt, or that was snoozed. It is
        ready, behind all others. Tasks in other states stay as they are.
        """
        return (self.run_now_many([id]))[0]

    def run_now_many(self, ids: Sequence[str]) -> list[RunNow]:
        """Make many delayed tasks due at once. Returns an answer for each, as `run_now` does."""
        return self._each("run_now", models(RunNow), ids)
