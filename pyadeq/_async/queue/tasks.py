"""Functions as tasks of a queue: `@queue.task`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, overload

from pyadeq._async.kernel.runner import Runner
from pyadeq._async.queue.produce import Producing
from pyadeq._async.queue.results import Receipt, result_of
from pyadeq._tasks.context import TaskContext
from pyadeq._tasks.functions import Decorator, DecoratorOptions, Executor, TaskFunction, TaskOptions, Tasks

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")

LONGEST_RUN = 60.0
"""Seconds that `run` waits where nothing is said."""


class QueueTask(TaskFunction[Q, P, C, T]):
    """A function whose calls can be tasks of a queue. Called, it is the function.

        receipt = await send.enqueue("ann@example.org", body="Hello")
        receipt = await send.options(delay=60, priority=1).enqueue("bob@example.org")
        length = await send.run("cleo@example.org")

    The arguments are checked against the annotations; BadArgument says which of them does not fit.
    """

    def __init__(
        self,
        queue: Producing,
        function: Callable[Q, C],
        name: str | None,
        executor: Executor | None,
        options: TaskOptions,
    ) -> None:
        super().__init__(function, name, executor, options)
        self._queue = queue

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Receipt:
        """Put a call in line. The answer and the errors are those of `Queue.enqueue`."""
        options = {name: value for name, value in self._options.items() if name != "wait"}
        return await self._queue.enqueue(self.signature.dump(args, kwargs), kind=self.kind, **cast(Any, options))

    async def run(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Put a call in line, and wait for its result: 60 s, or as `options(wait=…)` says. Errors as `Queue.result`."""
        options: dict[str, Any] = {"wait": LONGEST_RUN, **self._options, "kind": self.kind}
        id, outcome = await self._queue.run_to_end(self.signature.dump(args, kwargs), **options)
        result_of(id, outcome)
        return cast(T, self.signature.load_result(outcome.data or b""))


class Handling(Producing):
    """The part of a queue that has functions for its tasks."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._tasks = Tasks()

    @property
    def tasks(self) -> Tasks:
        """The functions by the kinds of task that they run: the handler for a Worker."""
        return self._tasks

    @property
    def task(self) -> QueueTaskDecorator:
        """Decorate a function: its calls can be enqueued here, and `queue.tasks`, given to a Worker, runs them.

        `@queue.task`, or with options: `@queue.task(name="mail.send", timeout=60, max_attempts=5)`, which are those of
        `enqueue`; name: the kind, the function's name if it is not given; executor: for a plain function, `thread` or
        `process`. A parameter that is a TaskContext is given it, and is no argument; as the first one, for mypy too.
        """
        return QueueTaskDecorator(lambda *of: self._tasks.add(QueueTask(self, *of)))

    def bind(self, task: TaskFunction[Q, P, C, T]) -> QueueTask[Q, P, C, T]:
        """A function of a free `Tasks`, or of another queue, with this queue to enqueue into."""
        return QueueTask(self, task.function, task.kind, task.executor, task._options)


class QueueTaskDecorator(Decorator):
    """`@queue.task`, with or without options."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[TaskContext, P], Coroutine[Any, Any, T]], /
    ) -> QueueTask[Concatenate[TaskContext, P], P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> QueueTask[P, P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[TaskContext, P], T], /
    ) -> QueueTask[Concatenate[TaskContext, P], P, T, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> QueueTask[P, P, T, T]: ...
    @overload
    def __call__(self, /, **options: Unpack[DecoratorOptions]) -> QueueTaskDecorator: ...
    def __call__(self, function: Any = None, /, **options: Unpack[DecoratorOptions]) -> Any:
        return self._apply(function, options)
