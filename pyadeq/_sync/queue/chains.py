# Generated from pyadeq/_async/queue/chains.py by pyadeq/_unasync.py; do not edit.
"""Chains: tasks that come one after the other, and one that comes after many."""

from __future__ import annotations

from collections.abc import Iterator, Iterable, Iterator, Sequence
from typing import Any

from pyadeq._sync.queue.inspect import QueueInspect
from pyadeq._sync.queue.produce import Producing, as_task
from pyadeq._sync.queue.results import Receipt
from pyadeq._core.queue.chains import with_result
from pyadeq._core.queue.items import checked_list, earlier_ids, refuse_single
from pyadeq.errors import BadArgument, UnknownTask
from pyadeq.ids import new_ulid
from pyadeq.models.queue import Earlier, Task, TaskView

MOST_GATHERED = 100_000
PAGE = 100  # each may have a result of 1 MiB
KEYS = ("idempotency_key", "unique", "scope")


class QueueChains:
    """`queue.chains`: tasks that wait for others."""

    def __init__(self, queue: Producing, inspect: QueueInspect) -> None:
        self._queue = queue
        self._inspect = inspect

    def chain(self, tasks: Iterable[Any], *, after: Earlier = (), rid: str | None = None) -> list[Receipt]:
        """Put tasks in line that run one after the other: Task models, or payloads. Any number; 1,000 a call.

        Each starts when the one before has ended as its own `after_when` says: completed, unless it says otherwise. One
        that fails for good takes those after it with it: they are dead, reason `after_failed`. after: what the first
        one waits for. With your own rid the same call made again creates nothing twice; tasks without an id have
        `<rid>.<index>`. BadArgument for a task with idempotency_key, unique or scope, in whose place another one may
        be found, and the next would not wait for it.
        """
        refuse_single("tasks", tasks)
        steps: Iterable[Task] = _steps(tasks, earlier_ids(after), rid)
        if isinstance(tasks, list | tuple):
            steps = list(steps)
        return self._queue.enqueue_many(steps, rid=rid)

    def gather(self, tasks: Iterable[Any], then: Any = None, *, rid: str | None = None) -> Receipt:
        """Put tasks in line that run side by side, and `then`, which starts when all of them are completed.

        tasks: Task models, or payloads: 1 to 100,000. then: likewise; with `after_when="ended"` it starts however they
        end, with `after_any` after the first. It is enqueued first and they are its children: their parent is its id,
        and theirs are `<that id>.<index>`, the index with five digits. So they may not bring an id, a parent,
        idempotency_key, unique or scope (BadArgument). The answer is that for `then`: where it is not `created`, for
        another has its id or stands for it, nothing else is enqueued. With your own rid a call that broke off may be
        made again: what is there is not made twice. UnknownTask if `then` is gone before all its children are there,
        lost by the server or deleted. The children's results: `gathered`, for a handler too.
        """
        children = checked_list("tasks", tasks)
        last = as_task(then)
        if not 1 <= len(children) <= MOST_GATHERED:
            _refuse(f"tasks: {len(children):,} of them are not accepted; allowed: 1 to {MOST_GATHERED:,}")
        if last.gather is not None:
            _refuse(f"then.gather: {last.gather!r} is not accepted; it is how many tasks there are: leave it out")
        rid = rid or new_ulid()
        id = last.id or rid
        call = self._queue.calls.enqueue([(id, _with(last, id=id, gather=len(children)))], f"{rid}.then")
        calls = list(self._queue._enqueue_calls(_children(children, id), rid, needs_parent=True))
        (receipt,) = self._queue._receipts([call])
        if receipt.status == "created":
            try:
                self._queue._receipts(calls)
            except UnknownTask as error:
                error.add_note(f"{error.missing!r} is what gathers it: the server has lost it, or it was deleted since")
                raise
        return receipt

    def gathered(self, id: str) -> Iterator[TaskView]:
        """The children of a task with payload, state and result, in the order in which they were enqueued.

        They are read a hundred at a time, while you go through them. One that was deleted, as ended tasks are after a
        while, is left out.
        """
        cursor = ""
        while True:
            tasks, cursor = self.gathered_page(id, cursor)
            for task in tasks:
                yield with_result(task)
            if not cursor:
                return

    def gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        """Some of them, and the cursor that gets the next ones; it is empty on the last page."""
        page = self._inspect.list(parent=id, cursor=cursor, limit=PAGE)
        found = self._inspect.get_many([task.id for task in page.tasks])
        return [task for task in found if task is not None], page.cursor


def _steps(tasks: Iterable[Any], before: Sequence[str], rid: str | None) -> Iterator[Task]:
    for index, one in enumerate(tasks):
        task = as_task(one)
        _refuse_fields(f"tasks[{index}]", task, KEYS, "a step of a chain")
        if index and task.after_any:
            _refuse(f"tasks[{index}].after_any: True is not accepted in a chain, where each waits for the one before")
        ids = [*before, *earlier_ids(task.after)]
        waits = {} if ids or task.gather is not None else {"after_when": "completed", "after_any": False}
        id = task.id or (f"{rid}.{index}" if rid else new_ulid())
        yield _with(task, id=id, after=ids, **waits)
        before = [id]


def _children(tasks: Iterable[Any], id: str) -> Iterator[Task]:
    for index, one in enumerate(tasks):
        task = as_task(one)
        _refuse_fields(f"tasks[{index}]", task, ("id", "parent", *KEYS), "a task that is gathered")
        # So many digits, for those of one call are listed by their ids.
        yield _with(task, id=f"{id}.{index:05}", parent=id)


def _refuse_fields(where: str, task: Task, names: Sequence[str], what: str) -> None:
    for name in names:
        if getattr(task, name) is not None:
            _refuse(f"{where}.{name}: {what} may not have one")


def _with(task: Task, **changes: Any) -> Task:
    return task.model_copy(update=changes)


def _refuse(what: str) -> None:
    raise BadArgument("ADEQ_ARG", "pyadeq", what)
