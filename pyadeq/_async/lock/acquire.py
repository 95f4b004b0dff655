"""Acquiring locks: from a request to a grant or an error."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Required, TypeAlias, TypedDict, Unpack

from pyadeq._async.kernel.blocks import with_block
from pyadeq._async.kernel.keeper import PATIENCE
from pyadeq._async.kernel.runner import Runner
from pyadeq._async.lock.base import LocksBase
from pyadeq._async.lock.grant import Grant
from pyadeq._async.lock.keeper import LockKeeper
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.options import checked_list, checked_options
from pyadeq._core.lock.refusals import checked_ttl, lock_error
from pyadeq._twins import aio_sleep, aio_takes
from pyadeq.errors import BadArgument, DurabilityError, LockLost, TransportError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.lock import LockMode, LockRequest, RequestState

Wanted: TypeAlias = str | tuple[str, LockMode] | LockRequest
"""A resource, exclusively; with its mode; or with its mode and a number of permits."""

WAIT = 60.0
LONGEST_WAIT_MS = 86_400_000
DETECT_EVERY = 2.0
PATIENCE_AFTER, MOST_VISITS = 30.0, 20_000
"""Seconds after which an unfinished search is repeated with a larger budget, and this budget."""
LATE = 0.002
"""Seconds from the end of the wait to the last poll, so that the wait is also over by the server's clock."""
MOST_PAST = 4096
# Outcomes after which the client may request again: the request lost its place, but the caller still waits.
LAPSED = {"abandoned", "expired"}


class AcquireOptions(TypedDict, total=False):
    """Options of an acquire.

    owner: one sequential flow of work. It waits for one lock at a time, and never blocks itself.
    agent: the process or user of the flow, for rate limits and lists; by default the owner.
    ttl: seconds of the lease, 0.1 to 3600. It is renewed in the background. 0: the domain's setting.
    wait: seconds to wait at most.
    priority: 0 (first) to 9, a head start among the waiters.
    purpose: a text for people, at most 200 bytes.
    born: the `born` of the previous DeadlockError, if this is another try. With the policy `youngest`, older work is
    not ended.
    on_lost: called with the grant when it is lost, from the background; in asyncio it may be a coroutine function.
    """

    owner: Required[str]
    agent: str | None
    ttl: Seconds
    wait: Seconds
    priority: int
    purpose: str
    born: float | None
    on_lost: Callable[[Grant], object] | None


@dataclass(frozen=True)
class _Wish:
    """An acquire: its requests, its owner, and its end by this machine's clock."""

    requests: Sequence[LockRequest]
    many: bool
    owner: str
    agent: str | None = None
    ttl: Seconds = 0.0
    wait: Seconds = WAIT
    priority: int = 5
    purpose: str = ""
    born: float | None = None
    on_lost: Callable[[Grant], object] | None = None

    @property
    def names(self) -> str:
        return ", ".join(one.resource for one in self.requests)


