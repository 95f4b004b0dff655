"""The context of a running task, for its handler: what the task is, and how to report progress."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, TypeVarTuple, cast, overload

from pyadeq._core.kernel.tracing import Running
from pyadeq._core.queue.chains import with_result
from pyadeq._core.queue.failures import Rule
from pyadeq._core.queue.items import Held, note
from pyadeq._tasks.steps import (
    CALLER,
    THREADS,
    StepLeases,
    Steps,
    Taking,
    check_inside,
    inside,
    key_of_step,
    sleep_times,
)
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.models.base import Moment, Seconds
from pyadeq.models.queue import Backoff, Lease, Renewal, TaskView
from pyadeq.models.worker import ProgressStatus

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
# Seconds from one note of a task's progress to the next.
PAUSE = 1.0
# The server keeps this many log lines per task.
MOST_LINES = 100
NO_QUEUE = "TaskContext.gathered(): this context has no queue"
log = logging.getLogger("pyadeq.worker")


class TaskLeases(StepLeases, Protocol):
    """What a TaskContext needs of `queue.leases`."""

    async def heartbeat_many(self, leases: Sequence[Held]) -> list[Renewal]: ...

    async def progress_many(self, notes: Sequence[tuple[Held, dict[str, Any]]]) -> list[ProgressStatus]: ...


class TaskQueue(Protocol):
    """What a TaskContext needs of the task's queue."""

    @property
    def name(self) -> str: ...

    @property
    def leases(self) -> TaskLeases: ...

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]: ...


