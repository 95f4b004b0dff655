"""A partitioned queue as the worker needs it: one call of it is one to each partition that it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Any

from pyadeq._async.client import Adeq
from pyadeq._async.partition_work import is_held, token_of
from pyadeq._async.partitioned import PartitionedQueue
from pyadeq._async.queue import Queue
from pyadeq._async.queue_work import until_due
from pyadeq._async.runner import LONGEST_BLOCK
from pyadeq._core.partitions import WHOLE, PartitionMap
from pyadeq._core.queue import QueueCalls
from pyadeq._core.queue_items import Failure, Held
from pyadeq.errors import AdeqError, DurabilityError, QueueDraining, TransportError
from pyadeq.models import Claimed, Failed, Lease, ReleaseStatus, Renewal, Seconds, Settled, TaskView
from pyadeq.schedule_models import Fired
from pyadeq.worker_models import Heartbeat, ProgressStatus, WorkerMode

MOST_KNOWN = 100_000
"""Leases of which it is remembered where they are; of others it is found out."""

DRY = 2.0
"""Seconds for which a partition that had too few tasks is not asked for more, unless it calls or something is due."""


class Partitions:
    """What a Worker asks of a queue, for all partitions of one."""

    def __init__(self, queue: PartitionedQueue) -> None:
        self.name = queue.name
        self.calls: QueueCalls = queue.part(WHOLE).calls
        self._runner = queue._runner
        self._queue = queue
        self._about: dict[str, Any] = {}
        self._known: set[str] = set()  # the partitions where the worker is registered
        self._at: dict[str, str] = {}  # where leases are, by their tokens
        self._dry_until: dict[str, float] = {}
        self._asked = False  # somebody wants something of the worker, and nobody heard
        self._turn = 0
        self._ears: dict[tuple[str, ...], Ears] = {}

    @property
    def schedules(self) -> Schedules:
        """Those of all partitions."""
        return Schedules(self._parts)

    async def register(self, worker: str, **about: Any) -> str:
        """Make the worker known in every partition; in those that come later with its first call there."""
        self._about, self._known = about, set()
        lost: TransportError | None = None
        for tag in (await self._map()).all:
            if not self._queue._is_away(tag):
                began = monotonic()
                try:
                    await self._make_known(tag, worker)
                except TransportError as error:
                    self._queue._note_away(tag, began, error)
                    lost = error
        if lost is not None and not self._known:
            raise lost
        return worker

    async def _make_known(self, tag: str, worker: str) -> None:
        if tag not in self._known:
            await self._queue.part(tag).register(worker, **self._about)
            self._known.add(tag)

    async def deregister(self, worker: str, reason: str = "stopped", leases: Sequence[Held] = ()) -> str:
        """Forget the worker in every partition and take back these leases of it."""
        await self.close()
        await self.release_many(leases)
        lost: TransportError | None = None
        for tag in (await self._map()).all:
            try:
                await self._queue.part(tag).deregister(worker, reason)
            except TransportError as error:
                lost = error
        if lost is not None:
            raise lost
        self._known.clear()
        return "deregistered"

    async def close(self) -> None:
        """Wait for nothing more."""
        for ears in self._ears.values():
            await ears.close()

    # Claims and ends

    async def settle(
        self,
        worker: str,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        **how: Any,
    ) -> Settled:
        """As `Queue.settle`; each call begins with the next partition, so that none starves.

        Tasks of a partition that is away are `unanswered`. TransportError if none answered.
        """
        known = await self._map()
        ended: dict[str, tuple[list[int], list[int]]] = {}
        for index, (lease, _) in enumerate(acks):
            ended.setdefault(self._place(known, lease), ([], []))[0].append(index)
        for index, failure in enumerate(fails):
            ended.setdefault(self._place(known, failure.lease), ([], []))[1].append(index)
        how["retry_for"] = self._queue._patience(known.all, how.get("retry_for"))
        answer = Answer(acks, fails)
        tags = tuple(dict.fromkeys([*known.all, *ended]))
        some_are_there = not all(map(self._queue._is_away, tags))

        async def ask(tag: str) -> None:
            own_acks, own_fails = ended.get(tag, ([], []))
            left = max(claim - len(answer.leases), 0)
            began = monotonic()
            try:
                if self._queue._is_away(tag) and (some_are_there or answer.failed_somewhere):
                    raise TransportError(f"partition {tag} was away", retryable=True, may_have_applied=False)
                await self._make_known(tag, worker)
                own = {"acks": [acks[i] for i in own_acks], "fails": [fails[i] for i in own_fails]}
                settled = await self._queue.part(tag).settle(worker, **own, claim=left, **how)  # type: ignore[arg-type]
            except DurabilityError as error:
                settled = answer.doubt(error)
            except TransportError as error:
                if not self._queue._is_away(tag):
                    self._queue._note_away(tag, began, error)
                answer.lose(error, own_acks, own_fails)
                return
            except AdeqError:
                await self.release_many(answer.leases)  # nobody will hear of these
                raise
            self._at.update((lease.token, tag) for lease in settled.claimed.leases)
            for token in list(islice(self._at, max(len(self._at) - MOST_KNOWN, 0))):  # lost ones are never settled
                del self._at[token]
            answer.take(settled, own_acks, own_fails)
            if len(settled.claimed.leases) < left:
                self._dry_until[tag] = monotonic() + min(DRY, max(until_due(settled.claimed), 0.0))

        for tag in self._to_be_asked(tags, ended, claim, answer):
            await ask(tag)
        if not answer.answered:  # it is for the others to say that the server is there
            for tag in tags:
                if not answer.answered and not self._queue._is_away(tag):
                    await ask(tag)
        await self._look_elsewhere(known, acks, fails, answer)
        for held in [held for held, _ in acks] + [failure.lease for failure in fails]:
            if token_of(held) not in answer.unanswered:
                self._at.pop(token_of(held), None)
        return answer.settled()

    def _place(self, known: PartitionMap, held: Held) -> str:
        """Where a lease is, or is likely to be."""
        return self._at.get(token_of(held)) or known.places_of_id(held.id if isinstance(held, Lease) else held[0])[0]

    def _to_be_asked(self, tags: Sequence[str], ended: dict[str, Any], claim: int, answer: Answer) -> Iterable[str]:
        """Where something ended, and then where there may be something to claim, as long as there is room."""
        self._turn += 1
        first = self._turn % len(tags)
        turn = [*tags[first:], *tags[:first]]
        if not (ended or claim):
            yield from turn  # a look: at what is due, and at tokens that others wait for
            return
        asked = False
        for tag in turn:
            rests = self._dry_until.get(tag, 0.0) - monotonic()
            if tag in ended or (rests <= 0 and not self._queue._is_away(tag) and len(answer.leases) < claim):
                asked = True
                yield tag
            elif claim and rests > 0:
                answer.expect(rests)
        if not asked:
            yield turn[0]

    async def _look_elsewhere(
        self, known: PartitionMap, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure], answer: Answer
    ) -> None:
        """Leases whose place was not known may be in another partition."""

        def unknown(held: Held) -> bool:
            id = held.id if isinstance(held, Lease) else held[0]
            return token_of(held) not in self._at and len(known.places_of_id(id)) > 1

        late_acks = [i for i, (held, _) in enumerate(acks) if answer.lost(acks=i) and unknown(held)]
        late_fails = [i for i, one in enumerate(fails) if answer.lost(fails=i) and unknown(one.lease)]
        try:
            if late_acks:
                statuses = await self._queue.ack_many([acks[i] for i in late_acks])
                answer.correct(acks=dict(zip(late_acks, statuses, strict=True)))
            if late_fails:
                failed = await self._queue.fail_many([fails[i] for i in late_fails])
                answer.correct(fails=dict(zip(late_fails, failed, strict=True)))
        except TransportError as error:
            answer.lose(error, late_acks, late_fails)

    async def settle_when_woken(
        self,
        worker: str,
        seconds: float,
        *,
        claim: int,
        lanes: Sequence[str],
        given_up: Callable[[Settled], Awaitable[object]],
        **how: Any,
    ) -> tuple[str | None, Settled]:
        """Wait as `block_as` does, and claim when the wait is over.

        given_up: takes what was claimed all the same, where this is broken off by a cancellation.
        """
        heard = await self._ears_of(worker, lanes).wait((await self._map()).all, seconds)
        for tag in heard or list(self._dry_until):
            self._dry_until.pop(tag, None)
        claiming = asyncio.create_task(self.settle(worker, claim=claim, lanes=lanes, **how))
        try:
            return _first(heard), await asyncio.shield(claiming)
        except asyncio.CancelledError:
            with suppress(AdeqError):
                await given_up(await claiming)
            raise

    async def block_as(self, worker: str, lanes: Sequence[str], seconds: float) -> str | None:
        """Wait until a lane of some partition may have a task, or somebody wants something of the worker."""
        return _first(await self._ears_of(worker, lanes).wait((await self._map()).all, seconds))

    def _ears_of(self, worker: str, lanes: Sequence[str]) -> Ears:
        async def listen(tag: str, seconds: float) -> str | None:
            return await self._queue.part(tag).block_as(worker, lanes, seconds)

        async def give_back(tag: str, word: str) -> None:
            if word == "":
                self._asked = True
                for ears in self._ears.values():
                    ears.ring()
            elif tag in self._known:
                await self._queue.part(tag).settle(worker, lanes=lanes)

        return self._ears.setdefault((worker, *lanes), Ears(listen, give_back, self._is_asked))

    def _is_asked(self) -> bool:
        """Whether somebody wanted something while nobody listened; asked once."""
        asked, self._asked = self._asked, False
        return asked

    # What runs

    async def beat(
        self, leases: Sequence[Held], *, worker: str, extend: Seconds = 0, busy: int | None = None
    ) -> Heartbeat:
        """Prolong leases, and show the worker in every partition. Nothing is said of those in one that is away.

        TransportError if all are.
        """
        known = await self._map()
        by_tag: dict[str, list[int]] = {tag: [] for tag in known.all}
        for index, lease in enumerate(leases):
            by_tag.setdefault(self._place(known, lease), []).append(index)
        renewals = [Renewal(status="renewed") for _ in leases]

        async def ask(tag: str, some: list[int]) -> Heartbeat | TransportError | DurabilityError:
            held = [leases[i] for i in some]
            try:
                return await self._queue.part(tag).beat(held, worker=worker, extend=extend, busy=busy)
            except DurabilityError as error:
                return error
            except TransportError as error:
                if not error.retryable:
                    raise
                return error

        # All at once: one that hangs must not keep the leases of others waiting.
        answers = await asyncio.gather(*(ask(tag, some) for tag, some in by_tag.items()))
        heard: list[Heartbeat] = []
        lost: TransportError | None = None
        unconfirmed: DurabilityError | None = None
        for some, told in zip(by_tag.values(), answers, strict=True):
            if isinstance(told, TransportError):
                lost = told
                continue
            if isinstance(told, DurabilityError):
                unconfirmed, told = told, told.answer
            heard.append(told)
            for index, renewal in zip(some, told.renewals, strict=True):
                renewals[index] = renewal
        if lost is not None and not heard:
            raise lost
        await self._find(known, leases, extend, renewals)
        mode: WorkerMode = next((one.mode for one in heard if one.mode != "run"), "run")
        merged = Heartbeat(mode=mode, capacity=max(one.capacity for one in heard), renewals=renewals)
        if unconfirmed is not None:
            unconfirmed.answer = merged
            raise unconfirmed
        return merged

    async def _find(
        self, known: PartitionMap, leases: Sequence[Held], extend: Seconds, renewals: list[Renewal]
    ) -> None:
        """Leases that were not where they were likely to be may be in another partition; remembered if they are."""
        for index, held in enumerate(leases):
            places = known.places_of_id(held.id if isinstance(held, Lease) else held[0])
            if renewals[index].status != "lease_lost" or token_of(held) in self._at:
                continue
            for tag in places[1:]:
                with suppress(TransportError):
                    (renewals[index],) = await self._queue.part(tag).heartbeat_many([held], extend=extend)
                if renewals[index].status != "lease_lost":
                    self._at[token_of(held)] = tag
                    break

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[Any]:
        """See `Queue.ack_many`."""
        return await self._queue.ack_many(acks)

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]:
        """See `Queue.fail_many`."""
        return await self._queue.fail_many(fails)

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0) -> list[Renewal]:
        """See `Queue.heartbeat_many`."""
        return await self._queue.heartbeat_many(leases, extend=extend)

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]:
        """See `Queue.release_many`."""
        return await self._queue._in_each(
            leases, lambda lease: lease, lambda queue, some: queue.release_many(some), is_held, self._known_place
        )

    async def progress_many(self, notes: Sequence[tuple[Held, Any]]) -> list[ProgressStatus]:
        """See `Queue.progress_many`."""
        return await self._queue._in_each(
            notes, lambda note: note[0], lambda queue, some: queue.progress_many(some), is_held, self._known_place
        )

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        for tag in (await self._map()).places_of_id(id):
            if await self._queue.part(tag).get(id) is not None:
                return await self._queue.part(tag)._gathered_page(id, cursor)
        return [], ""

    def _known_place(self, held: Held) -> str | None:
        return self._at.get(token_of(held))

    # Partitions

    async def _map(self) -> PartitionMap:
        return await self._queue._fresh()

    async def _parts(self) -> list[Queue]:
        return await self._queue._parts_now()


class Answer:
    """The answers of some partitions as one."""

    def __init__(self, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure]) -> None:
        self.leases: list[Lease] = []
        self._acks, self._fails = acks, fails
        self.statuses: list[Any] = ["lease_lost"] * len(acks)
        self.failed = [Failed(status="lease_lost") for _ in fails]
        self.unanswered: set[str] = set()
        self._claims: list[Claimed] = []
        self._due = LONGEST_BLOCK
        self._lost: TransportError | None = None
        self._doubt: DurabilityError | None = None

    @property
    def answered(self) -> bool:
        """Whether any partition has answered."""
        return bool(self._claims)

    @property
    def failed_somewhere(self) -> bool:
        """Whether any partition did not answer."""
        return self._lost is not None

    def expect(self, seconds: float) -> None:
        """There may be more in so many seconds."""
        self._due = min(self._due, max(seconds, 0.0))

    def doubt(self, error: DurabilityError) -> Settled:
        """What a partition answered that it could not confirm."""
        self._doubt = error
        settled: Settled = error.answer
        return settled

    def take(self, settled: Settled, acks: Iterable[int], fails: Iterable[int]) -> None:
        """What a partition answered of these."""
        self.correct(dict(zip(acks, settled.acks, strict=True)), dict(zip(fails, settled.fails, strict=True)))
        self._claims.append(settled.claimed)
        self.leases += settled.claimed.leases
        self.expect(until_due(settled.claimed))

    def correct(self, acks: dict[int, Any] | None = None, fails: dict[int, Failed] | None = None) -> None:
        """What was answered of these, by their index."""
        for index, status in (acks or {}).items():
            self.statuses[index] = status
        for index, failed in (fails or {}).items():
            self.failed[index] = failed

    def lost(self, acks: int | None = None, fails: int = 0) -> bool:
        """Whether a partition answered that a lease is lost; by its index."""
        held = self._acks[acks][0] if acks is not None else self._fails[fails].lease
        status = self.statuses[acks] if acks is not None else self.failed[fails].status
        return status == "lease_lost" and token_of(held) not in self.unanswered

    def lose(self, error: TransportError, acks: Iterable[int], fails: Iterable[int]) -> None:
        """A partition is away, and nothing is known of these."""
        self._lost = error
        held = [self._acks[index][0] for index in acks] + [self._fails[index].lease for index in fails]
        self.unanswered.update(map(token_of, held))

    def settled(self) -> Settled:
        """All of it. TransportError if there was no answer, DurabilityError if one was not confirmed."""
        if self._lost is not None and not self._claims:
            raise self._lost
        now = self._claims[0].now
        firings = [one.next_firing - one.now for one in self._claims if one.next_firing is not None]
        claimed = Claimed(
            "ok",
            now,
            min(one.lease for one in self._claims),
            now + self._due,
            self.leases,
            now + min(firings) if firings else None,
        )
        settled = Settled(self.statuses, self.failed, claimed, frozenset(self.unanswered))
        if self._doubt is not None:
            self._doubt.answer = settled
            raise self._doubt
        return settled


class Ears:
    """Listens in several partitions, each on a connection of its own, which goes on while there is something to do.

    give_back: called where there was a word that nobody waits for any more. asked: whether one was heard elsewhere.
    """

    def __init__(
        self,
        listen: Callable[[str, float], Awaitable[str | None]],
        give_back: Callable[[str, str], Awaitable[None]],
        asked: Callable[[], bool],
    ) -> None:
        self._listen = listen
        self._give_back = give_back
        self._asked = asked
        self._heard: dict[str, str] = {}
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._waiting = 0
        self._bell = asyncio.Event()
        self._error: Exception | None = None

    async def wait(self, tags: Sequence[str], seconds: float) -> dict[str, str]:
        """The words, by partition, as soon as there is one; none after so many seconds."""
        until = monotonic() + seconds
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while not (self._heard or self._error):
                    if self._asked():
                        return {"": ""}
                    for tag in tags:  # those that have ended by themselves, too
                        if tag not in self._listening:
                            self._listening[tag] = asyncio.create_task(self._ear(tag, max(until - monotonic(), 0.01)))
                    self._bell.clear()
                    await self._bell.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        if self._error:
            error, self._error = self._error, None
            raise error
        heard, self._heard = self._heard, {}
        return heard

    def ring(self) -> None:
        """Have whoever waits look again."""
        self._bell.set()

    async def close(self) -> None:
        """Listen no more."""
        ears = list(self._listening.values())
        for ear in ears:
            ear.cancel()
        await asyncio.gather(*ears, return_exceptions=True)

    async def _ear(self, tag: str, seconds: float) -> None:
        try:
            word = await self._listen(tag, seconds)
            if word is not None and self._waiting:
                self._heard[tag] = word
            elif word is not None:
                await self._give_back(tag, word)
        except TransportError as error:
            if not error.retryable:
                self._error = error
        except AdeqError as error:
            self._error = error
        finally:
            del self._listening[tag]
            self._bell.set()


class Schedules:
    """The schedules of all partitions, for those who fire them."""

    def __init__(self, parts: Callable[[], Awaitable[list[Queue]]]) -> None:
        self._parts = parts

    async def fire_due(self) -> Fired:
        """Fire what is due in any partition; see `Schedules.fire_due`. What cannot be reached waits."""
        fired, failed = [], None
        for queue in await self._parts():
            try:
                fired.append(await queue.schedules.fire_due())
            except (TransportError, QueueDraining) as error:
                failed = error
        if failed is not None and not fired:
            raise failed
        waits = [one.next - one.now for one in fired if one.next is not None]
        now = fired[0].now
        firings = [firing for one in fired for firing in one.firings]
        return Fired(firings=firings, now=now, next=now + min(waits) if waits else None)


def _first(heard: dict[str, str]) -> str | None:
    """Of several words the one that says that somebody wants something of the worker, or a lane."""
    return min(heard.values(), default=None)


def same_queue(adeq: Adeq, queue: Queue | Partitions) -> Any:
    """A queue as it is known by another client."""
    if isinstance(queue, Partitions):
        return Partitions(adeq.partitioned(queue.name))
    return Queue(adeq, queue.name, queue.base)
