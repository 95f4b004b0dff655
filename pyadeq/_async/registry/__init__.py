"""The names of a noun, such as of all queues. Without this list, only a scan of all keys finds them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from typing import Any, NamedTuple

from pyadeq._async.kernel.noun import Noun
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq.models.base import Seconds

AT_ONCE = 500
FRESH = 300.0
log = logging.getLogger("pyadeq.client")


class NamesPage(NamedTuple):
    """A page of names in order. cursor: of the next page; empty: there is none.

    complete_until: seconds since the epoch. Each name that existed then is known; 0 before the first scan.
    scanned: when that scan had ended. total: how many names are known. now: the server's time.
    """

    names: list[str]
    cursor: str
    complete_until: float
    scanned: float
    total: int
    now: float

    @property
    def is_fresh(self) -> bool:
        """Whether a complete scan has ended in the last 5 minutes. Scans are a minute apart."""
        return self.scanned > self.now - FRESH


class Registry(Noun):
    """The names of a noun: `adeq.registry("queue")` has those of queues. A partition is `<name>/<tag>`."""

    noun = "registry"

    def _calls(self, base: str) -> NounCalls:
        runner = self._runner  # the time is always that of the server, also for a client with a test clock
        return NounCalls(base, lambda: 0, runner.source, noun=self.noun)

    async def add(self, names: Iterable[str], *, scan: float = 0.0) -> int:
        """Add names, and return how many are new. Clients do it after their first write to a name.

        scan: when a scan of all keys began, if these are all names that it found. If the registry is full, it does not
        become complete.
        """
        added = full = 0
        items = parts(names)
        for start in range(0, max(len(items), 1), AT_ONCE):
            last = start + AT_ONCE >= len(items) and not full
            answer = await self._call("add", item=items[start : start + AT_ONCE], scan=scan if last else None)
            added, full = added + answer.added, full + answer.full
        if full:
            log.warning("the registry %s is full: %d names are missing; raise its setting names_max", self.name, full)
        return added

    async def begin_scan(self, by: str, lease: Seconds = 60.0) -> bool:
        """Begin a scan of all keys, or go on with it. False if another program scans now. by: who scans."""
        return bool((await self._call("scan", by=by, lease=lease)).status == "ok")

    async def remove(self, names: Iterable[str]) -> int:
        """Remove names whose data has been deleted, and return how many were known."""
        removed = 0
        items = parts(names)
        for start in range(0, len(items), AT_ONCE):
            removed += (await self._call("remove", item=items[start : start + AT_ONCE])).removed
        return removed

    async def page(self, cursor: str = "", limit: int = 1000, retry_for: float | None = None) -> NamesPage:
        """Return a page of names, 1 to 1,000. retry_for: as in `Adeq.send`."""
        found = await self._runner.send(self.calls.build("list", cursor=cursor, limit=limit), retry_for)
        return NamesPage(found.names, found.cursor, found.scan, found.ended, found.total, found.now)

    async def list(self) -> AsyncIterator[str]:
        """Iterate over all names, in the order of their bytes."""
        cursor, more = "", True
        while more:
            page = await self.page(cursor)
            for name in page.names:
                yield name
            cursor, more = page.cursor, bool(page.cursor)


def parts(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the items of a call for names; that of a partition is `<name>/<tag>`."""
    return [{"name": name, "tag": tag or None} for name, _, tag in (one.partition("/") for one in names)]