class TaskContext:
    """The running task: what it is, whether it should stop, and how far it has come.

        @queue.task
        async def crawl(context: TaskContext, url: str) -> None: ...

    A parameter with this annotation gets the context. `TaskContext.current()` returns it everywhere below the handler,
    also in threads that the worker started. In a test of a handler, `TaskContext(lease)` reports no progress.

    lease: the lease of the task.
    worker: the name of the worker.
    interrupted: why the work should end: `cancelling`, `timed_out`, `lease_lost` or `stopping`; None: it may continue.
    """

    __slots__ = (
        "_event",
        "_loop",
        "_progress",
        "_queue",
        "_steps",
        "ignored",
        "interrupted",
        "lease",
        "main",
        "rule",
        "running",
        "worker",
    )

    def __init__(self, lease: Lease, queue: TaskQueue | None = None, worker: str | None = None) -> None:
        self.lease = lease
        self.worker = worker
        self.interrupted: str | None = None
        self.ignored: tuple[str, ...] = ()  # arguments in the payload that the function does not have
        self.running: Running | None = None  # the span of this run
        self.main: object = None  # the asyncio task that runs the function
        self.rule: Rule | None = None  # what the function says of the exception that it has raised
        self._queue = queue
        self._event: asyncio.Event | None = None
        self._progress: Progress | None = None
        self._steps: Steps | None = None
        try:
            self._loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = None

    @staticmethod
    def current() -> TaskContext:
        """Return the context of the task that runs here. Raises ConfigError if there is none."""
        context = CURRENT.get(None)
        if context is None:
            raise ConfigError("TaskContext.current(): no task is run here; call it from a handler")
        return context

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.lease.id

    @property
    def kind(self) -> str | None:
        """The kind of the task."""
        return self.lease.kind

    @property
    def queue_name(self) -> str | None:
        """The name of the task's queue."""
        return self._queue.name if self._queue else None

    @property
    def fence(self) -> int:
        """A number that rises with every lease of the task. Pass it to systems that must refuse an older run."""
        return self.lease.fence

    @property
    def run_id(self) -> str:
        """`<id>:<fence>`, the name of this run: another run of the same task has another. Use it as a lock's owner."""
        return f"{self.lease.id}:{self.lease.fence}"

    @property
    def attempt(self) -> int:
        """The number of this run, counted against max_attempts; the first run is 1."""
        return self.lease.attempt

    @property
    def after(self) -> tuple[str, ...]:
        """The ids of the tasks that this one waited for. `queue.get_many(context.after)` has their results."""
        return self.lease.after

    @property
    def trace(self) -> str | None:
        """The W3C traceparent of the enqueue."""
        trace = self.lease.record.get("trace")
        return None if trace is None else trace.decode()

    @property
    def cancelled(self) -> bool:
        """Whether the work should end, for any reason. A function in a thread must check it, because nothing else can
        end it.
        """
        return self.interrupted is not None

    def check(self) -> None:
        """Raise CancelledError if the work should end."""
        if self.interrupted is not None:
            raise asyncio.CancelledError(f"task {self.id}: {self.interrupted}")

    async def wait_cancelled(self) -> str:
        """Wait until the work should end, and return why. An async handler is then also cancelled, unless it is
        shielded.
        """
        if self._event is None:
            self._event = asyncio.Event()
        if self.interrupted is None:
            await self._event.wait()
        return self.interrupted or "cancelling"

    async def progress(
        self,
        fraction: float | None = None,
        text: str | None = None,
        log: str | None = None,
        output: str | None = None,
    ) -> None:
        """Report how far the work has come.

        Values that are not given stay unchanged. Call it as often as you like: progress is sent at most once a second,
        and the last report is always sent. Texts are cut at 1,000 bytes. The log keeps 100 lines. If a report does not
        reach the server, the worker logs a warning.

        fraction: 0 to 1.
        text: what is being done now.
        log: a line for the task's log.
        output: where the output can be found.
        """
        self.report(fraction, text, log, output)
        await asyncio.sleep(0)

    def report(
        self,
        fraction: float | None = None,
        text: str | None = None,
        log: str | None = None,
        output: str | None = None,
    ) -> None:
        """Report progress without `await`, from any thread, and from a child process."""
        said = note(None if fraction is None else min(max(0.0, fraction), 1.0), text, log, output)
        if self._queue is None or self._loop is None or not said:
            return
        if self._progress is None:
            # Two threads at once: both get the one that is there first, as with dict.setdefault.
            with _MAKING:
                self._progress = self._progress or Progress(self, self._queue, self._loop)
        self._progress.say(said)

    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], Coroutine[Any, Any, T]],
        /,
        *args: *Ts,
        retries: int = 0,
        backoff: Backoff | None = None,
        timeout: Seconds | None = None,
    ) -> T: ...
    @overload
    async def step(
        self,
        name: str,
        function: Callable[[*Ts], T],
        /,
        *args: *Ts,
        retries: int = 0,
        backoff: Backoff | None = None,
        timeout: None = None,
    ) -> T: ...
    async def step(  # type: ignore[misc]  # mypy does not see that these take what *Ts stands for
        self, name: str, function: Callable[..., Any], /, *args: Any, **options: Any
    ) -> Any:
        """Call a function once for the task, and store its result. Later runs get the stored result.

            plan = await context.step("plan", make_plan, repo)

        The result is stored when the function returns. If the process dies in between, the function is called again, so
        pass `idempotency_key` to other systems. The result is JSON, and is checked against the function's annotation. A
        plain function runs in a thread.

        name: of the step, without spaces; the second call with a name is the step `name#2`, and so on.
        retries: how often the function is called again in this run after an exception.
        backoff: the pauses between; by default 1, 2, 4 … seconds.
        timeout: seconds for one call; only of a coroutine function.
        """
        steps = self.steps
        taking = Taking(name, function, **options)
        number, found = await steps.find(name, "step")
        if found is not None:
            return taking.load(found.data)
        failed: str | None = name
        try:
            self.check()
            while True:
                try:
                    with inside(name, number):
                        async with asyncio.timeout(taking.timeout):
                            value = await (function(*args) if taking.is_async else THREADS.get()(function, *args))
                            if inspect.isawaitable(value):
                                value = await value
                    break
                except Exception as error:
                    if (pause := taking.pause(error)) is None:
                        raise
                await asyncio.sleep(pause)
            data, failed = taking.load(await steps.keep(name, number, "step", taking.dump(value))), None
            return data
        finally:
            await steps.done(failed)

    async def sleep(self, name: str, seconds: Seconds | None = None, *, until: Moment | None = None) -> None:
        """Wait without a worker: the run ends, and the task runs again when the time has come. Its slot is free.

        The next run begins at the top of the function: results of steps are stored, other code runs again. Steps beside
        it, in `asyncio.gather`, end first. The function is left by a `BaseException`, so that `finally` blocks run.

        name: of the wait, as of a step. seconds: at most ten years. until: a point in time on the server's clock.
        """
        await self.steps.sleep(name, *sleep_times(seconds, until))

    async def patched(self, name: str) -> bool:
        """Whether the run takes changed code: True for tasks that come here for the first time, and then for all their
        runs; False for tasks that were past this place before the change.
        """
        return await self.steps.patched(name)

    @property
    def idempotency_key(self) -> str:
        """`<task>/<step>`, the same in each run: for calls of other systems in the function of a step."""
        return key_of_step(self.id)

    @property
    def steps(self) -> Steps:
        """The steps of this run. For the worker."""
        if self._steps is None:
            self._steps = Steps(self.lease, self._queue.leases if self._queue else None, self.interrupt, self.main)
        return self._steps

    @property
    def has_steps(self) -> bool:
        """Whether the worker has to call `end_steps`."""
        return self._steps is not None or "durable" in self.lease.record

    async def end_steps(self) -> None:
        """The function has returned. Raises TaskSuspended if the run waits, or if a stored step is left. For the
        worker.
        """
        await self.steps.end()

    def close_steps(self) -> None:
        """The run is over: what still runs of it stores nothing. For the worker."""
        if self._steps is not None:
            self._steps.close()

    def plain(self) -> SyncTaskContext:
        """Return this context as a plain function uses it, in a thread. For the worker."""
        if self._loop is None:
            self._loop = asyncio._get_running_loop()
        if not isinstance(self, SyncTaskContext):
            self.__class__ = SyncTaskContext
        return cast("SyncTaskContext", self)

    def gathered(self) -> Gathered:
        """Iterate over the children of the task, which it gathers; see `QueueInspect.gathered`.

            async for child in context.gathered(): ...

        A plain function, which runs in a thread or a child process, uses `for child in context.gathered()`.
        """
        return Gathered(self)

    async def gathered_page(self, cursor: str) -> tuple[list[TaskView], str]:
        """Return some of the children for `gathered`, and the cursor of the next page."""
        if self._queue is None:
            raise ConfigError(f"{NO_QUEUE}; in a test, make it with one of pyadeq.asyncio: TaskContext(lease, queue)")
        return await self._queue._gathered_page(self.id, cursor)

    def gathered_page_now(self, cursor: str) -> tuple[list[TaskView], str]:
        """Return the same as `gathered_page`, from a thread."""
        if self._loop is None:
            raise ConfigError(f"{NO_QUEUE}, for it was not made on an event loop")
        if asyncio._get_running_loop() is self._loop:
            raise ConfigError("TaskContext.gathered(): on the event loop, read it with `async for`")
        return asyncio.run_coroutine_threadsafe(self.gathered_page(cursor), self._loop).result()

    async def heartbeat(self) -> bool:
        """Renew the lease now. Returns False if the work should end. Not needed: a worker renews by itself."""
        if self._queue is not None and self.interrupted is None:
            (answer,) = await self._queue.leases.heartbeat_many([self.lease])
            if answer.status != "renewed":
                self.interrupt(answer.status)
        return self.interrupted is None

    def interrupt(self, reason: str) -> None:
        """Signal that the work should end. The worker calls it on its event loop."""
        if self.interrupted is None:
            self.interrupted = reason
        if self._event is not None:
            self._event.set()

    def ignore(self, names: tuple[str, ...]) -> None:
        """Note arguments that the function does not have. The worker calls it."""
        self.ignored = names

    @property
    def talks(self) -> bool:
        """Whether the handler has sent reports, so that the worker has to call `finish`."""
        return self._progress is not None

    async def finish(self) -> None:
        """Send pending reports. The worker calls it after the handler has ended. Raises nothing but CancelledError."""
        if self._progress is not None:
            await self._progress.finish()

    def __repr__(self) -> str:
        return f"<TaskContext {self.id!r}, fence {self.fence}{f', {self.interrupted}' if self.interrupted else ''}>"


