"""The names that there are: of queues, lock domains, realms and namespaces."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from pyadeq.errors import AdeqError
from pyadeq.ext.server.api.operations import MOST, PROBLEMS, operation_id
from pyadeq.ext.server.gate import OWN, Gate

FOLDERS: Final = {
    "queue": "queues",
    "lock": "locks",
    "change": "changes",
    "session": "sessions",
    "rate": "rates",
    "config": "configs",
}
"""Where the objects of a noun are, below /v1."""
LOOK: Final = 2.0
"""Seconds to look for names. A server cannot list them: all its keys are looked at."""

router = APIRouter()


class Names(BaseModel):
    """Names that the caller may know, in order. complete: whether these are all of them."""

    items: list[str]
    complete: bool


def _add(noun: str, folder: str) -> None:
    async def names(request: Request, limit: Annotated[int, Query(ge=1, le=MOST)] = MOST) -> Names:
        gate: Gate = request.app.state.gate
        principal = await gate.principal(request)
        found: set[str] = set()
        complete = True
        try:
            async for name in gate.adeq.names(noun, timeout=LOOK):
                scopes = [] if name.startswith(OWN) else principal.scopes_of(name)
                if any(f"{noun}.observe" in scope.rights for scope in scopes):
                    found.add(name)
                if len(found) > limit:
                    complete = False
                    break
        except AdeqError:
            if not found:
                raise
            complete = False
        return Names(items=sorted(found)[:limit], complete=complete)

    names.__annotations__ |= {"request": Request, "limit": Annotated[int, Query(ge=1, le=MOST)]}
    router.add_api_route(
        f"/{folder}",
        names,
        name=f"{noun}_names",
        operation_id=operation_id(noun, "names"),
        summary=f"List the names of {folder}",
        tags=[noun],
        response_model=Names,
        responses=PROBLEMS,
    )


for word, where in FOLDERS.items():
    _add(word, where)
