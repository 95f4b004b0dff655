# Generated from pyadeq/_async/queue/results.py by pyadeq/_unasync.py; do not edit.
"""Waiting for the end of tasks, by messages that the server publishes, and by asking from time to time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault

from pyadeq._sync.queue.read import Reading
from pyadeq._core.kernel.call import Call
from pyadeq._core.queue.chains import check_readable
from pyadeq.errors import AdeqError, ClientClosed, TaskCancelled, TaskDead, TaskGone, TransportError, WaitTimeout
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Receipt as PlainReceipt
from pyadeq.models.worker import Outcome, TaskUpdate

if TYPE_CHECKING:  # which imports redis-py
    from pyadeq._sync.kernel.hints import Ear

T = TypeVar("T")
R_co = TypeVarWithDefault("R_co", default=Any, covariant=True)

# Seconds between two checks of a task: if its end is published, in case the message is lost; if not, increasing from
# the first to the last.
TOLD_FIRST, TOLD, UNTOLD_FIRST, UNTOLD_LAST = 1.0, 5.0, 0.02, 1.0
# Seconds of a wait until a task that has not begun is explained, and in which a shorter wait must have lasted for that.
EXPLAINED, SHORTEST = 3.0, 1.0
MOST_TOLD = 100  # warnings of one queue object
log = logging.getLogger("pyadeq.queue")


class Awaiting(Reading):
    """The part of a queue for waiting for results."""

    def result(self, id: str, timeout: Seconds = 60.0) -> Any:
        """Wait for a task's end and return its result; None if there is none, the text if it is not JSON.

        Raises TaskDead, TaskCancelled or TaskGone if it ended in another way. The end of a task that was enqueued with
        reply=True is noticed at once, of another task within a second. Any number of clients may wait for one task.

        timeout: seconds to wait; then WaitTimeout.
        """
        return result_of(id, self._wait_for_end(id, timeout))

    def _wait_for_end(self, id: str, timeout: Seconds = 60.0) -> Outcome:
        with self._runner.hints.listening(self._channel(id)) as ear:
            return self._ended_until(id, ear, monotonic() + to_ms("timeout", timeout) / 1000)

    def _ended_until(self, id: str, ear: Ear, until: float, told: bool = False) -> Outcome:
        """told: wait for a message before the first check."""
        pause = UNTOLD_FIRST
        began, trouble = monotonic(), None
        explains_at = began + EXPLAINED
        if told:
            ear.wait(min(TOLD_FIRST, until - monotonic()))
        while True:
            found = self._look(self.calls.outcome([id]), until)
            outcome = found and found[0]
            if outcome and outcome.status != "waiting":
                return outcome
            now = monotonic()
            if outcome and (now >= explains_at or now >= max(until, began + SHORTEST)):
                explains_at, trouble = inf, self._why_waiting(id, until)
            if now >= until:
                state = outcome.state if outcome else "not to be seen, for the server is away"
                why = f"; {trouble}" if trouble else ""
                raise WaitTimeout(f"task {id!r} is {state}; it has not ended within the time to wait{why}")
            pause = TOLD if outcome and outcome.told else min(pause * 1.5, UNTOLD_LAST)
            ear.wait(min(pause, min(until, explains_at) - now))
            self._check_open()

    def _why_waiting(self, id: str, until: float) -> str | None:
        """Return why no worker takes a task that has not begun, if that is known, and log it once."""
        retry_until = self._runner.retry_until
        trouble, name = None, self.name.partition("/")[0]  # a partition is named <queue>/<tag>
        with suppress(AdeqError):  # the user of the server may not be allowed to read all this
            task = (self._runner.send(self.calls.get([id]), retry_until(until)))[0]
            if task is None or task.state not in ("ready", "delayed"):
                return None
            if not (self._runner.send(self.calls.stats(), retry_until(until))).workers:
                trouble = f"no worker has been seen on queue {name!r}: start one, or look at its log"
            elif task.kind is not None:
                trouble = self._runner.noun("kind", name).explain_unknown(task.kind, retry_until(until))
        if trouble and trouble not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(trouble)
            log.warning("task %s waits: %s", id, trouble)
        return trouble

    def _look(self, call: Call[T], until: float) -> T | None:
        """Ask once. Returns None while the server is away and there is time left."""
        try:
            return self._runner.send(call, self._runner.retry_until(until))
        except TransportError as error:
            if not error.retryable or monotonic() >= until:
                raise
            return None

    def _check_open(self) -> None:
        if self._runner.closed:
            raise ClientClosed("this client is closed: it waits for no results; make another")

    def _channel(self, id: str) -> str:
        return f"{self.base}:channel:{id}"


class Awaited(Protocol[R_co]):
    """What a receipt needs: the queue, or the task function, which knows the type of the result."""

    def result(self, id: str, timeout: Seconds = 60.0) -> R_co: ...

    def updates(
        self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0
    ) -> Iterator[TaskUpdate]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Receipt(PlainReceipt, Generic[R_co]):
    """The answer to an enqueue. It can wait for the result, and follow the task until then.

    Pickled, it is the status and the id alone: wait with `Queue.result(receipt.id)` there.

    A task function returns a `Receipt[T]`: its result has the type that the function returns. `Receipt` alone is
    `Receipt[Any]`.
    """

    _queue: Awaited[R_co] = field(repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return PlainReceipt, (self.status, self.id)  # connections stay in their process

    def __copy__(self) -> Receipt[R_co]:
        return self

    def result(self, timeout: Seconds = 60.0) -> R_co:
        """Wait for the task's end and return its result; see `Queue.result`, or `QueueTask.result`."""
        return self._queue.result(self.id, timeout)

    def updates(self, *, timeout: Seconds | None = None, interval: Seconds = 1.0) -> Iterator[TaskUpdate]:
        """Iterate over the states, progress and log lines of the task until it has ended; see `Queue.updates`."""
        return self._queue.updates(self.id, timeout=timeout, interval=interval)


def bound(queue: Awaited, receipts: Sequence[PlainReceipt]) -> list[Receipt]:
    """Return receipts that can wait."""
    return [Receipt(one.status, one.id, queue) for one in receipts]


def bound_or_none(queue: Awaited, receipts: Sequence[PlainReceipt | None]) -> list[Receipt | None]:
    """Return the same, and None for each task that was not created."""
    return [None if one is None else Receipt(one.status, one.id, queue) for one in receipts]


def result_of(id: str, outcome: Outcome) -> Any:
    """Return the result of an ended task, or raise the error that says how else it ended."""
    match outcome.status:
        case "completed":
            check_readable(id, outcome.unreadable)
            return outcome.result
        case "dead":
            raise TaskDead(id, outcome.reason or "error", outcome.error or "")
        case "cancelled":
            raise TaskCancelled(f"task {id!r} was cancelled")
        case "result_dropped":
            raise TaskGone(f"task {id!r} is completed, but the server's memory was full: its result was not kept")
        case "removed":
            raise TaskGone(f"task {id!r} was deleted before it ran")
    raise TaskGone(f"there is no task {id!r}, or no longer: enqueue with reply=True to find how it ended for an hour")