class SyncTaskContext(TaskContext):
    """The context of a task whose function is plain: its steps return values.

        @queue.task
        def crawl(context: SyncTaskContext, url: str) -> None:
            page = context.step("fetch", fetch, url)
            context.sleep("be-polite", 60)

    It works in threads and in child processes.
    """

    __slots__ = ()

    def step(  # type: ignore[override]
        self,
        name: str,
        function: Callable[[*Ts], T],
        /,
        *args: *Ts,
        retries: int = 0,
        backoff: Backoff | None = None,
    ) -> T:
        """Call a function once for the task, and store its result; see `TaskContext.step`. It has no timeout, because
        nothing can end a plain function.
        """
        check_inside(name)
        taking = Taking(name, function, retries, backoff, None)
        if taking.is_async:
            raise ConfigError(f"step {name!r}: a coroutine function is not accepted; allowed: plain functions here")
        number, found = self._on_loop("find", name, "step")
        if found is not None:
            return cast(T, taking.load(found.data))
        failed: str | None = name
        try:
            self.check()
            while True:
                try:
                    with inside(name, number):
                        value = function(*args)
                    break
                except Exception as error:
                    if (pause := taking.pause(error)) is None:
                        raise
                time.sleep(pause)
            data = cast(T, taking.load(self._on_loop("keep", name, number, "step", taking.dump(value))))
            failed = None
            return data
        finally:
            self._on_loop("done", failed)

    def sleep(  # type: ignore[override]
        self, name: str, seconds: Seconds | None = None, *, until: Moment | None = None
    ) -> None:
        """Wait without a worker; see `TaskContext.sleep`."""
        check_inside(name)
        self._on_loop("sleep", name, *sleep_times(seconds, until))

    def patched(self, name: str) -> bool:  # type: ignore[override]
        """Whether the run takes changed code; see `TaskContext.patched`."""
        check_inside(name)
        return bool(self._on_loop("patched", name))

    def _on_loop(self, method: str, *args: Any) -> Any:
        """Call a method of the steps on the event loop of the worker."""
        if self._loop is None:
            raise ConfigError("TaskContext.step(): this context was not made on an event loop")
        if asyncio._get_running_loop() is self._loop:
            raise ConfigError("TaskContext.step(): this is the context of a plain function; it blocks the event loop")
        CALLER.set(threading.get_ident())
        return asyncio.run_coroutine_threadsafe(getattr(self.steps, method)(*args), self._loop).result()


