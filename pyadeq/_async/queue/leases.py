"""Leases of tasks: claims, and the calls that end or renew leases."""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import Any

from pyadeq._async.kernel.runner import LONGEST_BLOCK, Runner
from pyadeq._async.queue.base import Area
from pyadeq._async.queue.identities import LAST_WORD, Identities
from pyadeq._async.queue.workers import QueueWorkers, check_lease
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.slots import Slot, WorkerIdentity
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Failure, Held, checked_lanes, held, note
from pyadeq.errors import LeaseLost
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import AckStatus, Claimed, Failed, Lease, ReleaseStatus, Renewal, Settled, Snoozed
from pyadeq.models.worker import ProgressStatus

log = logging.getLogger("pyadeq.queue")


class QueueLeases(Area):
    """`queue.leases`: claims tasks, and ends or renews leases."""

    def __init__(self, runner: Runner, calls: QueueCalls, identities: Identities, workers: QueueWorkers) -> None:
        super().__init__(runner, calls)
        self._identities = identities
        self._workers = workers

    async def claim(
        self,
        worker: str | None = None,
        limit: int = 10,
        wait: Seconds = 0,
        *,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
    ) -> list[Lease]:
        """Lease up to limit tasks, in order. With wait, block up to this many seconds for the first.

        Tasks are ordered by priority, then by lane in the given order; with lane_first, by lane, then by priority. The
        worker is registered on first use. Without a name, this process uses its own. If the call is cancelled, or a
        signal handler raises, tasks that it was given are released.
        """
        asked: dict[str, Any] = {"limit": limit, "lanes": lanes, "lane_first": lane_first, "lease": lease}
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            claimed = await self._claim(worker, retry_for=self._runner.retry_until(until) if wait else None, **asked)
            if claimed.leases or (left := until - monotonic()) <= 0:
                return claimed.leases
            await self.block(lanes, min(left, until_due(claimed)))

    async def claim_once(
        self,
        worker: str | None = None,
        limit: int = 10,
        *,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
    ) -> Claimed:
        """Make one claim without waiting. The answer also says when the next delayed task is due or the next lease
        ends.
        """
        return await self._claim(worker, limit=limit, lanes=lanes, lane_first=lane_first, lease=lease)

    async def _claim(
        self,
        worker: str | None,
        *,
        lanes: Sequence[str],
        lease: Seconds,
        retry_for: float | None = None,
        **claim: Any,
    ) -> Claimed:
        """Make one claim call. If it is broken off, leases that the server gave for it are released at once."""
        check_lease(lease)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Claimed]:
            return self._calls.claim(
                identity.worker, identity.incarnation, slot.index, slot.n, lanes=lanes, lease=lease, **claim
            )

        return await self._identities.run(
            worker or self._identities.own_name(),
            call,
            lambda claimed: claimed.status,
            retry_for,
            given_up=partial(self._give_back, lanes),
        )

    async def _give_back(self, lanes: Sequence[str], identity: WorkerIdentity, slot: Slot) -> None:
        """Release the leases that the last claim of a slot was given."""
        given = await self._runner.send(
            self._calls.settle(identity.worker, identity.incarnation, slot.index, slot.n, lanes=lanes), LAST_WORD
        )
        await self.release_many(given.claimed.leases)

    async def settle(
        self,
        worker: str | None = None,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
        busy: int | None = None,
        retry_for: float | None = None,
    ) -> Settled:
        """Complete some tasks, fail others and lease up to `claim` more, in one call.

        If the call is cancelled, or a signal handler raises, tasks that it was given are released.

        busy: how many tasks the worker holds apart from the new ones, for `queue.workers`.
        retry_for: for how many seconds, at most 45, the call is sent again while there is no answer; None: the
        client's.
        """
        check_lease(lease)
        jitters = _jitters(fails)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Settled]:
            return self._calls.settle(
                identity.worker,
                identity.incarnation,
                slot.index,
                slot.n,
                acks=acks,
                fails=fails,
                jitters=jitters,
                limit=claim,
                lanes=lanes,
                lane_first=lane_first,
                lease=lease,
                busy=busy,
            )

        return await self._identities.run(
            worker or self._identities.own_name(),
            call,
            lambda settled: settled.claimed.status,
            retry_for,
            resumes=True,
            given_up=partial(self._give_back, lanes) if claim else None,
        )

    async def settle_when_woken(
        self,
        worker: str,
        seconds: float,
        *,
        claim: int,
        lanes: Sequence[str],
        lane_first: bool,
        lease: Seconds,
        busy: int,
        given_up: Callable[[Settled], Awaitable[object]],
        retry_for: float | None = None,
    ) -> tuple[str | None, Settled]:
        """Wait as `block_as` does, and claim in the same round trip when the wait ends, for whatever reason.

        given_up: takes back leases of the claim if the wait was broken off by a cancellation.
        """

        def call(identity: WorkerIdentity, slot: Slot, claims: bool) -> Call[Settled]:
            return self._calls.settle(
                identity.worker,
                identity.incarnation,
                slot.index,
                slot.n,
                limit=claim if claims else 0,
                lanes=lanes,
                lane_first=lane_first,
                lease=lease,
                busy=busy,
            )

        key, settled = await self._identities.run_when_woken(
            worker,
            self._wakers(worker, lanes),
            seconds,
            call,
            lambda settled: settled.claimed.status,
            given_up,
            retry_for,
        )
        return self._waker(key), settled

    async def block(self, lanes: Sequence[str], seconds: float) -> bool:
        """Wait until one of the lanes may have a task. Returns False after this many seconds (at most 10)."""
        return bool(await self.block_as(None, checked_lanes(lanes), seconds))

    async def block_as(self, worker: str | None, lanes: Sequence[str], seconds: float) -> str | None:
        """Wait until a lane may have a task, or until there is a request to the worker. Returns the lane.

        Returns "" for a request to the worker, and if the connection was lost: then call `beat`. Returns None after
        this many seconds (at most 10).
        """
        return self._waker(await self._runner.block(self._wakers(worker, lanes), seconds))

    def _wakers(self, worker: str | None, lanes: Sequence[str]) -> list[str]:
        control = [f"{self._calls.base}:control:{worker}"] if worker else []
        return control + [f"{self._calls.base}:wake:{lane}" for lane in lanes]

    def _waker(self, key: str | None) -> str | None:
        """Return the lane of a key, or "" for control."""
        base = self._calls.base
        return key and ("" if key.startswith(f"{base}:control:") else key.removeprefix(f"{base}:wake:"))

    async def ack(self, lease: Held, result: Any = None) -> AckStatus:
        """Complete a task and keep its result. Returns a status as `ack_many` does. Raises LeaseLost if the lease is
        over.

        A second ack with another result changes nothing: it returns `already` and logs a warning.
        """
        (status,) = await self.ack_many([(lease, result)])
        _check(lease, status)
        if status == "already":
            log.warning("task %s was already completed with another result, which stays", held(lease)[0])
        return status

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result. Returns a status for each.

        `completed`; `result_dropped`: completed, but the server was full and kept no result above 4 KiB; `already`:
        completed before under this lease with another result, which stays, and is still kept; `lease_lost`.
        """
        return await self._in_parts(self._calls.ack, acks)

    async def fail(
        self,
        lease: Held,
        error: str | bytes | BaseException = b"",
        *,
        reason: str = "error",
        retryable: bool = True,
        delay: Seconds | None = None,
        timeout: Seconds | None = None,
        alert: bool = False,
    ) -> Failed:
        """End a failed attempt. The task is retried after a delay, or is dead if it is not retryable or was the last
        attempt.

        Raises LeaseLost if the lease is over.

        error: text, bytes or an exception; the last 8 KiB are kept.
        reason: one word.
        delay: seconds until the retry; None: the backoff.
        timeout: seconds for the next run; None: as before.
        alert: write an event for people.
        """
        failure = Failure(lease, error, reason, retryable, delay=delay, timeout=timeout, alert=alert)
        answer = (await self.fail_many([failure]))[0]
        _check(lease, answer.status)
        return answer

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many failed attempts. Returns an answer for each, `lease_lost` if the lease is over."""
        return await self._in_parts(lambda some: self._calls.fail(some, _jitters(some)), fails)

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Renew a lease for `extend` seconds from now (0: the queue's setting). Raises LeaseLost if it is past its
        deadline.

        `cancelling` means that the task was cancelled, `timed_out` that it has run longer than its timeout.
        """
        answer = (await self.heartbeat_many([lease], extend=extend))[0]
        _check(lease, answer.status)
        return answer

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0, worker: str = "") -> list[Renewal]:
        """Renew many leases. Returns an answer for each. worker: the worker that this shows to be alive, if any."""
        return (await self._workers.beat(leases, extend=extend, worker=worker)).renewals if leases else []

    async def progress(
        self,
        lease: Held,
        fraction: float | None = None,
        text: str | None = None,
        *,
        log: str | None = None,
        output: str | None = None,
    ) -> ProgressStatus:
        """Report progress: a fraction from 0 to 1, a text, a line of its log, and where its output is.

        Values that are None stay unchanged. Texts are cut at 1,000 bytes. `cancelling` means that the task was
        cancelled. Raises LeaseLost if the lease is past its deadline.
        """
        status = (await self.progress_many([(lease, note(fraction, text, log, output))]))[0]
        _check(lease, status)
        return status

    async def release(self, lease: Held) -> ReleaseStatus:
        """Return a task to its old place. No attempt is spent. Raises LeaseLost if the lease is over."""
        status = (await self.release_many([lease]))[0]
        _check(lease, status)
        return status

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Return many tasks. Returns a status for each: `released`, `cancelled` or `lease_lost`."""
        return await self._in_parts(self._calls.release, leases)

    async def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Delay a leased task by this many seconds. No attempt is spent. Raises LeaseLost if the lease is over."""
        answer = (await self.snooze_many([(lease, delay)]))[0]
        _check(lease, answer.status)
        return answer

    async def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]:
        """Put many tasks aside, each a lease with its seconds. Returns an answer for each."""
        return await self._in_parts(self._calls.snooze, leases)

    async def progress_many(self, notes: Sequence[tuple[Held, Mapping[str, Any]]]) -> list[ProgressStatus]:
        """Report how far tasks have come. Returns a status for each. One lease may have several entries: lines of its
        log.
        """
        return await self._in_batches(lambda some: self._calls.progress(some, new_ulid()), notes)

    async def _fail_alike(self, fails: Sequence[Failure]) -> list[Failed]:
        """End failed attempts, with the same random part in all backoffs: the retries become ready together."""
        jitter = random.randint(0, 1_000_000)
        return await self._in_parts(lambda some: self._calls.fail(some, [jitter] * len(some)), fails)


def until_due(claimed: Claimed) -> float:
    """Return the seconds until the next due time or deadline, by the server's clock."""
    return LONGEST_BLOCK if claimed.next_due is None else claimed.next_due - claimed.now


def _check(lease: Held, status: str) -> None:
    if status == "lease_lost":
        id, _ = held(lease)
        raise LeaseLost(
            f"the lease of task {id!r} is lost: it ran out or was settled under another token; nothing was changed"
        )


def _jitters(fails: Sequence[Failure]) -> list[int]:
    return [random.randint(0, 1_000_000) for _ in fails]
