"""The interfaces that older programs use, for the type checker: pyadeq.ext.move.adapters must fit them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pyadeq.ext.move.adapters import QueueItem, QueueRuntime, Task, TaskQueue, TaskTool

Given_contra = TypeVar("Given_contra", contravariant=True)


class Status(Protocol):
    @property
    def value(self) -> str: ...


class DesignTask(Protocol):
    """A task, as workers and callers of `get` read it."""

    id: UUID
    subagent_type: str
    prompt: str
    system_prompt: str | None
    model: str | None
    priority: int
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    agent_id: UUID | None
    retry_count: int
    max_retries: int
    result: dict[str, Any] | None
    error: str | None
    exit_code: int | None
    tags: list[str]
    user_id: str
    parent_task: UUID | None

    @property
    def status(self) -> Status: ...


class DesignSummary(Protocol):
    @property
    def id(self) -> UUID: ...
    @property
    def status(self) -> Status: ...


class DesignTaskQueue(Protocol[Given_contra]):
    async def enqueue(self, task: Given_contra) -> UUID: ...
    async def dequeue(self, worker_id: UUID, timeout_ms: int = 5000) -> DesignTask | None: ...
    async def complete(self, task_id: UUID, result: dict[str, Any]) -> None: ...
    async def fail(self, task_id: UUID, error: str, retryable: bool = True) -> None: ...
    async def cancel(self, task_id: UUID) -> None: ...
    async def retry(self, task_id: UUID) -> None: ...
    async def requeue_stalled(self, max_age_ms: int = 60000) -> int: ...
    async def get(self, task_id: UUID) -> DesignTask: ...
    async def get_status(self, task_id: UUID) -> Status: ...
    async def list_by_user(self, user_id: str, status: str | None) -> Sequence[DesignSummary]: ...
    async def register_worker(self, agent_id: UUID, capacity: int) -> None: ...
    async def heartbeat(self, agent_id: UUID) -> object: ...
    async def unregister_worker(self, agent_id: UUID, reason: str) -> None: ...


class DesignTaskResult(Protocol):
    @property
    def task_id(self) -> UUID: ...
    @property
    def status(self) -> Status: ...
    @property
    def output_file(self) -> str | None: ...


class DesignTaskTool(Protocol):
    async def run(
        self,
        prompt: str,
        subagent_type: str,
        *,
        description: str,
        system_prompt: str | None = None,
        model: str | None = None,
        tool_call_id: str | None = None,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        max_turns: int | None = None,
        run_in_background: bool = False,
        persist: bool = False,
        priority: int = 100,
        tags: list[str] | None = None,
    ) -> DesignTaskResult: ...


class DesignItem(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def agent_id(self) -> str | None: ...
    @property
    def conversation_id(self) -> str | None: ...
    @property
    def client_message_id(self) -> str | None: ...
    @property
    def content(self) -> object: ...
    @property
    def text(self) -> str | None: ...
    @property
    def enqueued_at(self) -> float | None: ...


class DesignBatch(Protocol):
    @property
    def batch_id(self) -> str: ...
    @property
    def items(self) -> Sequence[DesignItem]: ...
    @property
    def merged_count(self) -> int: ...
    @property
    def queue_len_after(self) -> int: ...


class DesignQueueRuntime(Protocol[Given_contra]):
    async def enqueue(self, item: Given_contra) -> DesignItem | None: ...
    async def try_dequeue(self, blocked_reason: str | None) -> DesignBatch | None: ...


def fitting(
    tasks: TaskQueue, tool: TaskTool, runtime: QueueRuntime
) -> tuple[DesignTaskQueue[Task], DesignTaskTool, DesignQueueRuntime[QueueItem]]:
    """Never called: `make check` fails if an adapter does not fit."""
    return tasks, tool, runtime
