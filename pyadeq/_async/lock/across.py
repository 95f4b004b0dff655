"""Locks of several domains, acquired in a fixed order to avoid deadlocks; and a search for deadlocks across domains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import TypeAlias, Unpack

from pyadeq._async.lock import Locks
from pyadeq._async.lock.acquire import WAIT, AcquireOptions, Wanted
from pyadeq._async.lock.grant import Grant
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.lock.graph import deadlocks, steady, told, victim
from pyadeq.errors import BadArgument
from pyadeq.models.base import to_ms
from pyadeq.models.lock import Edge, FoundDeadlock, LockMode

WantedThere: TypeAlias = tuple[str, Wanted] | tuple[str, str, LockMode]
"""A domain, and what is wanted there."""


@asynccontextmanager
async def acquire_sorted(
    locks: Callable[[str], Locks], wanted: Sequence[WantedThere], **options: Unpack[AcquireOptions]
) -> AsyncIterator[dict[str, Grant]]:
    """Acquire locks of several domains; see `Adeq.acquire_sorted`."""
    by_domain: dict[str, list[Wanted]] = {}
    for one in checked_list("wanted", wanted):
        domain, what = _wanted(one)
        by_domain.setdefault(domain, []).append(what)
    async with _in_turn(locks, sorted(by_domain.items()), monotonic(), options) as grants:
        yield grants


@asynccontextmanager
async def _in_turn(
    locks: Callable[[str], Locks],
    wanted: Sequence[tuple[str, Sequence[Wanted]]],
    began: float,
    options: AcquireOptions,
) -> AsyncIterator[dict[str, Grant]]:
    if not wanted:
        yield {}
        return
    (domain, here), *elsewhere = wanted
    rest = options.copy()
    rest["wait"] = max(to_ms("wait", options.get("wait", WAIT)) / 1000 - (monotonic() - began), 0.0)
    async with locks(domain).acquire_many(here, **rest) as grant, _in_turn(locks, elsewhere, began, options) as grants:
        yield {domain: grant, **grants}


async def find_deadlocks(locks: Callable[[str], Locks], domains: Iterable[str]) -> list[FoundDeadlock]:
    """Find deadlocks across domains; see `Adeq.find_deadlocks`."""
    names = sorted(set(checked_list("domains", domains)))
    suspected = await _edges(locks, names)
    if not deadlocks(suspected):
        return []
    found = []
    for cycle in deadlocks(steady(suspected, await _edges(locks, names))):
        one = victim(cycle)
        assert one.domain is not None
        if await locks(one.domain).admin.abort(one.rid, told(cycle)):
            found.append(FoundDeadlock(rid=one.rid, cycle=tuple(told(cycle)), domain=one.domain))
    return found


async def _edges(locks: Callable[[str], Locks], domains: Iterable[str]) -> list[Edge]:
    edges: list[Edge] = []
    for domain in domains:
        edges += [edge.model_copy(update={"domain": domain}) for edge in await locks(domain).inspect.edges()]
    return edges


def _wanted(one: WantedThere) -> tuple[str, Wanted]:
    match one:
        case (domain, what):
            return domain, what
        case (domain, resource, mode):
            return domain, (resource, mode)
    raise BadArgument("ADEQ_ARG", "pyadeq", f"wanted: {one!r} is not accepted; allowed: (domain, resource[, mode])")
