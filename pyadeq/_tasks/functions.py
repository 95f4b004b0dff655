"""Functions as handlers: a registry of them by kind, and what surrounds each call."""

from __future__ import annotations

import copy
import importlib
import inspect
import json
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from contextlib import suppress
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast, overload

from pyadeq._core.queue.failures import Rule, UnknownKind
from pyadeq._tasks.context import CURRENT, SyncTaskContext, TaskContext, running
from pyadeq._tasks.dependencies import Kept, dependencies_of
from pyadeq._tasks.executors import Executors, executors
from pyadeq._tasks.signature import EMPTY, Signature
from pyadeq.errors import ConfigError
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds
from pyadeq.models.queue import Lease, Task
from pyadeq.models.task_options import CallOptions

Q = ParamSpec("Q")
P = ParamSpec("P")
C = TypeVar("C")
T = TypeVar("T")
U = TypeVar("U", bound=Callable[[dict[str, Any]], dict[str, Any]])
F = TypeVar("F", bound="TaskFunction[..., ..., Any, Any]")

Executor = Literal["thread", "process"]


class TaskOptions(CallOptions, total=False):
    """Options of a task in addition to its arguments, explained in `Task`. wait: seconds, for `run`."""

    rid: str | None
    wait: Seconds | None


class FunctionOptions(TypedDict, total=False):
    """Options of the function, not of its calls.

    name: the kind, if it is not the function's name.
    executor: where a plain function runs: `thread` or `process`.
    version: of its arguments, from 1. Workers that only know an older version leave the task to others.
    strict: refuse a payload with arguments that the function does not have; by default, they are ignored.
    failures: what happens to a run that raises such an exception: `{SmtpBusy: Rule(delay=30)}`. Of several that match,
    the most specific one counts. All others are as the worker's `failures` say.
    """

    name: str | None
    executor: Executor | None
    version: int
    strict: bool
    failures: Mapping[Any, Rule]  # by exception class; a mapping is invariant in its keys


class DecoratorOptions(TaskOptions, FunctionOptions, total=False):
    """Options of the calls, and of the function."""


VERSION = "_version"
"""The header with the version of a task's arguments, if it is above 1."""


OF_THE_CALL = ("rid", "wait")
"""Options of the call, not of the task."""

KEPT = Kept()
"""The shared values of a child process."""

NO_RESULT = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)


