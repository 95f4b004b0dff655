"""Public errors and models go to other processes and come back equal."""

import copy
import dataclasses
import inspect
import pickle
import threading
import types
import typing
from collections.abc import Mapping
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

import pyadeq
import pyadeq.asyncio
from pyadeq import Failures, UnknownTask, _names
from pyadeq._core.queue.failures import UnknownKind

NO_VALUES = {
    *("Call", "Deferred", "EmbeddedServer", "Flag", "HealthServer", "LockCalls", "NounCalls", "Program", "QueueCalls"),
    *("Script", "SyncTaskContext", "TaskContext", "TaskFunction", "Tasks", "Worker"),
    *(name for found in _names.TWINS.values() for name in found.split() if name != "Receipt"),
}
"""Public classes whose instances hold connections or functions, or check that their arguments exist."""
HOMES = [(pyadeq, _names.homes("_sync", {})), (pyadeq.asyncio, _names.homes("_async", _names.WORKER))]
FOUND = [getattr(home, name) for home, names in HOMES for name in names if name not in NO_VALUES]
PUBLIC: set[type[Any]] = {of for of in FOUND if isinstance(of, type)} | {UnknownKind}


class Same(Exception):
    """An exception that is equal after pickling."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Same

    __hash__ = Exception.__hash__


PLAIN: dict[Any, Any] = {
    **{str: "a", int: 1, float: 1.5, bool: True, bytes: b"a", Any: "any", type: ValueError},
    **{Exception: Same("a"), BaseException: Same("a")},
}


def value(hint: Any) -> Any:
    """A value that fits an annotation."""
    if hint in PLAIN:
        return PLAIN[hint]
    kind, parts = get_origin(hint), get_args(hint)
    if kind is typing.Literal:
        return parts[-1]
    if kind in (typing.Union, types.UnionType, typing.Annotated):
        return value(next(part for part in parts if part is not type(None)))
    if kind is type:
        return ValueError
    if kind is None:
        return made(hint) if isinstance(hint, type) else "any"
    if issubclass(kind, Mapping):
        return {value(parts[0]): value(parts[1])}
    return (list if kind is list else tuple)([value(parts[0])])


def made(of: type) -> Any:
    """An instance of a class, with a value for each of its fields or parameters."""
    if issubclass(of, BaseModel):
        fields = {name: one.annotation for name, one in of.model_fields.items()}
        return of.model_construct(**{name: value(hint) for name, hint in fields.items() if of not in get_args(hint)})
    if issubclass(of, Exception) and not inspect.isfunction(of.__init__):
        return of("a")
    hints = typing.get_type_hints(of if dataclasses.is_dataclass(of) or hasattr(of, "_fields") else of.__init__)
    return of(**{name: value(hints.get(name, Any)) for name in inspect.signature(of).parameters})


def compared(one: Any) -> Any:
    """What must be equal. Exceptions have no equality of their own."""
    return (type(one), str(one), one.args, vars(one)) if isinstance(one, BaseException) else one


@pytest.mark.parametrize("of", sorted(PUBLIC, key=str))
def test_it_comes_back_equal(of: type) -> None:
    sent = made(of)
    if isinstance(sent, BaseException):
        sent.add_note("a note")
    came = pickle.loads(pickle.dumps(sent))
    assert compared(came) == compared(sent)
    assert repr(came) == repr(sent)


def test_what_holds_more_than_values_comes_back_without_it() -> None:
    failures = Failures().when(KeyError, "bad_input")
    assert pickle.loads(pickle.dumps(failures)) == failures
    receipt = pyadeq.Receipt("created", "a", threading.Lock())  # type: ignore[arg-type]  # a queue cannot be pickled
    assert copy.copy(receipt) is receipt
    came = pickle.loads(pickle.dumps(UnknownTask("b", "c", [receipt, None])))
    assert (came.id, came.missing, came.receipts, str(came).startswith("task 'b' was not")) == (
        "b",
        "c",
        [receipt, None],
        True,
    )
