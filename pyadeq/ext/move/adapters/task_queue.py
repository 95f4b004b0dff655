"""`TaskQueue`: tasks of subagents with priorities from 0 to 100, and workers that are known by a UUID."""

from __future__ import annotations

import builtins
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from time import monotonic
from typing import Any, Final, Protocol
from uuid import UUID, uuid4

from pyadeq.asyncio import Lease, Queue, TaskView
from pyadeq.asyncio import Task as QueueTask
from pyadeq.errors import BadArgument, LeaseLost, PayloadError, TaskGone
from pyadeq.ext.move.adapters.queues import checked

LAST: Final = 100
"""The last priority, which is also the default."""
LANES: Final = (*(f"group/priority-{n}" for n in range(10)), "any")
"""The lanes of a worker, in this order. Old priorities that share a new one have different lanes: their order stays."""
REAPED: Final = 100
FOR_PROGRAM: Final = ("prompt", "system_prompt", "model")
"""What every payload has."""
FOR_SUBAGENT: Final = ("description", "tool_call_id", "existing_agent_id", "existing_conversation_id", "max_turns")
"""What a payload has if it is given."""
Held = tuple[UUID, UUID]
"""A task, and the worker that has dequeued it."""


class TaskStatus(StrEnum):
    """The status of a task. A status is equal to its text."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    STALLED = "stalled"


STATUS: Final = {
    "ready": TaskStatus.PENDING,
    "delayed": TaskStatus.PENDING,
    "blocked": TaskStatus.PENDING,
    "running": TaskStatus.RUNNING,
    "stalled": TaskStatus.STALLED,
    "completed": TaskStatus.COMPLETED,
    "cancelled": TaskStatus.CANCELLED,
    "dead": TaskStatus.FAILED,
}


class Wanted(Protocol):
    """What `enqueue` reads of a task, which may be an object of the program's own class.

    It also reads the other fields of `Task` for a subagent, from `description` to `max_turns`, if the class has them.
    """

    @property
    def id(self) -> UUID: ...  # noqa: D102
    @property
    def subagent_type(self) -> str: ...  # noqa: D102
    @property
    def prompt(self) -> str: ...  # noqa: D102
    @property
    def system_prompt(self) -> str | None: ...  # noqa: D102
    @property
    def model(self) -> str | None: ...  # noqa: D102
    @property
    def priority(self) -> int: ...  # noqa: D102
    @property
    def max_retries(self) -> int: ...  # noqa: D102
    @property
    def tags(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def user_id(self) -> str: ...  # noqa: D102
    @property
    def parent_task(self) -> UUID | None: ...  # noqa: D102


@dataclass(kw_only=True)
class Task:
    """A task of a subagent.

    created_at, started_at, completed_at: in UTC, by the server once the task is enqueued. started_at is the begin of
    the last run.
    existing_agent_id, existing_conversation_id: the agent and the conversation that go on, instead of new ones.
    tool_call_id: the call of the tool that asked for the task.
    """

    subagent_type: str
    prompt: str
    user_id: str
    id: UUID = field(default_factory=uuid4)
    system_prompt: str | None = None
    model: str | None = None
    status: TaskStatus = TaskStatus.PENDING
    priority: int = LAST
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    completed_at: datetime | None = None
    agent_id: UUID | None = None
    retry_count: int = 0
    max_retries: int = 3
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    tags: list[str] = field(default_factory=list)
    parent_task: UUID | None = None
    description: str | None = None
    tool_call_id: str | None = None
    existing_agent_id: str | None = None
    existing_conversation_id: str | None = None
    max_turns: int | None = None
    run_in_background: bool = False


@dataclass(frozen=True)
class TaskSummary:
    """A task in a list."""

    id: UUID
    status: TaskStatus
    subagent_type: str
    priority: int
    user_id: str
    tags: tuple[str, ...]
    created_at: datetime


class TaskQueue:
    """The tasks of subagents in a queue.

    Another program cannot end a task that was dequeued here: this object has the leases. A lease ends if the worker
    sends no heartbeat for `max_age_ms`, and the task is then given to another worker.

    Several workers may share the object. If one of them was silent, and another one has its task now, name the worker
    in `complete` and `fail`. Otherwise the call is that of the last worker that dequeued the task.

    Raises ConfigError if the queue is one of `adeq.partitioned`.
    """

    def __init__(self, queue: Queue, *, max_age_ms: int = 60_000) -> None:
        self.queue = checked(queue, "TaskQueue")
        self._max_age_ms = max_age_ms
        self._held: dict[Held, Lease] = {}
        self._told: set[Held] = set()  # of those: a heartbeat has said that they must stop
        self._last: dict[UUID, UUID] = {}  # of each task: the worker that dequeued it last

    async def enqueue(self, task: Wanted) -> UUID:
        """Add a task. The same task again, with its id, changes nothing."""
        await self.queue.enqueue_many([as_queue_task(task)])
        return task.id

    async def dequeue(self, worker_id: UUID, timeout_ms: int = 5000) -> Task | None:
        """Lease the next task; None if there is none within the time.

        A task that another program has enqueued without the fields of this interface is dead, with `bad_input`.
        """
        until, max_age = monotonic() + timeout_ms / 1000, self._max_age_ms / 1000
        while leases := await self.queue.claim(
            str(worker_id), 1, max(until - monotonic(), 0), lanes=LANES, lease=max_age
        ):
            try:
                task = _leased(leases[0], worker_id, leases[0].deadline - max_age)
            except (PayloadError, ValueError) as error:
                await self.queue.fail(leases[0], error, reason="bad_input", retryable=False)
            else:
                self._forget((task.id, worker_id))
                self._held[task.id, worker_id] = leases[0]
                self._last[task.id] = worker_id
                return task
        return None

    async def complete(self, task_id: UUID, result: dict[str, Any], *, worker_id: UUID | None = None) -> None:
        """End a task with its result. Raises LeaseLost if it is no longer this program's, or this worker's."""
        await self._settle(task_id, worker_id, lambda lease: self.queue.ack(lease, result))

    async def fail(self, task_id: UUID, error: str, retryable: bool = True, *, worker_id: UUID | None = None) -> None:
        """End an attempt. The task is retried after the queue's backoff, or has failed. Raises LeaseLost, too."""
        await self._settle(task_id, worker_id, lambda lease: self.queue.fail(lease, error, retryable=retryable))

    async def cancel(self, task_id: UUID) -> None:
        """Cancel a task. If it runs, `heartbeat` returns its id. Raises TaskGone if there is none."""
        if await self.queue.cancel(str(task_id)) == "not_found":
            raise _gone(task_id)

    async def retry(self, task_id: UUID) -> None:
        """Give a failed task new attempts. Raises TaskGone if there is none; BadArgument if it has not failed."""
        status = (await self.queue.dead.retry(str(task_id))).status
        if status == "not_found":
            raise _gone(task_id)
        if status != "retried":
            raise BadArgument("ADEQ_ARG", "pyadeq", f"task_id: {task_id} is {status}; allowed: a failed task")

    async def requeue_stalled(self, max_age_ms: int | None = None) -> int:
        """Take back the tasks whose worker was silent, and return how many. `dequeue` does it, too."""
        if max_age_ms not in (None, self._max_age_ms):
            raise BadArgument(
                "ADEQ_ARG",
                "pyadeq",
                f"max_age_ms: {max_age_ms!r} is not accepted; allowed: {self._max_age_ms}, that of the leases; "
                "for another one, write TaskQueue(queue, max_age_ms=…)",
            )
        total = 0
        while count := await self.queue.admin.reap(REAPED):
            total += count
        return total

    async def get_status(self, task_id: UUID) -> TaskStatus:
        """Return where a task is. Raises TaskGone if there is none."""
        return STATUS[(await self._view(task_id)).state]

    async def get(self, task_id: UUID) -> Task:
        """Return a task with its result or error. Raises TaskGone if there is none."""
        return _seen(await self._view(task_id))

    async def _view(self, task_id: UUID) -> TaskView:
        found = await self.queue.get(str(task_id))
        if found is None:
            raise _gone(task_id)
        return found

    async def list_by_user(self, user_id: str, status: str | None = None) -> builtins.list[TaskSummary]:
        """Return all tasks of a user that are stored, or those with a status such as `pending`. Raises ValueError."""
        wanted = None if status is None else TaskStatus(status)
        return [
            _summary(found)
            async for found in self.queue.iterate(user=user_id)
            if (wanted is None or STATUS[found.state] == wanted) and _uuid(found.id)
        ]

    async def register_worker(self, agent_id: UUID, capacity: int) -> None:
        """Show a worker in `adeq worker ls`. capacity: how many tasks it runs at a time."""
        await self.queue.workers.register(str(agent_id), capacity=capacity, lanes=LANES)

    async def heartbeat(self, agent_id: UUID) -> builtins.list[UUID]:
        """Renew all leases of a worker. Returns the tasks that it must stop: cancelled, timed out or lost.

        The lease of a task that must stop is not renewed again: it ends, also if the worker never settles the task.
        """
        mine = self._of(agent_id)
        stops = [held[0] for held, _ in mine if held in self._told]
        asked = [(held, lease) for held, lease in mine if held not in self._told]
        heard = await self.queue.workers.beat(
            [lease for _, lease in asked], worker=str(agent_id), extend=self._max_age_ms / 1000, busy=len(mine)
        )
        for (held, _), renewal in zip(asked, heard.renewals, strict=True):
            if renewal.status != "renewed":
                stops.append(held[0])
                self._told.add(held)
            if renewal.status == "lease_lost":
                self._forget(held)
        return stops

    async def unregister_worker(self, agent_id: UUID, reason: str) -> None:
        """Forget a worker, and return its tasks to their places."""
        mine = self._of(agent_id)
        reason = re.sub(r"[^A-Za-z0-9._@+-]+", "_", reason)[:100] or "stopped"  # a queue takes one word
        await self.queue.workers.deregister(str(agent_id), reason, [lease for _, lease in mine])
        for held, _ in mine:
            self._forget(held)

    async def _settle(self, task_id: UUID, worker_id: UUID | None, call: Callable[[Lease], Awaitable[object]]) -> None:
        """After an error of the connection, the lease stays: the call may be made again."""
        worker = worker_id or self._last.get(task_id)
        if worker is None or (lease := self._held.get((task_id, worker))) is None:
            who = "here" if worker_id is None else f"by worker {worker_id}"
            raise LeaseLost(f"task {task_id} was not dequeued {who}, or has ended; nothing was changed")
        try:
            await call(lease)
        except LeaseLost:
            self._forget((task_id, worker))
            raise
        self._forget((task_id, worker))

    def _of(self, worker: UUID) -> builtins.list[tuple[Held, Lease]]:
        return [(held, lease) for held, lease in self._held.items() if held[1] == worker]

    def _forget(self, held: Held) -> None:
        self._held.pop(held, None)
        self._told.discard(held)
        if self._last.get(held[0]) == held[1]:
            del self._last[held[0]]


