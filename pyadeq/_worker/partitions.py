"""A partitioned queue as the worker needs it: one call of it is one to each partition that it concerns."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
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
from pyadeq.errors import AdeqError, DurabilityError, TransportError
from pyadeq.models import Claimed, Failed, Lease, ReleaseStatus, Renewal, Seconds, Settled, TaskView
from pyadeq.schedule_models import Fired
from pyadeq.worker_models import Heartbeat, ProgressStatus, WorkerMode

REST = 2.0
"""Seconds for which a partition that did not answer is left alone, while others go on."""

PATIENCE = 0.2
"""Seconds in which a call to one of several partitions is sent again."""

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
        self._away_until: dict[str, float] = {}
        self._dry_until: dict[str, float] = {}
        self._turn = 0
        self._ears: dict[tuple[str, ...], Ears] = {}

    @property
    def schedules(self) -> Schedules:
        """Those of all partitions."""
        return Schedules(self._parts)

    async def register(self, worker: str, **about: Any) -> str:
        """Make the worker known in every partition; in those that come later with its first call there."""
        self._about, self._known = about, set()
        for tag in (await self._map()).all:
            await self._make_known(tag, worker)
        return worker

    async def _make_known(self, tag: str, worker: str) -> None:
        if tag not in self._known:
            await self._queue.part(tag).register(worker, **self._about)
            self._known.add(tag)

    async def deregister(self, worker: str, reason: str = "stopped", leases: Sequence[Held] = ()) -> str:
        """Forget the worker in every partition and take back these leases of it."""
        await self.close()
        await self.release_many(leases)
        for queue in await self._parts():
            await queue.deregister(worker, reason)
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
            ended.setdefault(_home(known, lease)[-1], ([], []))[0].append(index)
        for index, failure in enumerate(fails):
            ended.setdefault(_home(known, failure.lease)[-1], ([], []))[1].append(index)
        if len(known.all) > 1:
            how["retry_for"] = PATIENCE
        answer = Answer(acks, fails)
        for tag in self._to_be_asked(known.all, ended, claim, answer):
            own_acks, own_fails = ended.get(tag, ([], []))
            left = max(claim - len(answer.leases), 0)
            try:
                self._refuse_if_away(tag)
                await self._make_known(tag, worker)
                some: dict[str, Any] = {
                    "acks": [acks[i] for i in own_acks],
                    "fails": [fails[i] for i in own_fails],
                    "claim": left,
                }
                settled = await self._queue.part(tag).settle(worker, **some, **how)
            except DurabilityError as error:
                settled = answer.doubt(error)
            except TransportError as error:
                self._note_away(tag, error)
                answer.lose(error, own_acks, own_fails)
                continue
            self._away_until.pop(tag, None)
            answer.take(settled, own_acks, own_fails)
            if len(settled.claimed.leases) < left:
                self._dry_until[tag] = monotonic() + min(DRY, max(until_due(settled.claimed), 0.0))
        await self._ask_earlier_homes(known, acks, fails, answer)
        return answer.settled()

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
            rests = max(self._away_until.get(tag, 0.0), self._dry_until.get(tag, 0.0)) - monotonic()
            if tag in ended or (rests <= 0 and len(answer.leases) < claim):
                asked = True
                yield tag
            elif claim and rests > 0:
                answer.expect(rests)
        if not asked:
            yield turn[0]

    async def _ask_earlier_homes(
        self, known: PartitionMap, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure], answer: Answer
    ) -> None:
        """Those whose ids say nothing may be where they belonged before."""
        if not known.before:
            return
        late_acks = [i for i, (held, _) in enumerate(acks) if answer.lost(acks=i) and len(_home(known, held)) > 1]
        late_fails = [i for i, one in enumerate(fails) if answer.lost(fails=i) and len(_home(known, one.lease)) > 1]
        if late_acks:
            statuses = await self._queue.ack_many([acks[i] for i in late_acks])
            answer.correct(acks=dict(zip(late_acks, statuses, strict=True)))
        if late_fails:
            failed = await self._queue.fail_many([fails[i] for i in late_fails])
            answer.correct(fails=dict(zip(late_fails, failed, strict=True)))

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

        async def give_back(tag: str) -> None:
            if lanes and tag in self._known:
                await self._queue.part(tag).settle(worker, lanes=lanes)

        return self._ears.setdefault((worker, *lanes), Ears(listen, give_back))

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
            by_tag[_home(known, lease)[-1]].append(index)
        renewals = [Renewal(status="renewed") for _ in leases]
        heard: list[Heartbeat] = []
        lost: TransportError | None = None
        unconfirmed: DurabilityError | None = None
        for tag, some in by_tag.items():
            try:
                answer = await self._queue.part(tag).beat(
                    [leases[i] for i in some], worker=worker, extend=extend, busy=busy
                )
            except DurabilityError as error:
                unconfirmed, answer = error, error.answer
            except TransportError as error:
                if not error.retryable:
                    raise
                lost = error
                continue
            heard.append(answer)
            for index, renewal in zip(some, answer.renewals, strict=True):
                renewals[index] = renewal
        if lost is not None and not heard:
            raise lost
        doubtful = [
            i for i, lease in enumerate(leases) if renewals[i].status == "lease_lost" and len(_home(known, lease)) > 1
        ]
        answers = await self._queue.heartbeat_many([leases[i] for i in doubtful], extend=extend) if doubtful else []
        for index, renewal in zip(doubtful, answers, strict=True):
            renewals[index] = renewal
        mode: WorkerMode = next((one.mode for one in heard if one.mode != "run"), "run")
        merged = Heartbeat(mode=mode, capacity=max(one.capacity for one in heard), renewals=renewals)
        if unconfirmed is not None:
            unconfirmed.answer = merged
            raise unconfirmed
        return merged

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
            leases, lambda lease: lease, lambda queue, some: queue.release_many(some), is_held
        )

    async def progress_many(self, notes: Sequence[tuple[Held, Any]]) -> list[ProgressStatus]:
        """See `Queue.progress_many`."""
        return await self._queue._in_each(
            notes, lambda note: note[0], lambda queue, some: queue.progress_many(some), is_held
        )

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        home = (await self._map()).home_of_id(id)
        return await self._queue.part(home[-1])._gathered_page(id, cursor)

    # Partitions

    async def _map(self) -> PartitionMap:
        return await self._queue._fresh()

    async def _parts(self) -> list[Queue]:
        return await self._queue._parts_now()

    def _refuse_if_away(self, tag: str) -> None:
        if self._away_until.get(tag, 0.0) > monotonic():
            raise TransportError(f"partition {tag} did not answer lately", retryable=True, may_have_applied=False)

    def _note_away(self, tag: str, error: TransportError) -> None:
        if not error.retryable:
            raise error
        if self._away_until.get(tag, 0.0) <= monotonic():
            self._away_until[tag] = monotonic() + REST


class Answer:
    """The answers of some partitions as one."""

    def __init__(self, acks: Sequence[tuple[Held, Any]], fails: Sequence[Failure]) -> None:
        self.leases: list[Lease] = []
        self._acks, self._fails = acks, fails
        self._statuses: list[Any] = ["lease_lost"] * len(acks)
        self._failed = [Failed(status="lease_lost") for _ in fails]
        self._unanswered: set[str] = set()
        self._claims: list[Claimed] = []
        self._due = LONGEST_BLOCK
        self._lost: TransportError | None = None
        self._doubt: DurabilityError | None = None

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
            self._statuses[index] = status
        for index, failed in (fails or {}).items():
            self._failed[index] = failed

    def lost(self, acks: int | None = None, fails: int = 0) -> bool:
        """Whether a partition answered that a lease is lost; by its index."""
        held = self._acks[acks][0] if acks is not None else self._fails[fails].lease
        status = self._statuses[acks] if acks is not None else self._failed[fails].status
        return status == "lease_lost" and token_of(held) not in self._unanswered

    def lose(self, error: TransportError, acks: Iterable[int], fails: Iterable[int]) -> None:
        """A partition is away, and nothing is known of these."""
        self._lost = error
        held = [self._acks[index][0] for index in acks] + [self._fails[index].lease for index in fails]
        self._unanswered.update(map(token_of, held))

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
        settled = Settled(self._statuses, self._failed, claimed, frozenset(self._unanswered))
        if self._doubt is not None:
            self._doubt.answer = settled
            raise self._doubt
        return settled


class Ears:
    """Listens in several partitions, each on a connection of its own, which goes on while there is something to do.

    give_back: called where there was a word that nobody waits for any more.
    """

    def __init__(
        self, listen: Callable[[str, float], Awaitable[str | None]], give_back: Callable[[str], Awaitable[None]]
    ) -> None:
        self._listen = listen
        self._give_back = give_back
        self._heard: dict[str, str] = {}
        self._listening: dict[str, asyncio.Task[None]] = {}
        self._waiting = 0
        self._bell = asyncio.Event()
        self._error: Exception | None = None

    async def wait(self, tags: Sequence[str], seconds: float) -> dict[str, str]:
        """The words, by partition, as soon as there is one; none after so many seconds."""
        for tag in tags:
            if tag not in self._listening:
                self._listening[tag] = asyncio.create_task(self._ear(tag, seconds))
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                while not (self._heard or self._error):
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
            elif word:
                await self._give_back(tag)
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
        """Fire what is due in any partition; see `Schedules.fire_due`."""
        fired = [await queue.schedules.fire_due() for queue in await self._parts()]
        waits = [one.next - one.now for one in fired if one.next is not None]
        now = fired[0].now
        firings = [firing for one in fired for firing in one.firings]
        return Fired(firings=firings, now=now, next=now + min(waits) if waits else None)


def _home(known: PartitionMap, held: Held) -> tuple[str, ...]:
    return known.home_of_id(held.id if isinstance(held, Lease) else held[0])


def _first(heard: dict[str, str]) -> str | None:
    """Of several words the one that says that somebody wants something of the worker, or a lane."""
    return min(heard.values(), default=None)


def same_queue(adeq: Adeq, queue: Queue | Partitions) -> Any:
    """A queue as it is known by another client."""
    return Partitions(adeq.partitioned(queue.name)) if isinstance(queue, Partitions) else adeq.queue(queue.name)