class Gathered:
    """The children of the current task, as they are now, in the order of creation. They are read page by page."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    async def __aiter__(self) -> AsyncIterator[TaskView]:
        tasks, cursor = await self._context.gathered_page("")
        while True:
            for task in tasks:
                yield with_result(task)
            if not cursor:
                return
            tasks, cursor = await self._context.gathered_page(cursor)

    def __iter__(self) -> Iterator[TaskView]:
        tasks, cursor = self._context.gathered_page_now("")
        while True:
            yield from map(with_result, tasks)
            if not cursor:
                return
            tasks, cursor = self._context.gathered_page_now(cursor)


class Progress:
    """The reports of a handler on their way to the server: the newest, once a second."""

    def __init__(self, context: TaskContext, queue: TaskQueue, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._queue = queue
        self._loop = loop
        self._state: dict[str, Any] = {}
        self._lines: list[dict[str, Any]] = []
        self._waits = False
        self._lock = threading.Lock()
        self._hurry = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def say(self, said: dict[str, Any]) -> None:
        with self._lock:
            if "line" in said:
                self._lines.append({"line": said.pop("line")})
                del self._lines[:-MOST_LINES]
            self._state |= said
            starts, self._waits = not self._waits, True
        if starts:
            with suppress(RuntimeError):  # the loop is closed: the worker is gone
                self._loop.call_soon_threadsafe(self._start)

    async def finish(self) -> None:
        self._hurry.set()
        if self._waits:
            self._start()
        if self._sending is not None:
            await self._sending

    def _start(self) -> None:
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def _send(self) -> None:
        lease = self._context.lease
        while self._waits:
            notes = [(lease, said) for said in self._take()]
            try:
                statuses = await self._queue.leases.progress_many(notes)
            except AdeqError as error:
                log.warning("the progress of task %s was not noted: %s", lease.id, error)
            else:
                if statuses[0] != "noted":
                    self._context.interrupt(statuses[0])
                if statuses[0] == "lease_lost":
                    return
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._hurry.wait()

    def _take(self) -> list[dict[str, Any]]:
        with self._lock:
            state, lines, self._state, self._lines, self._waits = self._state, self._lines, {}, [], False
        return [state, *lines] if state else lines


@contextmanager
def running(context: TaskContext) -> Iterator[TaskContext]:
    """Make this context the `TaskContext.current()` of the block."""
    token = CURRENT.set(context)
    try:
        yield context
    finally:
        CURRENT.reset(token)


CURRENT: ContextVar[TaskContext] = ContextVar("pyadeq_task")
_MAKING = threading.Lock()
