"""What a worker does with a task of Django.

Two ways run it: `manage.py adeq_worker`, or `adeq worker run pyadeq.ext.connect.django.worker:run`.

The second needs the variable `DJANGO_SETTINGS_MODULE`. An import makes Django ready.
"""

from __future__ import annotations

from typing import Any

import django
from django.apps import apps
from django.db import close_old_connections
from django.utils import timezone

from pyadeq import Failure, Failures, Lease, TaskFailed
from pyadeq.ext.connect.django.api import (
    TaskContext,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_backends,
    task_finished,
    task_started,
)
from pyadeq.ext.connect.django.backend import HEADER

if not apps.ready:
    django.setup()

LONGEST_REASON = 100


class Raised(TaskFailed):
    """The function of a task has raised `error`. The reason of the failure is the path of its class."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.path = f"{type(error).__module__}.{type(error).__qualname__}"
        self._error = error

    def failure(self, lease: Lease, failures: Failures) -> Failure:
        """Fail by the rule for the class of the exception."""
        name = failures.class_of(self._error)
        return failures.failure(name, lease, self._error, reason=self.path[:LONGEST_REASON])


def run(lease: Lease) -> Any:
    """Run one task. This is a plain function, so that a worker runs it in a thread, where the ORM may block."""
    close_old_connections()
    try:
        return _run(lease)
    finally:
        close_old_connections()


def _run(lease: Lease) -> Any:
    if HEADER not in (lease.headers or {}):
        raise TaskFailed(f"{lease.kind!r} is not a task of Django", reason="bad_input", retryable=False)
    backend = task_backends[lease.headers[HEADER]["backend"]]
    result = backend.get_result(lease.id)
    task_started.send(type(backend), task_result=result)
    try:
        context = (TaskContext(task_result=result),) if result.task.takes_context else ()
        value = normalize_json(result.task.call(*context, *result.args, **result.kwargs))
    except KeyboardInterrupt:  # the worker knows whether it is Ctrl-C, or an error of the task
        raise
    except BaseException as error:
        raised = Raised(error)
        failure = raised.failure(lease, Failures())
        if lease.attempt >= backend.max_attempts or not failure.retryable:
            result.errors.append(TaskError(exception_class_path=raised.path, traceback=failure.error_text))
            _finish(backend, result, TaskResultStatus.FAILED)
        raise raised from error
    object.__setattr__(result, "_return_value", value)
    _finish(backend, result, TaskResultStatus.SUCCESSFUL)
    return value


def _finish(backend: Any, result: Any, status: Any) -> None:
    """Tell the receivers of the signal, before the server knows: after a crash in between, they are told again."""
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", timezone.now())
    task_finished.send(type(backend), task_result=result)
