"""A call of a noun has one name: it is in one of the noun's areas, or it is a method of the noun itself."""

import ast
import asyncio
import inspect
import re
import textwrap
from collections import Counter
from typing import Any
from unittest import mock

import pytest

import pyadeq
import pyadeq.asyncio
from pyadeq._core.kernel.areas import AreaOf
from pyadeq._sync.queue.partitions.routes import ABSENT

TWIN = pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)
MOST = {"Queue": 40, "PartitionedQueue": 40, "Locks": 14, "Changes": 41}


def public(thing: type) -> set[str]:
    return {name for name, member in inspect.getmembers(thing) if name[0] != "_" and callable(member)}


def areas(noun: type) -> dict[str, type]:
    """Attribute -> class of what a noun has."""
    members = [member for kind in noun.__mro__ for member in vars(kind).items()]
    return {name: member.kind for name, member in members if isinstance(member, AreaOf)}


def is_row(member: object) -> bool:
    return hasattr(member, "route")


def handed_on(method: Any) -> tuple[str, str] | None:
    """The attribute, and its method, to which a method hands its arguments, if it does nothing else."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(method))).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    *_, last = function.body
    told = ast.get_docstring(function) is not None
    if len(function.body) > 1 + told or not isinstance(last, ast.Return | ast.Expr) or last.value is None:
        return None
    call = last.value.value if isinstance(last.value, ast.Await) else last.value
    asked = re.fullmatch(r"self\.(\w+)\.(\w+)\((.*)\)", ast.unparse(call))
    given = {word.rpartition("=")[2].lstrip("*") for word in asked[3].split(", ") if word} if asked else set()
    return (asked[1], asked[2]) if asked and given == inspect.signature(method).parameters.keys() - {"self"} else None


def test_a_second_name_is_found() -> None:
    class Noun(pyadeq.Queue):
        def pause(self) -> None:
            """A second name."""
            self._admin.pause()

        def history(self, since: Any = None, *, step: Any = 60, **more: Any) -> Any:
            return self._inspect.history(since, step=step, **more)

        def last(self, id: str) -> Any:
            return self._inspect.runs(id)[-1]

    assert [handed_on(one) for one in (Noun.pause, Noun.history, Noun.last)] == [
        ("_admin", "pause"),
        ("_inspect", "history"),
        None,
    ]


@TWIN
@pytest.mark.parametrize("noun", MOST)
def test_a_call_has_one_name(twin: Any, noun: str) -> None:
    kind = getattr(twin, noun)
    attributes = [name for name in dir(kind) if name[0] != "_"]
    assert len(attributes) <= MOST[noun], attributes
    places = [kind, *areas(kind).values()]
    found = [
        inspect.unwrap(member)
        for place in places
        for name, member in inspect.getmembers(place, inspect.isfunction)
        if name[0] != "_"
    ]
    assert [method for method, count in Counter(found).items() if count > 1] == []
    held = {f"_{name}": area for name, area in areas(kind).items()} | dict.fromkeys(
        ("_queue", "_locks", "_changes"), kind
    )
    handed = {method: to for method in found if (to := handed_on(method))}
    assert [method for method, (place, name) in handed.items() if name in public(held.get(place, object))] == []


@TWIN
def test_every_method_of_a_queue_has_a_row_for_partitions(twin: Any) -> None:
    queue, parts = twin.Queue, twin.PartitionedQueue
    rows = {(name, parts) for name in public(queue) - areas(queue).keys()}
    rows |= {(f"{area}.{name}", areas(parts)[area]) for area, kind in areas(queue).items() for name in public(kind)}
    lacking = {row for row, there in rows if not hasattr(there, row.rpartition(".")[2])}
    assert lacking == ABSENT.keys()


def test_a_row_has_the_arguments_and_the_text_of_the_method() -> None:
    row, one = pyadeq.PartitionedQueue.get, pyadeq.Queue.get
    assert (inspect.signature(row), row.__doc__) == (inspect.signature(one), one.__doc__)
    found = {name: member.route for name, member in inspect.getmembers(pyadeq.PartitionedQueue, is_row)}
    assert found == {"get": "where_it_is", "iterate": "chain", "settings": "first", "stats": "total"}


def test_rows_are_coroutine_functions_in_asyncio_only() -> None:
    for name in ("ack", "get", "settings"):
        for noun in ("Queue", "PartitionedQueue"):
            assert inspect.iscoroutinefunction(getattr(getattr(pyadeq.asyncio, noun), name))
            assert not inspect.iscoroutinefunction(getattr(getattr(pyadeq, noun), name))


AREAS = ["admin", "dead", "inspect", "leases", "limits", "schedules", "shares", "workers"]


@TWIN
@pytest.mark.parametrize("kind", ["Queue", "PartitionedQueue"])
def test_a_mock_has_the_areas(twin: Any, kind: str) -> None:
    copy = mock.create_autospec(getattr(twin, kind), instance=True)
    for area in AREAS:
        assert hasattr(copy, area)
    answers = [copy.limits.set("a", concurrency=1), copy.workers.get("w"), copy.settings()]
    for answer in answers:
        if twin is pyadeq.asyncio:
            asyncio.run(answer)
        else:
            assert not inspect.isawaitable(answer)
    copy.limits.set.assert_called_once_with("a", concurrency=1)
    with pytest.raises(AttributeError):
        copy.limits.nothing  # noqa: B018
    locks = mock.create_autospec(twin.Locks, instance=True)
    assert hasattr(locks.inspect, "graph")
    assert hasattr(locks.admin, "reap")


@TWIN
@pytest.mark.parametrize("area", AREAS)
def test_an_area_can_be_patched_on_the_class(twin: Any, area: str) -> None:
    queue = twin.Adeq.from_url("redis://localhost").queue("x")
    own = getattr(queue, area)
    with mock.patch.object(twin.Queue, area) as patched:
        assert getattr(queue, area) is patched
    assert getattr(queue, area) is own


@TWIN
def test_a_subclass_can_have_an_area_of_its_own(twin: Any) -> None:
    class Own(twin.Queue):  # type: ignore[misc]
        limits = property(lambda queue: "mine")

        def workers(self) -> str:
            return "no area"

    queue = Own(twin.Adeq.from_url("redis://localhost"), "x", "{queue:x}")
    assert (queue.limits, queue.workers()) == ("mine", "no area")
    assert isinstance(queue.shares, twin.Shares)


@TWIN
@pytest.mark.parametrize("kind", ["PartitionedQueue", "PartitionedLimits"])
def test_rows_have_the_names_by_which_they_are_called(twin: Any, kind: str) -> None:
    rows = inspect.getmembers(getattr(twin, kind), is_row)
    assert rows
    for name, row in rows:
        assert (row.__name__, row.__qualname__.rpartition(".")[2]) == (name, name)


@TWIN
def test_a_missing_argument_names_the_method(twin: Any) -> None:
    partitioned = twin.Adeq.from_url("redis://localhost").partitioned("x")
    with pytest.raises(TypeError, match=r"PartitionedReading.get\(\) missing"):
        asyncio.run(partitioned.get()) if twin is pyadeq.asyncio else partitioned.get()
