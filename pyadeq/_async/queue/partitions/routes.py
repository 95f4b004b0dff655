"""The routing table: which partitions a method of a partitioned queue asks, and what it makes of their answers.

A row is one line in the class of an area: `overview = total("inspect", QueueInspect.overview, added_overview)`. The
verbs of `ById` and `Whole` need no row.

    first         the first partition
    each          every partition, the earliest first, including partitions that are added during the call. `expect` is
                  for the first partition of the queue: if it refuses the call, no other partition gets it
    total         every partition; the answers are added up
    chain         every partition, one after the other: an iterator over all
    where_it_is   the partition that has the task: the first whose answer is `found`
    by_home       where the keys of a task, or the name of a schedule, belong: `enqueue`, `schedules.set`
    own           a method written by hand, because one row is not enough

`by_home` and `own` are methods written by hand. What a partitioned queue does not have is in ABSENT, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar

from pyadeq._async.queue import Queue
from pyadeq._async.queue.partitions.base import PartitionedBase

C = TypeVar("C")
P = ParamSpec("P")
R = TypeVar("R")

_OF_ONE = "tell the partition: `part(tag)`"
_WORKER = "a `Worker` does it for all partitions"
ABSENT = {
    "enqueue_stream": "`enqueue_many`, a part at a time",
    "chain": "give the tasks ids that name one partition, and `after`",
    "gather": "give the tasks ids that name one partition, and `gather`",
    "mailbox": "a scope is one lane of one partition: `part(tag).mailbox(scope)`",
    "get_many": "`get`, one by one",
    "list": "a page is of one partition: `iterate`, or `part(tag).list()`",
    "inspect.gathered": "`part_of(id)`, and `inspect.gathered` there",
    "workers.register": _WORKER,
    "workers.deregister": _WORKER,
    "workers.beat": _WORKER,
    "leases.claim_once": "`claim`",
    "leases.settle": _WORKER,
    "leases.block": "`claim` with `wait`",
    "admin.trim": _OF_ONE,
    "admin.promote": _OF_ONE,
    "admin.expire": _OF_ONE,
    "admin.reap": _OF_ONE,
    "admin.repair": _OF_ONE,
}


def named(kind: type[C]) -> type[C]:
    """Name the rows of a class as in the class: for errors and pickle."""
    for name, member in vars(kind).items():
        if hasattr(member, "route"):
            member.__name__, member.__qualname__ = name, f"{kind.__qualname__}.{name}"
            member.__module__ = kind.__module__
    return kind


class PartitionedArea:
    """An area of a partitioned queue."""

    def __init__(self, queue: PartitionedBase) -> None:
        self._queue = queue

    def __init_subclass__(cls) -> None:
        named(cls)


Routing: TypeAlias = PartitionedArea | PartitionedBase
"""What has rows."""


def first(area: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    async def ask(of: Routing, /, *args: Any, **kwargs: Any) -> Any:
        return await act((await of._queue._parts_now())[0], *args, **kwargs)

    act = _act(area, method)
    return _row("first", method, ask)


def each(
    area: str, method: Callable[Concatenate[Any, P], R], merge: Callable[[Sequence[Any]], Any] = lambda answers: None
) -> Callable[Concatenate[Any, P], R]:
    async def ask(of: Routing, /, *args: Any, expect: str | None = None, **kwargs: Any) -> Any:
        args = _for_each(args)
        decide = None if expect is None else lambda part: act(part, *args, expect=expect, **kwargs)
        return merge(await of._queue._in_each_part(lambda part: act(part, *args, **kwargs), decide))

    act = _act(area, method)
    return _row("each", method, ask)


def total(
    area: str, method: Callable[Concatenate[Any, P], R], add: Callable[[Sequence[Any]], Any], doc: str | None = None
) -> Callable[Concatenate[Any, P], R]:
    async def ask(of: Routing, /, *args: Any, **kwargs: Any) -> Any:
        args = _for_each(args)
        return add([await act(part, *args, **kwargs) for part in await of._queue._parts_now()])

    act = _act(area, method)
    return _row("total", method, ask, doc)


def chain(area: str, method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    async def ask(of: Routing, /, *args: Any, **kwargs: Any) -> Any:
        for part in await of._queue._parts_now():
            async for one in act(part, *args, **kwargs):
                yield one

    act = _act(area, method)
    return _row("chain", method, ask)


def where_it_is(
    area: str, method: Callable[Concatenate[Any, str, P], R], found: Callable[[Any], bool]
) -> Callable[Concatenate[Any, str, P], R]:
    async def ask(of: Routing, /, id: str, *args: Any, **kwargs: Any) -> Any:
        return await of._queue._where_it_is(id, lambda part: act(part, id, *args, **kwargs), found)

    act = _act(area, method)
    return _row("where_it_is", method, ask)


def _for_each(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Turn iterators into lists: the first partition would use them up."""
    return tuple(list(one) if isinstance(one, Iterator) else one for one in args)


def _act(area: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Calls the method of a partition."""
    name = method.__name__

    def act(part: Queue, *args: Any, **kwargs: Any) -> Any:
        return getattr(getattr(part, area) if area else part, name)(*args, **kwargs)

    return act


def _row(route: str, method: Any, ask: Any, doc: str | None = None) -> Callable[..., Any]:
    """The row with the name, the text and, for `inspect.signature`, the arguments of the method."""
    row: Callable[..., Any] = ask
    row.__name__, row.__doc__ = method.__name__, doc or method.__doc__
    row.__annotations__ = method.__annotations__  # `typing.get_type_hints` resolves them in the module of the method
    row.__dict__.update(route=route, __wrapped__=method)
    return row
