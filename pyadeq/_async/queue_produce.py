"""Producing: tasks into a queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import Any, Literal

from pyadeq._async.queue_base import QueueBase
from pyadeq._core.call import Call
from pyadeq._core.queue_items import MAX_ITEMS, EnqueueItem, item, refuse_single
from pyadeq.errors import BadArgument
from pyadeq.ids import new_ulid
from pyadeq.models import Backoff, Moment, Receipt, Seconds, Task

MAX_BATCH_BYTES = 8 * 1024 * 1024


class Producing(QueueBase):
    """The part of a queue that producers use."""

    async def enqueue(
        self,
        payload: Any = None,
        *,
        id: str | None = None,
        kind: str | None = None,
        priority: int = 5,
        lane: str = "any",
        fallback: str | None = None,
        fallback_after: Seconds | None = None,
        delay: Seconds = 0.0,
        run_after: Moment | None = None,
        expires_at: Moment | None = None,
        timeout: Seconds | None = None,
        user: str | None = None,
        tags: Sequence[str] = (),
        parent: str | None = None,
        idempotency_key: str | None = None,
        unique: str | None = None,
        scope: str | None = None,
        coalesce: Literal["first", "last"] = "first",
        result_ttl: Seconds | None = None,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        headers: dict[str, Any] | None = None,
        rid: str | None = None,
    ) -> Receipt:
        """Put one task in line. The payload is bytes, or anything that JSON can hold (at most 1 MiB).

        What can be said of it is in `Task`. The answer is `created`; `exists` where the id is taken; or `deduplicated`,
        with the id of the task that stands for this one. With your own rid you may make the same call again later, from
        another process too: same id and rid answer `created` and change nothing. The rid is the id where none is given.
        BadArgument for what does not fit, before anything is sent; QueueDraining if the queue takes no new tasks.
        """
        task = Task.model_construct(
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
            parent=parent,
            idempotency_key=idempotency_key,
            unique=unique,
            scope=scope,
            coalesce=coalesce,
            result_ttl=result_ttl,
            max_attempts=max_attempts,
            backoff=backoff,
            headers=headers,
        )
        return (await self._runner.run(self.calls.enqueue([(id or rid or new_ulid(), task)], rid or new_ulid())))[0]

    async def enqueue_many(self, tasks: Iterable[Any], *, rid: str | None = None) -> list[Receipt]:
        """Put many tasks in line, in order: Task models, or payloads. Any number; each call carries at most 1,000.

        A list is checked as a whole before anything is sent. Of an iterator, which is read as it is sent, the tasks of
        the calls before that of a bad one are in line when BadArgument is raised. With your own rid the same call made
        again creates nothing twice; tasks without an id have `<rid>.<index>`.
        """
        calls = self._enqueue_calls(tasks, rid)
        if isinstance(tasks, list | tuple):
            calls = list(calls)
        return await self._in_turn(calls)

    async def enqueue_stream(self, tasks: Iterable[Any], *, rid: str | None = None) -> AsyncIterator[Receipt]:
        """As `enqueue_many`, for more tasks than memory holds: they are read as they are sent, 1,000 ahead at most.

        Nothing is sent before the receipts are read. With your own rid, a stream that broke off may be sent again from
        its beginning: what is there already is not made twice.
        """
        for call in self._enqueue_calls(tasks, rid):
            for receipt in await self._runner.run(call):
                yield receipt

    def _enqueue_calls(self, tasks: Iterable[Any], rid: str | None) -> Iterable[Call[list[Receipt]]]:
        refuse_single("tasks", tasks)
        call_rid = rid or new_ulid()
        rest = enumerate(tasks)
        while some := list(islice(rest, MAX_ITEMS)):
            start = some[0][0]
            try:
                items = [_item(one, f"{rid}.{index}" if rid else new_ulid()) for index, one in some]
                for batch in _by_bytes(items):
                    yield self.calls.enqueue_items(batch, f"{call_rid}.{start}")
                    start += len(batch)
            except BadArgument as error:
                error.add_note(f"in the call that begins with task {start} of those given")
                raise


def _item(one: Any, default_id: str) -> EnqueueItem:
    task = one if isinstance(one, Task) else Task.model_construct(payload=one)
    return item(task.id or default_id, task)


def _by_bytes(items: list[EnqueueItem]) -> Iterable[list[EnqueueItem]]:
    """Split where payloads would pass 8 MiB together; the script takes 16 MiB in all."""
    batch: list[EnqueueItem] = []
    size = 0
    for one in items:
        size += len(one[1])
        if batch and size > MAX_BATCH_BYTES:
            yield batch
            batch, size = [], len(one[1])
        batch.append(one)
    if batch:
        yield batch
