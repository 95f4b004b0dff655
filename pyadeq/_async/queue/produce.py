"""Enqueueing tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from time import monotonic
from types import SimpleNamespace
from typing import Any, Literal

from pyadeq._async.queue.by_id import ById
from pyadeq._async.queue.results import Receipt, bound, bound_or_none, result_of
from pyadeq._async.queue.updates import Following
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.options import refuse_single
from pyadeq._core.kernel.tracing import Sending, with_carry
from pyadeq._core.queue.items import MAX_ITEMS, EnqueueItem, apart, by_bytes, item, plain_item, size_of
from pyadeq.errors import BadArgument, UnknownTask
from pyadeq.ids import new_ulid
from pyadeq.models.base import Moment, Seconds, to_ms
from pyadeq.models.queue import AfterWhen, Backoff, Earlier, Task, Tier
from pyadeq.models.queue import Receipt as PlainReceipt
from pyadeq.models.worker import Outcome


class Producing(Following, ById):
    """The part of a queue for enqueueing tasks."""

    async def enqueue(
        self,
        payload: Any = None,
        *,
        id: str | None = None,
        kind: str | None = None,
        priority: int = 5,
        lane: str = "any",
        fallback: str | Sequence[str] | None = None,
        fallback_after: Seconds | None = None,
        delay: Seconds = 0.0,
        run_after: Moment | None = None,
        expires_at: Moment | None = None,
        timeout: Seconds | None = None,
        user: str | None = None,
        tags: Sequence[str] = (),
        limits: Sequence[str] = (),
        parent: str | None = None,
        after: Earlier = (),
        after_any: bool = False,
        after_when: AfterWhen = "completed",
        gather: int | None = None,
        ordering_key: str | None = None,
        idempotency_key: str | None = None,
        unique: str | None = None,
        scope: str | None = None,
        coalesce: Literal["first", "last"] = "first",
        result_ttl: Seconds | None = None,
        reply: bool = False,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        source: str | None = None,
        headers: dict[str, Any] | None = None,
        tier: Tier | None = None,
        rid: str | None = None,
    ) -> Receipt:
        """Enqueue one task. The payload is bytes, or anything that JSON can hold (at most 1 MiB). A `Task` in its place
        has all options except `rid` itself.

        `Task` describes the options. The receipt is `created`; `exists` if the id is taken; or `deduplicated`, with the
        id of the existing task. With your own rid, you may make the same call again later, also from another process:
        the same id and rid return `created` and change nothing. If you give a rid but no id, the rid is also the id.

        Raises BadArgument for invalid options, before anything is sent. Raises QueueDraining if the queue takes no new
        tasks, and UnknownTask if the task waits for a task that does not exist.
        """
        rest = (
            priority,
            lane,
            fallback,
            fallback_after,
            delay,
            run_after,
            expires_at,
            timeout,
            tags,
            limits,
            parent,
            after,
            after_any,
            after_when,
            gather,
            ordering_key,
            idempotency_key,
            unique,
            scope,
            coalesce,
            result_ttl,
            reply,
            max_attempts,
            backoff,
            source,
            headers,
            tier,
        )
        if isinstance(payload, Task):
            given = {"id": id, "kind": kind, "user": user, **dict(zip(_DEFAULTS, rest, strict=True))}
            beside = {name: value for name, value in given.items() if value != _DEFAULTS.get(name)}
            payload, options = apart(payload, beside)
            return await self.enqueue(payload, rid=rid, **options)
        joins = rid is None
        rid = rid or new_ulid()
        own_id = id or rid
        tracing = self._runner.tracing
        if rest == _PLAIN and tracing is None:  # most calls: what follows would take twice as long
            one = plain_item(own_id, payload, kind, user)
            return bound(self, await self._enqueue_one(one, rid, joins))[0]
        task = SimpleNamespace(  # not a Task: making a model would take a tenth of the whole call
            payload=payload,
            id=id,
            kind=kind,
            priority=priority,
            lane=lane,
            fallback=fallback,
            fallback_after=fallback_after,
            delay=delay,
            run_after=run_after,
            expires_at=expires_at,
            timeout=timeout,
            user=user,
            tags=tags,
            limits=limits,
            parent=parent,
            after=after,
            after_any=after_any,
            after_when=after_when,
            gather=gather,
            ordering_key=ordering_key,
            idempotency_key=idempotency_key,
            unique=unique,
            scope=scope,
            coalesce=coalesce,
            result_ttl=result_ttl,
            reply=reply,
            max_attempts=max_attempts,
            backoff=backoff,
            source=source,
            headers=headers,
            tier=tier,
        )
        if tracing is None:
            return bound(self, await self._enqueue_one(item(own_id, task), rid, joins))[0]
        with tracing.enqueue(self.name, [own_id], kind) as sending:
            if sending.carries:
                task.headers = with_carry(headers, sending.carry(id, kind))
            receipts = await self._enqueue_one(item(own_id, task), rid, joins)
            sending.receipts(receipts)
            return bound(self, receipts)[0]

    async def _enqueue_one(self, one: EnqueueItem, rid: str, joins: bool) -> list[PlainReceipt]:
        """joins: the task may be sent in a call with others, which has another rid."""
        call = self.calls.enqueue_items([one], rid)
        if not joins or self._batching is None:
            return await self._runner.send(call)
        return await self._batching.send(call, size_of(one[1], one[2]))

    async def run(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> Any:
        """Enqueue a task and wait for its result, at most `wait` seconds. The options are those of `enqueue`.

        Errors are those of `result`. After WaitTimeout, the task continues.
        """
        return result_of(*await self.run_to_end(payload, wait=wait, **options))

    async def run_to_end(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> tuple[str, Outcome]:
        """Enqueue a task and wait for its end, however it ends. Returns its id and its outcome. Raises WaitTimeout."""
        payload, options = apart(payload, options)
        id = options.pop("id", None) or new_ulid()
        until = monotonic() + to_ms("wait", wait) / 1000
        async with self._runner.hints.listening(self._channel(id)) as ear:
            receipt = await self.enqueue(payload, id=id, **{"reply": True, **options})
            if receipt.id == id:
                return id, await self._ended(id, ear, until, told=True)
        return receipt.id, await self.ended(receipt.id, max(until - monotonic(), 0.0))

    async def enqueue_many(self, tasks: Iterable[Any], *, rid: str | None = None) -> list[Receipt]:
        """Enqueue many tasks, in order: Task models, or payloads. Any number; each call carries at most 1,000.

        A list is checked as a whole before anything is sent. An iterator is read while it is sent. If a task is
        invalid, BadArgument is raised; all earlier calls have already been sent. Raises UnknownTask, after all tasks
        were sent, if some wait for tasks that do not exist; these were not created.

        rid: with the same rid, a repeated call creates nothing twice. Tasks without an id get `<rid>.<index>`.
        """
        if (tracing := self._runner.tracing) is None:
            return await self._enqueue_all(tasks, rid)
        with tracing.enqueue(self.name, ids_of(tasks), None) as sending:
            receipts = await self._enqueue_all(carrying(tasks, sending), rid)
            sending.receipts(receipts)
            return receipts

    async def _enqueue_all(self, tasks: Iterable[Any], rid: str | None) -> list[Receipt]:
        calls = self._enqueue_calls(tasks, rid)
        if isinstance(tasks, list | tuple):
            calls = list(calls)
        return await self._receipts(calls)

    async def enqueue_stream(self, tasks: Iterable[Any], *, rid: str | None = None) -> AsyncIterator[Receipt]:
        """Enqueue more tasks than fit into memory. They are read as they are sent, at most 1,000 ahead.

        Nothing is sent before the receipts are read. Raises UnknownTask at the end, with the receipts of one call, if
        some tasks were not created; these have no receipts.

        rid: with the same rid, you may send an interrupted stream again from its beginning; it creates nothing twice.
        """
        unknown: UnknownTask | None = None
        for call in self._enqueue_calls(tasks, rid):
            try:
                receipts = await self._receipts([call])
            except UnknownTask as error:
                unknown = unknown or error
                receipts = [one for one in error.receipts if one is not None]
            for receipt in receipts:
                yield receipt
        if unknown is not None:
            raise unknown

    async def _receipts(self, calls: Iterable[Call[list[PlainReceipt]]]) -> list[Receipt]:
        try:
            return bound(self, await self._in_turn(calls))
        except UnknownTask as error:
            error.receipts = bound_or_none(self, error.receipts)
            raise

    def _enqueue_calls(self, tasks: Iterable[Any], rid: str | None, **pairs: Any) -> Iterable[Call[list[PlainReceipt]]]:
        """pairs: further options of each task."""
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


_DEFAULTS = {
    name: value
    for name, value in (Producing.enqueue.__kwdefaults__ or {}).items()
    if name not in ("id", "kind", "user", "rid")
}
_PLAIN = tuple(_DEFAULTS.values())
"""The options of a task that has none but these."""


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
        id, payload, envelope = plain_item(default_id or new_ulid(), one, None, None)
    return id, payload, {**envelope, **pairs}
