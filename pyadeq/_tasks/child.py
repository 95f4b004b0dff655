"""A child process that runs tasks, one after the other: the parent's side and the child's side."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection, wait
from threading import Lock, Thread
from typing import Any

from pyadeq._core.kernel.tracebacks import RemoteError, traceback_of
from pyadeq._core.kernel.tracing import Inside
from pyadeq._core.queue.failures import ProcessDied
from pyadeq._tasks.context import SyncTaskContext, TaskContext, running
from pyadeq.errors import ConfigError
from pyadeq.models.queue import Lease, TaskView

SPAWN = multiprocessing.get_context("spawn")
Request = tuple[Callable[[Lease], bytes | None], Lease, str | None, str | None, Inside | None]
"""A job for the child: a function that pickle can send, the lease, the names of the queue and the worker, and the span
that continues there.
"""

Gathered = tuple[list[TaskView], str]
Asked = tuple[str, tuple[Any, ...]]
"""What a child asks of the parent's context: a method, and its arguments."""


class Child:
    """A process for one call at a time. The first call starts it.

    began: whether the process has begun to run the task of the last call.
    """

    def __init__(self) -> None:
        self.began = False
        self._lock = Lock()
        self._killed = False
        self._process: Any = None
        self._pipe: Connection | None = None

    @property
    def alive(self) -> bool:
        """Whether it can be called again."""
        return not self._killed and self._process is not None and self._process.is_alive()

    def call(self, request: Request, context: TaskContext | None) -> Any:
        """Run a task there and wait for its end. Raises ProcessDied if the process ends first.

        context: gets the task's reports, and finds its children.
        """
        self.began = False
        with self._lock:
            if self._process is None and not self._killed:
                self._pipe, there = SPAWN.Pipe()
                self._process = SPAWN.Process(target=serve, args=(there,), name="pyadeq-task")
                self._process.start()
                there.close()
        if self._pipe is None:
            raise ProcessDied("the process was killed before it began")
        try:
            self._pipe.send(request)
            word, value = self._pipe.recv()
            while word in ("began", "report", "asked", "ignored"):
                if word == "began":
                    self.began = True
                elif word == "asked":
                    self._pipe.send(_answer(context, value))
                elif context and word == "ignored":
                    context.ignore(value)
                elif context:
                    context.report(*value)
                word, value = self._pipe.recv()
        except (EOFError, OSError) as error:
            self.join()
            code = self._process.exitcode
            raise ProcessDied(f"the process that ran the task died, exit code {code}", code) from error
        except BaseException:
            self.kill()  # a late answer would be read as the answer to the next call
            raise
        if word == "error":
            raise pickle.loads(value)
        return value

    def kill(self) -> None:
        """Kill it at once."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                self._process.kill()

    def join(self) -> None:
        """Wait for a process that has ended or is about to end."""
        if self._process is not None:
            self._process.join(1.0)
            self._process.kill()
            self._process.join()


class ChildContext(SyncTaskContext):
    """A TaskContext in a child process: its reports go through the parent. A cancelled child is killed."""

    __slots__ = ("_ended", "_pipe", "_pipe_lock", "_queue_name")

    def __init__(self, pipe: Connection, lease: Lease, queue_name: str | None, worker: str | None) -> None:
        super().__init__(lease, None, worker)
        self._pipe = pipe
        self._pipe_lock = Lock()
        self._ended = False
        self._queue_name = queue_name

    @property
    def queue_name(self) -> str | None:
        return self._queue_name

    def report(
        self,
        fraction: float | None = None,
        text: str | None = None,
        log: str | None = None,
        output: str | None = None,
    ) -> None:
        with self._pipe_lock:
            if not self._ended:
                self._pipe.send(("report", (fraction, text, log, output)))

    def ignore(self, names: tuple[str, ...]) -> None:
        with self._pipe_lock:
            self._pipe.send(("ignored", names))

    def gathered_page_now(self, cursor: str) -> Gathered:
        page: Gathered = self._ask("gathered_page_now", cursor)
        return page

    def _on_loop(self, method: str, *args: Any) -> Any:
        return self._ask("_on_loop", method, *args)

    def _ask(self, method: str, *args: Any) -> Any:
        """Call a method of the context in the parent."""
        with self._pipe_lock:
            if self._ended:
                raise ConfigError(f"TaskContext: the task {self.id} has ended")
            self._pipe.send(("asked", (method, args)))
            word, value = self._pipe.recv()
        if word == "error":
            raise pickle.loads(value)
        return value

    def end(self) -> None:
        """Stop reporting: nothing may follow the answer."""
        with self._pipe_lock:
            self._ended = True


def _answer(context: TaskContext | None, asked: Asked) -> tuple[str, Any]:
    method, args = asked
    try:
        if context is None:
            raise ConfigError("TaskContext: no worker runs this task, and so it has no queue")
        return "answer", getattr(context.plain(), method)(*args)
    except BaseException as error:  # also a suspension
        return "error", pack(error)


def serve(pipe: Connection) -> None:
    """The main function of a child process: run what comes through the pipe until the pipe is closed."""
    # The parent handles signals to the process group, and gives its tasks time to end. A handler, not SIG_IGN, because
    # programs that a task starts would inherit SIG_IGN.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            work, *about, inside = pipe.recv()
        except EOFError:
            return
        pipe.send(("began", None))
        context = ChildContext(pipe, *about)
        try:
            with running(context), inside[0](inside[1]) if inside else nullcontext():
                answer = ("result", work(context.lease))
        except BaseException as error:
            answer = ("error", pack(error))
        context.end()
        pipe.send(answer)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent:
        wait([parent.sentinel])
        os._exit(1)


def pack(error: BaseException) -> bytes:
    """Pack an exception for the other process, with its traceback as the text of its cause.

    Many exceptions cannot be pickled, or not be unpickled. Such an exception is taken apart, and rebuilt without its
    constructor. If that fails, it becomes a RuntimeError that describes it.
    """
    text = traceback_of(error)
    for attempt in (_Whole(error, text), _Parts(error, text)):
        try:
            data = pickle.dumps(attempt)
            if isinstance(pickle.loads(data), type(error)):
                return data
        except Exception:
            continue
    return pickle.dumps(_Whole(RuntimeError(f"{type(error).__name__}, which cannot be sent from a process"), text))


class _Whole:
    def __init__(self, error: BaseException, text: str) -> None:
        self.error, self.text = error, text

    def __reduce__(self) -> Any:
        return _caused, (self.error, self.text)


class _Parts(_Whole):
    def __reduce__(self) -> Any:
        return _assembled, (type(self.error), self.error.args, self.error.__dict__, self.text)


def _caused(error: BaseException, text: str) -> BaseException:
    error.__cause__ = RemoteError(text)
    return error


def _assembled(kind: type[BaseException], args: Any, attributes: dict[str, Any], text: str) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(attributes)
    return _caused(error, text)
