"""What a task function needs besides its arguments: made for each run, or shared by all runs of a worker.

async def pool() -> AsyncIterator[Pool]:
async with make_pool() as pool:
yield pool

@tasks.task
async def send(to: str, *, pool: Pool = Shared(pool)) -> None: ...
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

from pyadeq._tasks.context import TaskContext
from pyadeq.errors import ConfigError

T = TypeVar("T")
log = logging.getLogger("pyadeq.worker")


@dataclass(frozen=True)
class Dependency:
    """The default value of a parameter, or a part of its annotation: it gets what a function returns or yields."""

    function: Callable[..., Any]
    shared: bool

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ConfigError(f"{self._word}: {self.function!r} is not accepted; allowed: a function")

    @property
    def _word(self) -> str:
        return "Shared" if self.shared else "Depends"

    def __repr__(self) -> str:
        return f"{self._word}({_name(self.function)})"


@overload
def Depends(function: Callable[..., AsyncIterator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., Iterator[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., Awaitable[T]], /) -> T: ...
@overload
def Depends(function: Callable[..., T], /) -> T: ...
def Depends(function: Callable[..., Any], /) -> Any:
    """Mark a parameter, by its default or its annotation: it gets what the function returns, called anew for each run.

    In an annotation, it is written `Annotated[T, Depends(f)]`.

    A generator yields the value once. What comes after the `yield` runs when the handler has ended, and before its
    result is stored: an error there makes the run fail. An error of the handler is raised at the `yield`; the run
    fails, also if the generator catches it. The function's own parameters may be `Depends(…)`, `Shared(…)`
    and a `TaskContext`. A function that several parameters of a run name is called once.
    """
    return Dependency(function, False)


@overload
def Shared(function: Callable[..., AsyncIterator[T]], /) -> T: ...
@overload
def Shared(function: Callable[..., Iterator[T]], /) -> T: ...
@overload
def Shared(function: Callable[..., Awaitable[T]], /) -> T: ...
@overload
def Shared(function: Callable[..., T], /) -> T: ...
def Shared(function: Callable[..., Any], /) -> Any:
    """Mark a parameter, by its default or its annotation: it gets what the function returns, called once for a worker,
    at the first run.

    A generator is closed when the worker ends. The function's own parameters may only be `Shared(…)`. With
    `executor="process"`, each child process makes its own, and does not close it: such a process is killed.
    """
    return Dependency(function, True)


@contextmanager
def override(function: Callable[..., Any], by: Callable[..., Any]) -> Iterator[None]:
    """Call another function in place of `Depends(function)` or `Shared(function)` while the block runs. For tests."""
    before = _OVERRIDES.get(function)
    _OVERRIDES[function] = by
    try:
        yield
    finally:
        del _OVERRIDES[function]
        if before is not None:
            _OVERRIDES[function] = before


_OVERRIDES: dict[Callable[..., Any], Callable[..., Any]] = {}


@dataclass(frozen=True, eq=False)
class Step:
    """A dependency of a plan. takes: its parameters, and the steps whose values they get; None: the TaskContext."""

    function: Callable[..., Any]
    shared: bool
    takes: Mapping[str, Step | None]
    is_async: bool = field(init=False)
    closes: bool = field(init=False)

    def __post_init__(self) -> None:
        yields = inspect.isasyncgenfunction(self.function)
        object.__setattr__(self, "is_async", yields or inspect.iscoroutinefunction(self.function))
        object.__setattr__(self, "closes", yields or inspect.isgeneratorfunction(self.function))

    def arguments(self, values: Mapping[Step, Any]) -> dict[str, Any]:
        return {name: TaskContext.current() if step is None else values[step] for name, step in self.takes.items()}

    def open_now(self, stack: ExitStack | AsyncExitStack, arguments: dict[str, Any]) -> Any:
        """Return the value of the dependency. The stack closes it."""
        if self.closes:
            return stack.enter_context(contextmanager(self.function)(**arguments))
        return self.function(**arguments)

    async def open(self, stack: AsyncExitStack, arguments: dict[str, Any]) -> Any:
        """Return the value of the dependency, on an event loop. The stack closes it."""
        if not self.is_async:
            return self.open_now(stack, arguments)
        if self.closes:
            return await stack.enter_async_context(asynccontextmanager(self.function)(**arguments))
        return await self.function(**arguments)


def dependencies_of(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters of a function that have a dependency as their default."""
    parameters = inspect.signature(function).parameters.values()
    return frozenset(one.name for one in parameters if isinstance(one.default, Dependency))


def dependency_of(parameter: inspect.Parameter, hint: Any, where: str) -> Dependency | None:
    """Return the dependency of a parameter: its default, or a part of its annotation."""
    named = [one for one in (parameter.default, *getattr(hint, "__metadata__", ())) if isinstance(one, Dependency)]
    if len(named) > 1:
        raise ConfigError(f"{where}: the parameter {parameter.name!r} has {len(named)} dependencies; allowed: one")
    return named[0] if named else None


