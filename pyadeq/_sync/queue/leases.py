# Generated from pyadeq/_async/queue/leases.py by pyadeq/_unasync.py; do not edit.
"""Leases of tasks: claims, and what becomes of them."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from pyadeq._sync.kernel.runner import LONGEST_BLOCK, Runner
from pyadeq._sync.queue.base import Area
from pyadeq._sync.queue.identities import LAST_WORD, Identities
from pyadeq._sync.queue.workers import QueueWorkers, check_lease
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
    """`queue.leases`: claims, and what becomes of the leases."""

    def __init__(self, runner: Runner, calls: QueueCalls, identities: Identities, workers: QueueWorkers) -> None:
        super().__init__(runner, calls)
        self._identities = identities
        self._workers = workers

    def claim(
        self,
        worker: str | None = None,
        limit: int = 10,
        wait: Seconds = 0,
        *,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
    ) -> list[Lease]:
        """Lease up to limit tasks, the first in line first; with wait, block up to so many seconds for the first.

        The lowest priority comes first and, where it is the same, the lanes in order; with lane_first the other way
        round. The worker is registered on first use; without a name this process has one of its own.
        """
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            claimed = self.claim_once(worker, limit, lanes=lanes, lane_first=lane_first, lease=lease)
            left = until - monotonic()
            if claimed.leases or left <= 0:
                return claimed.leases
            self.block(lanes, min(left, until_due(claimed)))

    def claim_once(
        self,
        worker: str | None = None,
        limit: int = 10,
        *,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
    ) -> Claimed:
        """One claim without waiting, with the time when a delayed task is due or a lease ends next."""
        return self._claim(worker, limit=limit, lanes=lanes, lane_first=lane_first, lease=lease)

    def _claim(
        self,
        worker: str | None,
        given_up: Callable[[WorkerIdentity, Slot], Any] | None = None,
        *,
        lease: Seconds,
        **claim: Any,
    ) -> Claimed:
        """One call of claim. given_up: takes back what a call that is broken off may have claimed."""
        check_lease(lease)

        def call(identity: WorkerIdentity, slot: Slot) -> Call[Claimed]:
            return self._calls.claim(identity.worker, identity.incarnation, slot.index, slot.n, lease=lease, **claim)

        return self._identities.run(
            worker or self._identities.own_name(), call, lambda claimed: claimed.status, given_up=given_up
        )

    def settle(
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

        busy: how many tasks the worker holds besides what it claims now, for those who look. retry_for: seconds in
        which the call is sent again while there is no answer, at most 45; None: the client's.
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

        return self._identities.run(
            worker or self._identities.own_name(), call, lambda settled: settled.claimed.status, retry_for, resumes=True
        )

    def settle_when_woken(
        self,
        worker: str,
        seconds: float,
        *,
        claim: int,
        lanes: Sequence[str],
        lane_first: bool,
        lease: Seconds,
        busy: int,
        given_up: Callable[[Settled], object],
        retry_for: float | None = None,
    ) -> tuple[str | None, Settled]:
        """Wait as `block_as` does, and claim in the same round trip as soon as the wait is over, in whatever way.

        given_up: takes what was claimed all the same, where the wait is broken off by a cancellation.
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

        key, settled = self._identities.run_when_woken(
            worker,
            self._wakers(worker, lanes),
            seconds,
            call,
            lambda settled: settled.claimed.status,
            given_up,
            retry_for,
        )
        return self._waker(key), settled

    def block(self, lanes: Sequence[str], seconds: float) -> bool:
        """Wait until one of the lanes may have a task; False after so many seconds (at most 10)."""
        return bool(self.block_as(None, checked_lanes(lanes), seconds))

    def block_as(self, worker: str | None, lanes: Sequence[str], seconds: float) -> str | None:
        """Wait until a lane may have a task, which is the answer; or until somebody wants something of the worker.

        The answer is "" then, and where the connection was lost: `beat` says what it is. None after so many seconds (at
        most 10).
        """
        return self._waker(self._runner.block(self._wakers(worker, lanes), seconds))

    def _wakers(self, worker: str | None, lanes: Sequence[str]) -> list[str]:
        control = [f"{self._calls.base}:control:{worker}"] if worker else []
        return control + [f"{self._calls.base}:wake:{lane}" for lane in lanes]

    def _waker(self, key: str | None) -> str | None:
        """The lane of a key, or "" for control."""
        base = self._calls.base
        return key and ("" if key.startswith(f"{base}:control:") else key.removeprefix(f"{base}:wake:"))

    def ack(self, lease: Held, result: Any = None) -> AckStatus:
        """Complete a task and keep its result; a status as `ack_many` has it. LeaseLost if the lease is not this one.

        A second ack with another result changes nothing: it answers `already` and logs a warning.
        """
        (status,) = self.ack_many([(lease, result)])
        _check(lease, status)
        if status == "already":
            log.warning("task %s was completed before with another result, which stays", held(lease)[0])
        return status

    def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result; a status for each.

        `completed`; `result_dropped`, completed by a full server that kept no result above 4 KiB; `already`, completed
        before under this lease with another result, which stays; `lease_lost`.
        """
        return self._in_batches(self._calls.ack, acks)

    def fail(
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
        """End an attempt that went wrong: retried after a delay, or dead if not retryable or the last one.

        error: text, bytes or an exception; the last 8 KiB are kept. reason: one word. delay: seconds until the retry;
        None: the backoff. timeout: seconds for the next run; None: as before. alert: tell people, by an event.
        LeaseLost if the lease is another's.
        """
        failure = Failure(lease, error, reason, retryable, delay=delay, timeout=timeout, alert=alert)
        answer = (self.fail_many([failure]))[0]
        _check(lease, answer.status)
        return answer

    def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many attempts; an answer for each, `lease_lost` where the lease is another's."""
        return self._in_batches(lambda some: self._calls.fail(some, _jitters(some)), fails)

    def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Prolong a lease by `extend` seconds from now (0: the queue's setting). LeaseLost if it is past its deadline.

        `cancelling` means that somebody wants the task stopped, `timed_out` that it has run beyond its timeout.
        """
        answer = (self.heartbeat_many([lease], extend=extend))[0]
        _check(lease, answer.status)
        return answer

    def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0, worker: str = "") -> list[Renewal]:
        """Prolong many leases; an answer for each. worker: whose sign of life it is, if anybody's."""
        return (self._workers.beat(leases, extend=extend, worker=worker)).renewals if leases else []

    def progress(
        self,
        lease: Held,
        fraction: float | None = None,
        text: str | None = None,
        *,
        log: str | None = None,
        output: str | None = None,
    ) -> ProgressStatus:
        """Say how far a task has come: 0 to 1, in words, by a line of its log; and where its output is.

        `cancelling` means that somebody wants the task stopped. What is None stays as it was; texts of more than 1,000
        bytes are cut. LeaseLost if the lease is past its deadline.
        """
        status = (self.progress_many([(lease, note(fraction, text, log, output))]))[0]
        _check(lease, status)
        return status

    def release(self, lease: Held) -> ReleaseStatus:
        """Give a task back to its old place in line; no attempt is spent. LeaseLost if the lease is another's."""
        status = (self.release_many([lease]))[0]
        _check(lease, status)
        return status

    def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Give many tasks back; a status for each, `released`, `cancelled` or `lease_lost`."""
        return self._in_batches(self._calls.release, leases)

    def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Put a task aside for so many seconds; no attempt is spent. LeaseLost if the lease is another's."""
        answer = (self.snooze_many([(lease, delay)]))[0]
        _check(lease, answer.status)
        return answer

    def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]:
        """Put many tasks aside, each a lease with its seconds; an answer for each."""
        return self._in_batches(self._calls.snooze, leases)

    def progress_many(self, notes: Sequence[tuple[Held, Mapping[str, Any]]]) -> list[ProgressStatus]:
        """Say how far tasks have come; a status for each. Several notes may be of one lease: lines of its log."""
        return self._in_batches(lambda some: self._calls.progress(some, new_ulid()), notes)

    def _fail_alike(self, fails: Sequence[Failure]) -> list[Failed]:
        """End attempts that went wrong, with the same part of chance in all their backoffs."""
        jitter = random.randint(0, 1_000_000)
        return self._in_batches(lambda some: self._calls.fail(some, [jitter] * len(some)), fails)

    def _claim_in_window(
        self,
        worker: str | None,
        limit: int,
        lane: str,
        lease: Seconds,
        window: Seconds,
        alone_kinds: Sequence[str],
    ) -> Claimed:
        """One claim in a lane. Where it is broken off, what the server has given for it goes back at once."""

        def give_back(identity: WorkerIdentity, slot: Slot) -> None:
            given = self._runner.send(
                self._calls.settle(identity.worker, identity.incarnation, slot.index, slot.n, lanes=[lane]), LAST_WORD
            )
            self.release_many(given.claimed.leases)

        return self._claim(
            worker, give_back, limit=limit, lanes=[lane], lease=lease, window=window, alone_kinds=alone_kinds
        )


def until_due(claimed: Claimed) -> float:
    """Seconds until the next due time or deadline, by the server's clock."""
    return LONGEST_BLOCK if claimed.next_due is None else claimed.next_due - claimed.now


def _check(lease: Held, status: str) -> None:
    if status == "lease_lost":
        id, _ = held(lease)
        raise LeaseLost(
            f"the lease of task {id!r} is lost: it ran out or was settled under another token; nothing was changed"
        )


def _jitters(fails: Sequence[Failure]) -> list[int]:
    return [random.randint(0, 1_000_000) for _ in fails]
