"""The paths of the operations: those of methods are made from their rows, the others are functions with `@by_hand`.

The arguments, the answer and the docstring of a method become those of the path. Arguments that are not in the path are
the fields of a JSON object; those of a GET are in the query.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

from fastapi import APIRouter, Body, Header, Path, Query
from pydantic import BaseModel, create_model
from starlette.responses import Response
from starlette.routing import BaseRoute

from pyadeq.asyncio import ChangeRef, Result
from pyadeq.ext.operations import ALL
from pyadeq.ext.operations.row import Operation
from pyadeq.ext.server.acting import act
from pyadeq.ext.server.api.strict import Free, Strict
from pyadeq.ext.server.etags import answered, expected_digest
from pyadeq.ext.server.gate import Access, access, described, field_of, missing
from pyadeq.ext.server.paths import SEGMENT
from pyadeq.ext.server.problems import Problem, Refused

MOST: Final = 1000
"""Entries of an answer that has no pages, at most."""
PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    "4XX": {"model": Problem, "description": "The request is refused."},
    "5XX": {"model": Problem, "description": "The service or its server has failed."},
}
COLUMNS: Final = "x-who-may"
"""The field in which the description of an operation says who may do it."""

F = TypeVar("F", bound=Callable[..., Any])
Show = Callable[[Access, Any], Awaitable[Any]]
"""Takes from an answer what must not be shown."""
Check = Callable[[Access, Mapping[str, Any]], None]
"""Refuses arguments that reach beyond what the caller may do elsewhere."""
Own = Callable[[Access, str], Awaitable[Any]]


def add(
    router: APIRouter,
    operations: Iterable[Operation],
    show: Mapping[str, Show] = MappingProxyType({}),
    check: Mapping[str, Check] = MappingProxyType({}),
    own: Own | None = None,
) -> None:
    """Add the operations that are methods to a router. show, check: by the id of the operation.

    own: refuses a record that is not the caller's, for operations that are `about` one.
    """
    for operation in operations:
        if operation.method:
            _add(router, operation, show.get(operation.id), check.get(operation.id), own)


def by_hand(router: APIRouter, id: str, **options: Any) -> Callable[[F], F]:
    """Add the function of an operation that is no method. Its argument `access: Access` is for those with the rights of
    the row.
    """
    operation = ALL[id]

    def added(handler: F) -> F:
        if handler.__annotations__.get("access") == Access.__name__:
            handler.__annotations__["access"] = entry(id)
        given = {"responses": PROBLEMS, "tags": [id.partition("_")[0]], "operation_id": id, **options}
        given["openapi_extra"] = {COLUMNS: operation.columns()}
        router.add_api_route(path_of(operation.path), handler, methods=[operation.verb], **given)
        handler.operation = operation  # type: ignore[attr-defined]
        return handler

    return added


def entry(id: str) -> Any:
    """The annotation of an argument: access for somebody who has the rights of an operation."""
    operation = ALL[id]
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


def _add(
    router: APIRouter, operation: Operation, show: Show | None, check: Check | None, own_record: Own | None
) -> None:
    noun, arguments = operation.noun, operation.arguments
    assert operation.method
    in_path = {part.split("}")[0] for part in operation.path.split("{")[1:]}
    own = in_path - {field_of(noun)}
    rest = {name: found for name, found in arguments.items() if name not in own}
    read = operation.verb == "GET"
    free = any(one.annotation is Any for one in operation.signature.parameters.values() if one.kind == one.VAR_KEYWORD)
    expects = "expect" in operation.signature.parameters
    body = None if read or not (rest or free) else _body(operation.id, rest, free)
    parameters = [inspect.Parameter("access", KEYWORD, annotation=entry(operation.id))]
    parameters += [
        inspect.Parameter(name, KEYWORD, annotation=Annotated[arguments[name][0], _in_path(name, operation.about)])
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
        if check:
            check(access, given)
        if operation.about and access.scope.user is not None:
            assert own_record
            await own_record(access, given["id"])
        asked = {**given}
        if operation.seen:
            given["seen"] = ChangeRef(given.pop("id"), given.pop("rev"), given.pop("digest"))
        found = getattr(attrgetter(operation.area)(access.found) if operation.area else access.found, word)(**given)
        value = await found if inspect.isawaitable(found) else [one async for one in _first(found)]
        shown = answer(await show(access, value) if show and value is not None else value, asked)
        return answered(shown, response, if_none_match, _condition(value)) if operation.etag else shown

    handle.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    handle.operation = operation  # type: ignore[attr-defined]
    nothing = operation.signature.return_annotation in (None, NoneType)
    router.add_api_route(
        path_of(operation.path),
        handle,
        methods=[operation.verb],
        name=operation.id,
        operation_id=operation.id,
        summary=(operation.method.__doc__ or "").strip().split("\n")[0].split(". ")[0].rstrip("."),
        description=inspect.cleandoc(operation.method.__doc__ or ""),
        tags=[operation.about or noun],
        status_code=204 if nothing else 200,
        response_model=None if nothing else _model(operation.id, operation.signature.return_annotation),
        response_class=Response if nothing else router.default_response_class,
        responses={**PROBLEMS, **(UNCHANGED if operation.etag else {})},
        openapi_extra={COLUMNS: operation.columns()},
    )


def _condition(value: Any) -> str:
    """How the ETag of a value begins: with what `If-Match` of a write compares."""
    rev = getattr(value, "rev", None)
    return getattr(value, "digest", "") if rev is None else f"r{rev}"


def _in_path(name: str, about: str) -> Any:
    if name != "id":
        return Path()
    return Path(description=f"The id of the {about}." if about else None, json_schema_extra=described("id"))


UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "It is as in the ETag of `If-None-Match`."}}
_SIMPLE: Final[dict[Any, str]] = {bool: "done", int: "count", float: "value", str: "status"}
"""What a simple answer of a method is called in JSON, by its type."""
KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY
IfNoneMatch = Annotated[str | None, Header(max_length=2000, description="An ETag: 304 if the answer is still that.")]
IfMatch = Annotated[
    str | None, Header(description="The ETag of what you have read. If it has changed since: 412, and nothing is done.")
]


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
    if kind in _SIMPLE:
        one: dict[str, Any] = {_SIMPLE[kind]: (kind, ...)}
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
    """Return a value in plain types: a NamedTuple becomes an object, and an error its text."""
    if hasattr(value, "_asdict"):
        return {name: _plain(of) for name, of in value._asdict().items()}
    if isinstance(value, Exception):
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _answer_of(operation: Operation) -> Callable[[Any, Mapping[str, Any]], Any]:
    """How the answer of a method becomes that of a request. It also gets the arguments."""
    nothing = operation.signature.return_annotation in (None, NoneType)

    def answer(value: Any, given: Mapping[str, Any]) -> Any:
        if nothing:
            return Response(status_code=204)
        if value is None:
            raise Refused(404, "NOT_FOUND", f"{operation.path}: there is no such thing")
        if word := next((word for kind, word in _SIMPLE.items() if isinstance(value, kind)), None):
            if word == "status":
                _refuse(operation, value, {}, given)
            return {word: value}
        if isinstance(value, Result):
            _refuse(operation, value.status, value.fields, given)
            return {"status": value.status, **value.fields}
        if isinstance(value, list | tuple) and not _is_row(type(value)):
            return {"items": _plain(value)}
        if isinstance(status := getattr(value, "status", None), str):
            _refuse(operation, status, vars(value) if "{" in operation.says.get(status, "") else {}, given)
        return _plain(value)

    return answer


def _refuse(operation: Operation, status: str, fields: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Make a problem of a status that the operation refuses."""
    if status not in operation.refused:
        return
    if status == "not_found" and operation.about:
        raise missing(operation.about, given["id"])
    code, told = operation.refused[status], operation.says.get(status, "")
    if "{" in told:
        raise Refused(code, status.upper(), told.format_map({**given, **fields}))
    text = told or f"{operation.path}: {status.replace('_', ' ')}"
    why = " ".join(f"{name}={value}" for name, value in fields.items() if value not in (None, ""))
    raise Refused(code, status.upper(), f"{text} ({why})" if why else text)
