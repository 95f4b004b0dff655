# Generated from pyadeq/_async/queue/__init__.py by pyadeq/_unasync.py; do not edit.
"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.areas import QueueAreas
from pyadeq._sync.queue.mailbox import Batch, Callbacks, Mailbox
from pyadeq._sync.queue.results import Receipt
from pyadeq._sync.queue.tasks import QueueTask, QueueTaskDecorator
from pyadeq._tasks.functions import TaskFunction, Tasks
from pyadeq.models.base import Seconds

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")


class Queue(QueueAreas):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`.

    Its areas: `inspect`, `leases`, `dead`, `workers`, `admin`, `settings`, `chains`, `schedules`, `limits`, `shares`.
    Most methods of the areas are also methods of the queue.
    """

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._tasks = Tasks()

    @property
    def tasks(self) -> Tasks:
        """The functions by the kinds of task that they run: the handler for a Worker."""
        return self._tasks

    @property
    def task(self) -> QueueTaskDecorator:
        """Decorate a function: its calls can be enqueued here, and `queue.tasks`, given to a Worker, runs them.

        `@queue.task`, or with options: `@queue.task(name="mail.send", timeout=60, max_attempts=5)`, which are those of
        `enqueue`; name: the kind, the function's name if it is not given; executor: for a plain function, `thread` or
        `process`. A parameter that is a TaskContext is given it, and is no argument; as the first one, for mypy too.
        """
        return QueueTaskDecorator(lambda *of: self._tasks.add(QueueTask(self, *of)))

    def bind(self, task: TaskFunction[Q, P, C, T]) -> QueueTask[Q, P, C, T]:
        """A function of a free `Tasks`, or of another queue, with this queue to enqueue into."""
        return QueueTask(self, task.function, task.kind, task.executor, task._options)

    def mailbox(
        self,
        scope: str,
        *,
        window: Seconds = 0.05,
        max_items: int = 100,
        lease: Seconds = 0,
        worker: str | None = None,
        settle_at_once: bool = False,
        alone_kinds: Sequence[str] = (),
        on_enqueued: Callable[[Any, Receipt], object] | None = None,
        on_dequeued: Callable[[Batch], object] | None = None,
        on_blocked: Callable[[str, int], object] | None = None,
        on_cleared: Callable[[str, int], object] | None = None,
    ) -> Mailbox:
        """The messages of one scope, a conversation's for instance, to be taken in batches.

        window: seconds, at most 60, that the first in line waits for more. max_items: of one batch, at most 1,000.
        lease: seconds, 0 for the queue's setting; worker: a name to claim under, if not this process's own.
        settle_at_once: a batch is completed when it is taken, as it is gone from a queue in memory: what its taker
        loses is lost.
        alone_kinds: at most 16 kinds of items that are not merged with others. Such an item is a batch of its own, in
        its place; when it is the first in line, it does not wait for the window.

        The callbacks are given (item, receipt), (batch), (reason, how many wait) and (reason, how many were deleted).
        They may be coroutine functions in asyncio, and are over before the call is. Their exceptions are logged.
        """
        callbacks = Callbacks(on_enqueued, on_dequeued, on_blocked, on_cleared)
        return Mailbox(self, scope, window, max_items, lease, worker, settle_at_once, alone_kinds, callbacks)
