"""A lock domain whose stream tells all: who is in line, who comes next, and which circle is a deadlock.

For requests of one exclusive or shared lock each, all of one priority, of owners who do not ask again for what they
have. Then nothing is left open: the place in line of each request follows from what the stream told before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyadeq.ext.prove.chaos.history import Entry
from pyadeq.ext.prove.chaos.lock_tale import parse_parts

TOLD = 40  # entries that are shown before the one that breaks a rule


class BrokenLine(Exception):
    """The stream breaks a rule: what is wrong, and the entries before it."""


@dataclass(eq=False)
class Waiter:
    """A request for a lock, and when it was granted, if it was."""

    rid: str
    owner: str
    code: str
    resource: str
    granted_ms: int = 0
    claimed: bool = False


class LockLine:
    """A domain as its stream tells of it.

    grants: how many requests were granted. deadlocks: how many were ended by one. jumps: how many were put ahead of
    others, so that there was none. handed: of each that was handed a lock and fetched it, how long that took, in ms.
    """

    def __init__(self) -> None:
        self.holders: defaultdict[str, dict[str, Waiter]] = defaultdict(dict)  # by resource and rid
        self.lines: defaultdict[str, list[Waiter]] = defaultdict(list)  # by resource, first come first
        self.waits: dict[str, Waiter] = {}  # by owner
        self.live: dict[str, Waiter] = {}
        self.ended: set[str] = set()
        self.fences: defaultdict[str, int] = defaultdict(int)
        self.grants = 0
        self.deadlocks = 0
        self.jumps = 0
        self.handed: list[int] = []
        self._touched: set[str] = set()

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> LockLine:
        """What all entries of a stream make of it. BrokenLine where one breaks a rule."""
        line = cls()
        for number, entry in enumerate(entries):
            try:
                line.apply(entry)
            except BrokenLine as broken:
                last = "\n".join(f"  {_told(one)}" for one in entries[max(number - TOLD, 0) : number + 1])
                raise BrokenLine(f"{broken}\nafter\n{last}") from None
        return line

    @property
    def idle(self) -> bool:
        """Whether nobody holds anything, and nobody waits."""
        return not self.live

    def apply(self, entry: Entry) -> None:
        """Take one more entry."""
        rid = entry.ids[0]
        _require(rid not in self.ended, "it had ended before")
        request = self.live.get(rid)
        match entry.event, request:
            case "lock.queued", None:
                self._queue(self._new(entry))
            case "lock.acquired", None:
                request = self._new(entry)
                at = self._place(request)
                if at is None:
                    raise BrokenLine("it was granted what it could only wait for in a deadlock")
                self._insert(request, at)
                self._grant(request, entry)
                request.claimed = True
            case "lock.acquired", Waiter(claimed=False, granted_ms=granted_ms) if granted_ms:
                request.claimed = True
                self.handed.append(entry.ms - granted_ms)
            case "lock.promoted", Waiter(granted_ms=0):
                self._grant(request, entry)
            case (("lock.released" | "lock.expired"), Waiter()) if request.granted_ms:
                self._end(request)
            case "lock.cancelled", Waiter(granted_ms=0):
                self._end(request)
            case "lock.deadlock", _:
                self._deadlock(request, entry)
            case _:
                raise BrokenLine(f"this cannot happen to {request}")

    def _new(self, entry: Entry) -> Waiter:
        """A request that comes after all that was free was given to those who waited for it."""
        owner = entry.words["owner"]
        _require(owner not in self.waits, "its owner waits already")
        for resource in self._touched:
            for waiter in self.lines[resource]:
                _require(any(self._blockers(waiter)), f"{waiter} was not handed what is free")
        self._touched.clear()
        (part,) = parse_parts(entry.words["locks"])
        return Waiter(entry.ids[0], owner, part.code, part.resource)

    def _queue(self, request: Waiter) -> None:
        at = self._place(request)
        if at is None:
            raise BrokenLine("it waits in a deadlock that was not found")
        self._insert(request, at)
        _require(any(self._blockers(request)), "it waits for nothing")
        self.waits[request.owner] = self.live[request.rid] = request

    def _insert(self, request: Waiter, at: int) -> None:
        line = self.lines[request.resource]
        self.jumps += at < len(line)
        line.insert(at, request)

    def _grant(self, request: Waiter, entry: Entry) -> None:
        """Nobody who holds it conflicts, and nobody who came before waits for it."""
        blockers = list(self._blockers(request))
        _require(not blockers, f"it is granted what {blockers} have, or were to have before")
        (part,) = parse_parts(entry.words["locks"])
        before = self.fences[part.resource]
        _require(part.fence > before, f"its fence does not come after {before}")
        self.fences[part.resource] = part.fence
        self.lines[request.resource].remove(request)
        self.waits.pop(request.owner, None)
        self.live[request.rid] = self.holders[request.resource][request.rid] = request
        request.granted_ms = entry.ms
        self.grants += 1
        self._touched.add(request.resource)

    def _end(self, request: Waiter) -> None:
        del self.live[request.rid]
        self.ended.add(request.rid)
        self._touched.add(request.resource)
        if request.granted_ms:
            del self.holders[request.resource][request.rid]
        else:
            self.lines[request.resource].remove(request)
            del self.waits[request.owner]

    def _deadlock(self, waiter: Waiter | None, entry: Entry) -> None:
        """The first step of a circle is the request that came last, and closed it wherever it would have stood."""
        steps = [step.split(">") for step in entry.words["cycle"].split(" ")]
        owner, code, resource = steps[0]
        new = Waiter(entry.ids[0], owner, code, resource)
        owners = [step[0] for step in steps]
        (part,) = parse_parts(entry.words["locks"])
        victim = [entry.words["owner"], part.code, part.resource]
        _require(len(set(owners)) == len(owners), "somebody is in the circle twice")
        _require(victim[0] in owners, "who had to give way is not in the circle")
        _require(waiter is not None or victim == steps[0], "it does not wait, and is not the first of the circle")
        real = False
        for at in range(len(self.lines[resource]) + 1):
            with self._standing(new, at):
                _require(self._depends(owner, owner), f"at place {at + 1} it could have waited")
                after = [*owners[1:], owner]
                real |= all(self._is_step(step, blocker) for step, blocker in zip(steps, after, strict=True))
        _require(real, "there is no such circle")
        self.deadlocks += 1
        if waiter:
            self._end(waiter)
        else:
            self.ended.add(entry.ids[0])

    def _is_step(self, step: list[str], blocker: str) -> bool:
        wait = self.waits.get(step[0])
        return wait is not None and [wait.code, wait.resource] == step[1:] and blocker in self._blockers(wait)

    # Places in line

    def _place(self, request: Waiter) -> int | None:
        """The last place, or else that of the first who waits for its owner, and so on; none in a deadlock."""
        line = self.lines[request.resource]
        at = len(line)
        while True:
            with self._standing(request, at):
                if not self._depends(request.owner, request.owner):
                    return at
                ahead = [index for index in range(at) if not _both_share(request, line[index])]
                before = [index for index in ahead if self._depends(line[index].owner, request.owner)]
            if not before:
                return None
            at = before[0]

    @contextmanager
    def _standing(self, request: Waiter, at: int) -> Iterator[None]:
        line = self.lines[request.resource]
        line.insert(at, request)
        self.waits[request.owner] = request
        yield
        line.remove(request)
        del self.waits[request.owner]

    def _blockers(self, request: Waiter) -> Iterator[str]:
        """The owners for whom a request has to wait."""
        for holder in self.holders[request.resource].values():
            if holder.owner != request.owner and not _both_share(request, holder):
                yield holder.owner
        for other in self.lines[request.resource]:
            if other is request:
                return
            if not _both_share(request, other):
                yield other.owner

    def _depends(self, owner: str, on: str) -> bool:
        """Whether an owner waits for another, directly or through others."""
        seen: set[str] = set()
        todo = [owner]
        while todo:
            wait = self.waits.get(todo.pop())
            for blocker in self._blockers(wait) if wait else ():
                if blocker == on:
                    return True
                if blocker not in seen:
                    seen.add(blocker)
                    todo.append(blocker)
        return False


def inversions(entries: Iterable[Entry]) -> int:
    """How many came later than another, and were handed a lock before it."""
    entries = list(entries)
    came = {entry.ids[0]: number for number, entry in enumerate(entries) if entry.event == "lock.queued"}
    served = [came[entry.ids[0]] for entry in entries if entry.event == "lock.promoted"]
    return sum(later < earlier for number, earlier in enumerate(served) for later in served[number:])


def _both_share(one: Waiter, other: Waiter) -> bool:
    return one.code == other.code == "s"


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise BrokenLine(text)


def _told(entry: Entry) -> str:
    words = " ".join(f"{name}={value}" for name, value in entry.words.items())
    return f"{entry.ms} {entry.event} {entry.ids[0]}: {words}"
