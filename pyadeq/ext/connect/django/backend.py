"""The backend: tasks of Django in queues of pyadeq, and their results."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from pyadeq import Adeq, PartitionedQueue, TaskRun, TaskView
from pyadeq.errors import ConfigError
from pyadeq.ext.connect.django.api import (
    BaseTaskBackend,
    InvalidTask,
    Task,
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
    task_enqueued,
)
from pyadeq.ids import new_ulid
from pyadeq.keys import check_name

OPTIONS = ("url", "prefix", "cluster", "max_attempts", "enqueue_on_commit")
HEADER = "django"
"""The header with what only Django knows of a task."""

STATUS = {
    "running": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
    "dead": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}
"""All other states are those of a task that will run."""


@cache
def client(url: str, prefix: str, cluster: bool) -> Adeq:
    """The client of the process. Django makes a backend for each thread; a client serves them all."""
    return Adeq.from_url(url, prefix=prefix, cluster=cluster, source="django")


def level(priority: int) -> int:
    """The priority in pyadeq, 0 (first) to 9, of one in Django, 100 (first) to -100.

    A task never gets behind one of lower priority. Only 0 is 5: an enqueue by any other program is as Django's default.
    """
    if priority > 0:
        return 4 - (priority - 1) // 20
    return 5 + (24 - priority) // 25


class AdeqBackend(BaseTaskBackend):  # type: ignore[misc]  # the stubs are not installed
    """A backend of `django.tasks`. OPTIONS:

    url: the server; by default `ADEQ_URL`, or `redis://localhost:6379`.
    prefix: the first part of all keys, `ade`.
    cluster: whether the server is a node of a cluster.
    max_attempts: how often a task that raises is run. The default is 1, as in Django: an exception is the end.
    enqueue_on_commit: in a transaction, enqueue when it commits. The default is True.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        for name in self.options:
            if name not in OPTIONS:
                raise ImproperlyConfigured(f"TASKS: {name!r} is not an option; allowed: {', '.join(OPTIONS)}")
        self.url: str = self.options.get("url") or os.environ.get("ADEQ_URL") or "redis://localhost:6379"
        self.prefix: str = self.options.get("prefix", "ade")
        self.cluster: bool = self.options.get("cluster", False)
        self.max_attempts: int = self.options.get("max_attempts", 1)
        self.enqueue_on_commit: bool = self.options.get("enqueue_on_commit", True)

    @property
    def adeq(self) -> Adeq:
        """The client."""
        return client(self.url, self.prefix, self.cluster)

    def queue(self, name: str) -> PartitionedQueue:
        """The queue of pyadeq for a queue name of Django, with all its partitions. It has the same name."""
        return self.adeq.partitioned(name)

    def validate_task(self, task: Task) -> None:
        """Raise InvalidTask for a task that cannot be enqueued."""
        super().validate_task(task)
        try:
            check_name("queue_name", task.queue_name)
            check_name("function", task.module_path, "label")
        except ConfigError as error:
            raise InvalidTask(str(error)) from None

    def enqueue(self, task: Task, args: Any, kwargs: Any) -> TaskResult:
        """Enqueue a task, or do so when the transaction commits. Then it has no `enqueued_at` until it is refreshed."""
        self.validate_task(task)
        result = TaskResult(
            task=task,
            id=f"{task.queue_name}:{new_ulid()}",
            status=TaskResultStatus.READY,
            enqueued_at=None,
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=args,
            kwargs=kwargs,
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )
        send = partial(self._send, result)
        if self.enqueue_on_commit and transaction.get_connection().in_atomic_block:
            transaction.on_commit(send)
        else:
            send()
        return result

    def _send(self, result: TaskResult) -> None:
        task, queue = result.task, self.queue(result.task.queue_name)
        after = task.run_after
        queue.enqueue(
            {"args": result.args, "kwargs": result.kwargs},
            id=result.id,
            kind=task.module_path,
            priority=level(task.priority),
            run_after=timezone.make_aware(after) if after and timezone.is_naive(after) else after,
            max_attempts=self.max_attempts,
            headers={
                HEADER: {
                    "backend": self.alias,
                    "priority": task.priority,
                    "run_after": after and after.isoformat(),
                }
            },
        )
        stored = queue.get(result.id)  # the server's clock says when
        object.__setattr__(result, "enqueued_at", moment(stored.created if stored else None) or timezone.now())
        task_enqueued.send(type(self), task_result=result)

    def get_result(self, result_id: str) -> TaskResult:
        """The result as it is now. Raises TaskResultDoesNotExist."""
        name = str(result_id).rpartition(":")[0]
        try:
            check_name("id", result_id, "id")
            queue = self.queue(name)
        except ConfigError:
            raise TaskResultDoesNotExist(result_id) from None
        view = queue.get(result_id) if not self.queues or name in self.queues else None
        if view is None or HEADER not in (view.headers or {}):
            raise TaskResultDoesNotExist(result_id)
        return self.result(view, queue.inspect.runs(result_id), name)

    def result(self, view: TaskView, runs: list[TaskRun], queue_name: str) -> TaskResult:
        """The result of a task of this backend."""
        kept = view.headers[HEADER]
        after = kept["run_after"] and datetime.fromisoformat(kept["run_after"])
        task = import_string(view.kind).using(
            priority=kept["priority"], queue_name=queue_name, backend=self.alias, run_after=after
        )
        status = STATUS.get(view.state, TaskResultStatus.READY)
        result = TaskResult(
            task=task,
            id=view.id,
            status=status,
            enqueued_at=moment(view.created),
            started_at=moment(runs[0].started if runs else None),
            finished_at=moment(view.ended)
            if status in (TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED)
            else None,
            last_attempted_at=moment(runs[-1].started if runs else None),
            args=view.payload["args"],
            kwargs=view.payload["kwargs"],
            backend=self.alias,
            errors=[error_of(view, run, run is runs[-1]) for run in runs if run.outcome in ("failed", "stalled")],
            worker_ids=[run.worker for run in runs],
        )
        if status == TaskResultStatus.SUCCESSFUL:
            object.__setattr__(result, "_return_value", view.result)
        return result


def error_of(view: TaskView, run: TaskRun, last: bool) -> TaskError:
    """The error of a run. The last one is kept longer: 8 KiB of it."""
    reason = run.reason or run.outcome
    path = reason if "." in reason else "pyadeq.errors.TaskDead"  # such as `timeout`: no exception of the function
    return TaskError(exception_class_path=path, traceback=(last and view.error) or run.error or reason)


def moment(seconds: float | None) -> datetime | None:
    """A point in time as Django has it."""
    if seconds is None:
        return None
    aware = datetime.fromtimestamp(seconds, UTC)
    return aware if settings.USE_TZ else timezone.make_naive(aware)
