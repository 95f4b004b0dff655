"""The steps of a durable task: what earlier runs have stored, and what this run asks for."""

from __future__ import annotations

import asyncio
import inspect
import random
import typing
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from time import monotonic
from typing import Any, Literal, Protocol

from pydantic.errors import PydanticUserError

from pyadeq._core.queue.failures import LONGEST, TaskFailed
from pyadeq._core.queue.steps import StepValue, Wait, step_of
from pyadeq._tasks.encoding import Result
from pyadeq.errors import BadArgument, ConfigError, PayloadError
from pyadeq.keys import check_name
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms
from pyadeq.models.queue import Backoff, Lease
from pyadeq.models.steps import StepKept, StepKind, TaskStep, full_name

# Seconds that a run with branches waits before it is suspended, if these have not asked for all stored steps.
PATIENCE = 10.0
# Seconds until a task whose code does not fit its steps is tried again.
DIVERGED_FOR = 60.0
INSIDE: ContextVar[str | None] = ContextVar("pyadeq_step", default=None)
"""The full name of the step whose function runs here."""
CALLER: ContextVar[int | None] = ContextVar("pyadeq_step_caller", default=None)
"""The thread that asks for a step, if that is a plain function's."""
THREADS: ContextVar[Callable[..., Awaitable[Any]]] = ContextVar("pyadeq_step_threads", default=asyncio.to_thread)
"""How a plain function is called in a thread: by the worker's, if there is one."""
MOST_UNTIL = 253_402_300_800.0  # the end of the year 9999


class TaskSuspended(BaseException):
    """Leaves a task function that waits. `finally` blocks run; `except Exception` does not catch it. Let it pass.

    waits: for what it waits.
    """

    def __init__(self, waits: tuple[Wait, ...]) -> None:
        super().__init__(waits)
        self.waits = waits

    def __str__(self) -> str:
        return f"the task waits: {', '.join(full_name(one.name, one.number) for one in self.waits)}"


class StepLeases(Protocol):
    """What steps need of `queue.leases`."""

    async def keep_steps(self, steps: Sequence[StepValue]) -> list[StepKept]: ...

    async def _steps_of(self, lease: Lease) -> list[TaskStep]: ...


