"""Models of sessions. Times are as in `models.base`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pyadeq.models.base import Model

WhenFull = Literal["end_oldest", "refuse"]


class SessionEntry(Model):
    """A session as lists show it.

    handle: its name for people, events and logs. Nobody can use the session with it.
    active: its last use, exact to a minute, or to a tenth of `idle` if that is less.
    idle: seconds without use after which it ends.
    ends: when it ends at the latest.
    """

    handle: str
    user: str
    name: str = ""
    address: str = ""
    agent: str = ""
    created: float
    active: float
    idle: float
    ends: float


class Session(SessionEntry):
    """A valid session.

    id: the secret that the call was made with, or a new one. It is in no repr and no dump of the model.
    data: bytes of the program, such as JSON.
    ver: the version, which `update` compares.
    authz_ver: the version of the rights of the user when `roles` and `permissions` were read.
    authz_stale: whether the rights have changed since. Then read them again, and update the session.
    rotated: whether another request has given the session a new id. The id of this request is valid for a short time.
    """

    id: str = Field(repr=False, exclude=True)
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    data: bytes = Field(b"", repr=False)
    ver: int
    authz_ver: int
    authz_stale: bool = False
    rotated: bool = False


class SessionUser(Model):
    """What is stored of a user. Read it before you check a login, and pass it to `create` as `expect`.

    not_before: a counter, which rises when the sessions of the user are revoked; 0 if nothing is stored.
    authz_ver: the version of the rights of the user.
    """

    user: str
    not_before: int
    authz_ver: int


class RevokedSessions(Model):
    """The answer to `revoke_all`.

    ended: how many sessions were ended.
    kept: whether the session to keep is valid, and was kept.
    """

    ended: int
    kept: bool
