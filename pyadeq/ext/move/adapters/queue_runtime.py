"""`QueueRuntime`: the messages that an agent reads in batches, where a program had a queue in memory."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, Protocol, cast

from pyadeq.asyncio import Batch, Lease, Mailbox, Queue
from pyadeq.errors import AdeqError, DurabilityError, QueueDraining
from pyadeq.ext.move.adapters.notifications import is_notification, notification_text
from pyadeq.ext.move.adapters.queues import checked
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds

Kind = Literal["message", "task_notification", "approval_result", "overlay_action"]
ALONE: Final = ("task_notification", "approval_result", "overlay_action")
"""Kinds of items that are not merged with others."""
LONGEST_SCOPE: Final = 100
"""The most characters of the name of a mailbox."""


@dataclass(frozen=True, kw_only=True)
class QueueItem:
    """What an agent reads.

    content: of a message, or what another program has enqueued. text: of the other kinds.
    enqueued_at: seconds since the epoch; by the server once the item is dequeued.
    """

    kind: Kind
    id: str = ""
    source: str = "user"
    agent_id: str | None = None
    conversation_id: str | None = None
    client_message_id: str | None = None
    content: Any = None
    text: str | None = None
    enqueued_at: float | None = None


FIELDS: Final = {one.name for one in fields(QueueItem)} - {"id", "enqueued_at"}
"""What is stored of an item. The server knows the rest."""


@dataclass(frozen=True)
class DequeuedBatch:
    """Items of one conversation that were taken together.

    queue_len_after: how many items wait in all conversations that the process reads.
    held: settles the items, unless they were settled at once.
    """

    batch_id: str
    items: list[QueueItem]
    merged_count: int
    queue_len_after: int
    held: Batch | None = field(default=None, repr=False)


class OldRuntime(Protocol):
    """The queue in memory that is to be replaced."""

    def enqueue(self, item: QueueItem) -> object | None:
        """Add an item with its id. None: it was not accepted."""

    def try_dequeue(self, blocked_reason: str | None) -> DequeuedBatch | None:
        """Take the next batch."""


class _Conversation(NamedTuple):
    box: Mailbox
    agent_id: str | None
    conversation_id: str | None


class QueueRuntime:
    """The waiting items of conversations. Each conversation is a mailbox of the queue.

    conversations: (agent id, conversation id) of those that this process reads. Those that it enqueues for are added.
    window: seconds for which the first item waits for more.
    settle_at_once: as a queue in memory does: a batch that was taken is done. Otherwise settle `batch.held`.
    on_blocked: gets the reason and the number of waiting items, if nothing may be taken.
    old: a queue in memory that is still read, while all items are also written here. An item that it gives out is
    cancelled here, so that nothing is delivered again after the change.
    on_difference: gets the ids of items that `old` has, or gave out, and that do not wait here.

    Raises ConfigError if the queue is one of `adeq.partitioned`.
    """

    def __init__(
        self,
        queue: Queue,
        conversations: Sequence[tuple[str | None, str | None]] = (),
        *,
        window: Seconds = 0.05,
        max_items: int = 100,
        settle_at_once: bool = True,
        alone_kinds: Sequence[str] = ALONE,
        on_blocked: Callable[[str, int], object] | None = None,
        old: OldRuntime | None = None,
        on_difference: Callable[[list[str]], object] | None = None,
    ) -> None:
        self._queue = checked(queue, "QueueRuntime")
        self._options: dict[str, Any] = {
            "window": window,
            "max_items": max_items,
            "alone_kinds": alone_kinds,
        }
        self._settle_at_once = settle_at_once
        self._on_blocked = on_blocked
        self._old = old
        self._on_difference = on_difference
        self._adding: set[str] = set()  # ids that are being enqueued here
        self._given: set[str] = set()  # of those: `old` has given them out meanwhile
        self._read: dict[str, _Conversation] = {}  # by scope, the next to be read first
        for agent, conversation in conversations:
            self._box(agent, conversation)

    async def enqueue(self, item: QueueItem, *, priority: int = 5) -> QueueItem | None:
        """Add an item. None if it is not accepted: the queue drains, or it has an item with this id.

        With `old`, that one decides. An error here is then a difference.
        """
        box = self._box(item.agent_id, item.conversation_id)
        stored = {name: value for name, value in vars(item).items() if name in FIELDS}
        item = QueueItem(**stored, id=item.id or new_ulid(), enqueued_at=time.time())
        if self._old is not None and self._old.enqueue(item) is None:
            return None
        self._adding.add(item.id)
        try:
            receipt = await box.enqueue(stored, id=item.id, kind=item.kind, priority=priority)
        except AdeqError as error:
            if self._old is not None:
                self._tell_difference([item.id])
                return item
            if isinstance(error, QueueDraining):
                return None
            raise
        finally:
            self._adding.discard(item.id)
            if item.id in self._given:
                self._given.discard(item.id)
                await self._queue.cancel(item.id)
        return item if receipt.status == "created" or self._old is not None else None

    async def try_dequeue(self, blocked_reason: str | None) -> DequeuedBatch | None:
        """Return the next batch; None if there is none, if its window is open, or with a reason why nothing may be
        taken.
        """
        if self._old is not None:
            return await self._from_old(self._old, blocked_reason)
        if blocked_reason is not None:
            if self._on_blocked and (waiting := await self.length()):
                self._on_blocked(blocked_reason, waiting)
            return None
        for scope, conversation in list(self._read.items()):
            batch = await conversation.box.try_dequeue()
            if batch is not None and (taken := await self._taken(batch, conversation)):
                self._read[scope] = self._read.pop(scope)  # the others are next
                return taken
        return None

    async def length(self) -> int:
        """Return how many items wait in all conversations that this process reads."""
        lanes = [one.box.lane for one in self._read.values()]
        return sum(await self._queue.inspect.length(lanes)) if lanes else 0

    async def clear(self, reason: str = "") -> int:
        """Delete the waiting items, and return how many."""
        return sum([await one.box.clear(reason) for one in self._read.values()])

    async def _taken(self, batch: Batch, conversation: _Conversation) -> DequeuedBatch | None:
        """Read what belongs to a batch, and settle it last: whatever breaks this off, the batch is not lost."""
        try:
            items = [
                await self._item(payload, lease, conversation)
                for payload, lease in zip(batch.items, batch.leases, strict=True)
            ]
            left = batch.queue_len_after if len(self._read) == 1 else await self.length()
            if self._settle_at_once:
                items = await self._settled(batch, items)
        except BaseException:
            with suppress(AdeqError):
                await batch.release()
            raise
        held = None if self._settle_at_once else batch
        return DequeuedBatch(batch.id, items, len(items), left, held) if items else None

    async def _settled(self, batch: Batch, items: list[QueueItem]) -> list[QueueItem]:
        """Complete all items, and return those that were still held: other processes will get the others."""
        try:
            statuses = await self._queue.ack_many([(lease, None) for lease in batch.leases])
        except DurabilityError as error:  # what is lost with its primary comes once more
            statuses = error.answer
        return [item for item, status in zip(items, statuses, strict=True) if status != "lease_lost"]

    async def _item(self, payload: Any, lease: Lease, conversation: _Conversation) -> QueueItem:
        """Return an item as it was enqueued. What came in another way is its content, or the text of a notification."""
        about: dict[str, Any] = {"id": lease.id, "enqueued_at": _time(lease.record.get("created_ms"))}
        if isinstance(payload, dict) and payload.keys() == FIELDS:
            return QueueItem(**payload, **about)
        notification = is_notification(payload)
        return QueueItem(
            kind=cast("Kind", lease.kind or "message"),
            source="system",
            agent_id=conversation.agent_id,
            conversation_id=conversation.conversation_id,
            content=None if notification else payload,
            text=await notification_text(self._queue, payload) if notification else None,
            **about,
        )

    async def _from_old(self, old: OldRuntime, blocked_reason: str | None) -> DequeuedBatch | None:
        batch = old.try_dequeue(blocked_reason)
        if batch is not None:
            ids = [item.id for item in batch.items]
            self._given |= self._adding & {*ids}  # `enqueue` cancels these
            ids = [id for id in ids if id not in self._adding]
            statuses = await self._queue.cancel_many(ids)
            missing = [id for id, status in zip(ids, statuses, strict=True) if status != "cancelled"]
            self._tell_difference(missing)
        return batch

    def _tell_difference(self, ids: list[str]) -> None:
        if ids and self._on_difference:
            self._on_difference(ids)

    def _box(self, agent: str | None, conversation: str | None) -> Mailbox:
        scope = scope_of(agent, conversation)
        if scope not in self._read:
            self._read[scope] = _Conversation(self._queue.mailbox(scope, **self._options), agent, conversation)
        return self._read[scope].box


def scope_of(agent_id: str | None, conversation_id: str | None) -> str:
    """Return the name of the mailbox of a conversation: `<agent id>+<conversation id>`.

    If a name of a mailbox cannot have a character of an id, this is `+` and four digits, `++` is between the ids, and
    the name can be read back. If it would have more than 100 characters, it is `++` and its SHA-256. So no two
    conversations have the same name. A client in TypeScript makes the same names.
    """
    ids = agent_id or "", conversation_id or ""
    safe = [re.sub(r"[^A-Za-z0-9._@-]", _escaped, id) for id in ids]
    scope = ("+" if safe == [*ids] else "++").join(safe)
    return scope if len(scope) <= LONGEST_SCOPE else f"++{hashlib.sha256(scope.encode()).hexdigest()}"


def _escaped(found: re.Match[str]) -> str:
    """Return the UTF-16 units of a character, which are what TypeScript has of it."""
    digits = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"+{digits[at : at + 4]}" for at in range(0, len(digits), 4))


def _time(ms: bytes | None) -> float | None:
    return None if ms is None else int(ms) / 1000