class TaskFunction(Generic[Q, P, C, T]):
    """A function whose calls can be tasks. If you call it, it runs as a normal function; `item` returns a call as a
    task.

    kind: the name by which workers know it.
    executor: where a plain function runs, `thread` or `process`.
    function: the original function.
    version: of its arguments.
    strict: whether arguments that it does not have are refused.
    upgrades: functions that make the arguments of a version those of the next one, by version.
    """

    __name__: str

    def __init__(self, function: Callable[Q, C], options: TaskOptions, own: FunctionOptions) -> None:
        name, executor, version = own.get("name"), own.get("executor"), own.get("version", 1)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise ConfigError(f"version: {version!r} is not accepted; allowed: whole numbers from 1")
        if not inspect.isroutine(function) or any(look(function) for look in NO_RESULT):
            raise ConfigError(f"task: {function!r} is not accepted; allowed: a function, plain or async")
        self.kind = check_name("name", function.__name__ if name is None else name, "label")
        self.function: Callable[..., Any] = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.executor = None if self.is_async else executor or "thread"
        self._options = _checked(self.kind, options)
        self.version = version
        self.strict = bool(own.get("strict"))
        self.own = own
        self.upgrades: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
        self._rules = _checked_rules(self.kind, own.get("failures", {}))
        self._signature: Signature | None = None
        self._blank: Task | None = None  # a call without its arguments
        self._dependencies = dependencies_of(function)
        update_wrapper(self, function, updated=())
        self._check_executor(executor)
        with suppress(NameError):  # a name that is defined later in the module exists at the first call
            self._signature = self._read_signature()

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> C:
        """Call the function here and now. Dependencies must be given."""
        if self._dependencies:
            given = inspect.signature(self.function).bind_partial(*args, **kwargs).arguments
            if missing := sorted(self._dependencies - given.keys()):
                raise ConfigError(f"{self.kind}: give {', '.join(missing)} in a call; only a worker makes dependencies")
        return cast(C, self.function(*args, **kwargs))

    def options(self, **options: Unpack[TaskOptions]) -> Self:
        """Return the same function with other options: `send.options(delay=60)`. Options that are not given stay
        unchanged.
        """
        changed = copy.copy(self)
        changed._options = _checked(self.kind, {**self._options, **options})
        changed._blank = None
        return changed

    def item(self, *args: P.args, **kwargs: P.kwargs) -> Task:
        """Return a call as a task, for `enqueue_many`. Raises BadArgument if arguments do not fit the annotations."""
        if self._blank is None:
            self._blank = Task.model_construct(**self._without(OF_THE_CALL), kind=self.kind)
        return self._blank.model_copy(update={"payload": self.signature.dump(args, kwargs)})

    def upgrade(self, version: int) -> Callable[[U], U]:
        """Decorate a function that takes the arguments of this version, a dict as in the payload, and returns those of
        the next version. It is called before they are checked. If it raises an error, the run fails.

            @send.upgrade(1)
            def _(old: dict[str, Any]) -> dict[str, Any]:
                return {"to": [old["address"]]}

        A version without such a function is taken as it is.
        """
        if version not in range(1, self.version):
            raise ConfigError(
                f"{self.kind}: upgrade: version {version!r} is not accepted; allowed: versions before {self.version}"
            )
        if version in self.upgrades:
            raise ConfigError(f"{self.kind}: upgrade: version {version} has a function already")

        def add(function: U) -> U:
            self.upgrades[version] = function
            return function

        return add

    def schema(self) -> dict[str, Any]:
        """Return what a caller must know: kind, version, description, and the JSON schemas of arguments and result."""
        return {
            "kind": self.kind,
            "version": self.version,
            "description": inspect.getdoc(self.function) or "",
            **self.signature.schemas(),
        }

    def _without(self, names: Collection[str]) -> dict[str, Any]:
        """Return the options except these, with the version of the arguments."""
        options: dict[str, Any] = {name: value for name, value in self._options.items() if name not in names}
        if self.version > 1:
            options["headers"] = {**(options.get("headers") or {}), VERSION: self.version}
        return options

    def _read_signature(self) -> Signature:
        return Signature(self.function, self.kind, strict=self.strict)

    @property
    def signature(self) -> Signature:
        """The rules by which the worker decodes the arguments and encodes the result."""
        if self._signature is None:
            try:
                self._signature = self._read_signature()
            except NameError as error:
                raise ConfigError(
                    f"{self.kind}: an annotation is not accepted: {error}; allowed: types that the module of the "
                    "function knows"
                ) from error
        return self._signature

    def arguments(self, lease: Lease) -> dict[str, Any]:
        """Return the arguments of a lease's call. Raises TaskFailed (`bad_input`) if the payload does not fit."""
        found, ignored = self.signature.load(self._upgraded(lease) if self.upgrades else lease.data)
        if ignored and (context := CURRENT.get(None)) is not None:
            context.ignore(ignored)
        if self.signature.context is not None:
            found[self.signature.context] = TaskContext.current()
        return found

    def _upgraded(self, lease: Lease) -> bytes:
        """The payload with the arguments of the present version. What is no JSON object stays as it is.

        An error of an upgrade fails the run, as an error of the function does.
        """
        payload = lease.data
        try:
            found = {} if payload.strip() in EMPTY else json.loads(payload)
        except (ValueError, RecursionError):
            return payload
        if not isinstance(found, dict):
            return payload
        for version in range(_version_of(lease), self.version):
            if (upgrade := self.upgrades.get(version)) is not None:
                found = upgrade(found)
                if not isinstance(found, dict):
                    raise ConfigError(
                        f"{self.kind}: upgrade({version}) has returned {type(found).__name__}; allowed: a dict of the "
                        f"arguments of version {version + 1}"
                    )
        return json.dumps(found).encode()

    def encode(self, result: Any) -> bytes | None:
        """Encode a result for storage. The worker calls it."""
        return self.signature.dump_result(result)

    async def perform(self, lease: Lease) -> Any:
        """Run the function for a lease, in its executor. A result from a child process is encoded."""
        if not self._rules:
            return await self._perform(lease)
        try:
            return await self._perform(lease)
        except Exception as error:
            kind = next((one for one in type(error).__mro__ if one in self._rules), None)
            TaskContext.current().rule = None if kind is None else self._rules[kind]
            raise

    async def _perform(self, lease: Lease) -> Any:
        plan = self.signature.plan
        if self.is_async and plan is None:
            return await self.function(**self.arguments(lease))
        if not self.is_async:
            TaskContext.current().plain()
        if (those := executors()) is None:
            async with Executors():
                return await self._perform(lease)
        if self.executor == "process":
            here = TaskContext.current()
            work = partial(_perform_by_name, self.function.__module__, self.function.__qualname__)
            inside = here.running.inside if here.running is not None else None
            return await those.run_in_process((work, lease, here.queue_name, here.worker, inside))
        if plan is None:
            return await those.run_in_thread(partial(self.function, **self.arguments(lease)))
        if self.is_async:
            return await plan.run(self.function, self.arguments(lease), those.kept)
        return await those.run_in_thread(plan.run_now, self.function, self.arguments(lease), those.kept)

    @property
    def where(self) -> str:
        """Return the module and the name of the function."""
        return f"{self.function.__module__}.{self.function.__qualname__}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.kind!r}: {self.where}>"

    def _check_executor(self, executor: Executor | None) -> None:
        if executor not in (None, "thread", "process"):
            raise ConfigError(f"executor: {executor!r} is not accepted; allowed: 'thread', 'process'")
        if executor and self.is_async:
            raise ConfigError(f"executor: {self.kind} is an async function, which runs on the event loop; leave it out")
        if executor == "process" and "<" in self.function.__qualname__:
            raise ConfigError(
                f"executor: {self.function.__qualname__} cannot be found by its name in another process; allowed for "
                "'process': functions of a module"
            )


