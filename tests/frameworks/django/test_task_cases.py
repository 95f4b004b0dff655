"""What Django's tests of tasks ask of a backend, asked of ours. docs/guides/django.md says which do not apply."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import datetime
from typing import Any

import django
import pytest
from django.test import override_settings
from django.utils import timezone
from django.utils.module_loading import import_string

from pyadeq.ext.connect.django import AdeqBackend
from pyadeq.ext.connect.django.api import InvalidTask, Task, TaskResultDoesNotExist, TaskResultStatus, task_backends
from tests.frameworks.django import functions
from tests.frameworks.django.conftest import Drain

if django.VERSION >= (6, 0):
    from django.tasks import default_task_backend, task
    from django.tasks.backends.immediate import ImmediateBackend
    from django.tasks.exceptions import InvalidTaskBackend, TaskResultMismatch
else:
    from django_tasks import default_task_backend, task
    from django_tasks.backends.immediate import ImmediateBackend
    from django_tasks.exceptions import InvalidTaskBackendError as InvalidTaskBackend
    from django_tasks.exceptions import TaskResultMismatch

nothing, nothing_async = functions.nothing, functions.nothing_async
PRIORITY = "priority must be a whole number between -100 and 100."


def test_the_backend_is_that_of_the_settings() -> None:
    assert default_task_backend == task_backends["default"]
    assert isinstance(task_backends["default"], AdeqBackend)
    assert default_task_backend.alias == "default"


def test_the_decorator_makes_a_task() -> None:
    assert all(isinstance(one, Task) for one in (nothing, nothing_async, functions.bare))


def test_an_enqueued_task_is_ready(drain: Drain) -> None:
    result = nothing.enqueue()
    assert (result.status, result.task, result.args, result.kwargs) == (TaskResultStatus.READY, nothing, [], {})
    assert result.is_finished is False
    with pytest.raises(ValueError, match="Task has not finished yet"):
        _ = result.return_value
    assert [run.id for run in drain()] == [result.id]


async def test_an_enqueued_task_is_ready_async() -> None:
    result = await nothing.aenqueue()
    assert (result.status, result.task, result.args, result.kwargs) == (TaskResultStatus.READY, nothing, [], {})
    assert await nothing.aget_result(result.id) == result


async def test_an_argument_must_be_json(drain: Drain) -> None:
    with pytest.raises(TypeError, match="Unsupported type"):
        nothing.enqueue(datetime.now())
    with pytest.raises(TypeError, match="Unsupported type"):
        await nothing.aenqueue(datetime.now())


def test_using_changes_one_option_of_a_copy() -> None:
    now = timezone.now()
    assert nothing.using() == nothing
    assert nothing.using() is not nothing
    assert nothing.using(priority=1).priority == 1
    assert nothing.using(queue_name="queue_1").queue_name == "queue_1"
    later = nothing.using(run_after=now)
    assert (later.run_after, later.using(priority=10).run_after, later.using(priority=10).priority) == (now, now, 10)
    assert (nothing.priority, nothing.queue_name, nothing.run_after, later.priority) == (0, "default", None, 0)


def test_using_an_unknown_backend() -> None:
    assert nothing.backend == "default"
    with pytest.raises(InvalidTaskBackend, match="The connection 'unknown' doesn't exist"):
        nothing.using(backend="unknown")
    with pytest.raises(InvalidTaskBackend, match=r"Could not find backend 'does\.not\.exist'"):
        nothing.using(backend="missing")


async def test_a_refresh_of_what_has_not_changed_changes_nothing() -> None:
    result = await nothing.aenqueue()
    before = dataclasses.asdict(result)
    await result.arefresh()
    assert dataclasses.asdict(result) == before


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"run_after": datetime(2030, 1, 1)}, "run_after must be an aware datetime."),
        ({"priority": -101}, PRIORITY),
        ({"priority": 101}, PRIORITY),
        ({"priority": 3.1}, PRIORITY),
        ({"queue_name": "queue-2"}, "Queue 'queue-2' is not valid for backend."),
    ],
)
def test_an_option_that_is_refused(option: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        nothing.using(**option)
    assert str(refused.value) == said


def test_the_ends_of_what_is_accepted() -> None:
    for priority in (100, -100, 0):
        assert nothing.using(priority=priority).priority == priority
    assert nothing.using(queue_name="queue-2", backend="any").queue_name == "queue-2"


async def test_call_runs_the_function_here() -> None:
    assert await functions.forty_two.acall() == 42
    assert await nothing_async.acall() is None


def test_call_runs_the_function_here_sync() -> None:
    assert functions.forty_two.call() == 42
    assert nothing_async.call() is None


def test_a_result_is_found_by_its_id() -> None:
    result = default_task_backend.enqueue(nothing, (), {})
    assert nothing.get_result(result.id) == result


@pytest.mark.parametrize("id", ["123", "default:123", ":", "not a name:1", "default:not an id"])
async def test_a_result_that_does_not_exist(id: str) -> None:
    with pytest.raises(TaskResultDoesNotExist):
        await nothing.aget_result(id)


async def test_a_result_of_another_task() -> None:
    result = await default_task_backend.aenqueue(nothing_async, (), {})
    with pytest.raises(TaskResultMismatch, match="Task does not match"):
        await nothing.aget_result(result.id)


def test_a_function_must_be_that_of_a_module() -> None:
    def inner() -> None: ...

    for function in (any, inner):
        with pytest.raises(InvalidTask, match="Task function must be defined at a module level"):
            task()(function)


def test_get_backend() -> None:
    assert isinstance(nothing.get_backend(), AdeqBackend)
    assert isinstance(nothing.using(backend="immediate").get_backend(), ImmediateBackend)


def test_name_and_path() -> None:
    for one, name in ((nothing, "nothing"), (nothing_async, "nothing_async")):
        assert one.name == name
        assert one.module_path == f"tests.frameworks.django.functions.{name}"
        assert import_string(one.module_path) is one


@override_settings(TASKS={})
def test_without_backends() -> None:
    with pytest.raises(InvalidTaskBackend):
        nothing.enqueue()


@pytest.mark.parametrize(("path", "error"), [("subprocess.run", ValueError), ("does.not.exist", ImportError)])
def test_the_class_of_an_error_that_is_none(path: str, error: type[Exception], drain: Drain) -> None:
    result = functions.raises.enqueue()
    drain()
    result.refresh()
    (found,) = result.errors
    object.__setattr__(found, "exception_class_path", path)
    with pytest.raises(error):
        _ = found.exception_class


def test_a_task_with_a_context_has_an_argument_for_it() -> None:
    with pytest.raises(InvalidTask, match="does not have a first argument of 'context'"):
        task(takes_context=True)(functions.forty_two.func)


@pytest.mark.skipif(django.VERSION < (6, 0), reason="the package django-tasks lets any option pass")
def test_run_after_is_no_option_of_the_decorator() -> None:
    with pytest.raises(TypeError, match="run_after"):
        task(run_after=timezone.now())(functions.forty_two.func)


@pytest.mark.skipif(not hasattr(Task, "_reconstruct"), reason="from Django 6.1 on")
def test_tasks_and_results_can_be_pickled() -> None:
    result = nothing.enqueue()
    assert pickle.loads(pickle.dumps(nothing)) == nothing
    assert pickle.loads(pickle.dumps(result)) == result
    for path in ("does.not.exist.task", "builtins.any"):
        with pytest.raises(ValueError, match=f"Expected '{path}' to point to a Task instance"):
            Task._reconstruct({"func": path})
