"""Clients that record every call and its outcome."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar

from pyadeq import asyncio as aio
from pyadeq import errors
from pyadeq.ext.prove.chaos.history import Mark, MarkKind, Op
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import (
    AckStatus,
    Claimed,
    Failed,
    Lease,
    Receipt,
    ReleaseStatus,
    Renewal,
    Retried,
    RunNow,
    Settled,
    Snoozed,
)

T = TypeVar("T")
Held = Lease | tuple[str, str]
UNTOLD = {"payload", "headers"}
"""What calls carry and no rule asks for."""


class Recorder:
    """Records the calls of its clients.

    clock: seconds; the same for all clients whose calls are compared.
    journal: a file in which calls are recorded before they are sent, so that the calls of a killed process are known.
    `load_recorded` reads it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, journal: Path | str | None = None) -> None:
        self.clock = clock
        self.ops: list[Op] = []
        self.marks: list[Mark] = []
        self._file: IO[str] | None = Path(journal).open("a", buffering=1) if journal else None  # noqa: SIM115

    def queue(self, queue: aio.Queue, client: str, durability: str = "memory") -> RecordedQueue:
        """Return a queue whose calls are recorded. durability: that of its Adeq."""
        return RecordedQueue(self, queue, client, durability)

    def locks(self, locks: aio.Locks, client: str, durability: str = "memory") -> RecordedLocks:
        """Return a lock domain whose calls are recorded. durability: that of its Adeq."""
        return RecordedLocks(self, locks, client, durability)

    def mark(self, kind: MarkKind, note: str = "", since: float | None = None) -> None:
        """Record an event of the server. Call it when the server answers again. since: see Mark."""
        self.marks.append(Mark(self.clock(), kind, note, since))
        self._write({"mark": asdict(self.marks[-1])})

    def close(self) -> None:
        """Close the journal."""
        if self._file:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def note(
        self,
        client: str,
        verb: str,
        durability: str,
        asked: dict[str, Any],
        call: Awaitable[T],
        told: Callable[[Any], dict[str, Any]],
    ) -> T:
        """Await a call, and record it. told: what is recorded of its answer, or of that of a DurabilityError."""
        op = Op(client, verb, asked, self.clock(), durability=durability)
        number = len(self.ops)
        self.ops.append(op)
        self._write_op("began", number, op)
        try:
            answer = await call
            op.outcome, op.answer = "ok", told(answer)
            return answer
        except errors.DurabilityError as error:
            op.durability = "memory"
            op.answer = {} if error.answer is None else told(error.answer)
            op.outcome = "ok" if op.answer else "unknown"
            raise
        except errors.UnknownTask as error:
            op.outcome, op.answer = "ok", told(error.receipts)
            raise
        except errors.TransportError as error:
            op.outcome = "unknown" if error.may_have_applied else "refused"
            raise
        except errors.AdeqError as error:
            op.outcome, op.answer = "refused", {"error": type(error).__name__}
            raise
        finally:
            # Also where it was broken off: what became of it then is unknown.
            op.ended = self.clock()
            self._write_op("ended", number, op)

    def _write_op(self, when: str, number: int, op: Op) -> None:
        if self._file:
            self._write({when: number, "op": asdict(op)})

    def _write(self, line: dict[str, Any]) -> None:
        if self._file:
            self._file.write(json.dumps(line, separators=(",", ":"), default=str) + "\n")


class Loaded(NamedTuple):
    """The content of journals."""

    ops: list[Op]
    marks: list[Mark]


def load_recorded(journals: Iterable[Path | str]) -> Loaded:
    """Read the journals of recorders. A call without an end is unknown; a line that was cut off is left out."""
    ops: list[Op] = []
    marks: list[Mark] = []
    for journal in journals:
        own: dict[int, Op] = {}
        for text in Path(journal).read_text().splitlines(keepends=True):
            if not text.endswith("\n"):
                break
            line = json.loads(text)
            if "mark" in line:
                marks.append(Mark(**line["mark"]))
            else:
                own[line["began"] if "began" in line else line["ended"]] = Op(**line["op"])
        ops += own.values()
    return Loaded(sorted(ops, key=lambda op: op.began), sorted(marks, key=lambda mark: mark.at))


class _Recorded:
    def __init__(self, recorder: Recorder, client: str, durability: str) -> None:
        self.client = client
        self.durability = durability
        self._recorder = recorder

    async def _note(
        self, verb: str, asked: dict[str, Any], call: Awaitable[T], told: Callable[[Any], dict[str, Any]]
    ) -> T:
        return await self._recorder.note(self.client, verb, self.durability, asked, call, told)