def as_queue_task(task: Wanted) -> QueueTask:
    """A task as the queue takes it. Raises BadArgument."""
    priority, lane = place_of(task.priority)
    given = {name: getattr(task, name, None) for name in FOR_SUBAGENT}
    return QueueTask(
        id=str(task.id),
        kind=task.subagent_type,
        payload={
            "prompt": task.prompt,
            "system_prompt": task.system_prompt,
            "model": task.model,
            **{name: value for name, value in given.items() if value is not None},
        },
        priority=priority,
        lane=lane,
        user=task.user_id,
        tags=tuple(task.tags),
        parent=None if task.parent_task is None else str(task.parent_task),
        max_attempts=task.max_retries + 1,
    )


def place_of(priority: int) -> tuple[int, str]:
    """The new priority and the lane of an old priority. Workers take a priority first, then a lane."""
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= LAST:
        raise BadArgument("ADEQ_ARG", "pyadeq", f"priority: {priority!r} is not accepted; allowed: 0 to {LAST}")
    above, place = divmod(LAST - priority, len(LANES))
    return 9 - above, LANES[-1 - place]


def priority_of(priority: int, lane: str) -> int:
    """The old priority of a place. A task that another program has enqueued elsewhere has that of lane `any`."""
    place = LANES[::-1].index(lane) if lane in LANES else 0
    return max(LAST - (9 - priority) * len(LANES) - place, 0)


