# Generated from pyadeq/_async/queue/chains.py by pyadeq/_unasync.py; do not edit.
"""Chains: tasks that run one after the other, and tasks that run after many others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pyadeq._sync.queue.produce import Producing, as_task
from pyadeq._sync.queue.results import Receipt
from pyadeq._core.kernel.options import checked_list, refuse_single
from pyadeq._core.queue.items import earlier_ids
from pyadeq.errors import BadArgument, UnknownTask
from pyadeq.ids import new_ulid
from pyadeq.models.queue import Earlier, Task

MOST_GATHERED = 100_000
KEYS = ("idempotency_key", "unique", "scope")


class Chaining(Producing):
    """The part of a queue for tasks that wait for others."""

    def chain(self, tasks: Iterable[Any], *, after: Earlier = (), rid: str | None = None) -> list[Receipt]:
        """Enqueue tasks that run one after the other: Task models, or payloads. Any number; 1,000 per call.

        Each task starts when the one before has ended as its own `after_when` says, by default completed. If a task
        fails for good, all tasks after it are dead with the reason `after_failed`. Raises BadArgument for a task with
        idempotency_key, unique or scope: another task might exist in its place, and the next one would not wait for it.

        after: what the first task waits for.
        rid: with the same rid, a repeated call creates nothing twice. Tasks without an id get `<rid>.<index>`.
        """
        refuse_single("tasks", tasks)
        steps: Iterable[Task] = _steps(tasks, earlier_ids(after), rid)
        if isinstance(tasks, list | tuple):
            steps = list(steps)
        return self.enqueue_many(steps, rid=rid)

    def gather(self, tasks: Iterable[Any], then: Any = None, *, rid: str | None = None) -> Receipt:
        """Enqueue tasks that run side by side, and `then`, which starts when all of them are completed. Returns the
        receipt of `then`.

        `then` is enqueued first, and the tasks are its children. Their ids are `<id of then>.<index>`, with a
        five-digit index. So they must not have an id, a parent, idempotency_key, unique or scope (BadArgument). If the
        receipt is not `created`, because another task has its id or key, nothing else is enqueued. Raises UnknownTask
        if `then` is gone before all its children exist: deleted, or lost by the server. `inspect.gathered` reads the
        results of the children, also in a handler.

        tasks: Task models, or payloads: 1 to 100,000.
        then: a Task model, or a payload. With `after_when="ended"` it starts however they end; with `after_any` after
        the first.
        rid: with the same rid, a repeated call creates nothing twice.
        """
        children = checked_list("tasks", tasks)
        last = as_task(then)
        if not 1 <= len(children) <= MOST_GATHERED:
            _refuse(f"tasks: {len(children):,} of them are not accepted; allowed: 1 to {MOST_GATHERED:,}")
        if last.gather is not None:
            _refuse(f"then.gather: {last.gather!r} is not accepted; it is how many tasks there are: leave it out")
        rid = rid or new_ulid()
        id = last.id or rid
        call = self.calls.enqueue([(id, _with(last, id=id, gather=len(children)))], f"{rid}.then")
        calls = list(self._enqueue_calls(_children(children, id), rid, needs_parent=True))
        (receipt,) = self._receipts([call])
        if receipt.status == "created":
            try:
                self._receipts(calls)
            except UnknownTask as error:
                error.add_note(f"{error.missing!r} is what gathers it: the server has lost it, or it was deleted since")
                raise
        return receipt


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
        # Five digits, because the children of one call are listed in the order of their ids.
        yield _with(task, id=f"{id}.{index:05}", parent=id)


def _refuse_fields(where: str, task: Task, names: Sequence[str], what: str) -> None:
    for name in names:
        if getattr(task, name) is not None:
            _refuse(f"{where}.{name}: {what} may not have one")


def _with(task: Task, **changes: Any) -> Task:
    return task.model_copy(update=changes)


def _refuse(what: str) -> None:
    raise BadArgument("ADEQ_ARG", "pyadeq", what)