class RecordedQueue(_Recorded):
    """The calls of a queue that the rules need, each recorded.

    asked has `tasks` (their options, without payloads), `held` ([id, token, fence, deadline in ms] of leases; the last
    two None if unknown), `acks` (how many of these a settle acknowledges), `ids`, `worker`, `limit`, `lanes`. answer
    has `receipts` ([status, id]), `leases` as in `held`, `statuses` in the order of the call, `deadlines` of renewals
    in ms.
    """

    def __init__(self, recorder: Recorder, queue: aio.Queue, client: str, durability: str) -> None:
        super().__init__(recorder, client, durability)
        self.queue = queue

    async def enqueue(self, payload: Any = None, **options: Any) -> aio.Receipt:
        """See `Queue.enqueue`."""
        call = self.queue.enqueue(payload, **options)
        own = payload.model_dump(exclude_defaults=True) if isinstance(payload, aio.Task) else {}
        return await self._note("enqueue", {"tasks": [_options(own | options)]}, call, _receipts)

    async def enqueue_many(self, tasks: Sequence[Any], *, rid: str | None = None) -> list[aio.Receipt]:
        """See `Queue.enqueue_many`."""
        said = [_options(one.model_dump(exclude_defaults=True)) if isinstance(one, aio.Task) else {} for one in tasks]
        asked = {"tasks": said, "rid": rid}
        return await self._note("enqueue", asked, self.queue.enqueue_many(tasks, rid=rid), _receipts)

    async def claim(self, worker: str | None = None, limit: int = 10, wait: Seconds = 0, **options: Any) -> list[Lease]:
        """See `Queue.claim`."""
        call = self.queue.claim(worker, limit, wait, **options)
        return await self._note("claim", self._claiming(worker, limit, options), call, _leases)

    async def claim_once(self, worker: str | None = None, limit: int = 10, **options: Any) -> Claimed:
        """See `QueueLeases.claim_once`."""
        call = self.queue.leases.claim_once(worker, limit, **options)
        return await self._note("claim", self._claiming(worker, limit, options), call, lambda got: _leases(got.leases))

    async def settle(
        self,
        worker: str | None = None,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[aio.Failure] = (),
        claim: int = 0,
        **options: Any,
    ) -> Settled:
        """See `QueueLeases.settle`. `held` has the acknowledged leases, then the failed ones."""
        asked = self._claiming(worker, claim, options)
        asked["acks"] = len(acks)
        asked["held"] = [*_held(lease for lease, _ in acks), *_held(one.lease for one in fails)]
        call = self.queue.leases.settle(worker, acks=acks, fails=fails, claim=claim, **options)
        return await self._note("settle", asked, call, _settled)

    async def ack(self, lease: Held, result: Any = None) -> None:
        """See `Queue.ack`."""
        await self._note("ack", {"held": _held([lease])}, self.queue.ack(lease, result), _done("completed"))

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]:
        """See `Queue.ack_many`."""
        call = self.queue.ack_many(acks)
        return await self._note("ack", {"held": _held(lease for lease, _ in acks)}, call, _statuses)

    async def fail(self, lease: Held, error: str | bytes | BaseException = b"", **options: Any) -> Failed:
        """See `Queue.fail`."""
        return await self._note("fail", {"held": _held([lease])}, self.queue.fail(lease, error, **options), _statuses)

    async def release(self, lease: Held) -> ReleaseStatus:
        """See `Queue.release`."""
        return await self._note("release", {"held": _held([lease])}, self.queue.release(lease), _statuses)

    async def snooze(self, lease: Held, delay: Seconds) -> Snoozed:
        """See `Queue.snooze`."""
        return await self._note("snooze", {"held": _held([lease])}, self.queue.snooze(lease, delay), _statuses)

    async def heartbeat(self, lease: Held, extend: Seconds = 0) -> Renewal:
        """See `Queue.heartbeat`."""
        asked = {"held": _held([lease]), "extend": to_ms("extend", extend)}
        return await self._note("heartbeat", asked, self.queue.heartbeat(lease, extend), _renewals)

    async def cancel(self, id: str) -> str:
        """See `Queue.cancel`."""
        return await self._note("cancel", {"ids": [id]}, self.queue.cancel(id), _statuses)

    async def retry(self, id: str) -> Retried:
        """See `QueueDead.retry`."""
        return await self._note("retry", {"ids": [id]}, self.queue.dead.retry(id), _statuses)

    async def run_now(self, id: str) -> RunNow:
        """See `QueueAdmin.run_now`."""
        return await self._note("run_now", {"ids": [id]}, self.queue.admin.run_now(id), _statuses)

    def _claiming(self, worker: str | None, limit: int, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "worker": worker or self.queue._identities.own_name(),
            "limit": limit,
            "lanes": options.get("lanes", ["any"]),
        }


