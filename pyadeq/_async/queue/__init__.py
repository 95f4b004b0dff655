"""A queue and its calls. All answers come from the scripts. Only the identity of workers is kept here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from pyadeq._async.kernel.runner import Runner
from pyadeq._async.queue.areas import QueueAreas
from pyadeq._async.queue.mailbox import Batch, Callbacks, Mailbox
from pyadeq._async.queue.results import Receipt
from pyadeq._async.queue.tasks import QueueTask, QueueTaskDecorator
from pyadeq._tasks.functions import TaskFunction, Tasks
from pyadeq.models.base import Seconds

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")


class Queue(QueueAreas):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`.

    What is done every day is a method of the queue. The rest is in its areas: `inspect`, `dead`, `schedules`, `limits`,
    `shares`, `workers`, `leases`, `admin`.
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
        """Decorate a function: its calls can be enqueued here, and a Worker with `queue.tasks` runs them.

        `@queue.task`, or with options: `@queue.task(name="mail.send", timeout=60, max_attempts=5)`. The options are
        those of `enqueue`, and five more. `name` is the kind, by default the function's name. `executor` is `thread` or
        `process`, for a plain function. `version` is the version of the arguments, and `strict` refuses payloads with
        arguments that the function does not have. `failures` has a Rule for each of some exceptions. A TaskContext
        parameter gets the context of the task and is not an argument; mypy needs it to be the first.
        """
        return QueueTaskDecorator(lambda *of: self._tasks.add(QueueTask(self, *of)))

    def bind(self, task: TaskFunction[Q, P, C, T]) -> QueueTask[Q, P, C, T]:
        """Return a function of a free `Tasks`, or of another queue, that enqueues into this queue."""
        return QueueTask[Q, P, C, T].bound(self, task)

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
        """Return the mailbox of one scope, for instance of a conversation, whose items are taken in batches.

        on_enqueued gets (item, receipt), on_dequeued (batch), on_blocked (reason, number of waiting items), and
        on_cleared (reason, number of deleted items). In asyncio they may be coroutine functions. They finish before the
        call returns. Their exceptions are logged.

        window: for how many seconds, at most 60, the first item waits for more.
        max_items: of one batch, at most 1,000.
        lease: seconds; 0: the queue's setting.
        worker: a name to claim under; None: this process's own.
        settle_at_once: a batch is completed when it is taken, as in a queue in memory. If the program then fails, the
        batch is lost.
        alone_kinds: at most 16 kinds of items that are not merged with others. Such an item is a batch of its own. The
        order of items does not change. If it is the first, it does not wait for the window.
        """
        callbacks = Callbacks(on_enqueued, on_dequeued, on_blocked, on_cleared)
        return Mailbox(self, scope, window, max_items, lease, worker, settle_at_once, alone_kinds, callbacks)
