"""What is in an area of a noun has a short name on the noun, too."""

import asyncio
import inspect
from typing import Any
from unittest import mock

import pytest

import pyadeq
import pyadeq.asyncio
from pyadeq._core.kernel.areas import AreaOf, forward
from pyadeq._sync.queue.partitions.routes import ABSENT

OWN = {"queue": {"limits", "shares", "schedules"}, "locks": set[str]()}
# By calling the area: `queue.settings()`, `queue.workers()`.
CALLED = {("settings", "get"), ("workers", "list")}


def public(thing: type) -> set[str]:
    return {name for name, member in inspect.getmembers(thing) if name[0] != "_" and callable(member)}


def areas(noun: object) -> dict[str, type]:
    """Attribute -> class of what a noun has."""
    members = [member for kind in type(noun).__mro__ for member in vars(kind).items()]
    return {name: member.kind for name, member in members if isinstance(member, AreaOf)}


@pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)
@pytest.mark.parametrize("noun", ["queue", "locks"])
def test_every_method_of_an_area_has_a_short_name(twin: Any, noun: str) -> None:
    one = getattr(twin.Adeq.from_url("redis://localhost"), noun)("x")
    short = {
        (member.area, member.__wrapped__.__name__)
        for _, member in inspect.getmembers(type(one))
        if hasattr(member, "area")
    }
    found = areas(one)
    assert {"admin", "inspect"} <= found.keys()
    assert short | CALLED >= {
        (area, name) for area, kind in found.items() if area not in OWN[noun] for name in public(kind)
    }


def test_a_short_name_calls_the_method_that_the_area_has_now() -> None:
    class Area:
        def add(self, one: int, *, other: int = 1) -> int:
            """Add."""
            return one + other

    class Noun:
        add = forward("area", Area.add)

        def __init__(self) -> None:
            self._area = Area()

    noun = Noun()
    assert noun.add(2, other=3) == 5
    assert (Noun.add.__doc__, str(inspect.signature(Noun.add))) == ("Add.", str(inspect.signature(Area.add)))
    noun._area.add = lambda one, *, other=1: 0  # type: ignore[method-assign]
    assert noun.add(2) == 0


@pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)
def test_every_method_of_a_queue_has_a_row_for_partitions(twin: Any) -> None:
    adeq = twin.Adeq.from_url("redis://localhost")
    queue, parts = adeq.queue("x"), adeq.partitioned("x")
    short = {name for name, member in inspect.getmembers(type(queue)) if hasattr(member, "area")}
    own = public(type(queue)) - short - areas(queue).keys()
    rows = {(name, parts) for name in own}
    rows |= {
        (f"{area}.{name}", getattr(parts, area, None)) for area, kind in areas(queue).items() for name in public(kind)
    }
    lacking = {row for row, there in rows if not hasattr(there, row.rpartition(".")[2])}
    assert lacking == ABSENT.keys()


def test_a_row_has_the_arguments_and_the_text_of_the_method() -> None:
    retry, one = pyadeq.PartitionedQueue.retry, pyadeq.Queue.retry
    assert (inspect.signature(retry), retry.__doc__) == (inspect.signature(one), one.__doc__)
    routes = {
        name: member.route for name, member in inspect.getmembers(pyadeq.PartitionedQueue) if hasattr(member, "route")
    }
    assert (routes["retry"], routes["outcome"], routes["stats"]) == ("where_it_is", "where_it_is", "total")


def test_short_names_are_coroutine_functions_in_asyncio_only() -> None:
    for name in ("ack", "get", "pause", "retry"):
        for noun in ("Queue", "PartitionedQueue"):
            assert inspect.iscoroutinefunction(getattr(getattr(pyadeq.asyncio, noun), name))
            assert not inspect.iscoroutinefunction(getattr(getattr(pyadeq, noun), name))


AREAS = ["admin", "dead", "inspect", "leases", "limits", "schedules", "settings", "shares", "workers"]
TWIN = pytest.mark.parametrize("twin", [pyadeq, pyadeq.asyncio], ids=lambda twin: twin.__name__)


@TWIN
@pytest.mark.parametrize("kind", ["Queue", "PartitionedQueue"])
def test_a_mock_has_the_areas(twin: Any, kind: str) -> None:
    copy = mock.create_autospec(getattr(twin, kind), instance=True)
    for area in AREAS:
        assert hasattr(copy, area)
    answers = [copy.limits.set("a", concurrency=1), copy.workers.get("w"), copy.workers(), copy.settings()]
    for answer in answers:
        if twin is pyadeq.asyncio:
            asyncio.run(answer)
        else:
            assert not inspect.isawaitable(answer)
    copy.limits.set.assert_called_once_with("a", concurrency=1)
    copy.workers.assert_called_once_with()
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
@pytest.mark.parametrize("kind", ["Queue", "PartitionedQueue", "PartitionedLimits", "Locks"])
def test_methods_have_the_names_by_which_they_are_called(twin: Any, kind: str) -> None:
    members = inspect.getmembers(getattr(twin, kind), inspect.isfunction)
    methods = {name: member for name, member in members if hasattr(member, "area") or hasattr(member, "route")}
    assert methods
    for name, method in methods.items():
        assert (method.__name__, method.__qualname__.rpartition(".")[2]) == (name, name)


@TWIN
def test_a_missing_argument_names_the_method(twin: Any) -> None:
    partitioned = twin.Adeq.from_url("redis://localhost").partitioned("x")
    with pytest.raises(TypeError, match=r"PartitionedInspect.get\(\) missing"):
        asyncio.run(partitioned.get()) if twin is pyadeq.asyncio else partitioned.get()
