"""What the event stream of a lock domain says: told again request by request, and held against the rules.

For requests of one exclusive or shared lock each, all of one priority, of owners who do not ask again for what they
have. Whatever a rule leaves open is worked out from what the stream said before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.audit_locks import conflict, parse_part


class Event(NamedTuple):
    """An entry of the stream. ms: the server's time. cycle: of a deadlock."""

    name: str
    ms: int
    rid: str
    owner: str
    code: str
    fence: int
    resource: str
    cycle: str

    def __str__(self) -> str:
        return f"{self.ms} {self.name} {self.rid}: {self.owner} {self.code} {self.resource} {self.cycle}"


def read_events(client: Any, base: str) -> list[Event]:
    return [_event(entry) for _, entry in client.xrange(f"{base}:events")]


def _event(entry: dict[bytes, bytes]) -> Event:
    fields = {name.decode(): value.decode() for name, value in entry.items()}
    payload, _, cycle = fields["payload"].partition(" cycle=")
    words = dict(word.split("=", 1) for word in payload.split(" "))
    part = parse_part(words["locks"])
    name = fields["event"].removeprefix("lock.")
    return Event(
        name, int(fields["timestamp"]), fields["id"], words["owner"], part.code, part.fence, part.resource, cycle
    )


@dataclass(eq=False)
class Request:
    rid: str
    owner: str
    code: str
    resource: str
    granted_ms: int = 0
    claimed: bool = False


