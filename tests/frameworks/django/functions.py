"""Tasks of Django, as a project has them in a module of its own."""

from __future__ import annotations

from typing import Any

from pyadeq.ext.connect.django.api import TaskContext

try:
    from django.tasks import task
except ModuleNotFoundError:
    from django_tasks import task


@task()
def nothing(*args: Any, **kwargs: Any) -> None: ...


@task
def bare(*args: Any, **kwargs: Any) -> None: ...


@task()
async def nothing_async(*args: Any, **kwargs: Any) -> None: ...


@task()
def forty_two() -> int:
    return 42


@task()
def raises() -> None:
    raise ValueError("a value is wrong")


@task()
def exits() -> None:
    raise SystemExit("a way out")


@task()
def interrupted() -> None:
    raise KeyboardInterrupt("Ctrl-C")


@task()
def raises_nested() -> None:
    raise ValueError(ValueError("in another"))


@task()
def returns_itself() -> Any:
    return returns_itself


@task(takes_context=True)
def own_id(context: TaskContext) -> str:
    return str(context.task_result.id)


@task(takes_context=True)
def own_attempt(context: TaskContext, expected: int) -> None:
    assert isinstance(context, TaskContext)
    assert context.attempt == expected


ORDER: list[str] = []


@task()
def note(name: str) -> None:
    ORDER.append(name)
