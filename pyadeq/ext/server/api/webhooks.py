"""Webhooks by REST. It needs `webhooks.manage`, which no role includes, and the right to observe what an endpoint gets.

Somebody manages the endpoints whose streams they may all observe, for all users. All others do not exist for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Request, Response
from pydantic import BaseModel, Field

from pyadeq.errors import ConfigConflict
from pyadeq.ext.operations.rights import WEBHOOKS, Principal
from pyadeq.ext.outgoing.patterns import MOST_PATTERNS, check_id
from pyadeq.ext.outgoing.webhooks import AsyncWebhooks, new_secret
from pyadeq.ext.outgoing.webhooks.endpoints import CONCURRENCY, Content, Endpoint, Order
from pyadeq.ext.outgoing.webhooks.signing import PREFIX, shown_secret
from pyadeq.ext.server.api.routes import PROBLEMS, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.etags import IfMatchVersion, expected_version
from pyadeq.ext.server.gate import Gate, described, missing
from pyadeq.ext.server.problems import Refused

DAY: Final = 86_400.0

F = TypeVar("F", bound=Callable[..., Any])
router = APIRouter()
Words = Annotated[list[str], Field(min_length=1, max_length=MOST_PATTERNS)]
Secret = Annotated[
    str | None,
    Field(
        max_length=1000,
        repr=False,
        description="`env:NAME` or `file:/path`, where senders find it; or its text, `whsec_…`, which the codec of the "
        "service seals. null: a new one is made, and shown once.",
    ),
]


class NewEndpoint(Strict):
    """What an endpoint gets, and where. Events and streams are patterns, in which `*` is any text.

    secret: of a new endpoint only. order: `fifo`: one message at a time, in the order of the events. include: what is
    sent of tasks besides ids, times and states. concurrency: messages at a time. starts: messages in a second.
    """

    url: str = Field(max_length=2000)
    events: Words
    streams: Words = Field(default=["queue:*"])
    secret: Secret = None
    order: Order = "none"
    include: list[Content] = Field(default=[], max_length=2)
    concurrency: int = Field(default=CONCURRENCY, ge=1, le=1000)
    starts: int | None = Field(default=None, ge=1, le=1000)


class EndpointView(BaseModel):
    """An endpoint.

    secret: where it is, or `sealed`. failing: since when all deliveries fail. since: earlier events are not sent.
    """

    id: str
    state: Literal["enabled", "failing", "disabled"]
    reason: str | None
    failing: float | None
    url: str
    events: list[str]
    streams: list[str]
    secret: str
    old_secret: str | None
    old_until: float | None
    order: Order
    include: list[Content]
    concurrency: int
    starts: int | None
    since: float
    created: float
    version: int


class MadeEndpoint(EndpointView):
    """An endpoint that was put. new_secret: the text of the secret that was made, which is shown only now."""

    new_secret: str | None = Field(None, repr=False)


class Endpoints(BaseModel):
    """The endpoints that the caller may manage, by their ids."""

    items: list[EndpointView]


class Rotation(Strict):
    """Another secret. keep: for how many seconds messages have the signature of the old one, too."""

    secret: Secret = None
    keep: float = Field(default=DAY, ge=0, le=30 * DAY, allow_inf_nan=False)


class Managed(NamedTuple):
    """Endpoints, for somebody who manages some of them."""

    webhooks: AsyncWebhooks
    who: Principal

    def refused(self, streams: Iterable[str]) -> str | None:
        """Why they may not manage an endpoint with these streams. None: they may."""
        for stream in streams:
            noun, _, pattern = stream.partition(":")
            rights = {WEBHOOKS, f"{noun}.observe"}
            if not any(one.user is None and rights <= one.rights and one.has_all(pattern) for one in self.who.scopes):
                return f"streams: {stream} is more than you have; needed: {noun}.observe and {WEBHOOKS}, for all users"
        return None

    async def find(self, id: str) -> EndpointView:
        """One that they manage. Refused if there is none."""
        known = (await self.all()).get(id)
        if known is None:
            raise missing("endpoint", id)
        return known

    async def all(self) -> dict[str, EndpointView]:
        """Return the endpoints that the caller manages, by their ids."""
        found = (await self.webhooks.list()).items()
        return {
            id: _view(id, known.endpoint, known.failing, known.version)
            for id, known in found
            if self.refused(known.endpoint.streams) is None
        }

    def check_secret(self, secret: str | None) -> None:
        """A reference may be that of another endpoint: what it signs is accepted by the receiver of that."""
        all_names = any(WEBHOOKS in one.rights and one.user is None and one.has_all("*") for one in self.who.scopes)
        if secret is not None and not secret.startswith(PREFIX) and not all_names:
            why = "secret: with your rights in some names only, it cannot be a reference; leave it out"
            raise Refused(403, "FORBIDDEN", why)


async def managed(request: Request) -> Managed:
    """The endpoints, and who asks. Refused without the right to manage some."""
    gate: Gate = request.app.state.gate
    who = await gate.principal(request)
    if not any(WEBHOOKS in scope.rights and scope.user is None for scope in who.scopes):
        raise Refused(403, "FORBIDDEN", f"{who.name} does not have the right {WEBHOOKS}")
    return Managed(AsyncWebhooks(gate.adeq, allowed=request.app.state.allowed), who)


Manager = Annotated[Managed, Depends(managed)]
Id = Annotated[str, Path(alias="endpoint", description="The id of the endpoint.", json_schema_extra=described("id"))]


@by_hand(router, "webhooks_list")
async def webhooks(manager: Manager) -> Endpoints:
    """Return the endpoints of which you may observe all streams. Needs the right `webhooks.manage`, as all of these."""
    return Endpoints(items=[*(await manager.all()).values()])


@by_hand(router, "webhooks_get")
async def get(manager: Manager, id: Id, response: Response) -> EndpointView:
    """Return an endpoint. Its ETag is its version."""
    return _tagged(await manager.find(id), response)


@by_hand(
    router,
    "webhooks_put",
    responses={201: {"model": MadeEndpoint, "description": "It is new."}, **PROBLEMS},
)
async def put(
    manager: Manager,
    id: Id,
    new: Annotated[NewEndpoint, Body()],
    response: Response,
    if_match: IfMatchVersion = None,
) -> MadeEndpoint:
    """Add an endpoint, which gets the events from now on; or change what one gets, and where. Its secret stays."""
    expect, who = expected_version(if_match), manager.who.name
    check_id(id)
    if (why := manager.refused(new.streams)) is not None:
        raise Refused(403, "FORBIDDEN", why)
    known = (await manager.webhooks.list()).get(id)
    settings: Any = new.model_dump(exclude={"secret"})
    made = None
    if known is None:
        if expect:
            raise ConfigConflict({id: 0})
        manager.check_secret(new.secret)
        made = new_secret() if new.secret is None else None
        await manager.webhooks.add(id, secret=new.secret or made or "", actor=who, **settings)
        response.status_code = 201
    else:
        await manager.find(id)
        if expect is not None and expect != known.version:
            raise ConfigConflict({id: known.version})
        if new.secret is not None:
            raise Refused(400, "BAD_REQUEST", "#/secret: only a new endpoint has it; rotate this one")
        # What was checked is what is changed, also without If-Match.
        await manager.webhooks.change(id, expect=known.version, actor=who, **settings)
    return _made(await manager.find(id), made, response)


@by_hand(router, "webhooks_remove", status_code=204)
async def remove(manager: Manager, id: Id, if_match: IfMatchVersion = None) -> None:
    """Remove an endpoint. Messages that wait are not sent any more."""
    await manager.find(id)
    await manager.webhooks.remove(id, expect=expected_version(if_match), actor=manager.who.name)


@by_hand(router, "webhooks_enable")
async def enable(manager: Manager, id: Id, response: Response) -> EndpointView:
    """Send to it again, what happens from now on. What happened before can be replayed."""
    await manager.find(id)
    await manager.webhooks.enable(id, actor=manager.who.name)
    return _tagged(await manager.find(id), response)


@by_hand(router, "webhooks_disable")
async def disable(manager: Manager, id: Id, response: Response) -> EndpointView:
    """Send nothing to it any more. Messages that wait die."""
    await manager.find(id)
    await manager.webhooks.disable(id, why=f"switched off by {manager.who.name}", actor=manager.who.name)
    return _tagged(await manager.find(id), response)


@by_hand(router, "webhooks_rotate")
async def rotate(
    manager: Manager, id: Id, response: Response, rotation: Annotated[Rotation | None, Body()] = None
) -> MadeEndpoint:
    """Sign with another secret, and for a day also with the old one."""
    rotation = rotation or Rotation()
    await manager.find(id)
    manager.check_secret(rotation.secret)
    made = new_secret() if rotation.secret is None else None
    await manager.webhooks.rotate(id, rotation.secret or made or "", keep=rotation.keep, actor=manager.who.name)
    return _made(await manager.find(id), made, response)


def _view(id: str, endpoint: Endpoint, failing: Any, version: int) -> EndpointView:
    stored = endpoint.model_dump(exclude={"enabled", "disabled_for"})
    has_old = bool(endpoint.old_secret)
    return EndpointView(
        id=id,
        state="disabled" if not endpoint.enabled else "failing" if failing else "enabled",
        reason=endpoint.disabled_for if not endpoint.enabled else failing and failing.reason,
        failing=failing and failing.since,
        version=version,
        **{
            **stored,
            "secret": shown_secret(endpoint.secret),
            "old_secret": shown_secret(endpoint.old_secret or "") if has_old else None,
            "old_until": endpoint.old_until if has_old else None,
        },
    )


def _tagged(view: EndpointView, response: Response) -> EndpointView:
    response.headers["ETag"] = f'"v{view.version}"'
    return view


def _made(view: EndpointView, secret: str | None, response: Response) -> MadeEndpoint:
    if secret is not None:
        response.headers["Cache-Control"] = "no-store"
    _tagged(view, response)
    return MadeEndpoint(new_secret=secret, **view.model_dump())
