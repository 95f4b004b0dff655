"""One lock domain on a virtual clock, and short ways to bring it into a state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.lock.calls import LockCalls
from pyadeq.models.lock import LockRequest, RequestState
from tests.audit_locks import LockAudit, Request, parse_request
from tests.nouns.lock import checks as lock_checks
from tests.nouns.script_bench import Bench, Dump
from tests.nouns.watched import WatchedClient

State = Call[RequestState]


class LockBench(Bench):
    noun = "lock"
    monotonic = True

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        super().__init__(client, watched, base, clock)
        self.calls: LockCalls = LockCalls(base, now_ms=lambda: self.now)
        if clock == "test":
            self.real(self.calls.configure(clock="test"))

    def furnish(self) -> None:
        self.hold("held", "holder")
        self.wait("held", "waiter")
        self.real(self.calls.set_capacity("agent:a", 2))
        self.hold("agent:a", "holder", "permit")

    def settle(self) -> None:
        while self.ask("ZCOUNT", ":deadlines", 0, self.now):
            self.real(self.calls.reap())

    def check(self) -> None:
        lock_checks.check_domain(self)

    def let_all_pass(self) -> None:
        lock_checks.let_all_pass(self)

    def left_over(self) -> Dump:
        return lock_checks.left_over(self)

    # calls; times in seconds, as everywhere in Python

    def acquire(
        self, rid: str, resource: str, owner: str, mode: Any = "exclusive", **fields: Any
    ) -> Call[RequestState]:
        """issued_ms is now, unless told otherwise."""
        return self.calls.acquire(rid, resource, owner, mode=mode, **{"issued_ms": self.now, **fields})

    def acquire_many(self, rid: str, owner: str, wanted: Sequence[str], **fields: Any) -> State:
        """wanted: resources, with =shared or =<permits> where it is not exclusive."""
        requests = [lock_request(one) for one in wanted]
        return self.calls.acquire_many(rid, requests, owner, **{"issued_ms": self.now, **fields})

    # states; the server's own clock needs its issued_ms

    def hold(self, resource: str, owner: str, mode: str = "exclusive", **fields: Any) -> str:
        """The rid under which the owner now holds it."""
        return self._have("granted", resource, owner, mode, **fields)

    def wait(self, resource: str, owner: str, mode: str = "exclusive", **fields: Any) -> str:
        """The rid under which the owner now waits for it, for a minute unless told otherwise."""
        return self._have("queued", resource, owner, mode, **{"wait": 60, **fields})

    def _have(self, status: str, resource: str, owner: str, mode: str, **fields: Any) -> str:
        rid = fields.pop("rid", None) or f"{owner}/{next(self._numbers)}"
        fields.setdefault("issued_ms", self.now or self.server_ms())
        state = self.real(self.acquire(rid, resource, owner, mode, **fields))
        assert state.status == status, state
        return rid

    def server_ms(self) -> int:
        seconds, micros = self.server("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def poll(self, rid: str) -> RequestState:
        return self.real(self.calls.poll([rid]))[0]

    def release(self, *rids: str) -> list[str]:
        return list(self.real(self.calls.release(rids)))

    # what there is

    def audit(self) -> LockAudit:
        return LockAudit(self.client, self.base)

    def request(self, rid: str) -> Request | None:
        record = self.ask("HGET", ":requests", rid)
        return None if record is None else parse_request(record.decode())

    def state(self, rid: str) -> str | None:
        """waits, granted, held, or how it ended; None for what is not known."""
        request = self.request(rid)
        return request and (request.outcome or request.state)

    def holders(self, resource: str) -> set[str]:
        """The rids of those who hold it."""
        return set(self.audit().holds[resource])

    def line(self, resource: str) -> list[str]:
        """The rids of those who wait for it, in order."""
        return list(self.audit().lines[resource])

    def deadline(self, member: str) -> int | None:
        score = self.ask("ZSCORE", ":deadlines", member)
        return None if score is None else int(score)

    def fences(self, rid: str) -> list[int]:
        request = self.request(rid)
        return [part.fence for part in request.parts] if request else []

    @contextmanager
    def hints(self, *resources: str, plain: bool = False) -> Iterator[Callable[[], list[tuple[str, str]]]]:
        """While it lasts, what it gives tells the (resource, words) that have been heard up to then.

        plain: on the channels for SUBSCRIBE, not on the sharded ones.
        """
        channels = {f"{self.base}:channel:{resource}".encode(): resource for resource in resources}
        heard: list[tuple[str, str]] = []
        subscriber: Any = redis.client.PubSub(self.client.connection_pool)

        def listen() -> list[tuple[str, str]]:
            # The answer to a ping comes after all that was published before it.
            subscriber.ping()
            while (message := subscriber.handle_message(subscriber.parse_response())) and message["type"] != "pong":
                if message["type"] in ("message", "smessage"):
                    heard.append((channels[message["channel"]], message["data"].decode()))
            return heard

        try:
            (subscriber.subscribe if plain else subscriber.ssubscribe)(*channels)
            yield listen
        finally:
            subscriber.close()


def lock_request(wanted: str) -> LockRequest:
    resource, _, mode = wanted.partition("=")
    if mode.isdigit():
        return LockRequest(resource=resource, mode="permit", permits=int(mode))
    return LockRequest.model_validate({"resource": resource, "mode": mode or "exclusive"})
