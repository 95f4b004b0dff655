# Generated from pyadeq/_async/queue/leases.py by pyadeq/_unasync.py; do not edit.
"""Leases of tasks, as a worker of its own needs them: one claim at a time, and calls for many leases."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyadeq._sync.kernel.runner import LONGEST_BLOCK, Runner
from pyadeq._sync.queue.base import Area
from pyadeq._sync.queue.identities import LAST_WORD, Identities
from pyadeq._sync.queue.workers import QueueWorkers, check_lease
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.slots import Slot, WorkerIdentity
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Failure, Held, checked_lanes
from pyadeq._core.queue.steps import StepValue, Wait, brought_steps, by_lease, refuse_layout
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.queue import Claimed, Failed, Lease, ReleaseStatus, Renewal, Settled, Snoozed
from pyadeq.models.steps import StepKept, Suspended, TaskStep
from pyadeq.models.worker import ProgressStatus

# Steps that one call stores: each may have 1 MiB.
MOST_STEPS = 10
log = logging.getLogger("pyadeq.queue")


class QueueLeases(Area):
    """`queue.leases`: more for a worker that you write yourself. One lease at a time is the queue's: `queue.ack`."""

    def __init__(self, runner: Runner, calls: QueueCalls, identities: Identities, workers: QueueWorkers) -> None:
        super().__init__(runner, calls)
        self._identities = identities
        self._workers = workers
        self._takes_steps = False  # known once the first task has asked

    def claim_once(
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
        return self._claim(worker, limit=limit, lanes=lanes, lane_first=lane_first, lease=lease)

    def _claim(
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

        return self._identities.run(
            worker or self._identities.own_name(),
            call,
            lambda claimed: claimed.status,
            retry_for,
            given_up=partial(self._give_back, lanes),
        )

    def _give_back(self, lanes: Sequence[str], identity: WorkerIdentity, slot: Slot) -> None:
        """Release the leases that the last claim of a slot was given."""
        given = self._runner.send(
            self._calls.settle(identity.worker, identity.incarnation, slot.index, slot.n, lanes=lanes), LAST_WORD
        )
        self.release_many(given.claimed.leases)

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

        If the call is cancelled, or a signal handler raises, tasks that it was given are released.

        busy: how many tasks the worker holds apart from the new ones, for `queue.workers`.
        retry_for: for how many seconds, at most 45, the call is sent again while there is no answer; None: the
        client's.
        """
        check_lease(lease)
        jitters = jitters_of(fails)

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
            worker or self._identities.own_name(),
            call,
            lambda settled: settled.claimed.status,
            retry_for,
            resumes=True,
            given_up=partial(self._give_back, lanes) if claim else None,
        )

    def _settle_when_woken(
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
        """Wait as `_block_as` does, and claim in the same round trip when the wait ends, for whatever reason.

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
        """Wait until one of the lanes may have a task. Returns False after this many seconds (at most 10)."""
        return bool(self._block_as(None, checked_lanes(lanes), seconds))

    def _block_as(self, worker: str | None, lanes: Sequence[str], seconds: float) -> str | None:
        """Wait until a lane may have a task, or until there is a request to the worker. Returns the lane.

        Returns "" for a request to the worker, and if the connection was lost: then call `beat`. Returns None after
        this many seconds (at most 10).
        """
        return self._waker(self._runner.block(self._wakers(worker, lanes), seconds))

    def _wakers(self, worker: str | None, lanes: Sequence[str]) -> list[str]:
        control = [f"{self._calls.base}:control:{worker}"] if worker else []
        return control + [f"{self._calls.base}:wake:{lane}" for lane in lanes]

    def _waker(self, key: str | None) -> str | None:
        """Return the lane of a key, or "" for control."""
        base = self._calls.base
        return key and ("" if key.startswith(f"{base}:control:") else key.removeprefix(f"{base}:wake:"))

    def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0, worker: str = "") -> list[Renewal]:
        """Renew many leases. Returns an answer for each. worker: the worker that this shows to be alive, if any."""
        return (self._workers.beat(leases, extend=extend, worker=worker)).renewals if leases else []

    def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """Return many tasks. Returns a status for each: `released`, `cancelled` or `lease_lost`."""
        return self._in_parts(self._calls.release, leases)

    def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]:
        """Put many tasks aside, each a lease with its seconds. Returns an answer for each."""
        return self._in_parts(self._calls.snooze, leases)

    def keep_steps(self, steps: Sequence[StepValue]) -> list[StepKept]:
        """Store the results of steps of running tasks. Returns an answer for each."""
        return self._in_turn(
            self._calls.step(steps[at : at + MOST_STEPS]) for at in range(0, len(steps), MOST_STEPS)
        )

    def _steps_of(self, lease: Lease) -> list[TaskStep]:
        """Return the steps that the claim has brought, or read them. Raises LayoutError if the queue takes none yet."""
        found = brought_steps(lease.record)
        if found is None:
            return self._runner.send(self._calls.steps(lease.id))
        if not found and not self._takes_steps:
            layout = (self._runner.send(self._calls.settings())).layout
            refuse_layout(self._calls.base, layout)
            self._takes_steps = True
        return self._calls.sealing.steps(found) if self._calls.codec else list(found)

    def suspend_many(self, waits: Sequence[tuple[Held, Wait]]) -> list[Suspended]:
        """End runs whose tasks wait, each a lease with a wait. A lease may have several. Returns an answer for each."""
        return self._in_turn(self._calls.suspend(some) for some in by_lease(waits))

    def progress_many(self, notes: Sequence[tuple[Held, Mapping[str, Any]]]) -> list[ProgressStatus]:
        """Report how far tasks have come. Returns a status for each. One lease may have several entries: lines of its
        log.
        """
        return self._in_batches(lambda some: self._calls.progress(some, new_ulid()), notes)

    def _fail_alike(self, fails: Sequence[Failure]) -> list[Failed]:
        """End failed attempts, with the same random part in all backoffs: the retries become ready together."""
        jitter = random.randint(0, 1_000_000)
        return self._in_parts(lambda some: self._calls.fail(some, [jitter] * len(some)), fails)


def until_due(claimed: Claimed) -> float:
    """Return the seconds until the next due time or deadline, by the server's clock."""
    return LONGEST_BLOCK if claimed.next_due is None else claimed.next_due - claimed.now


def jitters_of(fails: Sequence[Failure]) -> list[int]:
    return [random.randint(0, 1_000_000) for _ in fails]
