"""The operations: each is a row that says where it is, what it does and who may do it.

`Operation("PUT /queues/{queue}/limits/{key}", Limits.set, …)` is all that a method of the client needs: its arguments,
answer and docstring become those of the path. Arguments that are not in the path are the fields of a JSON object; those
of a GET are in the query. What needs more is a function with `@by_hand(router, Operation(…))`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from operator import attrgetter
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from fastapi import APIRouter, Body, Header, Path, Query
from pydantic import BaseModel, create_model
from starlette.responses import Response
from starlette.routing import BaseRoute

from pyadeq.asyncio import ChangeRef, Result
from pyadeq.ext.server.acting import act
from pyadeq.ext.server.api.strict import Free, Strict
from pyadeq.ext.server.etags import answered, expected_digest
from pyadeq.ext.server.gate import WRITERS, Access, access, described, field_of
from pyadeq.ext.server.paths import SEGMENT
from pyadeq.ext.server.problems import Problem, Refused

MOST: Final = 1000
"""Entries of an answer that has no pages."""
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"model": Problem, "description": "The request is refused."},
    "5XX": {"model": Problem, "description": "The service or its server has failed."},
}
_LEFT_OUT: Final = {"self", "progress", "retry_for", "rid", "expect", "caller"}
"""Arguments that are functions, or that a caller of another process has no use for. `expect` is `If-Match`, and
`caller` is who has authenticated.
"""
FOLDERS: Final = {
    "queue": "queues",
    "lock": "locks",
    "change": "changes",
    "session": "sessions",
    "rate": "rates",
    "config": "configs",
}
"""Where the objects of a noun are, below /v1."""
_NOUNS: Final = {folder: noun for noun, folder in FOLDERS.items()} | {
    "flags": "config",
    "events": "events",
    "tokens": "",
    "webhooks": "",
}

COLUMNS: Final = "x-who-may"
"""Where the description of an operation says who may do it."""

F = TypeVar("F", bound=Callable[..., Any])
ByUser = Literal["refused", "own", "all"]
"""What a token for one user may do with an operation: nothing; with the records of this user, and others do not exist;
or the same as others, because the records belong to no user. In changes, it acts as its user.
"""


@dataclass(frozen=True)
class Operation:
    """An operation at a path, and who may do it.

    at: the HTTP method and the path below /v1, as in `GET /queues/{queue}/stats`.
    method: of the class of the noun's object, or of one of its areas; None: a function by hand.
    needs: one of these rights, separated by spaces. A word without a point is a role in the noun.
    also: a further right that one needs, such as `events.follow`.
    by_user: what a token for one user may do with it, see `ByUser`.
    person: the argument that names the person whose record it is. Others need `actor.any`.
    feeds: whether it puts tasks into a queue, so that it is refused in the queues of the service itself. So is all that
    needs only the roles of producers and workers.
    area: the attribute of the object that has the method: `limits`.
    refused: words that the method answers, and the status of the problem that they are here.
    says: what to tell people about such words.
    create: whether the noun's object need not exist before.
    name: of the operation, if it is not area and method. by hand: with the word before it, as in `task_enqueue`.
    without: arguments that it does not have.
    show: takes from an answer what must not be shown.
    seen: the method's first argument is a revision of a change: the id is in the path, rev and digest in the body.
    required: options that the method cannot do without.
    one_of: options of which it needs exactly one.
    etag: the answer has an ETag of its content, and `If-None-Match` gets 304.
    check: refuses arguments that reach beyond what the caller may do elsewhere.
    """

    at: str
    method: Callable[..., Any] | None = None
    needs: str = ""
    area: str = ""
    refused: Mapping[str, int] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    create: bool = False
    name: str = ""
    without: tuple[str, ...] = ()
    show: Callable[[Access, Any], Awaitable[Any]] | None = None
    seen: bool = False
    by_user: ByUser = "refused"
    person: str = ""
    feeds: bool = False
    also: str = ""
    required: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    etag: bool = False
    check: Callable[[Access, Mapping[str, Any]], None] | None = None

    @cached_property
    def verb(self) -> str:
        """GET, POST, PUT, PATCH or DELETE."""
        return self.at.split()[0]

    @cached_property
    def path(self) -> str:
        """Below /v1."""
        return self.at.split()[1]

    @cached_property
    def noun(self) -> str:
        """What it is about, by its path. `events` are those of the noun in the path."""
        return _NOUNS.get(self.path.split("/")[1].partition(":")[0], "queue")

    @cached_property
    def rights(self) -> tuple[str, ...]:
        """The rights of which one is needed. Those of events are of the noun in the path."""
        noun = "{noun}" if self.noun == "events" else self.noun
        return tuple(word if "." in word else f"{noun}.{word}" for word in self.needs.split())

    def columns(self) -> dict[str, Any]:
        """Who may do it, for the description of the service."""
        return {
            "rights": [*self.rights],
            "also": self.also,
            "by_user": self.by_user,
            "acts": self.acts,
            "person": self.person,
            "feeds": self.feeds or WRITERS.issuperset(self.rights),
        }

    @cached_property
    def acts(self) -> bool:
        """Whether it stores an actor, who is the principal; another one needs `actor.any`. A lock has none."""
        return self.method is not None and self.noun == "change" and bool(_ACTORS.intersection(_arguments(self)))

    @cached_property
    def signature(self) -> inspect.Signature:
        """Of the method."""
        assert self.method
        return inspect.signature(self.method, eval_str=True)


_ACTORS: Final = frozenset({"actor", "agent"})


def add(router: APIRouter, operations: Iterable[Operation]) -> None:
    """Add the operations that are methods to a router."""
    for operation in operations:
        _add(router, operation)


def by_hand(router: APIRouter, operation: Operation, **options: Any) -> Callable[[F], F]:
    """Add a function to a router. Its argument `access: Access` is for those with the rights of the row."""

    def added(handler: F) -> F:
        if handler.__annotations__.get("access") == Access.__name__:
            handler.__annotations__["access"] = entry(operation)
        word, _, name = operation.name.partition("_")
        given = {"responses": PROBLEMS, "tags": [word], "operation_id": operation_id(word, name), **options}
        given["openapi_extra"] = {COLUMNS: operation.columns()}
        router.add_api_route(path_of(operation.path), handler, methods=[operation.verb], **given)
        handler.operation = operation  # type: ignore[attr-defined]
        return handler

    return added


def entry(operation: Operation) -> Any:
    """The annotation of an argument: access for somebody who has the rights of an operation."""
    found = access(
        operation.noun,
        *operation.rights,
        create=operation.create,
        by_user=operation.by_user != "refused",
        feeds=operation.feeds,
    )
    return Annotated[Access, found]


def rows(routes: Iterable[BaseRoute]) -> list[Operation]:
    """The operations of some routes. TypeError for a route without one: nothing says who may use it."""
    found = []
    for route in routes:
        operation = getattr(getattr(route, "endpoint", None), "operation", None)
        if operation is None:
            raise TypeError(f"{getattr(route, 'path', route)}: it has no Operation, which says who may use it")
        found.append(operation)
    return found


def path_of(path: str) -> str:
    """A path whose names and ids may be anything: each `{name}` is one segment, see `paths`."""
    return path.replace("}", f":{SEGMENT}}}")


def operation_id(noun: str, method: str) -> str:
    """`queue_limits_set`: what generated clients call the operation."""
    return f"{noun}_{method}"


def _add(router: APIRouter, operation: Operation) -> None:
    noun, arguments = operation.noun, _arguments(operation)
    assert operation.method
    in_path = {part.split("}")[0] for part in operation.path.split("{")[1:]}
    own = in_path - {field_of(noun)}
    rest = {name: found for name, found in arguments.items() if name not in own}
    read = operation.verb == "GET"
    name = operation.name or "_".join([*operation.area.split("."), operation.method.__name__]).strip("_")
    free = any(one.annotation is Any for one in operation.signature.parameters.values() if one.kind == one.VAR_KEYWORD)
    expects = "expect" in operation.signature.parameters
    body = None if read or not (rest or free) else _body(f"{noun}_{name}", rest, free)
    parameters = [inspect.Parameter("access", KEYWORD, annotation=entry(operation))]
    parameters += [
        inspect.Parameter(name, KEYWORD, annotation=Annotated[arguments[name][0], _in_path(name)])
        for name in sorted(own)
    ]
    if body:
        optional = all(default is not ... for _, default in rest.values())
        annotation: Any = Annotated[body | None if optional else body, Body()]
        default = None if optional else inspect.Parameter.empty
        parameters.append(inspect.Parameter("body", KEYWORD, annotation=annotation, default=default))
    elif read:
        parameters += [
            inspect.Parameter(
                name,
                KEYWORD,
                annotation=Annotated[_for_query(kind), Query()],
                default=inspect.Parameter.empty if default is ... else default,
            )
            for name, (kind, default) in rest.items()
        ]
    if operation.etag:
        parameters += [
            inspect.Parameter("response", KEYWORD, annotation=Response),
            inspect.Parameter("if_none_match", KEYWORD, annotation=IfNoneMatch, default=None),
        ]
    elif expects:
        parameters.append(inspect.Parameter("if_match", KEYWORD, annotation=IfMatch, default=None))
    word = operation.method.__name__
    answer = _answer_of(operation)

    async def handle(
        access: Access,
        body: Any = None,
        response: Any = None,
        if_none_match: str | None = None,
        if_match: str | None = None,
        **given: Any,
    ) -> Any:
        if expects:
            given["expect"] = expected_digest(if_match)
        if body is not None:
            given |= {name: getattr(body, name) for name in body.model_fields_set}  # those of `free`, too
        if operation.one_of and sum(given.get(name) is not None for name in operation.one_of) != 1:
            raise Refused(400, "BAD_REQUEST", f"exactly one of these is needed: {', '.join(operation.one_of)}")
        if operation.acts or operation.person:
            act(access, given, arguments, operation.person, reads=operation.verb == "GET")
        if operation.check:
            operation.check(access, given)
        if operation.seen:
            given["seen"] = ChangeRef(given.pop("id"), given.pop("rev"), given.pop("digest"))
        found = getattr(attrgetter(operation.area)(access.found) if operation.area else access.found, word)(**given)
        value = await found if inspect.isawaitable(found) else [one async for one in _first(found)]
        shown = answer(await operation.show(access, value) if operation.show and value is not None else value)
        return answered(shown, response, if_none_match, _condition(value)) if operation.etag else shown

    handle.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    handle.operation = operation  # type: ignore[attr-defined]
    nothing = operation.signature.return_annotation in (None, NoneType)
    router.add_api_route(
        path_of(operation.path),
        handle,
        methods=[operation.verb],
        name=f"{noun}_{name}",
        operation_id=operation_id(noun, name),
        summary=(operation.method.__doc__ or "").strip().split("\n")[0].split(". ")[0].rstrip("."),
        description=inspect.cleandoc(operation.method.__doc__ or ""),
        tags=[noun],
        status_code=204 if nothing else 200,
        response_model=None if nothing else _model(f"{noun}_{name}", operation.signature.return_annotation),
        response_class=Response if nothing else router.default_response_class,
        responses={**PROBLEMS, **(UNCHANGED if operation.etag else {})},
        openapi_extra={COLUMNS: operation.columns()},
    )


def _condition(value: Any) -> str:
    """How the ETag of a value begins: with what `If-Match` of a write compares."""
    rev = getattr(value, "rev", None)
    return getattr(value, "digest", "") if rev is None else f"r{rev}"


def _in_path(name: str) -> Any:
    return Path(json_schema_extra=described("id") if name == "id" else None)


UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "It is as in the ETag of `If-None-Match`."}}
KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
IfNoneMatch = Annotated[str | None, Header(max_length=2000, description="An ETag: 304 if the answer is still that.")]
IfMatch = Annotated[
    str | None, Header(description="The ETag of what you have read. If it has changed since: 412, and nothing is done.")
]


def _arguments(operation: Operation) -> dict[str, tuple[Any, Any]]:
    """The arguments of a method: type and default, `...` if there is none. Those of a TypedDict are one by one.

    Who acts need not be given: it is who asks.
    """
    found: dict[str, tuple[Any, Any]] = {}
    needed = set(operation.required)
    if operation.seen:
        found |= {"id": (str, ...), "rev": (int, ...), "digest": (str, ...)}
    for name, parameter in operation.signature.parameters.items():
        if name in _LEFT_OUT or (operation.seen and name == "seen"):
            continue
        kind, default = parameter.annotation, parameter.default
        if parameter.kind == inspect.Parameter.VAR_KEYWORD:
            for options in get_args(kind):
                for key, value in typing.get_type_hints(options).items():
                    if key in _LEFT_OUT:
                        continue
                    found[key] = (value, ... if key in needed | options.__required_keys__ else None)
        else:
            found[name] = (kind, ... if default is inspect.Parameter.empty else default)
    for name in _ACTORS.intersection(found):
        found[name] = (str | None, None)
    return {name: of for name, of in found.items() if name not in operation.without}


def _body(name: str, fields: Mapping[str, tuple[Any, Any]], free: bool) -> type[BaseModel]:
    """free: it may have any fields; the client refuses those that do not exist."""
    make: Any = create_model
    made: type[BaseModel] = make(f"{_title(name)}Body", __base__=Free if free else Strict, **fields)
    return made


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _for_query(kind: Any) -> Any:
    """A type that a query can have: sequences are lists."""
    return list[get_args(kind)[0]] if get_origin(kind) is Sequence else kind  # type: ignore[misc]


async def _first(found: AsyncIterator[Any]) -> AsyncIterator[Any]:
    count = 0
    async for one in found:
        yield one
        count += 1
        if count == MOST:
            return


def _model(name: str, kind: Any) -> Any:
    """The model of an answer."""
    origin, of = get_origin(kind), get_args(kind)
    if origin is Literal:
        return create_model(_title(name), status=(kind, ...))
    if NoneType in of:  # the answer without it: None is 404
        rest = [one for one in of if one is not NoneType]
        return _model(name, rest[0]) if len(rest) == 1 else Any
    if origin in (list, tuple, AsyncIterator, typing.AsyncIterator) or kind is list:
        items: Any = list[_row(of[0])]  # type: ignore[misc]
        return create_model(_title(name), items=(items, ...))
    if _is_row(kind):
        return _row(kind)
    simple = {bool: "done", int: "count", float: "value", str: "status"}
    if kind in simple:
        one: dict[str, Any] = {simple[kind]: (kind, ...)}
        return create_model(_title(name), **one)
    return dict[str, Any] if kind is Result else kind


def _is_row(kind: Any) -> bool:
    """Whether it is a NamedTuple. In JSON it is an object, not an array."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