def _perform_by_name(module: str, name: str, lease: Lease) -> bytes | None:
    """Run a function of a module in a child process. Returns its encoded result."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    task = found if isinstance(found, TaskFunction) else TaskFunction(found, {}, {"name": name})
    arguments = task.arguments(lease)
    if (plan := task.signature.plan) is None:
        return task.encode(task.function(**arguments))
    return task.encode(plan.run_now(task.function, arguments, KEPT))


class Tasks:
    """A registry of task functions by kind: a handler for a Worker, and a decorator.

        tasks = Tasks()

        @tasks.task
        async def send(to: str, body: str = "") -> int: ...

        Worker(queue, tasks)

    Every Queue has one, `queue.tasks`. A worker puts a task of an unknown kind, or of a newer version of the arguments,
    aside for other workers. After `Worker(unknown_for=…)`, by default 10 min, the task is dead, with the reason
    `unknown_kind` or `unknown_version`. A task whose payload does not fit the annotations is dead at once, with the
    reason `bad_input`.

    strict: the default for functions that are decorated here.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self._by_kind: dict[str, TaskFunction[..., ..., Any, Any]] = {}

    @property
    def task(self) -> TaskDecorator:
        """Decorate a function: `@tasks.task`, or with options, `@tasks.task(name="mail.send", timeout=60)`."""
        return TaskDecorator(lambda *of: self.add(TaskFunction(*of)), {"strict": self._strict})

    def schemas(self) -> dict[str, dict[str, Any]]:
        """Return `TaskFunction.schema()` of each function, by kind."""
        return {task.kind: task.schema() for task in self}

    def add(self, task: F) -> F:
        """Add a function. Raises ConfigError if the kind is taken."""
        if (known := self._by_kind.get(task.kind)) is not None and known is not task:
            raise ConfigError(
                f"name: {task.kind!r} is not accepted, for {known.where} has it; give one of the two another: "
                "@task(name=…)"
            )
        self._by_kind[task.kind] = task
        return task

    def include(self, other: Tasks) -> None:
        """Add all functions of another registry. Raises ConfigError if a kind is taken."""
        for task in other:
            self.add(task)

    def get(self, kind: str | None) -> TaskFunction[..., ..., Any, Any] | None:
        """Return the function for a kind."""
        return self._by_kind.get(kind or "")

    def __iter__(self) -> Iterator[TaskFunction[..., ..., Any, Any]]:
        return iter(self._by_kind.values())

    def __len__(self) -> int:
        return len(self._by_kind)

    def __contains__(self, kind: object) -> bool:
        return kind in self._by_kind

    async def __call__(self, lease: Lease) -> bytes | None:
        """Run the function for a lease's kind with the arguments in its payload. Returns the encoded result."""
        task = self._task_of(lease)
        return task.encode(await _in_context(task, lease))

    async def perform(self, lease: Lease) -> Any:
        """Run the function for a lease's kind. Returns the unencoded result; see `TaskFunction.perform`."""
        return await _in_context(self._task_of(lease), lease)

    def encode(self, lease: Lease, result: Any) -> bytes | None:
        """Encode a result, by the return annotation of the function for the lease's kind."""
        return self._task_of(lease).encode(result)

    def _task_of(self, lease: Lease) -> TaskFunction[..., ..., Any, Any]:
        kind = lease.kind
        if (task := self._by_kind.get(kind or "")) is None:
            known = ", ".join(sorted(self._by_kind)) or "none"
            message = f"kind: {kind!r} is not known here; known: {known}"
            raise UnknownKind(message, f"the kind {kind!r}", "unknown_kind")
        if (version := _version_of(lease)) > task.version:
            message = f"kind: version {version} of {kind!r} is not known here; known: up to {task.version}"
            raise UnknownKind(message, f"version {version} of the kind {kind!r}", "unknown_version")
        return task

    def __repr__(self) -> str:
        return f"<Tasks: {', '.join(self._by_kind) or 'none'}>"


