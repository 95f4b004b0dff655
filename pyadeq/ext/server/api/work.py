"""The API for workers without a client of their own: claim tasks, end them, and say that they still run.

A claim gives the payload, whatever the tier of the task: the one who asks runs it, and tiers are about what others see.
So the right `queue.work` is that of the program that does the work, not of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, Field

from pyadeq.asyncio import Failure, Lease, LeaseLost, PartitionedQueue, Queue
from pyadeq.ext.server.api.claims import KEY, Asked, Claims, run_and_number
from pyadeq.ext.server.api.routes import by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.gate import Access, Gate
from pyadeq.ext.server.problems import Refused
from pyadeq.models.base import given
from pyadeq.models.queue import shown_payload
from pyadeq.models.worker import WorkerMode

LONGEST_WAIT: Final = 60.0
MOST: Final = 1000
"""Leases of one request, at most."""

router = APIRouter()


class ClaimBody(Strict):
    """What a worker wants.

    worker: its name, which no other worker has.
    slot: of a worker that makes several claims at a time: each has a slot of its own.
    limit: how many tasks at most. wait: seconds to wait for the first one.
    lanes, lane_first, lease: as in `queue.claim`.
    """

    worker: str
    slot: int = Field(0, ge=0, le=255)
    limit: int = Field(1, ge=1, le=MOST)
    wait: float = Field(0.0, ge=0, le=LONGEST_WAIT, allow_inf_nan=False)
    lanes: list[str] = Field(["any"], min_length=1, max_length=64)
    lane_first: bool = False
    lease: float = Field(0.0, ge=0, le=86400, allow_inf_nan=False)


class ClaimedTask(BaseModel):
    """A lease, and the task to run.

    token: proves the lease; send it to end the task or to renew the lease before the deadline.
    fence: rises with each lease of the task. attempt, delivery: the numbers of this attempt and of this lease.
    payload: as JSON. payload_base64: its bytes, if it is not JSON, or not JSON that each program could read. headers,
    headers_base64: the same.
    unreadable: why a value is in base64 although it is JSON, or why the codec of the service refuses the payload.
    """

    id: str
    token: str = Field(repr=False)
    fence: int
    attempt: int
    delivery: int
    deadline: float
    kind: str | None = None
    user: str | None = None
    tags: list[str] = []
    parent: str | None = None
    timeout: float | None = None
    headers: Any = Field(default=None, repr=False)
    headers_base64: str | None = Field(default=None, repr=False)
    payload: Any = Field(default=None, repr=False)
    payload_base64: str | None = Field(default=None, repr=False)
    unreadable: str = ""


class ClaimedTasks(BaseModel):
    """The answer to a claim; no leases if there were no tasks in time."""

    leases: list[ClaimedTask]


class HeldLease(Strict):
    """A lease that a claim has given."""

    id: str = Field(max_length=200)
    token: str = Field(max_length=200, repr=False)

    @property
    def held(self) -> tuple[str, str]:
        """The lease, as the methods of a queue take it."""
        return self.id, self.token


class Ack(HeldLease):
    """The task is done. result: any JSON; null keeps none."""

    result: Any = Field(default=None, repr=False)


class Fail(HeldLease):
    """The attempt has failed. All but the lease is as in `queue.fail`."""

    error: str = Field("", repr=False)
    reason: str = "error"
    retryable: bool = True
    delay: float | None = Field(None, ge=0, allow_inf_nan=False)
    timeout: float | None = Field(None, gt=0, allow_inf_nan=False)
    alert: bool = False
    exit_code: int | None = None


class Snooze(HeldLease):
    """The task goes on after this many seconds. No attempt is spent."""

    delay: float = Field(ge=0, allow_inf_nan=False)


class SettleBody(Strict):
    """How tasks end. Releases return them to their old places, and no attempt is spent."""

    acks: list[Ack] = Field([], max_length=MOST)
    fails: list[Fail] = Field([], max_length=MOST)
    releases: list[HeldLease] = Field([], max_length=MOST)
    snoozes: list[Snooze] = Field([], max_length=MOST)


class Ended(BaseModel):
    """What became of a task. code: `LEASE_LOST`: nothing was changed, because the lease is over.

    due: when it starts again, for `retried` and `snoozed`.
    """

    id: str
    status: Literal[
        "completed", "result_dropped", "already", "retried", "dead", "cancelled", "released", "snoozed", "lease_lost"
    ]
    due: float | None = None
    code: str = ""


class Settlements(BaseModel):
    """An answer for each task, in the order of the request."""

    acks: list[Ended] = []
    fails: list[Ended] = []
    releases: list[Ended] = []
    snoozes: list[Ended] = []


class HeartbeatBody(Strict):
    """A worker shows that it is alive, and renews its leases.

    extend: seconds from now until they end; 0: the setting of the queue. busy: how many tasks the worker holds.
    """

    worker: str
    leases: list[HeldLease] = Field([], max_length=MOST)
    extend: float = Field(0.0, ge=0, le=86400, allow_inf_nan=False)
    busy: int | None = Field(None, ge=0, le=100_000)


class Renewed(BaseModel):
    """A lease. `cancelling`: stop the task, it was cancelled. `timed_out`: it has run for too long."""

    id: str
    status: Literal["renewed", "cancelling", "timed_out", "lease_lost"]
    deadline: float | None = None
    code: str = ""


class Heard(BaseModel):
    """The leases, and what an operator asks of the worker.

    mode: `run`; `quiet`: claim no more; `stop`: finish and exit; `restart`.
    capacity: how many tasks it should run at a time; 0: no request.
    """

    leases: list[Renewed]
    mode: WorkerMode = "run"
    capacity: int = 0


Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        pattern=KEY,
        description="`<run>.<number>`: a random text that the worker makes when it starts, and 1, 2, 3 … for the "
        "claims of a slot. A request that is repeated with its key gets the same leases, as far as they still hold.",
    ),
]


@by_hand(router, "queue_claim", tags=["work"])
async def claim(access: Access, body: ClaimBody, request: Request, idempotency_key: Key) -> ClaimedTasks:
    """Lease tasks to a worker. With `wait`, wait up to 60 seconds for the first one.

    If the answer is lost, repeat the request with its key: it has the same leases, from any process of the service. A
    worker that was silent for longer than the queue's `presence` (30 s) is forgotten: heartbeats show that it is there.
    """
    gate: Gate = request.app.state.gate
    desk = _desk(request, gate)
    run, number = run_and_number(access.principal.name, idempotency_key)
    asked = Asked(run=run, number=number, **body.model_dump())

    async def is_there() -> bool:
        return not await request.is_disconnected()

    leases = await desk.claim(await _parts(access.found), asked, is_there)
    return ClaimedTasks(leases=[_task_of(lease) for lease in leases])


@by_hand(router, "queue_settle", tags=["work"])
async def settle(access: Access, body: SettleBody) -> Settlements:
    """End tasks: acknowledge, fail, release or snooze them. The request may be repeated.

    A task whose lease is over is `lease_lost`, and unchanged. If the request is about one task, that is problem 409.
    """
    total = len(body.acks) + len(body.fails) + len(body.releases) + len(body.snoozes)
    if total > MOST:
        raise Refused(400, "BAD_REQUEST", f"#: {total} tasks; allowed: at most {MOST} in all")
    queue = access.found
    acks = await queue.ack_many([(one.held, one.result) for one in body.acks]) if body.acks else []
    fails = await queue.fail_many([_failure(one) for one in body.fails]) if body.fails else []
    releases = [await _release(queue, one) for one in body.releases]
    snoozes = [await _snooze(queue, one) for one in body.snoozes]
    answer = Settlements(
        acks=[_ended(one, status) for one, status in zip(body.acks, acks, strict=True)],
        fails=[_ended(one, found.status, found.due) for one, found in zip(body.fails, fails, strict=True)],
        releases=releases,
        snoozes=snoozes,
    )
    if total == 1:
        (only,) = [*answer.acks, *answer.fails, *answer.releases, *answer.snoozes]
        if only.code:
            raise Refused(409, only.code, f"the lease of task {only.id!r} is over; nothing was changed")
    return answer


@by_hand(router, "queue_heartbeat", tags=["work"])
async def heartbeat(access: Access, body: HeartbeatBody) -> Heard:
    """Renew leases, show that the worker is alive, and read what an operator asks of it."""
    found: dict[tuple[str, str], Renewed] = {one.held: _renewed(one, "lease_lost") for one in body.leases}
    mode: WorkerMode = "run"
    capacity = 0
    for part in await _parts(access.found):
        asked = [one for one in body.leases if found[one.held].code]
        heard = await part.workers.beat(
            [one.held for one in asked], worker=body.worker, extend=body.extend, busy=body.busy
        )
        for one, renewal in zip(asked, heard.renewals, strict=True):
            found[one.held] = _renewed(one, renewal.status, renewal.deadline)
        mode = heard.mode if heard.mode != "run" else mode
        capacity = heard.capacity or capacity
    return Heard(leases=[found[one.held] for one in body.leases], mode=mode, capacity=capacity)


def _desk(request: Request, gate: Gate) -> Claims:
    state = request.app.state
    if not hasattr(state, "claims"):
        state.claims = Claims(gate.adeq)
    desk: Claims = state.claims
    return desk


async def _parts(queue: Queue | PartitionedQueue) -> Sequence[Queue]:
    if isinstance(queue, Queue):
        return [queue]
    return [queue.part(one.tag) for one in await queue.partitions()]


def _task_of(lease: Lease) -> ClaimedTask:
    headers, payload = given("headers", lease.record.get("headers", b"{}")), shown_payload(lease)
    why = headers.pop("unreadable")
    notes = (payload.pop("unreadable", ""), f"headers: {why}" if why else "")
    names = ("id", "token", "fence", "attempt", "delivery", "deadline", "kind", "user", "parent", "timeout")
    return ClaimedTask(
        **{name: getattr(lease, name) for name in names},
        tags=list(lease.tags),
        **headers,
        **payload,
        unreadable="; ".join(filter(None, notes)),
    )


def _failure(one: Fail) -> Failure:
    return Failure(
        one.held,
        one.error,
        one.reason,
        one.retryable,
        delay=one.delay,
        timeout=one.timeout,
        alert=one.alert,
        exit_code=one.exit_code,
    )


async def _release(queue: Any, one: HeldLease) -> Ended:
    try:
        return _ended(one, await queue.release(one.held))
    except LeaseLost:
        return _ended(one, "lease_lost")


async def _snooze(queue: Any, one: Snooze) -> Ended:
    try:
        found = await queue.snooze(one.held, one.delay)
    except LeaseLost:
        return _ended(one, "lease_lost")
    return _ended(one, found.status, found.due)


def _ended(one: HeldLease, status: Any, due: float | None = None) -> Ended:
    return Ended(id=one.id, status=status, due=due, code="LEASE_LOST" if status == "lease_lost" else "")


def _renewed(one: HeldLease, status: Any, deadline: float | None = None) -> Renewed:
    return Renewed(id=one.id, status=status, deadline=deadline, code="LEASE_LOST" if status == "lease_lost" else "")
