"""The rules of lock domains, told again without any cleverness: lists of requests, all looked at each time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from tests.property.locks.graph import Picture
from tests.property.locks.link import Store
from tests.property.locks.records import FORGET, SETTINGS, Capacity, Ended, Part, Request, Settings

START = 1_700_000_000_000
EVENTS = {"released": "released", "expired": "expired", "revoked": "released", "deadlock": "deadlock"}
SWEEP = 16  # requests that one call ends by the way


class Rules(ABC):
    """A domain and its clock. What the rules leave open (places after a jump, fences) is taken from what was stored."""

    def __init__(self) -> None:
        self.clock = START  # the server's, which may step backwards
        self.now = 0  # the domain's, which never does
        self.offset = 0
        self.settings: Settings = dict(SETTINGS)
        self.live: dict[str, Request] = {}
        self.ended: dict[str, Ended] = {}
        self.capacity: dict[str, Capacity] = {}
        self.rates: dict[str, int] = {}
        self.fence = 0
        self.detected = 0
        self.fewer = False  # there were more permits than now when some of the waits were looked at
        self.grants: list[Request] = []  # of this call
        self.configured: Settings = {}
        self.events: list[tuple[str, str]] = []
        self.store = Store(*({} for _ in Store._fields))  # after the call

    # Who is there

    def line(self) -> list[Request]:
        return sorted((one for one in self.live.values() if one.waiting), key=lambda one: one.order)

    def holders(self) -> list[Request]:
        return [one for one in self.live.values() if not one.waiting]

    def picture(self) -> Picture:
        return Picture(self.holders(), self.line(), self.capacity)

    def moment(self) -> Picture:
        """A picture that stays as it is."""
        return Picture(self.holders(), [replace(one) for one in self.line()], self.capacity)

    def used(self, resource: str) -> int:
        return sum(part.permits for _, part in self.picture().holds(resource) if part.mode == "p")

    def waits_of(self, owner: str) -> Request | None:
        return next((one for one in self.live.values() if one.waiting and one.owner == owner), None)

    def place(self, request: Request) -> int:
        """In the longest of its lines, from 1."""
        line = self.line()
        before = line[: line.index(request)]
        waits = [[part.resource for part in one.parts if part.base != "covers"] for one in before]
        return max(1 + sum(part.resource in its for its in waits) for part in request.parts if part.base != "covers")

    def grantable(self, request: Request, picture: Picture) -> bool:
        for part in picture.waits_for(request):
            if part.mode == "p" and not self.serves(part.resource):
                return False
            if not picture.fits(request, part) or any(picture.ahead(request, part)):
                return False
        return True

    def serves(self, resource: str) -> bool:
        return resource in self.capacity and self.capacity[resource].serves(self.now)

    # Time

    def tick(self) -> None:
        """The clock of a call that writes."""
        reading = self.clock + self.offset
        if reading < self.now:
            self.offset += self.now - reading
        self.now = max(self.now, reading)

    def next_now(self) -> int:
        return max(self.now, self.clock + self.offset)

    def coming_due(self) -> list[Request]:
        """What the next call has to end."""
        found = [one for one in self.live.values() if one.deadline <= self.next_now()]
        return sorted(found, key=lambda one: (one.deadline, one.rid))

    def sweep(self, limit: int = SWEEP) -> int:
        """All end before anybody is handed anything."""
        due = self.coming_due()[:limit]
        for one in due:
            self.end(one, self.fate(one))
        self.hand_off()
        return len(due)

    def house_to_keep(self) -> bool:
        """Whether the next call may do more than it is asked for."""
        now = self.next_now()
        ended = any(one.until <= now for one in self.ended.values())
        return bool(self.coming_due()) or ended or any(due <= now * 1000 for due in self.rates.values())

    def fate(self, request: Request) -> str:
        if not request.waiting:
            return "expired"
        return "timed_out" if self.now >= request.until else "abandoned"

    # Ends and grants

    def end(self, request: Request, outcome: str, detail: str = "") -> None:
        del self.live[request.rid]
        self.remember(request.rid, outcome, detail)
        self.event(f"lock.{EVENTS.get(outcome, 'cancelled')}", request.rid)

    def lost_its_base(self, request: Request) -> bool:
        """An upgrade, or a request that was covered in part, whose owner does not hold the resource any more."""
        picture = self.picture()
        for part in request.parts:
            owners = [one.owner for one, _ in picture.holds(part.resource)]
            if part.base == "upgrades" and request.owner not in owners:
                return True
            if part.base == "covers" and not picture.covering(request.owner, part):
                return True
        return False

    def remember(self, rid: str, outcome: str, detail: str = "") -> None:
        self.ended[rid] = Ended(outcome, detail, self.now + FORGET)

    def grant(self, request: Request, state: str) -> None:
        lease = request.ttl if state == "held" else self.settings["claim_ms"]
        for part in request.parts:
            if part.base != "covers":
                part.fence = self.told_fence(request, part)
        request.state, request.order, request.until = state, "-", 0
        request.granted, request.deadline = self.now, self.now + lease
        self.live[request.rid] = request
        self.grants.append(request)

    @abstractmethod
    def told_fence(self, request: Request, part: Part) -> int:
        """Which grant of a call comes first is open; what the fence of each may be is not."""

    def hand_off(self) -> None:
        """Until nobody in line can have what it waits for."""
        for one in self.line():
            if one.deadline <= self.now and self.store.outcome(one.rid)[0] == self.fate(one):
                self.end(one, self.fate(one))  # overdue, and met at its turn before a sweep came to it
        while True:
            picture = self.picture()
            if lost := next((one for one in picture.line if self.lost_its_base(one)), None):
                self.end(lost, "lost")
            elif ready := next((one for one in picture.line if self.grantable(one, picture)), None):
                self.grant(ready, "granted")
                self.event("lock.promoted", ready.rid)
            else:
                return

    def event(self, name: str, rid: str) -> None:
        self.events.append((name, rid))

    def forget(self, store: Store) -> None:
        """What is over its time may go, and goes when the server comes to it."""
        for rid in [rid for rid, ended in self.ended.items() if ended.until <= self.now and rid not in store.ended]:
            del self.ended[rid]
        for name in [name for name, due in self.rates.items() if due <= self.now * 1000 and name not in store.rates]:
            del self.rates[name]