class RecordedLocks(_Recorded):
    """The calls of a lock domain that the rules need, each recorded.

    asked has `owner`, `priority`, `locks` ([resource, mode, permits]), `rid`, `rids`; answer has `rid`, `fences` by
    resource, `deadline` in ms, `statuses`.
    """

    def __init__(self, recorder: Recorder, locks: aio.Locks, client: str, durability: str) -> None:
        super().__init__(recorder, client, durability)
        self.locks = locks

    async def take(self, resource: str, *, mode: Any = "exclusive", permits: int = 1, **options: Any) -> aio.Grant:
        """See `Locks.take`."""
        asked = {**_turn(options), "locks": [[resource, mode, permits]]}
        call = self.locks.take(resource, mode=mode, permits=permits, **options)
        return await self._note("take", asked, call, _granted)

    async def take_many(self, wanted: Sequence[Any], **options: Any) -> aio.Grant:
        """See `Locks.take_many`."""
        asked = {**_turn(options), "locks": [_wanted(one) for one in wanted]}
        return await self._note("take", asked, self.locks.take_many(wanted, **options), _granted)

    async def release(self, grant: aio.Grant) -> None:
        """See `Grant.release`. Nothing is recorded if it makes no call: already released, or of another process."""
        if grant.released or grant.lost:
            await grant.release()
            return
        await self._note("release_lock", {"rid": grant.rid}, grant.release(), _done("released"))

    async def downgrade(self, grant: aio.Grant) -> None:
        """See `Grant.downgrade`."""
        await self._note("downgrade", {"rid": grant.rid}, grant.downgrade(), _done("downgraded"))

    async def renew(self, rids: Sequence[str]) -> list[aio.LockRenewal]:
        """See `LockAdmin.renew`."""
        return await self._note("renew", {"rids": list(rids)}, self.locks.admin.renew(rids), _statuses)

    async def cancel(self, rids: Sequence[str]) -> list[Any]:
        """See `LockAdmin.cancel`."""
        return await self._note("cancel_lock", {"rids": list(rids)}, self.locks.admin.cancel(rids), _statuses)

    async def force_release(self, resource: str, reason: str, owner: str | None = None) -> aio.Forced:
        """See `LockAdmin.force_release`."""
        call = self.locks.admin.force_release(resource, reason, owner)
        asked = {"resource": resource, "owner": owner}
        return await self._note("force_release", asked, call, lambda forced: {"rids": list(forced.rids)})


# What is noted of arguments and answers


def _options(options: dict[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in options.items() if name not in UNTOLD and value is not None}
    if after := said.get("after"):
        earlier = [after] if isinstance(after, str | Receipt) else after
        said["after"] = [one if isinstance(one, str) else one.id for one in earlier]
    return said


def _held(leases: Iterable[Held]) -> list[list[Any]]:
    return [
        [one.id, one.token, one.fence, round(one.deadline * 1000)] if isinstance(one, Lease) else [*one, None, None]
        for one in leases
    ]


def _leases(leases: Any) -> dict[str, Any]:
    return {"leases": _held(leases.leases if isinstance(leases, Claimed) else leases)}


def _receipts(answer: Any) -> dict[str, Any]:
    receipts = answer if isinstance(answer, list) else [answer]
    return {"receipts": [["refused", ""] if one is None else [one.status, one.id] for one in receipts]}


def _settled(answer: Settled) -> dict[str, Any]:
    return {**_statuses([*answer.acks, *answer.fails]), **_leases(answer.claimed.leases)}


def _statuses(answer: Any) -> dict[str, Any]:
    answers = answer if isinstance(answer, list) else [answer]
    return {"statuses": [one if isinstance(one, str) else one.status for one in answers]}


def _renewals(answer: Any) -> dict[str, Any]:
    renewals = getattr(answer, "renewals", answer)
    renewals = renewals if isinstance(renewals, list) else [renewals]
    deadlines = [None if one.deadline is None else round(one.deadline * 1000) for one in renewals]
    return {**_statuses(renewals), "deadlines": deadlines}


def _done(status: str) -> Callable[[Any], dict[str, Any]]:
    return lambda answer: {"statuses": [status]} if answer is None else _statuses(answer)


def _granted(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, aio.Grant):
        return {}  # it was not confirmed, and is given back
    return {"rid": answer.rid, "fences": dict(answer.fences), "deadline": round(answer.deadline * 1000)}


def _turn(options: dict[str, Any]) -> dict[str, Any]:
    return {"owner": options.get("owner"), "priority": options.get("priority", 5)}


def _wanted(one: Any) -> list[Any]:
    if isinstance(one, aio.LockRequest):
        return [one.resource, one.mode, one.permits]
    return [one, "exclusive", 1] if isinstance(one, str) else [*one, 1]