class History:
    """A domain as its stream tells of it. Raises AssertionError where the stream breaks a rule.

    grants: how many requests were granted. deadlocks: how many were ended by one. jumps: how many were put ahead of
    others, so that there was none. handed: of each that was handed a lock and fetched it, how long that took, in ms.
    """

    def __init__(self) -> None:
        self.holders: defaultdict[str, dict[str, Request]] = defaultdict(dict)  # by resource and rid
        self.lines: defaultdict[str, list[Request]] = defaultdict(list)  # by resource, first come first
        self.waits: dict[str, Request] = {}  # by owner
        self.live: dict[str, Request] = {}
        self.ended: set[str] = set()
        self.fences: defaultdict[str, int] = defaultdict(int)
        self.grants = 0
        self.deadlocks = 0
        self.jumps = 0
        self.handed: list[int] = []
        self._touched: set[str] = set()

    @classmethod
    def of(cls, events: list[Event]) -> History:
        history = cls()
        for number, event in enumerate(events):
            try:
                history.apply(event)
            except AssertionError as error:
                last = "\n".join(f"  {one}" for one in events[max(number - 40, 0) : number + 1])
                raise AssertionError(f"{error}\nafter\n{last}") from None
        return history

    @property
    def idle(self) -> bool:
        return not self.live

    def apply(self, event: Event) -> None:
        assert event.rid not in self.ended, "it had ended before"
        request = self.live.get(event.rid)
        match event.name, request:
            case "queued", None:
                self._queue(self._new(event))
            case "acquired", None:
                request = self._new(event)
                at = self._place(request)
                assert at is not None, "it was granted what it could only wait for in a deadlock"
                self._insert(request, at)
                self._grant(request, event)
                request.claimed = True
            case "acquired", Request(claimed=False, granted_ms=granted_ms) if granted_ms:
                request.claimed = True
                self.handed.append(event.ms - granted_ms)
            case "promoted", Request(granted_ms=0):
                self._grant(request, event)
            case (("released" | "expired"), Request()) if request.granted_ms:
                self._end(request)
            case "cancelled", Request(granted_ms=0):
                self._end(request)
            case "deadlock", _:
                self._deadlock(request, event)
            case _:
                raise AssertionError(f"this cannot happen to {request}")

    def _new(self, event: Event) -> Request:
        """A request that comes after all that was free was given to those who waited for it."""
        assert event.owner not in self.waits, "its owner waits already"
        for resource in self._touched:
            for waiter in self.lines[resource]:
                assert any(self._blockers(waiter)), f"{waiter} was not handed what is free"
        self._touched.clear()
        return Request(event.rid, event.owner, event.code, event.resource)

    def _queue(self, request: Request) -> None:
        at = self._place(request)
        assert at is not None, "it waits in a deadlock that was not found"
        self._insert(request, at)
        assert any(self._blockers(request)), "it waits for nothing"
        self.waits[request.owner] = self.live[request.rid] = request

    def _insert(self, request: Request, at: int) -> None:
        line = self.lines[request.resource]
        self.jumps += at < len(line)
        line.insert(at, request)

    def _grant(self, request: Request, event: Event) -> None:
        """Nobody who holds it conflicts, and nobody who came before waits for it."""
        blockers = list(self._blockers(request))
        assert not blockers, f"it is granted what {blockers} have, or were to have before"
        assert event.fence > self.fences[event.resource], f"its fence does not come after {self.fences[event.resource]}"
        self.fences[event.resource] = event.fence
        self.lines[request.resource].remove(request)
        self.waits.pop(request.owner, None)
        self.live[request.rid] = self.holders[request.resource][request.rid] = request
        request.granted_ms = event.ms
        self.grants += 1
        self._touched.add(request.resource)

    def _end(self, request: Request) -> None:
        del self.live[request.rid]
        self.ended.add(request.rid)
        self._touched.add(request.resource)
        if request.granted_ms:
            del self.holders[request.resource][request.rid]
        else:
            self.lines[request.resource].remove(request)
            del self.waits[request.owner]

    def _deadlock(self, waiter: Request | None, event: Event) -> None:
        """The first step of a circle is the request that came last, and closed it wherever it would have stood."""
        steps = [step.split(">") for step in event.cycle.split(" ")]
        owner, code, resource = steps[0]
        new = Request(event.rid, owner, code, resource)
        owners = [step[0] for step in steps]
        assert len(set(owners)) == len(owners), "somebody is in the circle twice"
        assert event.owner in owners, "who had to give way is not in the circle"
        first = (event.owner, event.code, event.resource) == tuple(steps[0])
        assert waiter or first, "it does not wait, and is not the first of the circle"
        real = False
        for at in range(len(self.lines[resource]) + 1):
            with self._standing(new, at):
                assert self._depends(owner, owner), f"at place {at + 1} it could have waited"
                after = [*owners[1:], owner]
                real |= all(self._is_step(step, blocker) for step, blocker in zip(steps, after, strict=True))
        assert real, "there is no such circle"
        self.deadlocks += 1
        if waiter:
            self._end(waiter)
        else:
            self.ended.add(event.rid)

    def _is_step(self, step: list[str], blocker: str) -> bool:
        wait = self.waits.get(step[0])
        return wait is not None and [wait.code, wait.resource] == step[1:] and blocker in self._blockers(wait)

    # Places in line

    def _place(self, request: Request) -> int | None:
        """The last place, or else that of the first who waits for its owner, and so on; none in a deadlock."""
        line = self.lines[request.resource]
        at = len(line)
        while True:
            with self._standing(request, at):
                if not self._depends(request.owner, request.owner):
                    return at
                ahead = [index for index in range(at) if conflict(request.code, line[index].code)]
                before = [index for index in ahead if self._depends(line[index].owner, request.owner)]
            if not before:
                return None
            at = before[0]

    @contextmanager
    def _standing(self, request: Request, at: int) -> Iterator[None]:
        line = self.lines[request.resource]
        line.insert(at, request)
        self.waits[request.owner] = request
        yield
        line.remove(request)
        del self.waits[request.owner]

    def _blockers(self, request: Request) -> Iterator[str]:
        """The owners for whom a request has to wait."""
        for holder in self.holders[request.resource].values():
            if holder.owner != request.owner and conflict(request.code, holder.code):
                yield holder.owner
        for other in self.lines[request.resource]:
            if other is request:
                return
            if conflict(request.code, other.code):
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
