"""The names that there are: of queues, lock domains, realms and namespaces."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel

from pyadeq.errors import AdeqError
from pyadeq.ext.operations.row import FOLDERS
from pyadeq.ext.server.api.routes import MOST, by_hand
from pyadeq.ext.server.gate import OWN, Gate

LOOK: Final = 2.0
"""Seconds to look for names. A server cannot list them: all its keys are looked at."""

router = APIRouter()
Limit = Annotated[int, Query(ge=1, le=MOST)]


class Names(BaseModel):
    """Names that the caller may know, in order. complete: whether these are all of them."""

    items: list[str]
    complete: bool


def _add(noun: str, folder: str) -> None:
    async def names(request: Request, limit: Limit = MOST) -> Names:
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

    id = f"{noun}_names"
    by_hand(router, id, name=id, summary=f"List the names of {folder}")(names)


for word, where in FOLDERS.items():
    _add(word, where)