@cache
def _row(kind: Any) -> Any:
    """A model with the fields of a NamedTuple, and of those in it; all else unchanged."""
    if isinstance(kind, type) and issubclass(kind, Exception):
        return str
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(_row(one) for one in get_args(kind))]  # noqa: UP007
    if get_origin(kind) in (list, tuple, dict):
        return get_origin(kind)[tuple(_row(one) for one in get_args(kind))]
    if not _is_row(kind):
        return kind
    fields: Any = {name: (_row(of), ...) for name, of in typing.get_type_hints(kind).items()}
    return create_model(kind.__name__, __doc__=kind.__doc__, **fields)


def _plain(value: Any) -> Any:
    """The same of a value."""
    if hasattr(value, "_asdict"):
        return {name: _plain(of) for name, of in value._asdict().items()}
    if isinstance(value, Exception):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _answer_of(operation: Operation) -> Callable[[Any], Any]:
    """How the answer of a method becomes that of a request."""
    kind = operation.signature.return_annotation
    refused, says, path = operation.refused, operation.says, operation.path

    def check(status: str, fields: Mapping[str, Any] = MappingProxyType({})) -> None:
        if status in refused:
            why = " ".join(f"{name}={value}" for name, value in fields.items() if value not in (None, ""))
            text = says.get(status) or f"{path}: {status.replace('_', ' ')}"
            detail = f"{text} ({why})" if why else text
            raise Refused(refused[status], status.upper(), detail)

    def answer(value: Any) -> Any:
        if kind in (None, NoneType):
            return Response(status_code=204)
        if value is None:
            raise Refused(404, "NOT_FOUND", f"{path}: there is no such thing")
        if isinstance(value, str):
            check(value)
            return {"status": value}
        if isinstance(value, bool):
            return {"done": value}
        if isinstance(value, int):
            return {"count": value}
        if isinstance(value, float):
            return {"value": value}
        if isinstance(value, Result):
            check(value.status, value.fields)
            return {"status": value.status, **value.fields}
        if isinstance(value, list | tuple) and not _is_row(type(value)):
            return {"items": _plain(value)}
        if isinstance(status := getattr(value, "status", None), str):
            check(status)
        return _plain(value)

    return answer