def _leased(lease: Lease, worker: UUID, started: float) -> Task:
    record, about = lease.record, _about(lease.payload)
    if not isinstance(about["prompt"], str):
        raise ValueError("its payload has no prompt")
    return Task(
        **about,
        id=UUID(lease.id),
        subagent_type=lease.kind or "",
        user_id=lease.user or "",
        status=TaskStatus.RUNNING,
        priority=priority_of(int(record.get("priority", b"5")), record.get("lane", b"any").decode()),
        created_at=_time(int(record.get("created_ms", b"0")) / 1000),
        started_at=_time(started),
        agent_id=worker,
        retry_count=lease.attempt - 1,
        max_retries=int(record.get("max_attempts", b"3")) - 1,
        tags=list(lease.tags),
        parent_task=_uuid(lease.parent),
    )


def _seen(found: TaskView) -> Task:
    return Task(
        **_about(found.payload),
        id=UUID(found.id),
        subagent_type=found.kind or "",
        user_id=found.user or "",
        status=STATUS[found.state],
        priority=priority_of(found.priority, found.lane),
        created_at=_time(found.created or 0.0),
        started_at=_optional_time(found.started),
        completed_at=_optional_time(found.ended),
        agent_id=_uuid(found.worker),
        retry_count=max(found.attempts - 1, 0),
        max_retries=(found.max_attempts or 3) - 1,
        result=found.result,
        error=found.error,
        exit_code=exit_code_of(found),
        tags=list(found.tags),
        parent_task=_uuid(found.parent),
    )


def _summary(found: TaskView) -> TaskSummary:
    return TaskSummary(
        UUID(found.id),
        STATUS[found.state],
        found.kind or "",
        priority_of(found.priority, found.lane),
        found.user or "",
        found.tags,
        _time(found.created or 0.0),
    )


def exit_code_of(found: TaskView) -> int | None:
    """The exit status of the subagent: a queue stores it only if it is not 0."""
    return 0 if found.state == "completed" else found.exit_code


def _about(payload: Any) -> dict[str, Any]:
    payload = payload if isinstance(payload, dict) else {}  # of another program
    return {name: payload.get(name) for name in (*FOR_PROGRAM, *FOR_SUBAGENT)}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _optional_time(seconds: float | None) -> datetime | None:
    return None if seconds is None else _time(seconds)


def _uuid(text: str | None) -> UUID | None:
    """None also for a name that another program has given."""
    try:
        return None if text is None else UUID(text)
    except ValueError:
        return None


def _gone(task_id: UUID) -> TaskGone:
    return TaskGone(f"there is no task {task_id}, or no longer")