class Plan:
    """The dependencies of one task function, each after those that it needs itself.

    A plain handler has plain dependencies only: they run where it runs, in a thread or in a child process.
    """

    def __init__(self, wanted: Mapping[str, Dependency], kind: str, is_async: bool) -> None:
        self._wanted = wanted
        self._kind = kind
        self._is_async = is_async
        self._usual = self._made()

    async def run(self, handler: Callable[..., Awaitable[Any]], arguments: dict[str, Any], kept: Kept) -> Any:
        """Run an async handler with what it needs."""
        steps, takes = self._made() if _OVERRIDES else self._usual
        values: dict[Step, Any] = {}
        async with AsyncExitStack() as stack:
            try:
                for step in steps:
                    given = step.arguments(values)
                    values[step] = await (kept.get(step, given) if step.shared else step.open(stack, given))
                return await handler(**arguments, **{name: values[step] for name, step in takes.items()})
            except BaseException as error:
                failure = error
                raise
        raise failure  # a generator has caught it; the run has failed all the same

    def run_now(self, handler: Callable[..., Any], arguments: dict[str, Any], kept: Kept) -> Any:
        """Run a plain handler with what it needs."""
        steps, takes = self._made() if _OVERRIDES else self._usual
        values: dict[Step, Any] = {}
        with ExitStack() as stack:
            try:
                for step in steps:
                    given = step.arguments(values)
                    values[step] = kept.get_now(step, given) if step.shared else step.open_now(stack, given)
                return handler(**arguments, **{name: values[step] for name, step in takes.items()})
            except BaseException as error:
                failure = error
                raise
        raise failure  # a generator has caught it; the run has failed all the same

    def _made(self) -> tuple[list[Step], dict[str, Step]]:
        found: dict[Callable[..., Any], Step] = {}
        takes = {name: self._step(one, found, ()) for name, one in self._wanted.items()}
        return list(found.values()), takes

    def _step(self, wanted: Dependency, found: dict[Callable[..., Any], Step], above: tuple[Dependency, ...]) -> Step:
        """The step of a dependency, and in `found` all that it needs before it."""
        function = _OVERRIDES.get(wanted.function, wanted.function)
        where = " of ".join(map(repr, reversed([*above, wanted])))
        if wanted in above:
            raise ConfigError(f"{self._kind}: {where}: it needs itself")
        if (known := found.get(function)) is not None:
            if known.shared != wanted.shared:
                raise ConfigError(f"{self._kind}: {_name(function)}: it is Depends in one place and Shared in another")
            return known
        takes: dict[str, Step | None] = {}
        for name, default in _parameters(function, self._kind, where).items():
            if default is TaskContext and not wanted.shared:
                takes[name] = None
            elif isinstance(default, Dependency) and (default.shared or not wanted.shared):
                takes[name] = self._step(default, found, (*above, wanted))
            else:
                allowed = "Shared(…)" if wanted.shared else "Depends(…), Shared(…), a TaskContext"
                raise ConfigError(f"{self._kind}: {where}: the parameter {name!r} is not accepted; allowed: {allowed}")
        step = found[function] = Step(function, wanted.shared, takes)
        if step.is_async and not self._is_async:
            raise ConfigError(
                f"{self._kind}: {where} is not accepted, for it is async and the task function is not; make both "
                "async, or both plain"
            )
        return step


class Kept:
    """The shared values of one worker, or of one child process of it."""

    def __init__(self) -> None:
        self._values: dict[Callable[..., Any], Any] = {}
        self._opened: list[ExitStack | AsyncExitStack] = []
        self._lock = threading.Lock()

    @cached_property
    def _turn(self) -> asyncio.Lock:
        return asyncio.Lock()

    def get_now(self, step: Step, arguments: dict[str, Any]) -> Any:
        """The value of a plain one, which is made at the first call."""
        if step.function not in self._values:
            with self._lock:
                if step.function not in self._values:
                    stack = ExitStack()
                    self._values[step.function] = step.open_now(stack, arguments)
                    self._opened.append(stack)
        return self._values[step.function]

    async def get(self, step: Step, arguments: dict[str, Any]) -> Any:
        """The value of any, on the event loop."""
        if not step.is_async:
            return self.get_now(step, arguments)
        if step.function not in self._values:
            async with self._turn:
                if step.function not in self._values:
                    stack = AsyncExitStack()
                    self._values[step.function] = await step.open(stack, arguments)
                    self._opened.append(stack)
        return self._values[step.function]

    async def close(self) -> None:
        """Close all, the last one first. An error is logged."""
        self._values.clear()
        while self._opened:
            stack = self._opened.pop()
            try:
                if isinstance(stack, AsyncExitStack):
                    await stack.aclose()
                else:
                    stack.close()
            except Exception:
                log.exception("a shared dependency was not closed")


def _parameters(function: Callable[..., Any], kind: str, where: str) -> dict[str, Any]:
    """What the parameters of a dependency get: a Dependency, TaskContext, or something that is not accepted.

    Those with a plain default keep it, and are left out.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
        hints = typing.get_type_hints(function, include_extras=True) if inspect.isroutine(function) else {}
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"{kind}: {where}: its parameters are not known: {error}") from None
    found: dict[str, Any] = {}
    for one in parameters:
        hint = hints.get(one.name)
        if (dependency := dependency_of(one, hint, f"{kind}: {where}")) is not None:
            found[one.name] = dependency
        elif TaskContext in (hint, *typing.get_args(hint)):
            found[one.name] = TaskContext
        elif one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            found[one.name] = one.empty
    return found


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))
