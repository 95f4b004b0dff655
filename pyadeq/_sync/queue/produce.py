# Generated from pyadeq/_async/queue/produce.py by pyadeq/_unasync.py; do not edit.
"""Enqueueing tasks."""

from __future__ import annotations

from collections.abc import Iterator, Iterable, Mapping
from itertools import islice
from time import monotonic
from typing import Any, Unpack

from pyadeq._sync.queue.by_id import ById
from pyadeq._sync.queue.results import Receipt, bound, bound_or_none, result_of
from pyadeq._sync.queue.updates import Following
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.options import refuse_single, with_keywords
from pyadeq._core.kernel.tracing import Sending, with_carry
from pyadeq._core.queue.items import MAX_ITEMS, EnqueueItem, apart, by_bytes, changed, item, item_of, size_of
from pyadeq.errors import BadArgument, UnknownTask
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import OPTIONS, Task
from pyadeq.models.queue import Receipt as PlainReceipt
from pyadeq.models.task_options import EnqueueOptions
from pyadeq.models.worker import Outcome


class Producing(Following, ById):
    """The part of a queue for enqueueing tasks."""

    @with_keywords(EnqueueOptions, {name: option.default for name, option in OPTIONS.items()})
    def enqueue(
        self, payload: Any = None, *, rid: str | None = None, **options: Unpack[EnqueueOptions]
    ) -> Receipt:
        """Enqueue one task. The payload is bytes, or anything that JSON can hold (at most 1 MiB). A `Task` in its place
        has all options except `rid` itself.

        `Task` describes the options. The receipt is `created`; `exists` if the id is taken; or `deduplicated`, with the
        id of the existing task. With your own rid, you may make the same call again later, also from another process:
        the same id and rid return `created` and change nothing. If you give a rid but no id, the rid is also the id.

        Raises BadArgument for invalid options, before anything is sent. Raises QueueDraining if the queue takes no new
        tasks, and UnknownTask if the task waits for a task that does not exist.
        """
        given: Mapping[str, Any] = options
        if isinstance(payload, Task):
            payload, given = apart(payload, changed(given))
        joins = rid is None
        rid = rid or new_ulid()
        id, kind = given.get("id"), given.get("kind")
        own_id = id or rid
        if (tracing := self._runner.tracing) is None:
            return bound(self, self._enqueue_one(item_of(own_id, payload, given), rid, joins))[0]
        with tracing.enqueue(self.name, [own_id], kind) as sending:
            if sending.carries:
                given = {**given, "headers": with_carry(given.get("headers"), sending.carry(id, kind))}
            receipts = self._enqueue_one(item_of(own_id, payload, given), rid, joins)
            sending.receipts(receipts)
            return bound(self, receipts)[0]

    def _enqueue_one(self, one: EnqueueItem, rid: str, joins: bool) -> list[PlainReceipt]:
        """joins: the task may be sent in a call with others, which has another rid."""
        call = self.calls.enqueue_items([one], rid)
        if not joins or self._batching is None:
            return self._runner.send(call)
        return self._batching.send(call, size_of(one[1], one[2]))

    def run(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> Any:
        """Enqueue a task and wait for its result, at most `wait` seconds. The options are those of `enqueue`.

        Errors are those of `result`. After WaitTimeout, the task continues.
        """
        return result_of(*self._run_to_end(payload, wait=wait, **options))

    def _run_to_end(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> tuple[str, Outcome]:
        """Enqueue a task and wait for its end, however it ends. Returns its id and its outcome. Raises WaitTimeout."""
        payload, options = apart(payload, options)
        id = options.pop("id", None) or new_ulid()
        until = monotonic() + to_ms("wait", wait) / 1000
        with self._runner.hints.listening(self._channel(id)) as ear:
            receipt = self.enqueue(payload, id=id, **{"reply": True, **options})
            if receipt.id == id:
                return id, self._ended_until(id, ear, until, told=True)
        return receipt.id, self._wait_for_end(receipt.id, max(until - monotonic(), 0.0))

    def enqueue_many(self, tasks: Iterable[Any], *, rid: str | None = None) -> list[Receipt]:
        """Enqueue many tasks, in order: Task models, or payloads. Any number; each call carries at most 1,000.

        A list is checked as a whole before anything is sent. An iterator is read while it is sent. If a task is
        invalid, BadArgument is raised; all earlier calls have already been sent. Raises UnknownTask, after all tasks
        were sent, if some wait for tasks that do not exist; these were not created.

        rid: with the same rid, a repeated call creates nothing twice. Tasks without an id get `<rid>.<index>`.
        """
        if (tracing := self._runner.tracing) is None:
            return self._enqueue_all(tasks, rid)
        with tracing.enqueue(self.name, ids_of(tasks), None) as sending:
            receipts = self._enqueue_all(carrying(tasks, sending), rid)
            sending.receipts(receipts)
            return receipts

    def _enqueue_all(self, tasks: Iterable[Any], rid: str | None) -> list[Receipt]:
        calls = self._enqueue_calls(tasks, rid)
        if isinstance(tasks, list | tuple):
            calls = list(calls)
        return self._receipts(calls)

    def enqueue_stream(self, tasks: Iterable[Any], *, rid: str | None = None) -> Iterator[Receipt]:
        """Enqueue more tasks than fit into memory. They are read as they are sent, at most 1,000 ahead.

        Nothing is sent before the receipts are read. Raises UnknownTask at the end, with the receipts of one call, if
        some tasks were not created; these have no receipts.

        rid: with the same rid, you may send an interrupted stream again from its beginning; it creates nothing twice.
        """
        unknown: UnknownTask | None = None
        for call in self._enqueue_calls(tasks, rid):
            try:
                receipts = self._receipts([call])
            except UnknownTask as error:
                unknown = unknown or error
                receipts = [one for one in error.receipts if one is not None]
            for receipt in receipts:
                yield receipt
        if unknown is not None:
            raise unknown

    def _receipts(self, calls: Iterable[Call[list[PlainReceipt]]]) -> list[Receipt]:
        try:
            return bound(self, self._in_turn(calls))
        except UnknownTask as error:
            error.receipts = bound_or_none(self, error.receipts)
            raise

    def _enqueue_calls(self, tasks: Iterable[Any], rid: str | None, **pairs: Any) -> Iterable[Call[list[PlainReceipt]]]:
        """Yield the calls of an enqueue. pairs: further options of each task."""
        refuse_single("tasks", tasks)
        call_rid = rid or new_ulid()
        rest = enumerate(tasks)
        while some := list(islice(rest, MAX_ITEMS)):
            start = some[0][0]
            try:
                items = [_item(one, rid and f"{rid}.{index}", pairs) for index, one in some]
                for batch in by_bytes(items, lambda one: size_of(one[1], one[2])):
                    yield self.calls.enqueue_items(batch, f"{call_rid}.{start}")
                    start += len(batch)
            except BadArgument as error:
                error.add_note(f"in the call that begins with task {start} of those given")
                raise


def ids_of(tasks: Iterable[Any]) -> list[str | None]:
    """Return the ids that tasks have, as far as they can be read without consuming an iterator."""
    return [one.id if isinstance(one, Task) else None for one in tasks] if isinstance(tasks, list | tuple) else []


def carrying(tasks: Iterable[Any], sending: Sending) -> Iterable[Any]:
    """Return the tasks with what a span adds to their headers."""
    if not sending.carries:
        return tasks
    changed = (_carrying(as_task(one), sending) for one in tasks)
    return list(changed) if isinstance(tasks, list | tuple) else changed


def _carrying(task: Task, sending: Sending) -> Task:
    return task.model_copy(update={"headers": with_carry(task.headers, sending.carry(task.id, task.kind))})


def as_task(one: Any) -> Task:
    """Return a payload as a task of its own."""
    return one if isinstance(one, Task) else Task.model_construct(payload=one)


def _item(one: Any, default_id: str | None, pairs: dict[str, Any]) -> EnqueueItem:
    if isinstance(one, Task):
        id, payload, envelope = item(one.id or default_id or new_ulid(), one)
    else:  # a Task takes 20 times as long to make as to encode
        id, payload, envelope = item_of(default_id or new_ulid(), one, {})
    return id, payload, {**envelope, **pairs}
