"""The answers of a session realm, as the noun layer decodes them, into models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.session.ids import handle_of
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.session import Session, SessionEntry


def session(id: str, hash: str, found: Result) -> Session | None:
    """A session as `get` answers it; None for `gone`. hash: that of the id."""
    if found.status == "gone":
        return None
    own: dict[str, Any] = found.session
    return Session(
        id=id,
        handle=handle_of(hash),
        rotated=found.status == "rotated",
        authz_stale=own["authz_ver"] != found.authz_ver,
        data=own.get("data", b""),
        **_known(own, "user roles permissions created active idle ends ver authz_ver"),
        **_texts(own),
    )


def created(id: str, hash: str, user: str, told: Result, about: Mapping[str, Any], idle: Seconds) -> Session:
    """A session that was made by this call. about: what the call gave it."""
    data = about["data"]
    return Session(
        id=id,
        handle=handle_of(hash),
        user=user,
        created=told.created,
        active=told.created,
        idle=to_ms("idle", idle) / 1000,
        ends=told.ends,
        ver=1,
        authz_ver=told.authz_ver,
        authz_stale=bool(told.authz_stale),
        **{**about, "data": data.encode() if isinstance(data, str) else data},
    )


def updated(session: Session, changes: Mapping[str, Any], ver: int) -> Session:
    """The session after an update."""
    known = {name: value for name, value in changes.items() if value is not None}
    if isinstance(known.get("data"), str):
        known["data"] = known["data"].encode()
    for name in known.keys() & {"roles", "permissions"}:
        known[name] = tuple(known[name])
    if "authz_ver" in known:
        known["authz_stale"] = False  # as far as the caller knows; the next `get` says it
    return session.model_copy(update={**known, "ver": ver})


def entry(found: Result) -> SessionEntry:
    """A session as `list` shows it."""
    own: dict[str, Any] = found.entry
    return SessionEntry(handle=found.handle, user=found.user, **_known(own, "created active idle ends"), **_texts(own))


def _known(own: dict[str, Any], names: str) -> dict[str, Any]:
    return {name: own[name] for name in names.split() if name in own}


def _texts(own: dict[str, Any]) -> dict[str, Any]:
    return {name: own.get(name, b"").decode(errors="replace") for name in ("name", "address", "agent")}
