"""Functions as tasks of a queue: `@queue.task`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, Unpack, cast, overload

from pyadeq._async.queue.results import Receipt, result_of
from pyadeq._tasks.context import SyncTaskContext, TaskContext
from pyadeq._tasks.functions import Decorator, DecoratorOptions, FunctionOptions, TaskFunction, TaskOptions
from pyadeq.models.base import Seconds
from pyadeq.models.worker import Outcome, TaskUpdate

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")

LONGEST_RUN = 60.0
"""The default wait of `run`, in seconds."""


class Enqueueing(Protocol):
    """What a task function needs of its queue, which may have partitions."""

    async def enqueue(self, *args: Any, **options: Any) -> Receipt: ...

    async def _run_to_end(self, *args: Any, **options: Any) -> tuple[str, Outcome]: ...

    async def _wait_for_end(self, id: str, timeout: Seconds = 60.0) -> Outcome: ...

    def updates(
        self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0
    ) -> AsyncIterator[TaskUpdate]: ...


class QueueTask(TaskFunction[Q, P, C, T]):
    """A function whose calls can be tasks of a queue. If you call it, it runs as a normal function.

        receipt = await send.enqueue("ann@example.org", body="Hello")
        receipt = await send.options(delay=60, priority=1).enqueue("bob@example.org")
        length = await receipt.result(timeout=30)
        length = await send.run("cleo@example.org")

    The arguments are checked against the annotations. BadArgument names an argument that does not fit.
    """

    def __init__(self, queue: Enqueueing, function: Callable[Q, C], options: TaskOptions, own: FunctionOptions) -> None:
        super().__init__(function, options, own)
        self._queue = queue

    @classmethod
    def bound(cls, queue: Enqueueing, task: TaskFunction[Q, P, C, T]) -> Self:
        """Return the same function, which enqueues into this queue."""
        bound = cls(queue, task.function, task._options, task.own)
        bound.upgrades = task.upgrades
        return bound

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Receipt[T]:
        """Enqueue a call. Errors are those of `Queue.enqueue`. The receipt knows the type of the result."""
        options = self._without(("wait",))
        receipt = await self._queue.enqueue(self.signature.dump(args, kwargs), kind=self.kind, **options)
        return Receipt(receipt.status, receipt.id, self)

    async def run(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Enqueue a call and wait for its result, 60 s or `options(wait=…)`. Errors are those of `Queue.result`."""
        options: dict[str, Any] = {"wait": LONGEST_RUN, **self._without(()), "kind": self.kind}
        return self._result(*await self._queue._run_to_end(self.signature.dump(args, kwargs), **options))

    async def result(self, id: str, timeout: Seconds = 60.0) -> T:
        """Wait for the end of a call that was enqueued earlier, also by another process, and return its result.

        It is checked by the return annotation: AdeqError says that it does not fit. Other errors are those of
        `Queue.result`.
        """
        return self._result(id, await self._queue._wait_for_end(id, timeout))

    def updates(self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0) -> AsyncIterator[TaskUpdate]:
        """Iterate over what happens to a call until it has ended; see `Queue.updates`."""
        return self._queue.updates(id, timeout=timeout, interval=interval)

    def _result(self, id: str, outcome: Outcome) -> T:
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
    def __call__(
        self, function: Callable[Concatenate[SyncTaskContext, P], T], /
    ) -> QueueTask[Concatenate[SyncTaskContext, P], P, T, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> QueueTask[P, P, T, T]: ...
    @overload
    def __call__(self, /, **options: Unpack[DecoratorOptions]) -> QueueTaskDecorator: ...
    def __call__(self, function: Any = None, /, **options: Unpack[DecoratorOptions]) -> Any:
        return self._apply(function, options)
