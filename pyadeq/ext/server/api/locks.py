"""Operations on lock domains: acquire, renew, release; and look at who holds and who waits.

A lock that is acquired here is a request with an id. The caller renews it, and releases it. The service holds nothing
for a caller: a lock whose caller is gone ends with its lease.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Header, Path, Response
from pydantic import BaseModel, Field

from pyadeq.asyncio import LockRenewal, LockRequest, RequestState
from pyadeq.errors import LockMode
from pyadeq.ext.operations import locks
from pyadeq.ext.server.api.routes import PROBLEMS, add, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.gate import Access, missing
from pyadeq.ext.server.problems import Refused
from pyadeq.ids import new_ulid

REFUSED: Final = {"busy": 409, "deadlock": 409, "owner_waits": 409, "unavailable": 409, "rate_limited": 429}

router = APIRouter()
add(router, locks.OPERATIONS)


class Wanted(Strict):
    """What to acquire: one resource, or several, all or none.

    owner: one sequential flow of work. agent: the process or user of the flow; by default the owner.
    ttl: seconds of the lease; 0: the domain's setting. Renew it before it ends.
    wait: seconds that the request waits in line; poll it as often as the answer says.
    """

    owner: str
    resource: str | None = None
    mode: LockMode = "exclusive"
    permits: int = 1
    resources: list[LockRequest] | None = Field(None, min_length=1, max_length=32)
    agent: str | None = None
    ttl: float = 0
    wait: float = Field(0, ge=0)
    priority: int = 5
    purpose: str = ""


class LockRequestState(RequestState):
    """The state of a request, and its id."""

    id: str


class Released(BaseModel):
    """The answer to a release."""

    status: Literal["released", "cancelled", "lost", "unknown"]


Rid = Annotated[str, Path(description="The id of the request.")]


@by_hand(
    router,
    "lock_acquire",
    status_code=201,
    responses={202: {"model": LockRequestState, "description": "It waits in line."}, **PROBLEMS},
)
async def acquire(
    access: Access,
    wanted: Annotated[Wanted, Body()],
    response: Response,
    idempotency_key: Annotated[str | None, Header(max_length=100, description="The id of the request.")] = None,
) -> LockRequestState:
    """Acquire a lock, or wait in line for it. Sent again with its `Idempotency-Key`, a request changes nothing."""
    if (wanted.resource is None) == (wanted.resources is None):
        raise Refused(400, "BAD_REQUEST", "#/resource: give either resource or resources")
    rid, calls = idempotency_key or new_ulid(), access.found.calls
    now = (await access.found.admin.poll([rid]))[0].now
    options: dict[str, Any] = {
        "issued_ms": round(now * 1000),
        "agent": wanted.agent,
        "ttl": wanted.ttl,
        "wait": wanted.wait,
        "priority": wanted.priority,
        "purpose": wanted.purpose,
    }
    if wanted.resources is not None:
        call = calls.acquire_many(rid, wanted.resources, wanted.owner, **options)
    else:
        call = calls.acquire(rid, wanted.resource, wanted.owner, mode=wanted.mode, permits=wanted.permits, **options)
    state = await access.adeq.send(call)
    return _answer(rid, state, response)


@by_hand(router, "lock_poll")
async def poll(access: Access, id: Rid, response: Response) -> LockRequestState:
    """Return the state of a request. This also says that its caller still waits, and finds deadlocks."""
    (state,) = await access.found.admin.poll([id])
    if state.status == "unknown":
        raise missing("request", id)
    return _answer(id, state, response)


@by_hand(router, "lock_renew")
async def renew(access: Access, id: Rid) -> LockRenewal:
    """Extend the lease of a granted request."""
    (renewal,) = await access.found.admin.renew([id])
    if renewal.status in ("lost", "unknown"):
        raise Refused(409, "LOCK_LOST", f"request {id!r} does not hold its lock any more: stop the work")
    found: LockRenewal = renewal
    return found


@by_hand(router, "lock_release")
async def release(access: Access, id: Rid) -> Released:
    """Release the lock of a request, or end its wait."""
    (status,) = await access.found.admin.release([id])
    return Released(status=status)


def _answer(rid: str, state: RequestState, response: Response) -> LockRequestState:
    if state.status in REFUSED:
        headers = {"Retry-After": str(max(1, round(state.retry_after)))} if state.retry_after else None
        detail = f"{state.status.replace('_', ' ')}{f': {state.reason}' if state.reason else ''}"
        raise Refused(REFUSED[state.status], state.status.upper(), detail, headers=headers, retryable=True)
    if state.status == "queued":
        response.status_code = 202
        response.headers["Retry-After"] = str(max(1, round(state.poll or 1)))
    return LockRequestState(id=rid, **state.model_dump(exclude={"id"}))
