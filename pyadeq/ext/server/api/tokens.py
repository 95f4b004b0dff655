"""Tokens by REST: list, make and revoke. It needs `tokens.manage`, which no role includes.

Somebody manages the tokens that allow no more than they have themselves. All others do not exist for them.
"""

from __future__ import annotations

import re
import time
from typing import Annotated, Final

from fastapi import APIRouter, Body, Depends, Request, Response
from pydantic import BaseModel, Field

from pyadeq.asyncio import Config, ConfigConflict
from pyadeq.ext.operations.rights import MANAGE, MOST_GROUPS, Principal
from pyadeq.ext.server.api.routes import MOST, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.gate import Gate
from pyadeq.ext.server.problems import Refused
from pyadeq.ext.server.tokens import (
    LIFETIME,
    NAMESPACE,
    Rate,
    Token,
    all_tokens,
    new_token,
    not_given,
    old_tokens,
    read_token,
    revoked,
)

_ID: Final = re.compile(r"[0-9a-f]{12}")

router = APIRouter()


class NewToken(Strict):
    """A token to make.

    owner: the person or program that uses it. rights: such as `operator` or `queue.produce`. names: patterns of names,
    in which `*` is any text. user: only tasks of this user, and in changes it acts as this user. groups: those of the
    owner, who answers requests to them. lifetime: seconds; null: it never expires.
    """

    owner: str = Field(max_length=100)
    rights: list[str] = Field(min_length=1, max_length=200)
    names: list[str] = Field(default=["*"], min_length=1, max_length=32)
    user: str | None = Field(default=None, max_length=200)
    rate: Rate | None = None
    groups: list[str] = Field(default=[], max_length=MOST_GROUPS)
    lifetime: float | None = Field(default=LIFETIME, allow_inf_nan=False)


class TokenView(BaseModel):
    """What a token allows. Nobody can find out its text. state: `valid`, `expired` or `revoked`."""

    id: str
    owner: str
    state: str
    rights: list[str]
    names: list[str]
    user: str | None
    rate: Rate | None
    groups: list[str]
    created: float
    expires: float | None
    revoked: float | None


class MadeToken(TokenView):
    """A token that was just made. token: its text, which is shown only now."""

    token: str = Field(repr=False)


class TokenList(BaseModel):
    """Tokens, the newest first. complete: whether these are all that the caller may see."""

    items: list[TokenView]
    complete: bool


async def manager(request: Request) -> tuple[Config, Principal]:
    """The namespace of the tokens, and who asks. Refused without the right to manage tokens."""
    gate: Gate = request.app.state.gate
    principal = await gate.principal(request)
    if not any(MANAGE in scope.rights for scope in principal.scopes):
        raise Refused(403, "FORBIDDEN", f"{principal.name} does not have the right {MANAGE}")
    return gate.adeq.config(NAMESPACE), principal


Manages = Annotated[tuple[Config, Principal], Depends(manager)]


def visible(tokens: list[tuple[str, Token]], who: Principal) -> TokenList:
    """Return the tokens that somebody may manage, in the given order; at most MOST of them."""
    found = [(id, token) for id, token in tokens if not_given(who, token) is None]
    return TokenList(items=[_view(id, token) for id, token in found[:MOST]], complete=len(found) <= MOST)


@by_hand(router, "tokens_list")
async def tokens(manages: Manages) -> TokenList:
    """Return the tokens that allow no more than you may, at most 1,000. Needs the right `tokens.manage`."""
    config, who = manages
    return visible(all_tokens(await config.list()), who)


@by_hand(router, "tokens_make", status_code=201)
async def make(manages: Manages, new: Annotated[NewToken, Body()], response: Response) -> MadeToken:
    """Make a token that allows no more than you may. Its text is in the answer, and nowhere else."""
    config, who = manages
    rate = None if new.rate is None else (new.rate.limit, new.rate.period)
    id, text, made = new_token(
        new.owner,
        new.rights,
        names=new.names,
        user=new.user,
        rate=rate,
        groups=new.groups,
        lifetime=new.lifetime,
    )
    if (why := not_given(who, made)) is not None:
        raise Refused(403, "FORBIDDEN", why)
    old = old_tokens({name: one.value for name, one in (await config.list()).items()})
    await config.set_many({id: made.encoded()}, remove=old, expect={id: 0}, actor=who.name)
    response.headers["Cache-Control"] = "no-store"
    return MadeToken(token=text, **_view(id, made).model_dump())


@by_hand(router, "tokens_revoke", status_code=204)
async def revoke(manages: Manages, id: str) -> None:
    """Revoke a token for good. Services refuse it at once, or after some seconds."""
    config, who = manages
    for _ in range(3):  # somebody else may write it at the same moment: at most once, because then it is revoked
        stored = await config.get(id) if _ID.fullmatch(id) else None
        token = stored and read_token(stored.value)
        if stored is None or token is None or not_given(who, token) is not None:
            raise Refused(404, "NOT_FOUND", "there is no such token")  # the id is not shown: it may be a secret
        if token.revoked is not None:
            return
        try:
            ended = revoked(token).encoded()
            await config.set(id, ended, expect=stored.version, actor=who.name, reason="revoked")
            return
        except ConfigConflict:
            continue
    raise Refused(409, "CONFIG_CONFLICT", "the token was written by somebody else at the same moment", retryable=True)


def _view(id: str, token: Token) -> TokenView:
    return TokenView(id=id, state=token.state(time.time()), **token.model_dump(exclude={"hash"}))
