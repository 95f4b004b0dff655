"""One settle for all partitions of a queue: where leases are, which partitions to ask, and in which order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from pyadeq._async.queue import Queue
from pyadeq._async.queue.leases import until_due
from pyadeq._async.queue.partitions.answer import Answer
from pyadeq._async.queue.partitions.base import LEAST_REST, PartitionedBase
from pyadeq._core.queue.items import Failure, Held, acked, failed, held
from pyadeq._core.queue.partitions import PartitionMap
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.models.queue import AckStatus, Failed, Lease, Settled

T = TypeVar("T")

MOST_KNOWN = 10_000
"""How many leases are remembered with their partition, at least. For other leases, the partition is searched."""

DRY = 2.0
"""Seconds until a listening caller asks a partition without enough tasks again, unless a hint comes or something is
due.
"""

Indexes = tuple[list[int], list[int]]
"""The indexes of acks, and the indexes of fails."""

NONE: Indexes = ([], [])


class Settling(PartitionedBase):
    """The part of a partitioned queue that knows where leases are."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._turn_of = 0
        self._at: dict[str, str] = {}  # the partitions of leases, by their tokens
        self._at_before: dict[str, str] = {}
        self._dry_until: dict[str, float] = {}

    async def _in_turn(self, retry_for: float | None = None) -> list[str]:
        """Return all partitions, starting with the next one each time, so that none starves."""
        tags = (await self._fresh(retry_for)).all
        self._turn_of = first = (self._turn_of + 1) % len(tags)
        return [*tags[first:], *tags[:first]]

    def _places(self, known: PartitionMap, lease: Held) -> tuple[str, ...]:
        """Return where a lease is, if remembered, or where it may be, most likely first: the task's id may not say."""
        id, token = held(lease)
        there = self._at.get(token) or self._at_before.get(token)
        return (there,) if there else known.places_of_id(id)

    def _may_be_elsewhere(self, known: PartitionMap, lease: Held) -> bool:
        """Whether a lease that was not found may be in a partition that came after this map was read."""
        id, token = held(lease)
        return not (token in self._at or token in self._at_before or known.is_named_by(id))

    async def _where_it_may_be(self, lease: Held) -> AsyncIterator[str]:
        """Iterate over the partitions to ask for a lease, until it is found."""
        known = await self._fresh()
        asked = self._places(known, lease)
        for tag in asked:
            yield tag
        if self._may_be_elsewhere(known, lease):
            for tag in self._places(await self._read(), lease):
                if tag not in asked:
                    yield tag

    def _remember(self, tokens: Iterable[str], tag: str) -> None:
        if len(self._at) > MOST_KNOWN:
            self._at_before, self._at = self._at, {}
        self._at.update((token, tag) for token in tokens)

    def _expect_tasks(self, tags: Sequence[str]) -> None:
        """Note the partitions that called; if none did, any partition may have tasks."""
        for tag in tags or list(self._dry_until):
            self._dry_until.pop(tag, None)

    async def _settle_in(
        self,
        tags: Sequence[str],
        worker: str,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        listens: bool = False,
        before: Callable[[str], Awaitable[object]] | None = None,
        **how: Any,
    ) -> Settled:
        """Settle in these partitions, in this order; see `QueueLeases.settle`. If a partition is away, its tasks are
        `unanswered`.

        It asks the partitions of ended tasks, and, while there is room, those that may have tasks to claim; all, if
        neither applies. Raises TransportError if no partition answers. If it is cancelled, or a signal handler raises,
        tasks that it was given are released.

        listens: the caller is notified of new tasks in partitions that had none.
        before: a call that each partition gets first.
        """
        known = await self._fresh()
        ended = self._ended(known, acks, fails)
        how["retry_for"] = self._patience(known.all, how.get("retry_for"))
        turn = list(dict.fromkeys([*tags, *ended]))
        somebody_is_there = not all(map(self._is_away, turn))
        answer = Answer(acks, fails)

        async def ask(tag: str) -> None:
            await self._settle_at(tag, worker, answer, ended.get(tag, NONE), claim, before, **how)

        try:
            for tag in turn:
                if tag not in ended and (claim or ended) and not self._may_claim(tag, answer, claim, listens):
                    continue
                if self._is_away(tag) and (somebody_is_there or answer.lost):
                    lost = TransportError(f"partition {tag} was away", retryable=True, may_have_applied=False)
                    answer.lose(lost, *ended.get(tag, NONE))
                else:
                    await ask(tag)
            for tag in known.all:  # if none has answered, the others show whether the server can be reached
                if not answer.answered and not self._is_away(tag):
                    await ask(tag)
            await self._look_elsewhere(known, acks, fails, answer)
        except BaseException as error:
            await self._give_back_after(error, answer.leases)
            raise
        return answer.settled()

    def _ended(
        self, known: PartitionMap, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure]
    ) -> dict[str, Indexes]:
        """Return the acks and fails of each partition, by the most likely places of their leases."""
        ended: dict[str, Indexes] = {}
        for index, (lease, _) in enumerate(acks):
            ended.setdefault(self._places(known, lease)[0], ([], []))[0].append(index)
        for index, failure in enumerate(fails):
            ended.setdefault(self._places(known, failure.lease)[0], ([], []))[1].append(index)
        return ended

    def _may_claim(self, tag: str, answer: Answer, claim: int, listens: bool) -> bool:
        """Whether there is room for tasks, and this partition may have some."""
        dry = self._dry_until.get(tag, 0.0) - monotonic() if claim and listens else 0.0
        if dry > 0:
            answer.expect(dry)
        return dry <= 0 and len(answer.leases) < claim

    async def _settle_at(
        self,
        tag: str,
        worker: str,
        answer: Answer,
        ended: Indexes,
        claim: int,
        before: Callable[[str], Awaitable[object]] | None,
        **how: Any,
    ) -> None:
        """Settle in one partition, and add its answer."""
        room, began = max(claim - len(answer.leases), 0), monotonic()
        try:
            if before:
                await before(tag)
            settled = await self.part(tag).leases.settle(worker, **answer.wanted(*ended), claim=room, **how)
        except DurabilityError as error:
            settled = answer.doubt(error)
        except AdeqError as error:
            if isinstance(error, TransportError) and error.retryable:
                self._note_away(tag, began)
            elif not answer.leases:
                raise
            answer.lose(error, *ended)  # leases were already claimed: return them
            answer.expect(LEAST_REST)
            return
        answer.take(settled, *ended)
        self._away_until.pop(self._node(tag), None)
        self._remember((lease.token for lease in settled.claimed.leases), tag)
        if len(settled.claimed.leases) < room:
            self._dry_until[tag] = monotonic() + min(DRY, max(until_due(settled.claimed), 0.0))

    async def _give_back_after(self, error: BaseException, leases: Sequence[Lease]) -> None:
        """Release leases of a claim that was cancelled or interrupted."""
        if not isinstance(error, AdeqError):
            with suppress(AdeqError):
                await self._in_each(leases, lambda lease: lease, lambda queue, some: queue.leases.release_many(some))

    async def _look_elsewhere(
        self, known: PartitionMap, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure], answer: Answer
    ) -> None:
        """Look in other partitions for leases that were not at their likely places."""
        late_acks, late_fails = answer.not_there()
        if not late_acks and not late_fails:
            return
        late_acks = [i for i in late_acks if self._may_be_elsewhere(known, acks[i][0])]
        late_fails = [i for i in late_fails if self._may_be_elsewhere(known, fails[i].lease)]
        try:
            statuses = await self.ack_many([acks[i] for i in late_acks])
            answer.correct(late_acks, statuses, late_fails, await self.fail_many([fails[i] for i in late_fails]))
        except TransportError as error:
            answer.lose(error, late_acks, late_fails)

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """Complete many tasks, each a lease with its result. Returns a status for each."""
        return await self._in_each(acks, lambda ack: acked(ack)[0], lambda queue, some: queue.ack_many(some))

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """End many failed attempts. Returns an answer for each."""
        return await self._in_each(fails, failed, lambda queue, some: queue.fail_many(some))

    async def _in_each(
        self,
        items: Sequence[Any],
        lease_of: Callable[[Any], Held],
        act: Callable[[Queue, Sequence[Any]], Awaitable[list[T]]],
    ) -> list[T]:
        """Make one call to each partition. For leases that are not there, ask the next possible partition.

        An error of a partition is raised at the end, after all others were asked.
        """
        known = await self._fresh()
        leases = [lease_of(item) for item in items]
        places = [list(reversed(self._places(known, lease))) for lease in leases]
        answers: dict[int, T] = {}
        lost: TransportError | None = None
        left, is_fresh = list(range(len(items))), False
        while left:
            by_tag: dict[str, list[int]] = {}
            for index in left:
                by_tag.setdefault(places[index].pop(), []).append(index)
            left = []
            for tag, some in by_tag.items():
                try:
                    found = await act(self.part(tag), [items[i] for i in some])
                except TransportError as error:
                    lost = error
                    continue
                answers.update(zip(some, found, strict=True))
                self._remember((held(leases[i])[1] for i in some if _is_there(answers[i])), tag)
                left += [i for i in some if not _is_there(answers[i])]
            ends = [i for i in left if not places[i] and self._may_be_elsewhere(known, leases[i])]
            if ends and not is_fresh:
                is_fresh, newer = True, await self._read()
                for i in ends:
                    asked = self._places(known, leases[i])
                    places[i] = [tag for tag in self._places(newer, leases[i]) if tag not in asked]
            left = [i for i in left if places[i]]
        if lost is not None:
            raise lost
        return [answers[index] for index in range(len(items))]


def _is_there(answer: Any) -> bool:
    """Whether the lease was found, from the answer: a status, or an object with one."""
    status: str = getattr(answer, "status", answer)
    return status != "lease_lost"
