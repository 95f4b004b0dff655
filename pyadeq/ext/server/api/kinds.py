"""The kinds of tasks that workers know, with the schemas of their arguments and results."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError
from pyadeq.ext.server.api.names import LOOK
from pyadeq.ext.server.api.operations import MOST, PROBLEMS, operation_id, path_of
from pyadeq.ext.server.gate import OWN, Access, Gate, access, missing

RIGHTS: Final = ("queue.observe", "queue.produce")

router = APIRouter()
Seen = Annotated[Access, access("queue", *RIGHTS, by_user=True, create=True)]


class Kind(BaseModel):
    """A kind of tasks. arguments: the JSON schema of the payload; result: that of the result.

    Both are null if they are too large. expires: when the kind is forgotten, unless a worker publishes it again.
    """

    queue: str
    kind: str
    version: int = Field(description="The version of the arguments.")
    description: str
    arguments: dict[str, Any] | None
    result: dict[str, Any] | None
    expires: float


class Kinds(BaseModel):
    """Kinds, in order. complete: whether these are all of them."""

    items: list[Kind]
    complete: bool = True


async def kinds_of(adeq: Adeq, queue: str) -> list[Kind]:
    """The kinds that the workers of a queue know."""
    return [Kind(queue=queue, **one) for one in await adeq.kinds(queue).list()]


@router.get(
    "/kinds", responses=PROBLEMS, operation_id=operation_id("kind", "all"), summary="List all kinds", tags=["queue"]
)
async def all_kinds(request: Request, limit: Annotated[int, Query(ge=1, le=MOST)] = 100) -> Kinds:
    """The kinds of all queues that the caller may see."""
    gate: Gate = request.app.state.gate
    principal = await gate.principal(request)
    queues: set[str] = set()
    complete = True
    try:
        async for name in gate.adeq.names("kind", timeout=LOOK):
            scopes = [] if name.startswith(OWN) else principal.scopes_of(name)
            if any(scope.rights.intersection(RIGHTS) for scope in scopes):
                queues.add(name)
    except AdeqError:
        if not queues:
            raise
        complete = False
    items: list[Kind] = []
    for queue in sorted(queues):
        if len(items) > limit:
            break
        items += await kinds_of(gate.adeq, queue)
    return Kinds(items=items[:limit], complete=complete and len(items) <= limit)


@router.get(
    path_of("/queues/{queue}/kinds"), responses=PROBLEMS, operation_id=operation_id("kind", "list"), tags=["queue"]
)
async def kinds(access: Seen) -> Kinds:
    """The kinds that the workers of a queue know."""
    return Kinds(items=await kinds_of(access.adeq, access.name))


@router.get(
    path_of("/queues/{queue}/kinds/{kind}"),
    responses=PROBLEMS,
    operation_id=operation_id("kind", "get"),
    tags=["queue"],
)
async def kind(access: Seen, kind: Annotated[str, Path(description="The kind.")]) -> Kind:
    """One kind of a queue."""
    found = await access.adeq.kinds(access.name).get(kind)
    if found is None:
        raise missing("kind", kind)
    return Kind(queue=access.name, **found)
