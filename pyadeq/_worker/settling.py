"""The worker's hot path: one call settles ended tasks and claims new ones for the free capacity."""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from time import monotonic
from typing import Any

from pyadeq._async.kernel.runner import LONGEST_BLOCK
from pyadeq._async.queue.leases import until_due
from pyadeq._core.queue.items import MAX_ITEMS, Failure, held, note
from pyadeq._core.queue.steps import refused_wait
from pyadeq._worker.ends import Ends
from pyadeq._worker.listener import Listener
from pyadeq._worker.outage import LAST_CALL, Outage
from pyadeq._worker.queue import WorkerQueue
from pyadeq._worker.renewal.base import Renewal
from pyadeq._worker.runs import Ack, Runs
from pyadeq._worker.scheduling import Scheduler
from pyadeq._worker.unknown import Aside
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.models.queue import Failed, Lease, Settled

# Acks, fails and lanes of one call are 1,000 at most.
MOST_SETTLED = 450
# Seconds: how long one call is sent again.
RESEND_FOR = 45.0
# Seconds between calls if more is due than one call does.
SOON = 0.01
# Seconds until what a partition of the queue did not answer is sent again.
A_WHILE = 1.0
# From this concurrency on, two calls may be in flight: the server handles one half while Python handles the other.
TWO_LINES = 16
log = logging.getLogger("pyadeq.worker")


class Pulse:
    """An event that wakes all its waiters. Without waiters, it costs almost nothing."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def beat(self) -> None:
        """Wake all who wait now."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                if not one.done():
                    one.set_result(None)

    async def wait(self) -> None:
        """Wait for the next beat."""
        one = asyncio.get_running_loop().create_future()
        self._waiting.append(one)
        await one


@dataclass(slots=True)
class Wanted:
    """The requested mode and concurrency of the worker."""

    concurrency: int
    quiet: bool = False
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Claims:
    """How the worker claims. lease: seconds, 0 for the queue's setting."""

    worker: str
    lanes: Sequence[str]
    lane_first: bool
    lease: float


