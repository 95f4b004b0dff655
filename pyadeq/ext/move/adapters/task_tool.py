"""`TaskTool`: an agent has a subagent work, at once or as a task of a queue."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from pyadeq.asyncio import Lease, Queue, Receipt
from pyadeq.asyncio import Task as QueueTask
from pyadeq.errors import BadArgument, TaskGone
from pyadeq.ext.move.adapters.notifications import NOTIFICATION, notification_text
from pyadeq.ext.move.adapters.queues import checked
from pyadeq.ext.move.adapters.task_queue import (
    LANES,
    LAST,
    STATUS,
    Task,
    TaskQueue,
    TaskStatus,
    as_queue_task,
    exit_code_of,
)
from pyadeq.models.base import Seconds

OUTBOX: Final = "group/outbox"
"""The lane of notifications for a queue in another slot. A worker with the handler `TaskTool.forward` serves it."""

FORWARDS: Final = 1000
"""Attempts to forward a notification: the other queue may drain or be away for days."""


LONGEST_TEXT: Final = 65_536
"""The most characters of a forwarded notification, which must fit into a payload."""


@dataclass(frozen=True)
class TaskResult:
    """How far a task is. output_file: the transcript, on the machine of the worker. exit_code: of the subagent.

    The transcript begins with the first run. Before, output_file is None if the tool has no `output_dir`.
    """

    task_id: UUID
    status: TaskStatus
    result: Any = None
    error: str | None = None
    exit_code: int | None = None
    output_file: str | None = None


class TaskTool:
    """Runs subagents.

    run_now: what runs a task at once, as the program did before it had a queue.
    inbox: the queue whose mailboxes get the notifications; None: the same queue. If it is another one, a worker of the
    queue must serve the lane `OUTBOX` with the handler `forward`.
    output_dir: the folder in which the workers keep the output (`--output-dir`), by the path that readers use. Then the
    output file of a task is known when it is enqueued.

    Raises ConfigError if a queue is one of `adeq.partitioned`.
    """

    def __init__(
        self,
        queue: Queue,
        run_now: Callable[[Task], Awaitable[TaskResult]],
        *,
        inbox: Queue | None = None,
        output_dir: str | Path | None = None,
    ) -> None:
        self._queue = checked(queue, "TaskTool")
        self._inbox = queue if inbox is None else checked(inbox, "TaskTool, inbox")
        self._run_now = run_now
        self._output_dir = output_dir
        self.tasks = TaskQueue(queue)

    async def run(
        self,
        prompt: str,
        subagent_type: str,
        *,
        description: str | None = None,
        system_prompt: str | None = None,
        model: str | None = None,
        tool_call_id: str | None = None,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        max_turns: int | None = None,
        run_in_background: bool = False,
        persist: bool = False,
        priority: int = LAST,
        tags: Sequence[str] | None = None,
        user_id: str = "agent",
        parent: str | None = None,
        parent_task: UUID | None = None,
        silent: bool = False,
        timeout: Seconds | None = None,
        task_id: UUID | None = None,
    ) -> TaskResult:
        """Run a subagent at once; with `persist`, enqueue its task and return the id.

        agent_id, conversation_id: existing ones that go on. The subagent gets them as `existing_agent_id` and
        `existing_conversation_id`.
        run_in_background: for `run_now`. With `persist`, a subagent always runs in the background.
        parent: the mailbox of the agent that waits. It gets a notification when the task has ended, however it did,
        unless `silent`.
        timeout: seconds for a run, with `persist`.
        task_id: your own; then the same call may be made again.
        """
        task = Task(
            subagent_type=subagent_type,
            prompt=prompt,
            system_prompt=system_prompt,
            model=model,
            priority=priority,
            tags=list(tags or ()),
            user_id=user_id,
            parent_task=parent_task,
            id=task_id or uuid4(),
            description=description,
            tool_call_id=tool_call_id,
            existing_agent_id=agent_id,
            existing_conversation_id=conversation_id,
            max_turns=max_turns,
            run_in_background=run_in_background,
        )
        if not persist:
            return await self._run_now(task)
        wanted = [as_queue_task(task).model_copy(update={"timeout": timeout})]
        if parent is not None and not silent:
            wanted.append(self._notification(task, parent, description or subagent_type))
        await self._queue.enqueue_many(wanted)  # one call: both or none
        return TaskResult(task.id, TaskStatus.PENDING, output_file=self._output_file(task.id))

    async def result(self, task_id: UUID) -> TaskResult:
        """Return how far a task is. Raises TaskGone if there is none."""
        found = await self._queue.get(str(task_id))
        if found is None:
            raise TaskGone(f"there is no task {task_id}, or no longer")
        return TaskResult(
            task_id,
            STATUS[found.state],
            found.result,
            found.error,
            exit_code_of(found),
            f"{found.output}/stdout" if found.output else self._output_file(task_id),
        )

    async def wait(self, task_id: UUID, timeout: Seconds = 60.0) -> TaskResult:
        """Return how a task has ended. Raises WaitTimeout."""
        await self._queue.inspect.ended(str(task_id), timeout)
        return await self.result(task_id)

    async def notification(self, item: dict[str, Any]) -> str:
        """Return the text of a notification that was read from a mailbox. A `QueueRuntime` has it as `item.text`."""
        return await notification_text(self._queue, item)

    async def forward(self, lease: Lease) -> str:
        """Handle the lane `OUTBOX`: put a notification into the mailbox of its agent. A second run adds nothing."""
        text = await self.notification(lease.payload)
        text = text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"
        item = {**lease.payload, "text": text}
        receipt: Receipt = await self._inbox.enqueue(
            item, id=lease.id, kind=NOTIFICATION, lane=f"group/{item['parent']}"
        )
        return receipt.status

    def _output_file(self, task_id: UUID) -> str | None:
        return None if self._output_dir is None else str(Path(self._output_dir) / f"{task_id}.last" / "stdout")

    def _notification(self, task: Task, parent: str, description: str) -> QueueTask:
        """A task that waits for the other one, and is ready in the same step in which that one ends."""
        mailbox = self._inbox.mailbox(parent)  # refuses a bad name
        if mailbox.lane in (*LANES, OUTBOX):
            raise BadArgument(
                "ADEQ_ARG", "pyadeq", f"parent: {parent!r} is not accepted; allowed: no name of a lane of tasks"
            )
        forwarded = self._inbox is not self._queue
        return QueueTask(
            id=f"{task.id}.ended",
            kind=NOTIFICATION,
            payload={"kind": NOTIFICATION, "task_id": str(task.id), "description": description, "parent": parent},
            lane=OUTBOX if forwarded else mailbox.lane,
            max_attempts=FORWARDS if forwarded else None,
            after=[str(task.id)],
            after_when="ended",
        )
