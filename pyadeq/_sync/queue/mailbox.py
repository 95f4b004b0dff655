# Generated from pyadeq/_async/queue/mailbox.py by pyadeq/_unasync.py; do not edit.
"""Mailboxes: take the waiting items of one scope in batches. They replace an in-memory message queue."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

from pyadeq._sync.queue.areas import QueueAreas
from pyadeq._sync.queue.leases import until_due
from pyadeq._sync.queue.results import Receipt
from pyadeq._sync.queue.workers import check_lease
from pyadeq._core.kernel.options import checked_list, unfit
from pyadeq._core.queue.items import MAX_ITEMS, Failure, apart
from pyadeq._twins import follow, sleep, takes
from pyadeq.errors import AdeqError, DurabilityError, LeaseLost
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Claimed, Failed, Lease, Renewal

LONGEST_WINDOW = 60.0
MOST_KINDS = 16
# Sizes below which the answer to a claim cannot have been cut at 4 MiB: the bytes of all payloads, and the other bytes
# of one item.
SMALL, REST = 2 * 1024 * 1024, 16 * 1024

log = logging.getLogger("pyadeq.mailbox")


class Batch:
    """Items of one scope that were taken together, and are settled together.

    `with batch:` calls `done` at the end. If the block raises, the batch is failed. If it is cancelled or
    interrupted, the batch is released. If the batch was settled inside, nothing more is done. The exception is raised
    again in all cases.

    id: of the claim; the same if the claim was sent again.
    items: in order, read as JSON, or the bytes if they are not JSON.
    leases: the lease of each item.
    merged_count: how many items there are.
    queue_len_after: how many items were waiting after them.
    deadline: until when they are leased, by the queue's clock.
    settled: whether the batch has been settled.
    """

    id: str
    items: list[Any]
    leases: list[Lease]
    merged_count: int
    queue_len_after: int
    deadline: float
    settled: bool

    def __init__(self, queue: QueueAreas, worker: str, claimed: Claimed, leases: list[Lease], left: int) -> None:
        self.id = leases[0].token.rpartition("/")[0]
        self.items = [_item(lease.data) for lease in leases]
        self.leases = leases
        self.merged_count = len(leases)
        self.queue_len_after = left
        self.deadline = leases[0].deadline
        self.settled = False
        self._queue = queue
        self._worker = worker
        self._lease = claimed.lease

    def __repr__(self) -> str:
        return f"<Batch {self.id} of {self.merged_count}, {self.queue_len_after} left>"

    def done(self, result: Any = None) -> None:
        """Complete all items with this result. Raises LeaseLost if some are no longer held; the others complete."""
        statuses = self._queue.ack_many([(lease, result) for lease in self.leases])
        self.settled = True
        self._check(statuses.count("lease_lost"))

    def fail(
        self,
        error: str | bytes | BaseException = b"",
        *,
        reason: str = "error",
        retryable: bool = True,
        delay: Seconds | None = None,
        timeout: Seconds | None = None,
        alert: bool = False,
    ) -> list[Failed]:
        """End a failed attempt for all items. Returns an answer for each, as `Queue.fail` does.

        Retried items become ready together, behind the items that are waiting at that time, possibly in another order;
        `release` keeps the order. Raises LeaseLost if some are no longer held; the others are failed.

        delay: seconds until the retry; None: the backoff.
        timeout: seconds for the next run.
        alert: write an event for people.
        """
        answers = self._queue.leases._fail_alike(
            [
                Failure(lease, error, reason, retryable, delay=delay, timeout=timeout, alert=alert)
                for lease in self.leases
            ]
        )
        self.settled = True
        self._check(sum(one.status == "lease_lost" for one in answers))
        return answers

    def release(self) -> None:
        """Return all items to their old places. No attempt is spent. Raises LeaseLost if some are no longer held."""
        statuses = self._queue.leases.release_many(self.leases)
        self.settled = True
        self._check(statuses.count("lease_lost"))

    def renew(self, extend: Seconds | None = None) -> list[Renewal]:
        """Hold all items for this many seconds from now; None: for as long as they were leased. Returns an answer for
        each.

        Raises LeaseLost if some are no longer held; the others are renewed.
        """
        answers = self._queue.leases.heartbeat_many(
            self.leases, extend=self._lease if extend is None else extend, worker=self._worker
        )
        deadlines = [one.deadline for one in answers if one.deadline is not None]
        self._check(len(answers) - len(deadlines))
        self.deadline = min(deadlines)
        return answers

    def _check(self, lost: int) -> None:
        if lost:
            raise LeaseLost(
                f"{lost} of the {self.merged_count} leases of batch {self.id!r} are lost: they ran out or were settled "
                "before, or under another token; nothing was changed for them"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.settled:
            return
        if error is None:
            self.done()
            return
        try:
            if isinstance(error, Exception):
                self.fail(error)
            else:
                self.release()
        except AdeqError as problem:
            error.add_note(f"pyadeq: its batch is not settled: {problem}")


class Callbacks(NamedTuple):
    """The callbacks of a mailbox."""

    on_enqueued: Callable[[Any, Receipt], object] | None
    on_dequeued: Callable[[Batch], object] | None
    on_blocked: Callable[[str, int], object] | None
    on_cleared: Callable[[str, int], object] | None


class Mailbox:
    """The waiting items of one scope of a queue, taken in batches. `Queue.mailbox` creates it; a scope can have
    several.

    A scope is the lane `group/<scope>`. Its first item waits for the window. Then all waiting items are one batch, as
    many as one claim takes at once. An item of one of the `alone_kinds` is a batch of its own. Nothing is kept in the
    object: other processes enqueue and dequeue in the same scope, and waiting items survive them.
    """

    def __init__(
        self,
        queue: QueueAreas,
        scope: str,
        window: Seconds,
        max_items: int,
        lease: Seconds,
        worker: str | None,
        settle_at_once: bool,
        alone_kinds: Sequence[str],
        callbacks: Callbacks,
    ) -> None:
        self.scope = check_name("scope", scope)
        self.lane = f"group/{scope}"
        self.window = to_ms("window", window) / 1000
        self.max_items = max_items
        self._queue = queue
        self._lease = lease
        self._worker = worker
        self._settle_at_once = settle_at_once
        self.alone_kinds = tuple(
            check_name("alone_kinds", kind, "label") for kind in checked_list("alone_kinds", alone_kinds)
        )
        self._callbacks = callbacks
        if not 0 <= self.window <= LONGEST_WINDOW:
            raise unfit("window", window, f"0 to {LONGEST_WINDOW:g} seconds")
        if not isinstance(max_items, int) or isinstance(max_items, bool) or not 1 <= max_items <= MAX_ITEMS:
            raise unfit("max_items", max_items, f"1 to {MAX_ITEMS}")
        if len(self.alone_kinds) > MOST_KINDS:
            raise unfit("alone_kinds", alone_kinds, f"at most {MOST_KINDS} kinds")
        check_lease(lease)
        for name, callback in callbacks._asdict().items():
            if callback is not None and not takes(callback):
                raise unfit(name, callback, "a function, or in asyncio a coroutine function")

    def __repr__(self) -> str:
        return f"<Mailbox {self.scope!r} of {self._queue!r}>"

    def enqueue(self, item: Any, **options: Any) -> Receipt:
        """Enqueue an item: bytes, or anything that JSON can hold, or a `Task`. Answer, options and errors are those of
        `Queue.enqueue`.

        The lane is the mailbox's own. An item with a lower `priority` number comes before others, whenever it was
        enqueued.
        """
        item, options = apart(item, options)
        receipt = self._queue.enqueue(item, lane=self.lane, **options)
        self._tell("on_enqueued", item, receipt)
        return receipt

    def try_dequeue(self, blocked_reason: str | None = None) -> Batch | None:
        """Return the waiting items as one batch; None if there are none, or if the window is still open.

        blocked_reason: why nothing may be taken now. Then nothing is taken, and on_blocked is called if items wait.
        """
        if blocked_reason is None:
            batch, _ = self._take()
            return batch
        if self._callbacks.on_blocked and (waiting := self.length()):
            self._tell("on_blocked", blocked_reason, waiting)
        return None

    def dequeue(self, wait: Seconds = 60.0) -> Batch | None:
        """Return a batch as soon as there is one and its window is over; None after `wait` seconds."""
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            batch, due = self._take(self._queue._runner.retry_until(until) if wait else None)
            left = until - monotonic()
            if batch or left <= 0:
                return batch
            if round(due, 3) <= self.window:
                # Sleep instead of waiting for the wake-up token: each new item would end that wait. No batch is due
                # before the window ends.
                sleep(max(min(due, left), 0.001))
            else:
                self._queue.leases.block([self.lane], min(due, left))

    def length(self) -> int:
        """Return how many items wait. Delayed and leased items do not count."""
        (length,) = self._queue.inspect.length([self.lane])
        return length

    def clear(self, reason: str = "") -> int:
        """Delete the waiting items, and return how many. Delayed and leased items stay.

        It deletes at most as many items as there were at the beginning, so it also ends under load.
        """
        cleared = self._queue.admin.purge(lane=self.lane)
        self._tell("on_cleared", reason, cleared)
        return cleared

    def _take(self, retry_for: float | None = None) -> tuple[Batch | None, float]:
        """Return a batch if there is one now, and the seconds until the next try is useful."""
        while True:
            unconfirmed: DurabilityError | None = None
            try:
                claimed = self._queue.leases._claim(
                    self._worker,
                    limit=self.max_items,
                    lanes=[self.lane],
                    lease=self._lease,
                    window=self.window,
                    alone_kinds=self.alone_kinds,
                    retry_for=retry_for,
                )
            except DurabilityError as error:
                claimed, unconfirmed = error.answer, error
            batch = self._open(claimed) if claimed.leases else None
            if unconfirmed is not None:
                unconfirmed.answer = batch
                raise unconfirmed
            if batch or not claimed.leases or any(lease.readable for lease in claimed.leases):
                return batch, until_due(claimed)

    def _open(self, claimed: Claimed) -> Batch | None:
        """Make a batch of the claimed leases. If this is broken off, they are released."""
        leases = [lease for lease in claimed.leases if lease.readable]
        try:
            self._refuse([lease for lease in claimed.leases if not lease.readable])
            if not leases:
                return None
            left = self._left_after(leases)
            if self._settle_at_once:
                leases = self._settled(leases)
                if not leases:
                    return None
            batch = Batch(self._queue, self._worker or self._queue._identities.own_name(), claimed, leases, left)
            batch.settled = self._settle_at_once
            self._tell("on_dequeued", batch)
            return batch
        except BaseException:
            with suppress(AdeqError):
                self._queue.leases.release_many(leases)
            raise

    def _refuse(self, leases: list[Lease]) -> None:
        """Fail the items that the codec does not accept, so that they do not hold up the others."""
        if leases:
            fails = [Failure(lease, "the codec does not accept it", reason="PayloadError") for lease in leases]
            with suppress(DurabilityError):  # if the primary loses this, the items are claimed and refused again
                self._queue.leases._fail_alike(fails)

    def _settled(self, leases: list[Lease]) -> list[Lease]:
        """Complete all items, and return those that were still held: other processes will get the others."""
        try:
            statuses = self._queue.ack_many([(lease, None) for lease in leases])
        except DurabilityError as error:  # what is lost with its primary comes once more
            statuses = error.answer
        return [lease for lease, status in zip(leases, statuses, strict=True) if status != "lease_lost"]

    def _left_after(self, leases: list[Lease]) -> int:
        """Return how many items wait after these."""
        size = sum(len(lease.data) + REST for lease in leases)
        took_all = len(leases) < self.max_items and size < SMALL and not self.alone_kinds
        return 0 if took_all else self.length()

    def _tell(self, name: str, *what: Any) -> None:
        """Call a callback. Its errors are only logged: the items are safe, and the caller still gets them."""
        callback: Callable[..., object] | None = getattr(self._callbacks, name)
        if callback is None:
            return
        try:
            if rest := follow(callback(*what)):
                rest()
        except Exception:
            log.exception("%s of %r", name, self)


def _item(data: bytes) -> Any:
    """Decode an item: JSON, or the bytes if they are not JSON."""
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return data
