"""Requests for locks as they are shown: those who hold, and those who wait."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyadeq import HeldLock, Locks, RequestView
from pyadeq.ext.cli.shared.running import Lines
from pyadeq.ext.cli.shared.shown import ago, ahead, plain
from pyadeq.ext.shared.terminal import safe

PAGE = 200  # a script holds the server for as long as it takes
COLUMNS = ("resource", "mode", "state", "place", "owner", "since", "until", "agent", "fence", "purpose")
RIGHT = ("place", "since", "until", "fence")
SPARE = ("fence", "agent", "place", "since")


def request_lines(locks: Locks, limit: int | None, **filter: Any) -> Lines:
    """The answer of a command that lists up to limit requests that fit; None: all."""
    return Lines(
        _read(locks, PAGE if limit is None else min(limit + 1, PAGE), filter),
        COLUMNS,
        rows=lambda read: _rows(*read),
        plain=lambda read: plain(read[0]),
        right=RIGHT,
        spare=SPARE,
        limit=limit,
    )


def _read(locks: Locks, page: int, filter: dict[str, Any]) -> Iterator[tuple[RequestView, float]]:
    """Requests, each with the domain's time when it was read."""
    cursor = ""
    while True:
        found = locks.list(cursor=cursor, limit=page, **filter)
        yield from ((request, found.now) for request in found.requests)
        cursor = found.cursor
        if not cursor:
            return


def _rows(request: RequestView, now: float) -> Iterable[tuple[str, ...]]:
    """A row for each of its locks."""
    for lock in request.locks:
        yield (
            lock.resource,
            mode_of(lock),
            request.state,
            str(request.place or ""),
            request.owner,
            ago(now, request.granted or request.since),
            ahead(now, request.until if request.place else request.deadline),
            request.agent,
            str(lock.fence or ""),
            safe(request.purpose),
        )


def lock_of(request: RequestView, resource: str) -> HeldLock:
    """What a request holds of a resource, or wants of it."""
    return next(lock for lock in request.locks if lock.resource == resource)


def mode_of(lock: HeldLock) -> str:
    """`exclusive`, `shared`, or the number of permits."""
    if lock.mode != "permit":
        return lock.mode
    return "1 permit" if lock.permits == 1 else f"{lock.permits} permits"