def _version_of(lease: Lease) -> int:
    if VERSION.encode() not in lease.record.get("headers", b""):
        return 1
    headers = lease.headers
    version = headers.get(VERSION) if isinstance(headers, dict) else None
    return version if isinstance(version, int) else 1


def _in_context(task: TaskFunction[..., ..., Any, Any], lease: Lease) -> Awaitable[Any]:
    """Run it in the context that a worker made, or in a new one."""
    context = CURRENT.get(None)
    return task.perform(lease) if context is not None and context.lease is lease else _in_own_context(task, lease)


async def _in_own_context(task: TaskFunction[..., ..., Any, Any], lease: Lease) -> Any:
    with running(TaskContext(lease)):
        return await task.perform(lease)


class Decorator:
    """The base of task decorators: `task` and `task(timeout=60)` both decorate.

    make: makes a task of a function, the options of its calls, and its own.
    """

    def __init__(self, make: Callable[..., Any], options: DecoratorOptions | None = None) -> None:
        self._make = make
        self._options = options or {}

    def _apply(self, function: Callable[..., Any] | None, options: DecoratorOptions) -> Any:
        if function is None:
            return type(self)(self._make, {**self._options, **options})
        given: dict[str, Any] = {**self._options}
        own = {name: given.pop(name) for name in FunctionOptions.__annotations__ if name in given}
        return self._make(function, given, own)


class TaskDecorator(Decorator):
    """`@tasks.task`, with or without options."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[TaskContext, P], Coroutine[Any, Any, T]], /
    ) -> TaskFunction[Concatenate[TaskContext, P], P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, T]], /
    ) -> TaskFunction[P, P, Coroutine[Any, Any, T], T]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[TaskContext, P], T], /
    ) -> TaskFunction[Concatenate[TaskContext, P], P, T, T]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[SyncTaskContext, P], T], /
    ) -> TaskFunction[Concatenate[SyncTaskContext, P], P, T, T]: ...
    @overload
    def __call__(self, function: Callable[P, T], /) -> TaskFunction[P, P, T, T]: ...
    @overload
    def __call__(self, /, **options: Unpack[DecoratorOptions]) -> TaskDecorator: ...
    def __call__(self, function: Any = None, /, **options: Unpack[DecoratorOptions]) -> Any:
        return self._apply(function, options)


def _checked_rules(kind: str, rules: Mapping[type[BaseException], Rule]) -> Mapping[type[BaseException], Rule]:
    for error, rule in rules.items():
        if not (isinstance(error, type) and issubclass(error, Exception) and isinstance(rule, Rule)):
            raise ConfigError(
                f"{kind}: failures: {error!r}: {rule!r} is not accepted; allowed: exceptions, each with a Rule"
            )
    return dict(rules)


def _checked(kind: str, options: TaskOptions) -> TaskOptions:
    for name in options:
        if name not in Task.model_fields and name not in OF_THE_CALL:
            allowed = sorted(TaskOptions.__annotations__)
            raise ConfigError(f"{kind}: the option {name!r} is not accepted; allowed: {', '.join(allowed)}")
    return options
