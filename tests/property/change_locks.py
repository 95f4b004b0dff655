"""The locks of appliers: taken by their scripts on the server, and what the model knows of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyadeq._core.kernel.call import Call
from pyadeq._core.lock.calls import LockCalls
from pyadeq.models.lock import LockMode, LockRequest


@dataclass
class Held:
    """What one request holds. deadline: ms."""

    owner: str
    modes: dict[str, LockMode]
    deadline: int


class HeldLocks:
    """The requests that hold locks, as the answers of the lock scripts say."""

    def __init__(self) -> None:
        self.by_rid: dict[str, Held] = {}

    def is_held(self, rid: str, now: int) -> bool:
        return rid in self.by_rid and self.by_rid[rid].deadline > now

    def first_missing(self, rid: str, owner: str, resources: Sequence[str], now: int) -> str | None:
        """The first resource that this request does not hold alone for this owner."""
        held = self.by_rid[rid] if self.is_held(rid, now) else None
        alone = held.modes if held and held.owner == owner else {}
        return next((one for one in resources if alone.get(one) != "exclusive"), None)


class LockDomain:
    """A lock domain in the slot of the changes, with the same clock."""

    def __init__(self, ask: Callable[[Call[Any]], Any], base: str, now_ms: Callable[[], int]) -> None:
        self.ask, self.base, self.now_ms = ask, base, now_ms
        self.calls = LockCalls(base, now_ms=now_ms)
        self.held = HeldLocks()
        ask(self.calls.configure(clock="test"))

    def take(self, rid: str, owner: str, modes: Mapping[str, LockMode], ttl: float) -> bool:
        """Take all locks at once, or none."""
        wanted = [LockRequest(resource=resource, mode=mode) for resource, mode in modes.items()]
        told = self.ask(self.calls.acquire_many(rid, wanted, owner, issued_ms=self.now_ms(), ttl=ttl))
        if told.status != "granted":
            return False
        self.held.by_rid[rid] = Held(owner, dict(modes), round(told.deadline * 1000))
        return True

    def renew(self, rid: str) -> None:
        (told,) = self.ask(self.calls.renew([rid]))
        if told.status == "renewed":
            self.held.by_rid[rid].deadline = round(told.deadline * 1000)
        else:
            del self.held.by_rid[rid]

    def release(self, rid: str) -> None:
        self.ask(self.calls.release([rid]))
        del self.held.by_rid[rid]

    def force_release(self, rid: str, resource: str) -> None:
        forced, _ = self.ask(self.calls.force_release(rid, resource, "a test"))
        for one in forced.rids:
            self.held.by_rid.pop(one, None)