class Acquiring(LocksBase):
    """The part of a lock domain for acquiring locks."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._keeper = LockKeeper(runner, self.calls, self._here)
        self._under_way: set[tuple[int, str]] = set()
        self._past: deque[str] = deque(maxlen=MOST_PAST)  # rids of requests that have ended in this process

    @with_block("async with locks.acquire(…) as grant: …; or grant = await locks.take(…), and grant.release() later")
    async def acquire(
        self, resource: str, *, mode: LockMode = "exclusive", permits: int = 1, **options: Unpack[AcquireOptions]
    ) -> AsyncIterator[Grant]:
        """Hold a lock for the length of a with block.

        Raises WaitTimeout if it was not free in time (wait=0: at once), DeadlockError if waiting would never end,
        OwnerWaits if the owner already waits for another lock, LockUnavailable if the resource gives no permits, or
        RateLimited if the agent acquires too often. Raises LockLost at the end of the block if the lock was lost
        before, unless the block raised an error itself.

        mode: `exclusive`, `shared`, or `permit` for a resource with a capacity.
        permits: how many permits.
        """
        async with _held(await self.take(resource, mode=mode, permits=permits, **options)) as grant:
            yield grant

    @with_block("async with locks.acquire_many(…) as grant: …; or grant = await locks.take_many(…)")
    async def acquire_many(self, wanted: Sequence[Wanted], **options: Unpack[AcquireOptions]) -> AsyncIterator[Grant]:
        """Hold several locks, all or none, for the length of a with block; see `acquire`.

        wanted: 1 to 32 resources, each once: a name (exclusive), (name, mode), or a LockRequest.
        """
        async with _held(await self.take_many(wanted, **options)) as grant:
            yield grant

    async def take(
        self, resource: str, *, mode: LockMode = "exclusive", permits: int = 1, **options: Unpack[AcquireOptions]
    ) -> Grant:
        """Acquire a lock without a with block. Release it with `release` of the grant. Errors are those of `acquire`.

        It is renewed as long as your program keeps a reference to the grant. Without a reference, it ends with its
        lease.
        """
        request = LockRequest.model_construct(resource=resource, mode=mode, permits=permits)
        return await self._fulfil(_wish([request], False, options, ("resource", "mode", "permits")))

    async def take_many(self, wanted: Sequence[Wanted], **options: Unpack[AcquireOptions]) -> Grant:
        """Acquire several locks, all or none, without a with block; see `take`."""
        requests = [_request(one) for one in checked_list("wanted", wanted)]
        return await self._fulfil(_wish(requests, True, options, ("wanted",)))

    async def aclose(self) -> None:
        """End all waits and renewals; `Adeq.aclose` does this. Locks that are still held end with their leases."""
        self._close()
        until = monotonic() + PATIENCE
        while any(pid == os.getpid() for pid, _ in list(self._under_way)) and monotonic() < until:
            await aio_sleep(0.01)
        await self._keeper.aclose()

    async def _fulfil(self, wish: _Wish) -> Grant:
        self._check_open()
        wait_ms = to_ms("wait", wish.wait)
        if not 0 <= wait_ms <= LONGEST_WAIT_MS:
            allowed = f"0 to {LONGEST_WAIT_MS // 1000} seconds"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"wait: {wish.wait!r} is not accepted; allowed: {allowed}")
        until = self._here() + wait_ms / 1000
        born_ms = await self._issued_ms() if wish.born is None else to_ms("born", wish.born)
        late = False
        while True:
            rid = new_ulid()
            mine = os.getpid(), rid
            self._under_way.add(mine)
            try:
                self._check_open()
                state, sent = await self._attempt(rid, wish, until, born_ms)
                if state.status == "granted":
                    return self._grant(rid, wish, state, sent)
            except BadArgument:
                raise
            except BaseException:
                # In any case, and wherever this was interrupted: leave neither a waiter nor a hold on the server.
                await self._keeper.abandon(rid)
                raise
            finally:
                self._under_way.discard(mine)
                self._past.append(rid)
            if await self._made_way(state):
                continue
            if state.status == "request_expired" and not late:
                late, self._told = True, None  # this machine may have been suspended
            elif not _has_lapsed(state) or self._here() >= until:
                raise lock_error(state, wish.names, wish.owner, born_ms / 1000)

    async def _attempt(self, rid: str, wish: _Wish, until: float, born_ms: int) -> tuple[RequestState, float]:
        """Return the state in which the request ends, and when the call was sent that returned it."""
        while True:
            issued_ms = await self._issued_ms()
            sent = self._here()
            state = await self._ask(self._call(rid, wish, max(until - sent, 0.0), issued_ms, born_ms))
            if state.status in ("queued", "deadlock"):
                return await self._waited(rid, wish, state, sent, state.now + max(until - sent, 0.0))
            if state.retry_after is None or sent + state.retry_after > until:
                return state, sent
            # the server does not store a rate-limited request: send the same one again
            await aio_sleep(state.retry_after)
            self._check_open()

    async def _waited(
        self, rid: str, wish: _Wish, state: RequestState, sent: float, end: float
    ) -> tuple[RequestState, float]:
        """Wait if it must, in a span. A deadlock that the request itself would make has a span, too."""
        if (tracing := self._runner.tracing) is None:
            return (state, sent) if state.status != "queued" else await self._wait(rid, wish, state, end)
        resources, modes = [one.resource for one in wish.requests], [one.mode for one in wish.requests]
        about = {"resources": resources, "modes": modes, "priority": wish.priority}
        with tracing.wait(self.name, about) as waiting:
            if state.status == "queued":
                state, sent = await self._wait(rid, wish, state, end)
            cycle = [f"{edge.owner} waits for {edge.resource}" for edge in state.cycle]
            waiting.end(state.outcome or state.status, state.fences, cycle)
            return state, sent

    async def _wait(self, rid: str, wish: _Wish, state: RequestState, end: float) -> tuple[RequestState, float]:
        """Poll after each hint and from time to time. end: on the domain's clock."""
        detect_at = monotonic() + DETECT_EVERY
        patient_at = monotonic() + PATIENCE_AFTER
        async with self._listening(rid) as ear:
            while True:
                sent = self._here()
                state = await self._ask(self.calls.poll([rid]))
                if state.status != "queued":
                    return state, sent
                if not state.checked and monotonic() >= detect_at:
                    detect_at = monotonic() + DETECT_EVERY
                    patient = monotonic() >= patient_at
                    if patient:
                        patient_at = monotonic() + PATIENCE_AFTER
                    await self._detect(patient)
                assert state.poll is not None
                await ear.wait(min(state.poll, max(end - state.now, 0.0) + LATE))
                self._check_open()

    async def _detect(self, patient: bool) -> None:
        """Continue the deadlock search that exceeded its budget at the acquire. The next poll says which request was
        ended.
        """
        with suppress(DurabilityError):
            await self._runner.send(self.calls.detect(1, MOST_VISITS) if patient else self.calls.detect())

    async def _made_way(self, state: RequestState) -> bool:
        """Return whether `owner_waits` names an earlier request of this process that has ended here.

        The server may not know this, because the cancel did not reach it or was lost. Then it is cancelled again, once.
        """
        if state.rid is None or state.status != "owner_waits" or state.rid not in self._past:
            return False
        self._past.remove(state.rid)
        with suppress(DurabilityError):
            await self._runner.send(self.calls.cancel([state.rid]))
        return True

    async def _ask(self, call: Call[Any]) -> RequestState:
        unconfirmed: DurabilityError | None = None
        try:
            answer = await self._runner.send(call)
        except DurabilityError as error:
            answer, unconfirmed = error.answer, error
        state: RequestState = answer[0] if isinstance(answer, list) else answer
        self._tell(state.now)
        if unconfirmed and state.status == "granted":  # the primary may lose it: not granted
            raise unconfirmed
        return state

    def _call(self, rid: str, wish: _Wish, wait: float, issued_ms: int, born_ms: int) -> Call[RequestState]:
        options: dict[str, Any] = {
            "issued_ms": issued_ms,
            "born_ms": born_ms,
            "agent": wish.agent,
            "ttl": wish.ttl,
            "wait": wait,
            "priority": wish.priority,
            "purpose": wish.purpose,
        }
        if wish.many:
            return self.calls.acquire_many(rid, wish.requests, wish.owner, **options)
        (one,) = wish.requests
        return self.calls.acquire(rid, one.resource, wish.owner, mode=one.mode, permits=one.permits, **options)

    def _grant(self, rid: str, wish: _Wish, state: RequestState, sent: float) -> Grant:
        ttl = to_ms("ttl", wish.ttl) / 1000
        grant = Grant(self._keeper, rid, wish.owner, wish.requests, state, sent, ttl, wish.on_lost, self._heartbeat)
        self._keeper.add(grant)
        return grant


