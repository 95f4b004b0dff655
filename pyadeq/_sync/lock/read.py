# Generated from pyadeq/_async/lock/read.py by pyadeq/_unasync.py; do not edit.
"""Reading a lock domain: holders, waiters and counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from pyadeq._sync.lock.base import LocksBase
from pyadeq.models.lock import LockStats, LockView, RequestPage, RequestView

PAGE = 200


class LockFilter(TypedDict, total=False):
    """A filter for requests: all given conditions must match. type: the part of a resource before its `:`."""

    type: str | None
    owner: str | None
    agent: str | None
    state: Literal["all", "held", "waiting"]


class Reading(LocksBase):
    """The part of a lock domain for reading who holds and who waits."""

    def get(self, resource: str, limit: int = 100) -> LockView:
        """Return a resource with its holders and its waiters in order, at most `limit` of each."""
        return self._runner.send(self.calls.show(resource, limit))

    def list(self, *, cursor: str = "", limit: int = 100, **filter: Unpack[LockFilter]) -> RequestPage:
        """Return one page of the requests that hold or wait. A page may be empty although there are more: check the
        cursor.
        """
        return self._runner.send(self.calls.list(cursor=cursor, limit=limit, **filter))

    def iterate(self, **filter: Unpack[LockFilter]) -> Iterator[RequestView]:
        """Iterate over all requests that `list` finds, page by page."""
        cursor = ""
        while True:
            page = self.list(cursor=cursor, limit=PAGE, **filter)
            for request in page.requests:
                yield request
            cursor = page.cursor
            if not cursor:
                return

    def stats(self) -> LockStats:
        """Return the counts of the domain, and its settings."""
        return self._runner.send(self.calls.stats())
