"""What Django's tests of its immediate backend ask, asked of ours and a worker that drains the queue.

docs/guides/django.md says which of them do not apply.
"""

from __future__ import annotations

import logging
from typing import Any

import django
import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from pyadeq.ext.connect.django.api import InvalidTask, Task, TaskResult, TaskResultStatus, task_backends
from tests.frameworks.django import functions
from tests.frameworks.django.conftest import Drain

LOGGER = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"


def check_times(result: TaskResult) -> None:
    assert result.is_finished is True
    assert result.enqueued_at <= result.started_at <= result.last_attempted_at <= result.finished_at
    assert result.attempts == 1


@pytest.mark.parametrize("task", [functions.nothing, functions.nothing_async])
def test_a_task_succeeds(task: Task, drain: Drain) -> None:
    result = task.enqueue(1, two=3)
    drain()
    result.refresh()
    check_times(result)
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, None)
    assert (result.task, result.args, result.kwargs) == (task, [1], {"two": 3})


@pytest.mark.parametrize("task", [functions.nothing, functions.nothing_async])
async def test_a_task_succeeds_async(task: Task, drain: Drain) -> None:
    result = await task.aenqueue()
    await sync_to_async(drain)()
    await result.arefresh()
    check_times(result)
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, None)
    assert (result.task, result.args, result.kwargs) == (task, [], {})


@pytest.mark.parametrize(
    ("task", "error", "last_line"),
    [
        (functions.raises, ValueError, "ValueError: a value is wrong\n"),
        (functions.exits, SystemExit, "SystemExit: a way out\n"),
        (functions.raises_nested, ValueError, "ValueError: in another\n"),
        (functions.returns_itself, TypeError, None),
    ],
)
def test_an_exception_is_the_result(
    task: Task, error: type[BaseException], last_line: str | None, drain: Drain, caplog: pytest.LogCaptureFixture
) -> None:
    result = task.enqueue()
    with caplog.at_level(logging.ERROR, LOGGER):
        drain()
    assert [(record.levelname, result.id in record.getMessage()) for record in caplog.records] == [("ERROR", True)]
    assert caplog.records[0].exc_info
    result.refresh()
    check_times(result)
    assert result.status == TaskResultStatus.FAILED
    with pytest.raises(ValueError, match="Task failed"):
        _ = result.return_value
    assert result._return_value is None
    (found,) = result.errors
    assert found.exception_class is error
    assert found.traceback.startswith("Traceback")
    assert "pyadeq/ext" not in found.traceback
    if last_line:
        assert found.traceback.endswith(last_line)
    else:
        assert "Unsupported type" in found.traceback
    assert (result.task, result.args, result.kwargs) == (task, [], {})


def test_an_interrupt_is_not_caught(drain: Drain, caplog: pytest.LogCaptureFixture) -> None:
    functions.interrupted.enqueue()
    with caplog.at_level(logging.ERROR, LOGGER), pytest.raises(KeyboardInterrupt):
        drain()
    assert not caplog.records


def test_a_result_is_returned(drain: Drain) -> None:
    result = task_backends["default"].enqueue(functions.forty_two, [], {})
    drain()
    result.refresh()
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 42)


@pytest.mark.parametrize(
    ("task", "states"),
    [(functions.nothing, ["RUNNING", "SUCCESSFUL"]), (functions.raises, ["RUNNING", "FAILED"])],
)
def test_each_step_is_logged(task: Task, states: list[str], drain: Drain, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        result = task.enqueue()
        drain()
    lines = [record.getMessage() for record in caplog.records if record.name == LOGGER]
    assert [line.partition("state=")[2] for line in lines] == ["", *states]
    assert "enqueued" in lines[0]
    assert all(result.id in line and "NoneType" not in line for line in lines)


def test_a_task_gets_its_context(drain: Drain) -> None:
    result, first = functions.own_id.enqueue(), functions.own_attempt.enqueue(1)
    drain()
    assert functions.own_id.get_result(result.id).return_value == result.id
    assert functions.own_attempt.get_result(first.id).status == TaskResultStatus.SUCCESSFUL


async def test_a_task_is_checked_again_when_it_is_enqueued(options: dict[str, Any]) -> None:
    task = functions.nothing.using(queue_name="unknown_queue", backend="any")
    only = {"BACKEND": "pyadeq.ext.connect.django.AdeqBackend", "QUEUES": ["queue-1"], "OPTIONS": options}
    with override_settings(TASKS={"any": only}):
        with pytest.raises(InvalidTask, match="Queue 'unknown_queue' is not valid for backend"):
            task.enqueue()
        with pytest.raises(InvalidTask, match="Queue 'unknown_queue' is not valid for backend"):
            await task.aenqueue()
