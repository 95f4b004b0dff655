# Generated from pyadeq/_async/queue/mailbox.py by pyadeq/_unasync.py; do not edit.
"""Mailboxes: what waits in one scope, taken in batches; in the place of a queue of messages in memory."""

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
from pyadeq._core.queue.items import MAX_ITEMS, Failure, checked_list, unfit
from pyadeq._twins import follow, sleep, takes
from pyadeq.errors import AdeqError, DurabilityError, LeaseLost
from pyadeq.keys import check_name
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Claimed, Failed, Lease, Renewal

LONGEST_WINDOW = 60.0
MOST_KINDS = 16
# Bytes of payloads, and of all else of an item, below which no answer to a claim was cut short, as it is at 4 MiB.
SMALL, REST = 2 * 1024 * 1024, 16 * 1024

log = logging.getLogger("pyadeq.mailbox")


class Batch:
    """Items of one scope that were taken together, and are settled together.

    id: of the claim; the same where that was sent again. items: in order, read as JSON, or the bytes where they are not
    JSON. leases: the lease of each. merged_count: how many they are. queue_len_after: how many were in line after them.
    deadline: until when they are leased, by the queue's clock. settled: whether that has been answered.

    `with batch:` is `done` at the end. Where it ends by an exception the batch is failed, and given back where it
    is cancelled or interrupted; unless it was settled inside. The exception goes on in either case.
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
        """Complete all of it, each item with this result. LeaseLost if some are no longer held; the others are done."""
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
        """End an attempt that went wrong, for all of it: an answer for each item, as `Queue.fail` has them.

        What is retried comes back together, after what is in line by then, and not always in the same order; `release`
        keeps it. delay: seconds until the retry; None: the backoff. timeout: seconds for the next run. alert: tell
        people, by an event. LeaseLost if some are no longer held; the others are failed.
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
        """Give all of it back to its old place in line; no attempt is spent. LeaseLost if some are no longer held."""
        statuses = self._queue.release_many(self.leases)
        self.settled = True
        self._check(statuses.count("lease_lost"))

    def renew(self, extend: Seconds | None = None) -> list[Renewal]:
        """Hold all of it for so many seconds from now; None: for as long as it was leased. An answer for each item.

        LeaseLost if some are no longer held; the others are renewed.
        """
        answers = self._queue.heartbeat_many(
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
    """Who is told of what becomes of a mailbox."""

    on_enqueued: Callable[[Any, Receipt], object] | None
    on_dequeued: Callable[[Batch], object] | None
    on_blocked: Callable[[str, int], object] | None
    on_cleared: Callable[[str, int], object] | None


class Mailbox:
    """What waits in one scope of a queue, taken in batches. Made by `Queue.mailbox`; any number may be of one scope.

    A scope is the lane `group/<scope>`. Its first item waits for the window, and then all that are in line are one
    batch; as many as one takes are one at once. An item of one of the `alone_kinds` is a batch of its own.
    Nothing is kept here: other processes enqueue and dequeue in the same scope, and what waits survives them.
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
        """Put an item in line: bytes, or anything that JSON can hold. Answer, options and errors are `Queue.enqueue`'s.

        The lane is the mailbox's own. An item with a lower `priority` comes before others, whenever it was enqueued.
        """
        receipt = self._queue.enqueue(item, lane=self.lane, **options)
        self._tell("on_enqueued", item, receipt)
        return receipt

    def try_dequeue(self, blocked_reason: str | None = None) -> Batch | None:
        """What is in line, as one batch; None where nothing is, or where its window is still open.

        blocked_reason: why nothing is to be taken now. Then nothing is, and on_blocked is told where something waits.
        """
        if blocked_reason is None:
            batch, _ = self._take()
            return batch
        if self._callbacks.on_blocked and (waiting := self.length()):
            self._tell("on_blocked", blocked_reason, waiting)
        return None

    def dequeue(self, wait: Seconds = 60.0) -> Batch | None:
        """As `try_dequeue`, as soon as there is a batch and its window is over; None after so many seconds."""
        until = monotonic() + to_ms("wait", wait) / 1000
        while True:
            batch, due = self._take()
            left = until - monotonic()
            if batch or left <= 0:
                return batch
            if round(due, 3) <= self.window:
                # Each item's arrival would end a wait for the token. And none that comes now is to be taken before.
                sleep(max(min(due, left), 0.001))
            else:
                self._queue.block([self.lane], min(due, left))

    def length(self) -> int:
        """How many items are in line; those that are delayed or leased are not."""
        (length,) = self._queue.length([self.lane])
        return length

    def clear(self, reason: str = "") -> int:
        """Delete the items that are in line, and answer how many; those that are delayed or leased stay.

        Not more are deleted than there were at the beginning, so it ends under load, too.
        """
        cleared = self._queue.purge(lane=self.lane)
        self._tell("on_cleared", reason, cleared)
        return cleared

    def _take(self) -> tuple[Batch | None, float]:
        """A batch if there is one now; and the seconds until a window ends, or something else is due."""
        while True:
            unconfirmed: DurabilityError | None = None
            try:
                claimed = self._queue.leases._claim_in_window(
                    self._worker, self.max_items, self.lane, self._lease, self.window, self.alone_kinds
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
        """The batch of what was claimed. Whatever breaks this off gives it back."""
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
            batch = Batch(self._queue, self._worker or self._queue.default_worker, claimed, leases, left)
            batch.settled = self._settle_at_once
            self._tell("on_dequeued", batch)
            return batch
        except BaseException:
            with suppress(AdeqError):
                self._queue.release_many(leases)
            raise

    def _refuse(self, leases: list[Lease]) -> None:
        """What the codec does not accept ends as a failed attempt, and does not hold up the others."""
        if leases:
            fails = [Failure(lease, "the codec does not accept it", reason="PayloadError") for lease in leases]
            with suppress(DurabilityError):  # what is lost with its primary is refused once more
                self._queue.leases._fail_alike(fails)

    def _settled(self, leases: list[Lease]) -> list[Lease]:
        """Complete all, and answer those that were still held: the others will come to somebody else."""
        try:
            statuses = self._queue.ack_many([(lease, None) for lease in leases])
        except DurabilityError as error:  # what is lost with its primary comes once more
            statuses = error.answer
        return [lease for lease, status in zip(leases, statuses, strict=True) if status != "lease_lost"]

    def _left_after(self, leases: list[Lease]) -> int:
        """How many are in line after these."""
        size = sum(len(lease.data) + REST for lease in leases)
        took_all = len(leases) < self.max_items and size < SMALL and not self.alone_kinds
        return 0 if took_all else self.length()

    def _tell(self, name: str, *what: Any) -> None:
        """Call back. What goes wrong there is logged, for the items are as they are, and whoever asked gets them."""
        callback: Callable[..., object] | None = getattr(self._callbacks, name)
        if callback is None:
            return
        try:
            if rest := follow(callback(*what)):
                rest()
        except Exception:
            log.exception("%s of %r", name, self)


def _item(data: bytes) -> Any:
    """What was enqueued; bytes that are not JSON stay what they are."""
    try:
        return json.loads(data) if data else None
    except (ValueError, RecursionError):
        return data
