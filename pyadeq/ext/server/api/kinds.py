"""The kinds of tasks that workers know, with the schemas of their arguments and results."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field

from pyadeq.asyncio import Adeq
from pyadeq.errors import AdeqError, DamagedError
from pyadeq.ext.operations import ALL
from pyadeq.ext.server.api.names import LOOK
from pyadeq.ext.server.api.routes import MOST, by_hand
from pyadeq.ext.server.gate import OWN, Access, Gate, missing

EVERY: Final = "kind_all"

router = APIRouter()


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


@by_hand(router, EVERY, tags=["queue"], summary="List all kinds")
async def all_kinds(request: Request, limit: Annotated[int, Query(ge=1, le=MOST)] = 100) -> Kinds:
    """The kinds of all queues that the caller may see."""
    gate: Gate = request.app.state.gate
    principal = await gate.principal(request)
    queues: set[str] = set()
    complete = True
    rights = ALL[EVERY].rights
    try:
        async for name in gate.adeq.names("kind", timeout=LOOK):
            if not name.startswith(OWN) and any(principal.may(right, name, by_user=True) for right in rights):
                queues.add(name)
    except AdeqError:
        if not queues:
            raise
        complete = False
    items: list[Kind] = []
    for queue in sorted(queues):
        if len(items) > limit:
            break
        try:
            items += await kinds_of(gate.adeq, queue)
        except DamagedError:  # of one queue, which hides no other
            complete = False
    return Kinds(items=items[:limit], complete=complete and len(items) <= limit)


@by_hand(
    router,
    "kind_list",
    tags=["queue"],
)
async def kinds(access: Access) -> Kinds:
    """The kinds that the workers of a queue know."""
    return Kinds(items=await kinds_of(access.adeq, access.name))


@by_hand(
    router,
    "kind_get",
    tags=["queue"],
)
async def kind(access: Access, kind: Annotated[str, Path(description="The kind.")]) -> Kind:
    """One kind of a queue."""
    found = await access.adeq.kinds(access.name).get(kind)
    if found is None:
        raise missing("kind", kind)
    return Kind(queue=access.name, **found)