class Steps:
    """The steps of one run. All methods belong to its event loop.

    interrupt: called with `lease_lost`.
    main: what runs the function, an asyncio task or the number of a thread; None: what asks first.
    """

    def __init__(
        self, lease: Lease, leases: StepLeases | None, interrupt: Callable[[str], None], main: object = None
    ) -> None:
        self._lease = lease
        self._leases = leases
        self._interrupt = interrupt
        self._main = main
        self._waits: list[Wait] = []
        self._closed = False  # nothing more begins: the run is suspended, or over
        self._failed: str | None = None
        self._asked: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._busy = 0
        self._changed = asyncio.Event()
        self._reading: asyncio.Future[dict[str, TaskStep]] | None = None

    async def find(self, name: str, kind: StepKind) -> tuple[int, TaskStep | None]:
        """Count a call of a name. Returns its number, and the stored step, if there is one.

        If there is no step of this name, its function may be called now: then call `done` at its end.
        """
        check_name("name", name, "label")
        check_inside(name)
        caller = CALLER.get() or asyncio.current_task()
        self._main = self._main or caller
        self._asked[name] += 1
        number = self._asked[name]
        stored = await self._stored()
        self._check_open()
        found = stored.get(full_name(name, number))
        if found is not None:
            self._seen.add(found.full_name)
            self._changed.set()
            if found.kind != kind:
                raise self._diverged(name, number)
            if found.unreadable:
                raise PayloadError(f"task {self._lease.id!r}: step {found.full_name!r}: {found.unreadable['step']}")
            return number, found
        if self._failed is not None:
            raise ConfigError(
                f"step {name!r}: the step {self._failed!r} has failed in this run; let its exception end the run, or "
                "catch it in the function of the step"
            )
        if kind != "patch" and caller is self._main and self._unasked is not None:
            await self._settle_down()  # branches may ask for what is stored
            self._check_open()
            self.check_end()  # it comes before what is new
        self._busy += kind == "step"
        return number, None

    async def done(self, failed: str | None = None) -> None:
        """The function of a new step has ended, and its result is stored; or it has failed."""
        self._busy -= 1
        self._failed = self._failed or failed
        self._changed.set()

    async def keep(self, name: str, number: int, kind: Literal["step", "patch"], value: bytes) -> bytes:
        """Store a step. Returns its value, that of an earlier call if there was one."""
        stored = await self._stored()
        kept = StepKept(status="stored")
        if self._leases is not None:
            try:
                (kept,) = await self._leases.keep_steps([StepValue(self._lease, name, number, kind, value)])
            except BadArgument:  # more bytes than a call takes
                kept = StepKept(status="full")
        match kept.status:
            case "lease_lost":
                self._interrupt("lease_lost")
                raise asyncio.CancelledError(f"task {self._lease.id}: lease_lost")
            case "full":
                raise TaskFailed(
                    f"step {full_name(name, number)!r}: the task has too many steps, or they have too many bytes: "
                    "see the settings steps_max and steps_bytes of the queue",
                    reason="steps_full",
                    retryable=False,
                )
            case "diverged":
                raise self._diverged(name, number)
        value = value if kept.value is None else kept.value
        found = step_of(name, number, kind, 0, self._lease.fence, value)
        stored[found.full_name] = found
        self._seen.add(found.full_name)
        return value

    async def patched(self, name: str) -> bool:
        """Whether the run takes the changed code at this place."""
        number, found = await self.find(name, "patch")
        if found is None and self._unasked is not None:
            return False  # it was here before the change
        if found is None:
            await self.keep(name, number, "patch", b"")
        return True

    async def sleep(self, name: str, delay: float, due: float | None) -> None:
        """Return if the time has come; otherwise suspend the run."""
        number, found = await self.find(name, "sleep")
        if self._leases is None or (found is not None and (found.due or 0.0) <= self._lease.claimed):
            return
        self._waits.append(Wait(name, number, "sleep", delay, due))
        await self._settle_down()
        self._closed = True
        raise self._suspended()

    async def end(self) -> None:
        """The function has returned: raise if the run is suspended, or if a stored step is left."""
        await self._stored()
        self.check_end()
        if self._waits:
            raise self._suspended()

    def close(self) -> None:
        """The run is over: what still runs of it begins no step, and stores none."""
        self._closed = True

    def check_end(self) -> None:
        """Raise if there is a stored step for which the run has not asked."""
        if (left := self._unasked) is not None and not any(one.kind == "diverged" for one in self._waits):
            raise self._diverged(left.name, left.number)

    async def _settle_down(self) -> None:
        """Let the steps beside a wait end, and give branches of the run time to ask for what is stored."""
        deadline = monotonic() + PATIENCE
        while True:
            for _ in range(5):  # what waited for a step goes on to the next one
                await asyncio.sleep(0)
            left = deadline - monotonic()
            if not self._busy and (self._unasked is None or left <= 0):
                return
            self._changed.clear()
            try:
                async with asyncio.timeout(None if self._busy else left):
                    await self._changed.wait()
            except TimeoutError:
                return

    def _check_open(self) -> None:
        if self._closed and self._waits:
            raise self._suspended()
        if self._closed:
            raise asyncio.CancelledError(f"task {self._lease.id}: its run is over")

    @property
    def _unasked(self) -> TaskStep | None:
        """The first stored step for which this run has not asked yet."""
        if self._reading is None or not self._reading.done():
            return None
        return next((one for name, one in self._reading.result().items() if name not in self._seen), None)

    def _diverged(self, name: str, number: int) -> TaskSuspended:
        self._waits = [Wait(name, number, "diverged", DIVERGED_FOR * random.uniform(0.9, 1.1))]
        self._closed = True
        return self._suspended()

    def _suspended(self) -> TaskSuspended:
        return TaskSuspended(tuple(self._waits))

    async def _stored(self) -> dict[str, TaskStep]:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        return await asyncio.shield(self._reading)

    async def _read(self) -> dict[str, TaskStep]:
        if self._leases is None:
            return {}
        found = await self._leases._steps_of(self._lease)
        return {one.full_name: one for one in found}


