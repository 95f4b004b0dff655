"""Locks of an old layout: hashes `lock:task:<id>` and `lock:resource:<type>:<id>` with a time to live.

A lock lives for some seconds, so nothing is moved. Programs hold each lock in both layouts until all of them do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, Literal

from redis import Redis

from pyadeq import Adeq, Grant
from pyadeq.errors import AdeqError, BadArgument, LockLost, WaitTimeout
from pyadeq.ext.move.migrate.reports import Reasons
from pyadeq.ids import new_ulid

VERSION_1: Final = "lock:"
"""The prefix of keys in version 1 of the layout. In version 2 it is `ade:lock:`."""
PAUSE: Final = 0.05
"""Seconds between two attempts."""
STATUSES: Final = ("PENDING", "APPROVED", "REJECTED", "DELEGATED")
"""The statuses of approvals. Version 1 stores their numbers in this order; PENDING is 0."""
Mode = Literal["exclusive", "shared"]


def task_lock(id: str) -> str:
    """Return the name of the lock of a task. With the prefix it is the old key."""
    return f"task:{id}"


def resource_lock(type: str, id: str) -> str:
    """Return the name of the lock of a resource. With the prefix it is the old key."""
    return f"resource:{type}:{id}"


def approval_status(stored: str) -> str:
    """Return the status of an approval of version 1, an integer, or of version 2, in the words of version 2."""
    try:
        return STATUSES[int(stored)] if stored.isdigit() else STATUSES[STATUSES.index(stored)]
    except (IndexError, ValueError):
        allowed = f"0 to {len(STATUSES) - 1}, or {', '.join(STATUSES)}"
        raise BadArgument("ADEQ_ARG", "pyadeq", f"status: {stored!r} is not accepted; allowed: {allowed}") from None


@dataclass
class Compared:
    """A comparison of held locks. both: with the same holder. old, new: only there, with the names of the locks."""

    both: int = 0
    old: Reasons = field(default_factory=Reasons)
    new: Reasons = field(default_factory=Reasons)


class LockBridge:
    """Holds each lock in the old layout and in pyadeq, in this order.

    So programs that only know one of the two exclude those with a bridge. When no program takes only old locks any
    more, programs may take only new ones.

    domain: of pyadeq. prefix: of the old keys.
    """

    def __init__(self, adeq: Adeq, client: Redis, *, domain: str = "default", prefix: str = VERSION_1) -> None:
        self.locks = adeq.locks(domain)
        self._client, self._prefix = client, prefix

    @contextmanager
    def acquire(self, name: str, **options: Any) -> Iterator[BridgedGrant]:
        """Hold a lock for the length of a with block; see `take`."""
        grant = self.take(name, **options)
        try:
            yield grant
        except BaseException:
            with suppress(AdeqError):
                grant.release()
            raise
        grant.release()

    def take(
        self,
        name: str,
        *,
        owner: str,
        mode: Mode = "exclusive",
        ttl: float = 30.0,
        wait: float = 0.0,
        purpose: str = "",
    ) -> BridgedGrant:
        """Acquire a lock in both. name: see `task_lock` and `resource_lock`. mode: `shared` only for resources.

        Raises WaitTimeout if it was not free in time, also if this owner has it already.
        """
        if not name.startswith("resource:") and (mode == "shared" or not name.startswith("task:")):
            raise BadArgument(
                "ADEQ_ARG",
                "pyadeq",
                f"name: {name!r} is not accepted; allowed: task:<id> exclusively, resource:<type>:<id>",
            )
        end = monotonic() + wait
        while True:
            if self.call("take", name, owner, mode, ttl, purpose):
                try:
                    grant = self.locks.take(name, mode=mode, owner=owner, ttl=ttl, wait=0, purpose=purpose)
                    return BridgedGrant(self, grant, ttl)
                except BaseException as error:
                    self.call("release", name, owner, mode, ttl)
                    if not isinstance(error, WaitTimeout):
                        raise
            if monotonic() >= end:
                raise WaitTimeout(f"{name} is held by another owner")
            sleep(min(PAUSE, max(0.0, end - monotonic())))

    def compare(self) -> Compared:
        """Return which locks are held where. Locks that change meanwhile may be counted on one side only."""
        new = {
            (lock.resource, request.owner)
            for request in self.locks.iterate()
            if request.state == "held"
            for lock in request.locks
        }
        result = Compared()
        for pair in self._held():
            if pair in new:
                result.both += 1
                new.discard(pair)
            else:
                result.old.add("only in the old layout", pair[0])
        for name, _ in sorted(new):
            result.new.add("only in pyadeq", name)
        return result

    def call(self, verb: str, name: str, owner: str, mode: Mode, ttl: float, purpose: str = "") -> bool:
        """Take, renew or release the old lock. Returns whether the owner holds it, or has released it."""
        now = datetime.now(UTC)
        times = [
            one.isoformat(timespec="seconds").replace("+00:00", "Z") for one in (now, now + timedelta(seconds=ttl))
        ]
        holder = "exclusive_holder" if name.startswith("resource:") else "holder_agent_id"
        script = self._client.register_script(_source())
        return bool(
            script([self._prefix + name], [verb, owner, mode, holder, round(ttl * 1000), *times, purpose, new_ulid()])
        )

    def _held(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the old locks, each with a holder."""
        for kind in ("task:", "resource:"):
            for key in self._client.scan_iter(match=f"{self._prefix}{kind}*", count=1000, _type="hash"):
                row: Any = self._client.hmget(key, "holder_agent_id", "exclusive_holder", "mode", "holders")
                name = key.decode().removeprefix(self._prefix)
                if row[2] == b"shared":
                    yield from ((name, str(one["agent_id"])) for one in json.loads(row[3] or b"[]"))
                elif holder := row[0] or row[1]:
                    yield name, holder.decode()


class BridgedGrant:
    """A lock that is held in both layouts. The grant of pyadeq renews itself; call `heartbeat` for the old one."""

    def __init__(self, bridge: LockBridge, grant: Grant, ttl: float) -> None:
        self._bridge, self.grant, self._ttl = bridge, grant, ttl

    def heartbeat(self) -> None:
        """Renew the old lock, and check both. Call it several times in a `ttl`, as before. Raises LockLost."""
        self.grant.check()
        if not self._old("renew"):
            with suppress(AdeqError):
                self.grant.release()
            raise LockLost(f"the old lock of {self.grant.resource} by {self.grant.owner} is not held any more")

    def release(self) -> None:
        """Release both. Raises LockLost if one of them was no longer held."""
        try:
            self.grant.release()
        finally:
            held = self._old("release")
        if not held:
            raise LockLost(f"the old lock of {self.grant.resource} by {self.grant.owner} was not held any more")

    def _old(self, verb: str) -> bool:
        mode: Mode = "shared" if self.grant.mode == "shared" else "exclusive"
        return self._bridge.call(verb, self.grant.resource, self.grant.owner, mode, self._ttl)


@cache
def _source() -> str:
    return (Path(__file__).parent / "lua" / "lock.lua").read_text(encoding="utf-8")
