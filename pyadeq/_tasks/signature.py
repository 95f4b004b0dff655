"""The arguments and the result of a task function as JSON: an object of the arguments by name, and the result."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, ValidationError, core_schema
from typing_extensions import TypedDict

from pyadeq._core.queue.failures import TaskFailed
from pyadeq._tasks.context import SyncTaskContext, TaskContext
from pyadeq._tasks.dependencies import Dependency, Plan, dependency_of
from pyadeq._tasks.encoding import Result, dumped
from pyadeq.errors import BadArgument, ConfigError

MOST_PROBLEMS = 5
# Texts of these errors may contain the value. So may those of errors that are not pydantic's own.
TELLING = {"value_error", "assertion_error", "union_tag_invalid", "get_attribute_error", "iteration_error"}
KNOWN = frozenset(typing.get_args(core_schema.ErrorType)) - TELLING
EMPTY = (b"", b"null")
"""Payloads without arguments: `null` is the payload of a task that was enqueued without one."""
NO_FLOAT = frozenset({"none", "bool", "int", "str", "bytes", "date", "time", "datetime", "uuid", "decimal", "url"})
"""pydantic's types whose values are checked, and are no floats."""
OF_PARTS = {
    "nullable": ("schema",),
    "list": ("items_schema",),
    "set": ("items_schema",),
    "frozenset": ("items_schema",),
    "tuple": ("items_schema",),
    "dict": ("keys_schema", "values_schema"),
}
"""The types of pydantic that have floats only if their parts have, and the fields that describe these parts."""
NO_TYPES = ("metadata", "default", "expected", "config")
"""Parts of pydantic's schema of a type that contain no other types."""
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Signature:
    """The arguments and the result of a function, from its annotations. Raises NameError if one is not yet defined.

    strict: refuse payloads with arguments that the function does not have.
    context: the name of the parameter that gets the TaskContext, if there is one.
    plan: of its dependencies, if it has any.
    """

    def __init__(self, function: Callable[..., Any], kind: str, *, strict: bool = False) -> None:
        hints = typing.get_type_hints(function, include_extras=True)
        self.kind = kind
        self._strict = strict
        self.context: str | None = None
        wanted: dict[str, Dependency] = {}
        parameters = []
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            name = parameter.name
            hint = hints.get(name, Any)
            if found := {TaskContext, SyncTaskContext}.intersection(
                filter(inspect.isclass, (hint, *typing.get_args(hint)))
            ):
                if SyncTaskContext in found and inspect.iscoroutinefunction(function):
                    raise ConfigError(f"{kind}: SyncTaskContext is not accepted in a coroutine; allowed: TaskContext")
                self.context = name
                continue
            if (dependency := dependency_of(parameter, hint, kind)) is not None:
                wanted[name] = dependency
                continue
            if parameter.kind not in BY_NAME or name in ("self", "cls"):
                shown = str(parameter).partition(":")[0]
                raise ConfigError(
                    f"{kind}: the parameter {shown!r} is not accepted; allowed: parameters that can be given by name, "
                    "for the payload is an object of the arguments by name"
                )
            parameters.append(parameter)
            fields[name] = hint if parameter.default is parameter.empty else NotRequired[hint]
        self.plan = Plan(wanted, kind, inspect.iscoroutinefunction(function)) if wanted else None
        self._signature = inspect.Signature(parameters)
        self._by_place = [one.name for one in parameters if one.kind == one.POSITIONAL_OR_KEYWORD]
        self._required = {one.name for one in parameters if one.default is one.empty}
        self.names = tuple(fields)
        self._hints = fields
        try:
            self._arguments: TypeAdapter[Any] = _adapter(fields, "forbid")
            if _masks(self._arguments.core_schema):
                name = next(
                    name for name, hint in fields.items() if _masks(_adapter({name: hint}, "forbid").core_schema)
                )
                raise ConfigError(
                    f"{kind}: the parameter {name!r} is not accepted, for its secret would be stored as asterisks; "
                    "allowed: the name of a secret, which the function looks up, or a type with a serializer of its own"
                )
            self._floats = any(_may_be_float(one["schema"]) for one in _fields_of(self._arguments))
            self._result = Result(hints.get("return", Any), kind)
        except PydanticUserError as error:
            raise ConfigError(f"{kind}: an annotation is not accepted; allowed: types of pydantic: {error}") from error

    def dump(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        """Return the payload of a call. Raises BadArgument if arguments do not fit."""
        given = self._bound(args, kwargs)
        try:
            return dumped(self._arguments, self._arguments.validate_python(given), self.kind, floats=self._floats)
        except ValidationError as error:
            raise BadArgument("ADEQ_ARG", "pyadeq", self._explained(error)) from None
        except PydanticSerializationError as error:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{self.kind}: an argument cannot be JSON: {error}") from None

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name. `bind` takes long, so it is only asked for what is wrong."""
        given = dict(zip(self._by_place, args, strict=False)) | kwargs
        if len(given) == len(args) + len(kwargs) and self._required <= given.keys() <= self._hints.keys():
            return given
        try:
            return self._signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{self.kind}: {error}; allowed: {self._allowed()}") from None

    def load(self, payload: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the arguments in a payload, by name, and the names in it that the function does not have. No payload,
        or `null`, means no arguments.

        Raises TaskFailed (`bad_input`) if they do not fit.
        """
        ignored: tuple[str, ...] = ()
        if payload.strip() in EMPTY:
            payload = b"{}"
        try:
            try:
                return self._arguments.validate_json(payload), ()
            except ValidationError as error:
                ignored = () if self._strict else tuple(_unknown(error))
                if not ignored:
                    raise
            return self._loose.validate_json(payload), ignored
        except ValidationError as error:
            raise TaskFailed(self._explained(error), reason="bad_input") from None

    @cached_property
    def _loose(self) -> TypeAdapter[Any]:
        """The adapter for payloads with arguments that the function does not have. Few payloads need it."""
        return _adapter(self._hints, "ignore")

    def dump_result(self, value: Any) -> bytes | None:
        """Encode a result; see `Result.dump`."""
        return self._result.dump(value)

    def load_result(self, data: bytes) -> Any:
        """Return what the function returned, from the stored bytes. Raises AdeqError if they do not fit."""
        return self._result.load(data)

    def schemas(self) -> dict[str, Any]:
        """The JSON schemas of the arguments, an object, and of the result."""
        return {
            "arguments": self._arguments.json_schema(),
            "result": self._result.adapter.json_schema(mode="serialization"),
        }

    def _allowed(self) -> str:
        return ", ".join(self.names) or "no arguments"

    def _explained(self, error: ValidationError) -> str:
        problems = list(self._problems(error))
        more = f"; and {error.error_count() - len(problems)} more" if error.error_count() > len(problems) else ""
        return f"{self.kind}: {'; '.join(problems)}{more}"

    def _problems(self, error: ValidationError) -> Iterator[str]:
        """Yield where the value does not fit, what is allowed there, and the type found, but never the value."""
        for problem in error.errors(include_url=False)[:MOST_PROBLEMS]:
            place = ".".join(self._place(part) for part in problem["loc"]) or "the payload"
            kind = problem["type"]
            if kind == "missing":
                yield f"{place}: it is missing"
            elif kind == "extra_forbidden" and len(problem["loc"]) == 1:
                name = str(problem["loc"][0])
                yield f"{name if name.isidentifier() else '…'}: there is no such argument; allowed: {self._allowed()}"
            elif kind == "json_invalid":
                yield f"{place}: {problem['msg']}; allowed: a JSON object of the arguments"
            else:
                said = problem["msg"] if kind in KNOWN else f"it is refused by the annotation ({kind})"
                yield f"{place}: {said}, got {type(problem['input']).__name__}"

    def _place(self, part: int | str) -> str:
        """Return a part of a path. Fields and indexes are named; keys of a mapping are user data, and are not shown."""
        return str(part) if isinstance(part, int) or part in self._fields else "…"

    @cached_property
    def _fields(self) -> set[str]:
        with suppress(PydanticUserError):
            return set(_names_in(self._arguments.json_schema()))
        return set(self.names)


def _adapter(fields: dict[str, Any], extra: Literal["forbid", "ignore"]) -> TypeAdapter[Any]:
    arguments = TypedDict("arguments", fields)  # type: ignore[misc]
    arguments.__pydantic_config__ = ConfigDict(extra=extra, allow_inf_nan=False)  # type: ignore[attr-defined]
    return TypeAdapter(arguments)


def _fields_of(adapter: TypeAdapter[Any]) -> list[Any]:
    """Fields of pydantic's schema of arguments; one of an unknown type, if they refer to definitions."""
    schema: Any = adapter.core_schema
    return list(schema["fields"].values()) if schema["type"] == "typed-dict" else [{"schema": {"type": "any"}}]


def _may_be_float(schema: Any) -> bool:
    """Whether a validated value of a type may be a float, or have one. What is not known may be."""
    if "serialization" in schema:
        return True
    kind = schema["type"]
    if kind == "union":
        return any(_may_be_float(one[0] if isinstance(one, tuple) else one) for one in schema["choices"])
    parts = [schema.get(name, {"type": "any"}) for name in OF_PARTS.get(kind, ())]
    some = [one for part in parts for one in (part if isinstance(part, list) else [part])]
    return any(map(_may_be_float, some)) if parts else kind not in NO_FLOAT


def _masks(schema: object) -> bool:
    """Return whether pydantic writes a part of the type as asterisks: a SecretStr, SecretBytes or Secret without a
    serializer of its own.
    """
    if isinstance(schema, dict):
        is_type = isinstance(schema.get("type"), str)  # and no table of fields, which may have any names
        serializer = schema.get("serialization") if is_type else None
        if serializer and serializer["type"] == "function-plain":
            function = serializer["function"]
            own = getattr(function, "__module__", "") == "pydantic.types" and function.__name__ != "get_secret_value"
            return own and "secret" in function.__qualname__.lower()
        schema = [part for name, part in schema.items() if not (is_type and name in NO_TYPES)]
    return isinstance(schema, list | tuple) and any(map(_masks, schema))


def _unknown(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False, include_context=False, include_input=False):
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            yield str(problem["loc"][0])


def _names_in(schema: object) -> Iterator[str]:
    """Yield the names of all fields in a JSON schema."""
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _names_in(part)