class Taking:
    """How the function of a step is called: its result, and what happens if it fails.

    retries: how often it is called again after an exception. backoff: the pauses between. timeout: seconds for one call
    of a coroutine function.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        retries: int = 0,
        backoff: Backoff | None = None,
        timeout: Seconds | None = None,
    ) -> None:
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"retries: {retries!r} is not accepted; allowed: 0 and more")
        if timeout is not None and not inspect.iscoroutinefunction(function):
            raise BadArgument("ADEQ_ARG", "pyadeq", "timeout: only of a coroutine function: nothing else can be ended")
        self.is_async = inspect.iscoroutinefunction(function)
        self.timeout = None if timeout is None else to_ms("timeout", timeout) / 1000
        self._name = name
        self._result = _result_of(function)
        self._left = retries
        self._tries = 0
        self._backoff = backoff or Backoff()

    def pause(self, error: Exception) -> float | None:
        """Return the seconds until the function is called again; None: it is not."""
        if not self._left or (isinstance(error, TaskFailed) and error.retryable is False):
            return None
        self._left -= 1
        self._tries += 1
        wait = self._backoff
        delay = min(wait.base * wait.multiplier ** (self._tries - 1), wait.cap)
        return min(delay * (1 + wait.jitter * random.uniform(-1, 1)), wait.cap)

    def dump(self, value: Any) -> bytes:
        """Encode what the function has returned."""
        if isinstance(value, bytes) and not self._result.is_bytes:
            raise ConfigError(
                f"step {self._name!r}: bytes are returned; allowed: JSON, or a function annotated `-> bytes`"
            )
        return self._result.dump(value) or b""

    def load(self, data: bytes | None) -> Any:
        """Return what the function has returned, now or in an earlier run."""
        return self._result.load(data or b"")


def sleep_times(seconds: Seconds | None, until: Moment | None) -> tuple[float, float | None]:
    """The delay and the due time of a sleep. Raises BadArgument."""
    if (seconds is None) == (until is None):
        raise BadArgument("ADEQ_ARG", "pyadeq", "sleep: give either seconds or until")
    delay = 0.0 if seconds is None else to_ms("seconds", seconds) / 1000
    if not 0 <= delay <= LONGEST:
        raise BadArgument("ADEQ_ARG", "pyadeq", f"seconds: {seconds!r} is not accepted; allowed: 0 s to ten years")
    due = None if until is None else to_epoch_ms("until", until) / 1000
    if due is not None and not 0 <= due <= MOST_UNTIL:
        raise BadArgument(
            "ADEQ_ARG", "pyadeq", f"until: {until!r} is not accepted; allowed: a time up to the year 9999"
        )
    return delay, due


def check_inside(name: str) -> None:
    """Raise ConfigError in the function of a step: it has no steps of its own."""
    if (outer := INSIDE.get()) is not None:
        raise ConfigError(f"step {name!r}: not inside of the step {outer!r}: a step is stored as a whole")


def key_of_step(id: str) -> str:
    """Return the idempotency key of the step that runs here."""
    if (name := INSIDE.get()) is None:
        raise ConfigError("TaskContext.idempotency_key: only in the function of a step")
    return f"{id}/{name}"


@contextmanager
def inside(name: str, number: int) -> Iterator[None]:
    """The function of this step runs here."""
    token = INSIDE.set(full_name(name, number))
    try:
        yield
    finally:
        INSIDE.reset(token)


def _result_of(function: Callable[..., Any]) -> Result:
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "function", function)  # that of a TaskFunction
    try:
        return _known_result(function)
    except TypeError:  # it cannot be hashed
        return _known_result.__wrapped__(function)


@lru_cache(maxsize=1000)
def _known_result(function: Callable[..., Any]) -> Result:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except (TypeError, NameError):
        hints = {}
    name = getattr(function, "__qualname__", repr(function))
    try:
        return Result(hints.get("return", Any), name)
    except PydanticUserError as error:
        raise ConfigError(f"{name}: the annotation of its result is not accepted: {error}") from error
