"""Claiming tasks, and the calls that end or renew leases."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import monotonic
from typing import Any

from pyadeq._async.queue.base import QueueBase
from pyadeq._async.queue.leases import QueueLeases, jitters_of, until_due
from pyadeq._core.queue.items import Failure, Held, held, note
from pyadeq.errors import LeaseLost
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import AckStatus, Failed, Lease, ReleaseStatus, Renewal, Snoozed
from pyadeq.models.worker import ProgressStatus

log = logging.getLogger("pyadeq.queue")


class Claiming(QueueBase):
    """The part of a queue for claiming tasks, and for what ends or renews their leases."""

    _leases: QueueLeases

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
            claimed = await self._leases._claim(
                worker, retry_for=self._runner.retry_until(until) if wait else None, **asked
            )
            if claimed.leases or (left := until - monotonic()) <= 0:
                return claimed.leases
            await self._leases.block(lanes, min(left, until_due(claimed)))

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
        return await self._in_parts(self.calls.ack, acks)

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
        return await self._in_parts(lambda some: self.calls.fail(some, jitters_of(some)), fails)

    async def release(self, lease: Held) -> ReleaseStatus:
        """Return a task to its old place. No attempt is spent. Raises LeaseLost if the lease is over."""
        status = (await self._leases.release_many([lease]))[0]
        _check(lease, status)
        return status

    async def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """Delay a leased task by this many seconds. No attempt is spent. Raises LeaseLost if the lease is over."""
        answer = (await self._leases.snooze_many([(lease, delay)]))[0]
        _check(lease, answer.status)
        return answer

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """Renew a lease for `extend` seconds from now (0: the queue's setting). Raises LeaseLost if it is past its
        deadline.

        `cancelling` means that the task was cancelled, `timed_out` that it has run longer than its timeout.
        """
        answer = (await self._leases.heartbeat_many([lease], extend=extend))[0]
        _check(lease, answer.status)
        return answer

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
        status = (await self._leases.progress_many([(lease, note(fraction, text, log, output))]))[0]
        _check(lease, status)
        return status


def _check(lease: Held, status: str) -> None:
    if status == "lease_lost":
        id, _ = held(lease)
        raise LeaseLost(
            f"the lease of task {id!r} is lost: it ran out or was settled under another token; nothing was changed"
        )