class Settling:
    """Sends calls in one or two sequences. In each, the next call starts after the previous answer."""

    def __init__(
        self,
        queue: WorkerQueue,
        claims: Claims,
        wanted: Wanted,
        runs: Runs,
        outage: Outage,
        renewal: Renewal,
        listener: Listener,
        scheduler: Scheduler,
        pulse: Pulse,
        ends: Ends,
    ) -> None:
        self.done = self.failed = self.put_aside = 0
        self.answered = 0.0  # monotonic
        self._queue = queue
        self._claims = claims
        self._wanted = wanted
        self._runs = runs
        self._outage = outage
        self._renewal = renewal
        self._listener = listener
        self._scheduler = scheduler
        self._pulse = pulse
        self._ends = ends
        self._in_flight = self._claiming = self._sent = 0
        self._plenty = False  # the last claim got all that it asked for
        # The number of the last call when a confirmation was missing; 0 after a later call was confirmed.
        self._unconfirmed = 0
        self._error: BaseException | None = None
        self._postponed: list[tuple[list[Ack], list[Failure]]] = []
        self._due = False
        self._due_at = math.inf
        self._timer: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> int:
        """How many tasks the worker holds."""
        return self._runs.busy + self._claiming

    async def run(self) -> None:
        """Settle and claim until the worker is to stop and all is settled, or its time is up."""
        lines = [asyncio.create_task(self._line()) for _ in range(2)]
        lines.append(asyncio.create_task(self._aside_line()))
        try:
            done, _ = await asyncio.wait(lines, return_when=asyncio.FIRST_EXCEPTION)
            errors = [error for line in done if (error := line.exception())]  # read all of them, or asyncio complains
            if errors:
                raise errors[0]
        finally:
            if self._timer:
                self._timer.cancel()
            if not all(line.done() for line in lines):
                await self._break_off(lines)

    async def _break_off(self, lines: Sequence[asyncio.Task[None]]) -> None:
        """Wait a short time for calls in flight, because their answers may contain leases."""
        self._wanted.stopping, self._due = True, False
        self._outage.end()
        self._pulse.beat()
        await asyncio.wait(lines, timeout=LAST_CALL)
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)

    async def finish(self) -> None:
        """Settle all that is left, and claim nothing."""
        self._take_up()
        if self._runs.aside:
            await self._outage.bear(partial(self._put_aside, list(self._runs.aside)))
        while self._runs.unsettled:
            acks, fails = self._runs.take(MOST_SETTLED)
            try:
                if acks:
                    self._note_acks(acks, await self._outage.bear(partial(self._queue.ack_many, acks)))
                    acks = []
                if fails:
                    self._note_fails(fails, await self._outage.bear(partial(self._queue.fail_many, fails)))
            except BaseException:
                self._runs.put_back(acks, fails)
                raise

    def look(self) -> None:
        """Make a call: something may be due, or a wake-up token that others wait for may be lost."""
        self._due = True
        self._pulse.beat()

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        self._error = error
        self._pulse.beat()

    async def _line(self) -> None:
        while not self._is_over():
            if self._error:
                raise self._error
            if not self._is_worth_it():
                await self._pulse.wait()
            else:
                if self._unconfirmed:
                    await asyncio.sleep(random.uniform(0.1, 0.5))
                await self._call()
        self._pulse.beat()

    async def _aside_line(self) -> None:
        """Put unknown tasks aside. A partition that is away delays only them, and no other calls."""
        while not self._is_empty():  # the other lines make a call that is due
            if not self._runs.aside:
                await self._pulse.wait()
                continue
            if await self._put_aside_once(list(self._runs.aside)):
                continue
            # A partition is away: those of the others can be put aside.
            await asyncio.gather(*(self._put_aside_once([one]) for one in self._runs.aside))
            if self._runs.aside:
                await asyncio.sleep(A_WHILE)

    async def _put_aside_once(self, aside: list[Aside]) -> bool:
        """Return whether the server has confirmed it."""
        try:
            await self._put_aside(aside)
        except (TransportError, DurabilityError) as error:
            if isinstance(error, TransportError) and not error.retryable:
                raise
            log.warning("unknown and suspended tasks are not put aside yet: %s", error)
            return False
        return True

    async def _put_aside(self, aside: list[Aside]) -> None:
        """Put tasks aside. The calls may be sent again: the second answer is the same."""
        notes = [(one.lease, note(None, one.note, None, None)) for one in aside if one.note]
        if notes:
            await self._queue.leases.progress_many(notes)
        await self._suspend([one for one in aside if one.waits])
        unknown = [one for one in aside if not one.waits]
        snoozed = await self._queue.leases.snooze_many([(one.lease, one.delay) for one in unknown]) if unknown else []
        for one, ended in zip(unknown, snoozed, strict=True):
            self.put_aside += ended.status == "snoozed"
            self._ends.end(one.lease, "put_aside" if ended.status == "snoozed" else ended.status)
        for one in aside:
            self._runs.aside.remove(one)
        self._renewal.drop([one.lease.token for one in aside])
        self._pulse.beat()

    async def _suspend(self, suspended: list[Aside]) -> None:
        """End runs that wait. If the server refuses one, this attempt fails, and no other."""
        if not suspended:
            return
        try:
            answers = await self._queue.leases.suspend_many(
                [(one.lease, wait) for one in suspended for wait in one.waits]
            )
        except (TransportError, DurabilityError):
            raise
        except AdeqError as error:
            if len(suspended) > 1:
                for one in suspended:
                    await self._suspend([one])
            else:
                self._runs.fails.append(Failure(suspended[0].lease, error, reason=type(error).__name__))
            return
        at = 0
        for one in suspended:
            found, at = answers[at : at + len(one.waits)], at + len(one.waits)
            if (failure := refused_wait(one.lease, found)) is not None:
                self._runs.fails.append(failure)
            else:
                self._ends.end(one.lease, found[0].status)

    def _is_over(self) -> bool:
        return not self._due and self._is_empty()

    def _is_empty(self) -> bool:
        """Whether the worker is to stop, and nothing is left to settle, or its time is up."""
        if not self._wanted.stopping:
            return False
        return self._outage.out_of_time.is_set() or not (
            self._runs.running or self._runs.unsettled or self._runs.aside or self._in_flight or self._postponed
        )

    def _is_worth_it(self) -> bool:
        ended, room = self._runs.unsettled, self._room
        if self._in_flight:  # a few ended tasks wait for the answer of the call in flight
            return not self._unconfirmed and ended + room > self._share // 2
        return bool(ended or room or self._due or self._unconfirmed)

    @property
    def _share(self) -> int:
        """How much of all that the worker runs goes with one call."""
        most = self._wanted.concurrency
        return -(-most // 2) if most >= TWO_LINES else most

    @property
    def _may_claim(self) -> bool:
        wanted = self._wanted
        return not (wanted.stopping or wanted.quiet or self._unconfirmed) and self._runs.busy < wanted.concurrency

    @property
    def _room(self) -> int:
        """How many to claim with the next call."""
        if not self._may_claim or self._listener.awaits_work:
            return 0
        if self._in_flight and not self._plenty:  # a few tasks need one claim and not two
            return 0
        return max(0, min(self._wanted.concurrency - self.busy, self._share, MAX_ITEMS))

    async def _call(self) -> None:
        claim = self._room
        acks, fails = self._runs.take(min(self._share, MOST_SETTLED))
        wakings, self._due = self._listener.wakings, False
        self._claiming += claim
        self._in_flight += 1
        try:
            settled = await self._outage.bear(partial(self._settle, acks, fails, claim))
        except BaseException:
            self._runs.put_back(acks, fails)
            raise
        finally:
            self._claiming -= claim
            self._in_flight -= 1
        self._take(settled)
        if settled.unanswered:
            acks, fails, settled = self._postpone(acks, fails, settled)
        if acks:
            self._note_acks(acks, settled.acks)
        if fails:
            self._note_fails(fails, settled.fails)
        if claim:
            self._plenty = len(settled.claimed.leases) == claim
            # If a wake-up came after the claim was sent, claim again.
            if not self._plenty and wakings == self._listener.wakings and self._may_claim:
                self._listener.await_work()

    def _postpone(
        self, acks: list[Ack], fails: list[Failure], settled: Settled
    ) -> tuple[list[Ack], list[Failure], Settled]:
        """Schedule unanswered items for another try. Returns the answered items and their answers."""
        late_acks = [held(lease)[1] in settled.unanswered for lease, _ in acks]
        late_fails = [held(failure.lease)[1] in settled.unanswered for failure in fails]
        self._postponed.append((list(compress(acks, late_acks)), list(compress(fails, late_fails))))
        asyncio.get_running_loop().call_later(A_WHILE, self._take_up)
        kept_acks, kept_fails = [not late for late in late_acks], [not late for late in late_fails]
        answered = Settled(
            list(compress(settled.acks, kept_acks)), list(compress(settled.fails, kept_fails)), settled.claimed
        )
        return list(compress(acks, kept_acks)), list(compress(fails, kept_fails)), answered

    def _take_up(self) -> None:
        postponed, self._postponed = self._postponed, []
        for acks, fails in postponed:
            self._runs.put_back(acks, fails)
        self._pulse.beat()

    async def claim_when_woken(self, seconds: float) -> str | None:
        """Wait on control and the lanes, and claim in the same round trip; returns what was heard, as `block_as` does.

        It claims one task only: this worker may freeze while the server holds the call.
        """
        heard: str | None = ""  # if the answer was not confirmed, it is unknown what woke us

        async def wait() -> Settled:
            nonlocal heard
            heard, settled = await self._queue.leases._settle_when_woken(
                self._claims.worker, seconds, claim=1, given_up=self._give_back, **self._how()
            )
            return settled

        settled = await self._confirmed(wait())
        self._take(settled)
        self._plenty = bool(settled.claimed.leases)
        return heard

    def go_on(self) -> None:
        """After a wait on the lanes: wait again if they were empty and there is room. Otherwise claim."""
        if self._may_claim and not self._plenty:
            self._listener.await_work()
        self._pulse.beat()

    async def _give_back(self, settled: Settled) -> None:
        """Release tasks that the server leased while the wait was being cancelled."""
        if settled.claimed.leases:
            await self._queue.leases.release_many(settled.claimed.leases)

    def _take(self, settled: Settled) -> None:
        """Start what was claimed, and note when to call again."""
        self.answered = monotonic()
        claimed = settled.claimed
        if claimed.leases:
            self._renewal.hold(claimed.leases, claimed.lease)
            if claimed.lease < self._listener.lease:  # renewals were less frequent
                self._renewal.ask()
            self._runs.start(claimed.leases, claimed.now)
        self._listener.lease = claimed.lease
        self._expect(until_due(claimed))
        self._scheduler.expect(claimed)

    async def _settle(self, acks: list[Ack], fails: list[Failure], claim: int) -> Settled:
        return await self._confirmed(
            self._queue.leases.settle(self._claims.worker, acks=acks, fails=fails, claim=claim, **self._how())
        )

    def _how(self) -> dict[str, Any]:
        claims = self._claims
        return {
            "lanes": claims.lanes,
            "lane_first": claims.lane_first,
            "lease": claims.lease,
            "busy": self._runs.busy,
            "retry_for": RESEND_FOR,
        }

    async def _confirmed(self, call: Awaitable[Settled]) -> Settled:
        self._sent += 1
        number = self._sent
        try:
            settled = await call
        except DurabilityError as error:
            # It was applied, and the confirmation of a later call covers it. Until then, take no new work.
            log.warning("no confirmation from the server; claiming nothing until it confirms: %s", error)
            self._unconfirmed = self._sent
            settled = error.answer
        else:
            if number > self._unconfirmed:
                self._unconfirmed = 0
        return settled

    def _note_acks(self, acks: list[Ack], statuses: Sequence[str]) -> None:
        self._renewal.drop([lease.token for lease, _ in acks])
        if not self._ends.wanted and statuses.count("completed") == len(acks):
            self.done += len(acks)
            for lease, _ in acks:
                self._ends.forget(lease)
            return
        for (lease, _), status in zip(acks, statuses, strict=True):
            self._note(lease, status)

    def _note_fails(self, fails: list[Failure], answers: Sequence[Failed]) -> None:
        self._renewal.drop([failure.lease.token for failure in fails if isinstance(failure.lease, Lease)])
        self.failed += len(fails)
        for failure, answer in zip(fails, answers, strict=True):
            if isinstance(failure.lease, Lease):
                self._note(failure.lease, answer.status, failure)

    def _note(self, lease: Lease, status: str, failure: Failure | None = None) -> None:
        """Count a settled attempt, and log its end."""
        self._ends.end(lease, status, failure)
        self.done += status != "lease_lost"

    def _expect(self, seconds: float) -> None:
        """Schedule a call after this many seconds. Later than LONGEST_BLOCK, it is not needed: a blocking call ends
        before, and its claim handles what is due.
        """
        if seconds >= LONGEST_BLOCK:
            self._due_at = math.inf
            return
        loop = asyncio.get_running_loop()
        self._due_at = loop.time() + max(seconds, SOON)
        if self._timer is None or self._timer.when() > self._due_at:
            if self._timer:
                self._timer.cancel()
            self._timer = loop.call_at(self._due_at, self._is_due)

    def _is_due(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        if loop.time() >= self._due_at:
            self._due_at = math.inf
            self.look()
        elif self._due_at < math.inf:
            self._timer = loop.call_at(self._due_at, self._is_due)
