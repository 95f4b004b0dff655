# Generated from pyadeq/_async/queue/base.py by pyadeq/_unasync.py; do not edit.
"""The base of all parts of a queue: its calls, and how they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.identities import Identities
from pyadeq._core.kernel.call import Answer, Call
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import MAX_ITEMS, by_limits
from pyadeq.errors import DurabilityError, UnknownTask
from pyadeq.ids import new_ulid

A = TypeVar("A")
T = TypeVar("T")


class Area:
    """A part of a queue: its calls, and how they are sent."""

    def __init__(self, runner: Runner, calls: QueueCalls) -> None:
        self._runner = runner
        self._calls = calls

    def _each(
        self, verb: str, decode: Callable[[Answer], list[A]], ids: Sequence[str], /, **arguments: Any
    ) -> list[A]:
        """Call the script of a verb for these ids, each call with a rid of its own. Returns an answer for each."""
        return self._in_batches(
            lambda some: self._calls.ask(verb, decode, item=some, rid=new_ulid(), **arguments), checked_list("ids", ids)
        )

    def _everywhere(self, verb: str, decode: Callable[[Answer], T], /, **arguments: Any) -> list[T]:
        """Call the script of a verb. Returns its answer, as the only one."""
        return [self._runner.send(self._calls.ask(verb, decode, **arguments))]

    def _in_batches(self, call: Callable[[Sequence[T]], Call[list[A]]], items: Sequence[T]) -> list[A]:
        """Make one call for every 1,000 items. Returns their answers in order."""
        starts = range(0, len(items), MAX_ITEMS)
        return self._in_turn(call(items[start : start + MAX_ITEMS]) for start in starts)

    def _in_parts(self, call: Callable[[Sequence[T]], Call[list[A]]], ends: Sequence[T]) -> list[A]:
        """Make calls that end leases, with fewer leases in a call if they hold many limits."""
        return self._in_turn(call(some) for some in by_limits(ends))

    def _in_turn(self, calls: Iterable[Call[list[A]]]) -> list[A]:
        """Make calls one after the other. Returns their answers.

        If a call is not confirmed, or names an unknown task, the error is raised at the end.
        """
        answers: list[A] = []
        unconfirmed: DurabilityError | None = None
        unknown: UnknownTask | None = None
        for call in calls:
            try:
                answers += self._runner.send(call)
            except DurabilityError as error:
                answers += error.answer
                unconfirmed = error
            except UnknownTask as error:
                answers += error.receipts
                unknown = unknown or error
        if unconfirmed is not None:
            unconfirmed.answer = answers
            raise unconfirmed
        if unknown is not None:
            unknown.receipts = answers
            raise unknown
        return answers


class QueueBase(Area):
    """A queue with a name, on one server."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        self.name = name
        self.base = base
        self.calls = QueueCalls(base, runner.now_ms, runner.source, runner.trace, runner.codec)
        super().__init__(runner, self.calls)
        self._batching = runner.batching()
        self._identities = Identities(runner, self.calls)
        self._told: set[str] = set()  # warnings that were logged

    @property
    def adeq(self) -> Runner:
        """The client that created the queue."""
        return self._runner

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base!r}>"