@asynccontextmanager
async def _held(grant: Grant) -> AsyncIterator[Grant]:
    try:
        yield grant
    except BaseException:
        # The block's own error says more, and the release is tried again in the background.
        with suppress(LockLost, TransportError):
            await grant.release()
        raise
    try:
        await grant.release()
    except TransportError:
        if grant.lost:
            raise


def _wish(requests: Sequence[LockRequest], many: bool, options: AcquireOptions, places: tuple[str, ...]) -> _Wish:
    """Check the arguments of an acquire. places: the names that are allowed in addition to the options."""
    checked_options(options, AcquireOptions.__annotations__, required=("owner",), besides=places)
    wish = _Wish(requests, many, **options)
    checked_ttl(wish.ttl)
    if wish.on_lost is not None and not aio_takes(wish.on_lost):
        what = f"on_lost: {wish.on_lost!r} is not accepted"
        allowed = "a function that takes the grant, a coroutine function only in asyncio"
        raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}; allowed: {allowed}")
    for one in requests:
        if one.mode != "permit" and one.permits != 1:
            what = f"permits: {one.permits!r} of {one.resource} in mode {one.mode!r} is not accepted"
            raise BadArgument("ADEQ_ARG", "pyadeq", f"{what}; allowed: 1, or more with mode='permit'")
    return wish


def _request(wanted: Wanted) -> LockRequest:
    if isinstance(wanted, LockRequest):
        return wanted
    match wanted:
        case str():
            return LockRequest.model_construct(resource=wanted)
        case (resource, mode):
            return LockRequest.model_construct(resource=resource, mode=mode)
    raise BadArgument(
        "ADEQ_ARG", "pyadeq", f"wanted: {wanted!r} is not accepted; allowed: a name, (name, mode) or a LockRequest"
    )


def _has_lapsed(state: RequestState) -> bool:
    """Return whether an ended request may be made again: it was not polled in time, or the server lost its data."""
    return state.status == "unknown" or (state.status == "ended" and state.outcome in LAPSED)
