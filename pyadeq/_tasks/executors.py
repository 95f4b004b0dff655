"""Executors of plain functions: threads or child processes. A coroutine needs neither."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import multiprocessing
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from traceback import walk_tb
from types import TracebackType
from typing import Any, Self, TypeVar

from pyadeq._core.queue.failures import ProcessDied
from pyadeq._tasks.child import Child, Request
from pyadeq._tasks.context import CURRENT
from pyadeq._tasks.dependencies import Kept
from pyadeq._tasks.steps import THREADS

T = TypeVar("T")
Job = Callable[[], None]


class Executors:
    """The threads and child processes of one worker, started when needed and kept until the worker ends.

    Inside `async with`, `executors()` returns this object. Everything but the work itself happens on the event loop.
    """

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Job | None]] = []
        self._children: list[Child] = []
        self._idle_children: list[Child] = []
        self._closed = False
        self.kept = Kept()
        self._token: contextvars.Token[Executors] | None = None

    async def run_in_thread(self, function: Callable[..., T], *args: Any) -> T:
        """Run the function in a thread, with a copy of the context variables. Returns or raises what it does.

        A thread cannot be ended. So a cancellation sets the flag of the TaskContext and waits for the function to end.
        Until then, the task keeps its place in the worker.
        """
        return await self._run(partial(function, *args), _interrupt)

    async def run_in_process(self, request: Request) -> Any:
        """Run a task's function in a child process, found there by its name. Returns its result as bytes of JSON.

        A cancellation kills the process. Raises ProcessDied if it dies by itself; the next call gets a new one. An idle
        process that was killed fails no task: another process runs it.
        """
        context = CURRENT.get(None)
        while True:  # at most: the number of idle children, and a new one
            is_new = not self._idle_children
            child = Child() if is_new else self._idle_children.pop()
            if is_new:
                self._children.append(child)
            try:
                return await self._run(partial(child.call, request, context), child.kill)
            except ProcessDied:
                if is_new or child.began or self._closed:
                    raise
            finally:
                if child.alive and not self._closed:
                    self._idle_children.append(child)
                else:
                    child.kill()
                    self._children.remove(child)

    async def _run(self, function: Callable[[], T], cancel: Callable[[], None]) -> T:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        context = contextvars.copy_context()
        thread = self._idle.pop() if self._idle else _start_thread()

        def finish(result: T | None, error: BaseException | None) -> None:
            if self._closed:
                thread.put(None)
            else:
                self._idle.append(thread)
            if not ended.done():
                ended.set_result((result, error))

        def work() -> None:
            result, failure = _outcome(partial(context.run, function))
            try:
                loop.call_soon_threadsafe(finish, result, failure)
            except RuntimeError:  # the loop is closed: the worker is gone
                thread.put(None)

        thread.put(work)
        cancelled: asyncio.CancelledError | None = None
        # if cancelled after close, do not wait for the thread
        while not (ended.done() or (cancelled and self._closed)):
            try:
                await asyncio.wait([ended])
            except asyncio.CancelledError as error:
                cancelled = error
                cancel()
        if cancelled:
            raise cancelled
        result, failure = ended.result()
        if failure:
            raise failure
        return result  # type: ignore[return-value]

    def close(self) -> None:
        """Stop idle threads and kill the child processes. A thread that still runs ends with its function."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)
        for child in self._children:
            child.kill()
        for child in self._idle_children:
            child.join()
        atexit.unregister(self.close)

    async def __aenter__(self) -> Self:
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise SystemExit(
                "A child process of a worker imports this script, and that starts a worker again. Put what starts the "
                'worker under `if __name__ == "__main__":`.'
            )
        self._token = EXECUTORS.set(self)
        THREADS.set(self.run_in_thread)
        atexit.register(self.close)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token:
            with suppress(ValueError):  # it was entered in another context, as in fixtures of tests
                EXECUTORS.reset(self._token)
        self.close()
        await self.kept.close()


def executors() -> Executors | None:
    """Return the executors of the worker that runs the task; None outside a worker."""
    return EXECUTORS.get(None)


def is_ctrl_c(error: KeyboardInterrupt) -> bool:
    """Return whether a signal handler has raised it on the event loop. Otherwise, a task function has raised it.

    Python's own handler leaves no trace. So while it is installed, every KeyboardInterrupt of a coroutine counts as
    Ctrl-C. `asyncio.run` installs another one.
    """
    codes = {frame.f_code for frame, _ in walk_tb(error.__traceback__)}
    if _outcome.__code__ in codes or current_thread() is not main_thread():
        return False
    handler: Any = signal.getsignal(signal.SIGINT)
    while isinstance(handler, partial):
        handler = handler.func
    return handler is signal.default_int_handler or getattr(handler, "__code__", None) in codes


def _outcome(function: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """Run it in a thread. Returns what it returns or raises."""
    try:
        return function(), None
    except BaseException as error:
        return None, error


def _start_thread() -> SimpleQueue[Job | None]:
    """Start a thread that runs what comes through its queue. It is a daemon, so a stuck thread does not keep the
    process from exiting.
    """
    jobs: SimpleQueue[Job | None] = SimpleQueue()

    def run() -> None:
        while job := jobs.get():
            job()
            del job

    Thread(target=run, name="pyadeq-task", daemon=True).start()
    return jobs


def _interrupt() -> None:
    context = CURRENT.get(None)
    if context is not None:
        context.interrupt("stopping")


EXECUTORS: contextvars.ContextVar[Executors] = contextvars.ContextVar("pyadeq_executors")
