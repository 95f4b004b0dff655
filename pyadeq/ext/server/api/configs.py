"""Operations on configs and feature flags. A value is any JSON; its version is its ETag."""

from __future__ import annotations

from time import time
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import BaseModel

from pyadeq.asyncio import ConfigValue, ConfigVersion, Flag
from pyadeq.ext.server.api.routes import MOST, by_hand
from pyadeq.ext.server.api.strict import Strict
from pyadeq.ext.server.etags import IfMatchVersion, expected_version
from pyadeq.ext.server.gate import Access, missing
from pyadeq.models.base import flaw_of, given

PREFIX: Final = "flag:"

router = APIRouter()
Name = Annotated[str, Path(description="The name of the value.")]
Reason = Annotated[str, Query(max_length=500, description="Why, for the history.")]


class Value(BaseModel):
    """The value of a name, with who has set it, when and why.

    value_base64: its bytes, if not each program could read it as JSON. unreadable: why; value is null then.
    """

    name: str
    value: Any
    value_base64: str | None = None
    unreadable: str = ""
    version: int
    at: float
    actor: str
    reason: str


class Values(BaseModel):
    """The values of names."""

    items: dict[str, Value]


class History(BaseModel):
    """The versions of a name, the newest first. A value of null with removed=true: it was removed then."""

    items: list[Version]


class Version(BaseModel):
    """A version of a name. value_base64, unreadable: as in Value."""

    version: int
    value: Any
    value_base64: str | None = None
    unreadable: str = ""
    removed: bool
    at: float
    actor: str
    reason: str


class Back(Strict):
    """The version to which a name goes back, and why."""

    version: int
    reason: str | None = None


class Written(BaseModel):
    """The version after a write."""

    version: int


class Context(BaseModel):
    """The user or the service for which a flag is evaluated. targeting_key: its name."""

    targeting_key: str | None = None
    attributes: dict[str, Any] = {}


class Choice(BaseModel):
    """What a flag says: its variant and the value of that; why.

    unreadable: why the value is null, if not each program could read it as JSON.
    """

    value: Any
    unreadable: str = ""
    variant: str | None
    reason: str


History.model_rebuild()


@by_hand(router, "config_list")
async def all_values(access: Access) -> Values:
    """Return all values of a namespace, as they were at one moment."""
    found = await access.found.list()
    return Values(items={name: _value(one) for name, one in found.items()})


@by_hand(router, "config_get")
async def get(access: Access, name: Name, response: Response) -> Value:
    """Return the value of a name."""
    found = await access.found.get(name)
    if found is None:
        raise missing("value", name)
    response.headers["ETag"] = f'"v{found.version}"'
    return _value(found)


@by_hand(router, "config_set")
async def put(
    access: Access,
    name: Name,
    value: Annotated[Any, Body()],
    response: Response,
    reason: Reason = "",
    if_match: IfMatchVersion = None,
) -> Written:
    """Set the value of a name to any JSON."""
    version = await access.found.set(
        name, value, expect=expected_version(if_match), actor=access.principal.name, reason=reason
    )
    response.headers["ETag"] = f'"v{version}"'
    return Written(version=version)


@by_hand(
    router,
    "config_remove",
    status_code=204,
)
async def remove(access: Access, name: Name, reason: Reason = "", if_match: IfMatchVersion = None) -> None:
    """Remove the value of a name."""
    expect = expected_version(if_match)
    if not await access.found.remove(name, expect=expect, actor=access.principal.name, reason=reason):
        raise missing("value", name)


@by_hand(router, "config_history")
async def history(access: Access, name: Name) -> History:
    """Return the versions of a name that are kept, the newest first, at most 1,000."""
    found = []
    async for version in access.found.history(name):
        found.append(_version(version))
        if len(found) == MOST:
            break
    return History(items=found)


@by_hand(
    router,
    "config_revert",
)
async def revert(access: Access, name: Name, back: Annotated[Back, Body()], if_match: IfMatchVersion = None) -> Written:
    """Set the value that a version had."""
    version = await access.found.revert(
        name, back.version, expect=expected_version(if_match), actor=access.principal.name, reason=back.reason
    )
    return Written(version=version)


@by_hand(
    router,
    "flag_evaluate",
    response_model_exclude_unset=True,
)
async def evaluate(access: Access, name: Name, context: Annotated[Context | None, Body()] = None) -> Choice:
    """Decide a flag for somebody. A null variant: the caller's own default holds."""
    found = await access.found.get(f"{PREFIX}{name}")
    if found is None:
        raise missing("flag", name)
    flag, context = Flag(name, found.value), context or Context()
    chosen = flag.choose(context.attributes, context.targeting_key, int(time()))
    value = None if chosen.variant is None else flag.variants.get(chosen.variant)
    note = {"unreadable": why} if (why := flaw_of(value)) else {}
    return Choice(value=None if note else value, variant=chosen.variant, reason=chosen.reason, **note)


def _value(found: ConfigValue) -> Value:
    return Value(
        name=found.name,
        **given("value", found.value),
        version=found.version,
        at=found.at,
        actor=found.actor,
        reason=found.reason,
    )


def _version(found: ConfigVersion) -> Version:
    return Version(
        version=found.version,
        **given("value", found.value),
        removed=found.value is None,
        at=found.at,
        actor=found.actor,
        reason=found.reason,
    )
