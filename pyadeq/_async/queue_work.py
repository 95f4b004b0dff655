"""Working: claims and what becomes of their leases."""

from __future__ import annotations

import random
from collections.abc import Sequence
from time import monotonic
from typing import Any

from pyadeq._async.queue_base import QueueBase
from pyadeq._async.runner import LONGEST_BLOCK
from pyadeq._core.call import Call
from pyadeq._core.queue_items import Failure, Held, checked_lanes
from pyadeq._core.slots import Slot, WorkerIdentity
from pyadeq.errors import BadArgument, LeaseLost
from pyadeq.models import (
    AckStatus,
    Claimed,
    Failed,
    Lease,
    ReleaseStatus,
    Renewal,
    Seconds,
    Settled,
    Snoozed,
    to_ms,
)


class Working(QueueBase):
    """The part of a queue that workers use."""

    async def claim(
        self,
        worker: str | None = None,
        limit: int = 10,
        wait: Seconds = 0,
        *,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> list[Lease]:
        """Lease up to limit tasks, the first in line first; with wait, block up to so many seconds for the first.

        The worker is registered on first use; without a name this process has one of its own.
        """
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            claimed = await self.claim_once(worker, limit, lanes=lanes, lease=lease)
            left = until - monotonic()
            if claimed.leases or left <= 0:
                return claimed.leases
            await self.block(lanes, min(left, until_due(claimed)))

    async def claim_once(
        self,
        worker: str | None = None,
        limit: int = 10,
        *,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
    ) -> Claimed:
        """One claim without waiting, with the time when a delayed task is due or a lease ends next."""
        _check_lease(lease)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Claimed]:
            return self.calls.claim(
                identity.worker, identity.incarnation, slot.index, slot.n, limit=limit, lanes=lanes, lease=lease
            )

        return await self._identities.run(worker or self.default_worker, call, lambda claimed: claimed.status)

    async def settle(
        self,
        worker: str | None = None,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        lanes: Sequence[str] = ("any",),
        lease: Seconds = 0,
        retry_for: float | None = None,
    ) -> Settled:
        """Complete some tasks, fail others and lease up to `claim` more, in one call.

        retry_for: seconds in which the call is sent again while there is no answer, at most 45; None: the client's.
        """
        _check_lease(lease)
        jitters = _jitters(fails)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Settled]:
            return self.calls.settle(
                identity.worker,
                identity.incarnation,
                slot.index,
                slot.n,
                acks=acks,
                fails=fails,
                jitters=jitters,
                limit=claim,
                lanes=lanes,
                lease=lease,
            )

        return await self._identities.run(
            worker or self.default_worker, call, lambda settled: settled.claimed.status, retry_for
        )

    async def block(self, lanes: Sequence[str], seconds: float) -> bool:
        """Wait until one of the lanes may have a task; False after so many seconds (at most 10)."""
        return await self._runner.block([f"{self.base}:wake:{lane}" for lane in checked_lanes(lanes)], seconds)

    async def ack(self, lease: Held, result: Any = None) -> None:
        """Complete a task and keep its result. LeaseLost if the lease is no longer this one.

        A server whose memory is full keeps no result above 4 KiB; `ack_many` says so.
        """
        _check(lease, (await self.ack_many([(lease, result)]))[0])

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result; a status for each.

        `completed`; `result_dropped`, completed by a full server that kept no result above 4 KiB; `lease_lost`.
        """
        return await self._in_batches(self.calls.ack, acks)

    async def fail(
        self, lease: Held, error: str | bytes | BaseException = b"", *, reason: str = "error", retryable: bool = True
    ) -> Failed:
        """End an attempt that went wrong: retried after a backoff, or dead if not retryable or the last one.

        error: text, bytes or an exception; the last 8 KiB are kept. reason: one word. LeaseLost if the lease is
        another's.
        """
        answer = (await self.fail_many([Failure(lease, error, reason, retryable)]))[0]
        _check(lease, answer.status)
        return answer

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many attempts; an answer for each, `lease_lost` where the lease is another's."""
        return await self._in_batches(lambda some: self.calls.fail(some, _jitters(some)), fails)

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Prolong a lease by `extend` seconds from now (0: the queue's setting). LeaseLost if it is past its deadline.

        `cancelling` means that somebody wants the task stopped, `timed_out` that it has run beyond its timeout.
        """
        answer = (await self.heartbeat_many([lease], extend=extend))[0]
        _check(lease, answer.status)
        return answer

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0, worker: str = "") -> list[Renewal]:
        """Prolong many leases; an answer for each. worker: whose sign of life it is, if anybody's."""
        _check_lease(extend)
        return await self._in_batches(lambda some: self.calls.heartbeat(some, worker, extend), leases)

    async def release(self, lease: Held) -> ReleaseStatus:
        """Give a task back to its old place in line; no attempt is spent. LeaseLost if the lease is another's."""
        status = (await self.release_many([lease]))[0]
        _check(lease, status)
        return status

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Give many tasks back; a status for each, `released`, `cancelled` or `lease_lost`."""
        return await self._in_batches(self.calls.release, leases)

    async def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Put a task aside for so many seconds; no attempt is spent. LeaseLost if the lease is another's."""
        answer = (await self.snooze_many([(lease, delay)]))[0]
        _check(lease, answer.status)
        return answer

    async def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]:
        """Put many tasks aside, each a lease with its seconds; an answer for each."""
        return await self._in_batches(self.calls.snooze, leases)

    async def register(self, worker: str | None = None, *, capacity: int | None = None) -> str:
        """Make a worker known under a new incarnation; an older one of the same name is `stale` from then on."""
        name = worker or self.default_worker
        await self._identities.register(name, capacity)
        return name

    async def deregister(self, worker: str | None = None, reason: str = "stopped") -> str:
        """Forget a worker. Its leases stay until they are settled, released or expire."""
        return await self._identities.deregister(worker or self.default_worker, reason)


def until_due(claimed: Claimed) -> float:
    """Seconds until the next due time or deadline, by the server's clock."""
    return LONGEST_BLOCK if claimed.next_due is None else claimed.next_due - claimed.now


def _check(lease: Held, status: str) -> None:
    if status == "lease_lost":
        id = lease.id if isinstance(lease, Lease) else lease[0]
        raise LeaseLost(
            f"the lease of task {id!r} is lost: it ran out or was settled under another token; nothing was changed"
        )


def _check_lease(seconds: Seconds) -> None:
    if 0 != to_ms("lease", seconds) < 1000:
        raise BadArgument(
            "ADEQ_ARG",
            "pyadeq",
            f"lease: {seconds!r} is not accepted; allowed: 0 (the queue's setting), or 1 s and more",
        )


def _jitters(fails: Sequence[Failure]) -> list[int]:
    return [random.randint(0, 1_000_000) for _ in fails]
