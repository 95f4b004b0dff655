"""The order of claims: by priority, then by place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from pyadeq.ext.prove.chaos.case import Case, Finding
from pyadeq.ext.prove.chaos.history import Entry

Key = tuple[int, int, int]
"""Priority, then the place: the index of the entry that has given it, and where in it."""


def in_order(case: Case, found: Finding) -> None:
    """A claim does not pass over a task that is ready in the same lane, and comes before by priority and place.

    Of tasks whose enqueue is not known, and with fair shares, nothing is said.
    """
    if case.history.settings.get("fair"):
        return
    line = Line(case, found)
    for index, entry in enumerate(case.history.entries):
        if step := line.steps.get(entry.event):
            step(index, entry)


class Line:
    """The tasks that are surely in line, by lane. What the stream leaves open is not in it."""

    def __init__(self, case: Case, found: Finding) -> None:
        self.steps: dict[str, Callable[[int, Entry], None]] = {
            "task.enqueued": self._enqueued,
            "task.promoted": self._promoted,
            "task.unblocked": self._unblocked,
            "task.released": self._back,
            "task.stalled": self._stalled,
            "task.retried": self._retried,
            "task.moved": self._moved,
            "task.claimed": self._claimed,
            "task.limited": self._limited,
            "task.snoozed": self._out,
            "task.suspended": self._out,
            "task.dead": self._out,
            "task.expired": self._out,
            "task.cancelled": self._out,
            "task.removed": self._out,
            "task.completed": self._out,
            "task.alert": self._alert,
        }
        self._options = case.calls.options
        self._found = found
        self._ready: dict[str, Key] = {}
        self._heaps: defaultdict[str, list[tuple[Key, str]]] = defaultdict(list)
        self._keys: dict[str, Key] = {}
        self._lanes: dict[str, str] = {}
        self._limited_ids: set[str] = set()

    def _enqueued(self, index: int, entry: Entry) -> None:
        for at, id in enumerate(entry.ids):
            options = self._options.get(id)
            if options is None:
                self._forget(id)
                continue
            self._keys[id] = (options.get("priority", 5), index, at)
            self._lanes[id] = options.get("lane") or "any"
            if not (_comes_later(options) or options.get("after") or options.get("gather")):
                self._join(id)

    def _promoted(self, index: int, entry: Entry) -> None:
        for at, id in enumerate(entry.ids):
            self._at_the_end(id, index, at)

    def _unblocked(self, _: int, entry: Entry) -> None:
        for id in entry.ids:
            options = self._options.get(id)
            if id in self._limited_ids or (options is not None and not _comes_later(options)):
                self._join(id)
            self._limited_ids.discard(id)

    def _back(self, _: int, entry: Entry) -> None:
        for id in entry.ids:
            self._join(id)

    def _stalled(self, _: int, entry: Entry) -> None:
        if entry.words.get("crashes") == "1":  # later ones wait for a while
            self._join(entry.ids[0])

    def _retried(self, index: int, entry: Entry) -> None:
        if entry.words.get("reason") == "by_hand":
            self._at_the_end(entry.ids[0], index, 0)

    def _moved(self, _: int, entry: Entry) -> None:
        id = entry.ids[0]
        if id in self._keys:
            self._lanes[id] = entry.words["lane"]
            if id in self._ready:
                self._join(id)

    def _limited(self, index: int, entry: Entry) -> None:
        self._limited_ids.update(entry.ids)
        self._out(index, entry)

    def _alert(self, index: int, entry: Entry) -> None:
        if entry.words.get("reason") == "record_missing":
            self._out(index, entry)

    def _out(self, _: int, entry: Entry) -> None:
        for id in entry.ids:
            self._ready.pop(id, None)

    def _claimed(self, index: int, entry: Entry) -> None:
        last: dict[str, tuple[Key, str]] = {}
        for id in entry.ids:
            key = self._ready.pop(id, None)
            if key is None:
                continue
            lane = self._lanes[id]
            before = last.get(lane)
            if before is not None and before[0] > key:
                self._convict(entry, before, (key, id))
            if before is None or before[0] < key:
                last[lane] = key, id
        for lane, latest in last.items():
            self._found.checks += 1
            heap = self._heaps[lane]
            while heap and (self._ready.get(heap[0][1]) != heap[0][0] or self._lanes[heap[0][1]] != lane):
                heappop(heap)
            if heap and heap[0] < latest:
                self._convict(entry, latest, heap[0])

    def _convict(self, entry: Entry, early: tuple[Key, str], passed: tuple[Key, str]) -> None:
        text = f"{early[1]} was claimed at {entry.position} before it, and is behind it in line"
        self._found.convict(passed[1], text)

    def _at_the_end(self, id: str, index: int, at: int) -> None:
        if id in self._keys:
            self._keys[id] = (self._keys[id][0], index, at)
            self._join(id)

    def _join(self, id: str) -> None:
        key = self._keys.get(id)
        if key is not None:
            self._ready[id] = key
            heappush(self._heaps[self._lanes[id]], (key, id))

    def _forget(self, id: str) -> None:
        self._keys.pop(id, None)
        self._ready.pop(id, None)


def _comes_later(options: dict[str, Any]) -> bool:
    return bool(options.get("delay") or options.get("run_after"))
