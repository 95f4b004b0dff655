"""Functions as tasks of a queue: `@queue.task`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, cast, overload

from pyadeq._async.queue.produce import Producing
from pyadeq._async.queue.results import Receipt, result_of
from pyadeq._tasks.context import TaskContext
from pyadeq._tasks.functions import Decorator, DecoratorOptions, FunctionOptions, TaskFunction, TaskOptions

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")

LONGEST_RUN = 60.0
"""The default wait of `run`, in seconds."""


class QueueTask(TaskFunction[Q, P, C, T]):
    """A function whose calls can be tasks of a queue. If you call it, it runs as a normal function.

        receipt = await send.enqueue("ann@example.org", body="Hello")
        receipt = await send.options(delay=60, priority=1).enqueue("bob@example.org")
        length = await send.run("cleo@example.org")

    The arguments are checked against the annotations. BadArgument names an argument that does not fit.
    """

    def __init__(self, queue: Producing, function: Callable[Q, C], options: TaskOptions, own: FunctionOptions) -> None:
        super().__init__(function, options, own)
        self._queue = queue

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Receipt:
        """Enqueue a call. Answer and errors are those of `Queue.enqueue`."""
        options = self._without(("wait",))
        return await self._queue.enqueue(self.signature.dump(args, kwargs), kind=self.kind, **cast(Any, options))

    async def run(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Enqueue a call and wait for its result, 60 s or `options(wait=…)`. Errors are those of `Queue.result`."""
        options: dict[str, Any] = {"wait": LONGEST_RUN, **self._without(()), "kind": self.kind}
        id, outcome = await self._queue.run_to_end(self.signature.dump(args, kwargs), **options)
        result_of(id, outcome)
        return cast(T, self.signature.load_result(outcome.data or b""))


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
