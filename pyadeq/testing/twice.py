"""Check that a handler may run twice for one task, as happens if a worker dies between its work and the ack."""

from __future__ import annotations

import copy
import difflib
import pprint
from collections.abc import Callable, Coroutine
from typing import Any, overload

from pyadeq import Queue, TaskFunction
from pyadeq import asyncio as aio
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Lease, Task
from pyadeq.testing.clock import clock_of
from pyadeq.testing.handling import Calls, Handler
from pyadeq.testing.running import WORKER
from pyadeq.testing.steps import Steps, drive

LANE = f"group/{WORKER}"  # of its own, so that no other task is before it
LEASE = 1.0  # seconds, the shortest there is: little else becomes due meanwhile
WIDTH = 100
UNSAFE = "the handler is not safe to run twice"


@overload
def assert_safe_to_run_twice(
    queue: Queue,
    handler: Handler | None,
    payload: Any = None,
    *,
    state: Callable[[], Any],
    kind: str | None = None,
    same_result: bool = True,
) -> None: ...
@overload
def assert_safe_to_run_twice(
    queue: aio.Queue,
    handler: Handler | None,
    payload: Any = None,
    *,
    state: Callable[[], Any],
    kind: str | None = None,
    same_result: bool = True,
) -> Coroutine[Any, Any, None]: ...
def assert_safe_to_run_twice(
    queue: Queue | aio.Queue,
    handler: Handler | None,
    payload: Any = None,
    *,
    state: Callable[[], Any],
    kind: str | None = None,
    same_result: bool = True,
) -> Coroutine[Any, Any, None] | None:
    """Assert that a second run of a task changes nothing, if the ack of the first run was lost.

    The handler runs to its end, as if its worker died then. The lease ends on the virtual clock, and the task is
    delivered again, with the same id and attempt, delivery 2 and a higher fence. Raises AssertionError with the
    difference, or if the second run raises. Errors of the first run are raised unchanged.

    queue: one on the virtual clock; otherwise ConfigError.
    handler: as for `run_all`.
    payload: of a task of that kind; or a whole `Task`, for instance `send.item("a@example.org")`.
    state: a function that returns, as plain data, what the handler changes: rows, files, sent mails, enqueued tasks. It
    may be async.
    same_result: the results must be equal, too; False if they differ by nature.
    """
    __tracebackhide__ = True
    if kind is None and isinstance(handler, TaskFunction):
        kind = handler.kind
    task = payload if isinstance(payload, Task) else Task(payload=payload, kind=kind)
    alone = task.model_copy(update={"lane": LANE, "delay": 0.0, "run_after": None})
    return drive(queue, _assert_safe(queue, Calls(queue, handler), alone, state, same_result))


def _assert_safe(queue: Any, calls: Calls, task: Task, state: Callable[[], Any], same_result: bool) -> Steps[None]:
    __tracebackhide__ = True
    clock = clock_of(queue)
    if clock is None:
        raise ConfigError("queue: it is on the server's time; ask for the fixture adeq_clock, whose time can pass")
    (receipt,) = yield queue.enqueue_many([task])
    first = yield from _leased(queue, receipt.id)
    first_result, first_data = yield from _run(queue, calls, first)
    after_first = copy.deepcopy((yield state()))
    clock.advance_to(first.deadline)
    second = yield from _leased(queue, receipt.id)
    try:
        second_result, second_data = yield from _run(queue, calls, second)
    except Exception as error:
        raise AssertionError(f"{UNSAFE}: the second run of the same task raised {error!r}") from error
    after_second = copy.deepcopy((yield state()))
    yield queue.ack(second, second_data)
    if after_first != after_second:
        raise AssertionError(_difference("state() is not the same after the second run", after_first, after_second))
    if same_result and first_data != second_data:
        raise AssertionError(_difference("the results are not the same", first_result, second_result))


def _leased(queue: Any, id: str) -> Steps[Lease]:
    leases = yield queue.claim(WORKER, 1, lanes=[LANE], lease=LEASE)
    if [lease.id for lease in leases] != [id]:
        raise ConfigError(f"queue: {queue.name!r} does not lease the task; is it paused, or does a worker run on it?")
    lease: Lease = leases[0]
    return lease


def _run(queue: Any, calls: Calls, lease: Lease) -> Steps[tuple[Any, bytes]]:
    """Return what the handler returns, as it is and encoded."""
    __tracebackhide__ = True
    try:
        result = yield from calls.call(lease, calls.context(lease))
        return result, calls.encode(lease, result)
    except Exception as error:
        yield queue.fail(lease, error, retryable=False)
        raise


def _difference(what: str, first: Any, second: Any) -> str:
    before, after = (pprint.pformat(one, width=WIDTH).splitlines() for one in (first, second))
    if before == after:
        lines = [
            "  It looks the same, but does not compare as equal: answer plain data, lists of numbers for instance."
        ]
    else:
        lines = ["  (- after the first run, + after the second)", *map(str.rstrip, difflib.ndiff(before, after))]
    return "\n".join([f"{UNSAFE}: {what}", *lines])
