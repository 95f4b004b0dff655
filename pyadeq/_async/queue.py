"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from time import monotonic
from typing import Any, TypeVar

from pyadeq._async.identities import Identities
from pyadeq._async.runner import LONGEST_BLOCK, Runner
from pyadeq._core.call import Call
from pyadeq._core.queue import (
    MAX_ITEMS,
    EnqueueItem,
    Failure,
    Held,
    QueueCalls,
    checked_lanes,
    checked_list,
    item,
    refuse_single,
)
from pyadeq._core.slots import Slot, WorkerIdentity
from pyadeq.errors import BadArgument, LeaseLost
from pyadeq.ids import new_ulid
from pyadeq.models import (
    AckStatus,
    Backoff,
    CancelStatus,
    Claimed,
    Failed,
    Lease,
    Page,
    QueueStats,
    Receipt,
    ReleaseStatus,
    Renewal,
    Seconds,
    Settings,
    Settled,
    State,
    Task,
    TaskView,
    to_ms,
)

A = TypeVar("A")
T = TypeVar("T")

MAX_BATCH_BYTES = 8 * 1024 * 1024


class Queue:
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        self.name = name
        self.base = base
        self.calls = QueueCalls(base, runner.now_ms, runner.source)
        self._runner = runner
        self._identities = Identities(runner, self.calls)

    @property
    def default_worker(self) -> str:
        """The name under which this process claims where none is given."""
        return self._identities.own_name()

    def __repr__(self) -> str:
        return f"<Queue {self.base!r}>"

    # Producing

    async def enqueue(
        self,
        payload: Any = None,
        *,
        id: str | None = None,
        kind: str | None = None,
        priority: int = 5,
        lane: str = "any",
        delay: Seconds = 0.0,
        user: str | None = None,
        tags: Sequence[str] = (),
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        headers: dict[str, Any] | None = None,
        rid: str | None = None,
    ) -> Receipt:
        """Put one task in line. The payload is bytes, or anything that JSON can hold (at most 1 MiB).

        The answer is `created`, or `exists` where the id is taken. With your own rid you may make the same call again
        later, from another process too: same id and rid answer `created` and change nothing. The rid is the id where
        none is given. BadArgument for what does not fit, before anything is sent.
        """
        task = Task.model_construct(
            payload=payload,
            id=id,
            kind=kind,
            priority=priority,
            lane=lane,
            delay=delay,
            user=user,
            tags=tags,
            max_attempts=max_attempts,
            backoff=backoff,
            headers=headers,
        )
        return (await self._runner.run(self.calls.enqueue([(id or rid or new_ulid(), task)], rid or new_ulid())))[0]

    async def enqueue_many(self, tasks: Iterable[Any], *, rid: str | None = None) -> list[Receipt]:
        """Put many tasks in line, in order: Task models, or payloads. Any number; each call carries at most 1,000.

        A list is checked as a whole before anything is sent. Of an iterator, which is read as it is sent, the tasks
        before a bad one are in line when BadArgument is raised. With your own rid the same call made again creates
        nothing twice; tasks without an id have `<rid>.<index>`.
        """
        calls = self._enqueue_calls(tasks, rid)
        if isinstance(tasks, list | tuple):
            calls = list(calls)
        receipts: list[Receipt] = []
        for call in calls:
            receipts += await self._runner.run(call)
        return receipts

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

    # Working

    async def claim(
        self,
        worker: str | None = None,
        limit: int = 10,
        wait: Seconds = 0,
        *,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> list[Lease]:
        """Lease up to limit tasks, the first in line first; with wait, block up to so many seconds for the first.

        The worker is registered on first use; without a name this process has one of its own.
        """
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            claimed = await self.claim_once(worker, limit, lanes=lanes, lease=lease)
            left = until - monotonic()
            if claimed.leases or left <= 0:
                return claimed.leases
            await self.block(lanes, min(left, until_due(claimed)))

    async def claim_once(
        self,
        worker: str | None = None,
        limit: int = 10,
        *,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> Claimed:
        """One claim without waiting, with the time when a delayed task is due or a lease ends next."""
        _check_lease(lease)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Claimed]:
            return self.calls.claim(
                identity.worker, identity.incarnation, slot.index, slot.n, limit=limit, lanes=lanes, lease=lease
            )

        return await self._identities.run(worker or self.default_worker, call, lambda claimed: claimed.status)

    async def settle(
        self,
        worker: str | None = None,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
        retry_for: float | None = None,
    ) -> Settled:
        """Complete some tasks, fail others and lease up to `claim` more, in one call.

        retry_for: seconds in which the call is sent again while there is no answer, at most 45; None: the client's.
        """
        _check_lease(lease)
        jitters = _jitters(fails)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Settled]:
            return self.calls.settle(
                identity.worker,
                identity.incarnation,
                slot.index,
                slot.n,
                acks=acks,
                fails=fails,
                jitters=jitters,
                limit=claim,
                lanes=lanes,
                lease=lease,
            )

        return await self._identities.run(
            worker or self.default_worker, call, lambda settled: settled.claimed.status, retry_for
        )

    async def block(self, lanes: Sequence[str], seconds: float) -> bool:
        """Wait until one of the lanes may have a task; False after so many seconds (at most 10)."""
        return await self._runner.block([f"{self.base}:wake:{lane}" for lane in checked_lanes(lanes)], seconds)

    async def ack(self, lease: Held, result: Any = None) -> None:
        """Complete a task and keep its result. LeaseLost if the lease is no longer this one."""
        _check(lease, (await self.ack_many([(lease, result)]))[0])

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result; a status for each, `completed` or `lease_lost`."""
        return await _in_batches(self._runner, self.calls.ack, acks)

    async def fail(
        self, lease: Held, error: str | bytes | BaseException = b"", *, reason: str = "error", retryable: bool = True
    ) -> Failed:
        """End an attempt that went wrong: retried after a backoff, or dead if not retryable or the last one.

        error: text, bytes or an exception; the last 8 KiB are kept. reason: one word. LeaseLost if the lease is
        another's.
        """
        answer = (await self.fail_many([Failure(lease, error, reason, retryable)]))[0]
        _check(lease, answer.status)
        return answer

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many attempts; an answer for each, `lease_lost` where the lease is another's."""
        return await _in_batches(self._runner, lambda some: self.calls.fail(some, _jitters(some)), fails)

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Prolong a lease by `extend` seconds from now (0: the queue's setting). LeaseLost if it is past its deadline.

        `cancelling` means that somebody wants the task stopped.
        """
        answer = (await self.heartbeat_many([lease], extend=extend))[0]
        _check(lease, answer.status)
        return answer

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0, worker: str = "") -> list[Renewal]:
        """Prolong many leases; an answer for each. worker: whose sign of life it is, if anybody's."""
        _check_lease(extend)
        return await _in_batches(self._runner, lambda some: self.calls.heartbeat(some, worker, extend), leases)

    async def release(self, lease: Held) -> ReleaseStatus:
        """Give a task back to its old place in line; no attempt is spent. LeaseLost if the lease is another's."""
        status = (await self.release_many([lease]))[0]
        _check(lease, status)
        return status

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Give many tasks back; a status for each, `released`, `cancelled` or `lease_lost`."""
        return await _in_batches(self._runner, self.calls.release, leases)

    async def register(self, worker: str | None = None, *, capacity: int | None = None) -> str:
        """Make a worker known under a new incarnation; an older one of the same name is `stale` from then on."""
        name = worker or self.default_worker
        await self._identities.register(name, capacity)
        return name

    async def deregister(self, worker: str | None = None, reason: str = "stopped") -> str:
        """Forget a worker. Its leases stay until they are settled, released or expire."""
        return await self._identities.deregister(worker or self.default_worker, reason)

    # Looking after it

    async def promote(self, limit: int = 100) -> int:
        """Move tasks whose time has come into line; how many. Claims do it on the way."""
        return await self._runner.run(self.calls.promote(limit))

    async def reap(self, limit: int = 100) -> int:
        """Take back leases past their deadline; how many. Claims do it on the way."""
        return await self._runner.run(self.calls.reap(limit))

    async def cancel(self, id: str) -> CancelStatus:
        """`cancelled` at once if it waits; `cancelling` if it runs: its worker hears it with the next heartbeat."""
        return (await self.cancel_many([id]))[0]

    async def cancel_many(self, ids: Sequence[str]) -> list[CancelStatus]:
        """Cancel many tasks; a status for each, as `cancel` answers it."""
        return await _in_batches(self._runner, self.calls.cancel, checked_list("ids", ids))

    async def get(self, id: str) -> TaskView | None:
        """A task as it is now, with payload and result; None if there is none."""
        return (await self.get_many([id]))[0]

    async def get_many(self, ids: Sequence[str]) -> list[TaskView | None]:
        """Tasks as they are now, None for each that there is not."""
        ids = checked_list("ids", ids)
        found: list[TaskView | None] = []
        while len(found) < len(ids):
            found += await self._runner.run(self.calls.get(ids[len(found) : len(found) + MAX_ITEMS]))
        return found

    async def list(self, state: State, *, lane: str = "any", cursor: str = "", limit: int = 100) -> Page:
        """One page of the tasks in a state, in the order of their set. Ready tasks are listed by lane."""
        return await self._runner.run(self.calls.list(state, lane=lane, cursor=cursor, limit=limit))

    async def iterate(self, state: State, *, lane: str = "any") -> AsyncIterator[TaskView]:
        """All tasks in a state, page by page."""
        cursor = ""
        while True:
            page = await self.list(state, lane=lane, cursor=cursor, limit=MAX_ITEMS)
            for task in page.tasks:
                yield task
            cursor = page.cursor
            if not cursor:
                return

    async def stats(self) -> QueueStats:
        """How many tasks are in each state, how many workers are alive, and the totals since the queue began."""
        return await self._runner.run(self.calls.stats())

    async def configure(
        self,
        *,
        clock: str | None = None,
        lease: Seconds | None = None,
        max_attempts: int | None = None,
        max_crashes: int | None = None,
        backoff: Backoff | None = None,
        events_max: int | None = None,
    ) -> Settings:
        """Change settings of the queue and answer all of them; what is None stays as it is."""
        return await self._runner.run(
            self.calls.configure(
                clock=clock,
                lease=lease,
                max_attempts=max_attempts,
                max_crashes=max_crashes,
                backoff=backoff,
                events_max=events_max,
            )
        )


async def _in_batches(runner: Runner, call: Callable[[Sequence[T]], Call[list[A]]], items: Sequence[T]) -> list[A]:
    """One call for every 1,000 items; their answers in order."""
    answers: list[A] = []
    for start in range(0, len(items), MAX_ITEMS):
        answers += await runner.run(call(items[start : start + MAX_ITEMS]))
    return answers


def _check(lease: Held, status: str) -> None:
    if status == "lease_lost":
        id = lease.id if isinstance(lease, Lease) else lease[0]
        raise LeaseLost(
            f"the lease of task {id!r} is lost: it ran out or was settled under another token; nothing was changed"
        )


def _check_lease(seconds: Seconds) -> None:
    if 0 != to_ms("lease", seconds) < 1000:
        raise BadArgument(
            "ADEQ_ARG",
            "pyadeq",
            f"lease: {seconds!r} is not accepted; allowed: 0 (the queue's setting), or 1 s and more",
        )


def _jitters(fails: Sequence[Failure]) -> list[int]:
    return [random.randint(0, 1_000_000) for _ in fails]


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


def until_due(claimed: Claimed) -> float:
    """Seconds until the next due time or deadline, by the server's clock."""
    return LONGEST_BLOCK if claimed.next_due is None else claimed.next_due - claimed.now
