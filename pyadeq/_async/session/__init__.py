"""Sessions: logins of users, on 256 partitions."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from typing import Any

from pyadeq._async.kernel.partitions import PartitionedNoun
from pyadeq._async.kernel.runner import Runner
from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.kernel.options import checked_list, unfit
from pyadeq._core.session import replies
from pyadeq._core.session.ids import HANDLE, TAGS, handle_of, hash_of, tag_of, tag_of_id
from pyadeq.errors import BadArgument, SessionChanged, SessionRefused
from pyadeq.keys import ALLOWED, PATTERNS
from pyadeq.models.base import Seconds
from pyadeq.models.session import RevokedSessions, Session, SessionEntry, SessionUser, WhenFull

DRAWS = 3
"""How often a new id is drawn if the server knows it already, which is next to impossible."""
PAGE = 100


class Sessions(PartitionedNoun):
    """The sessions of a realm.

    The client draws the ids, and only their hashes leave the process. An id is a secret: whoever has it is logged in.
    """

    noun = "session"

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base, TAGS)

    async def create(
        self,
        user: str,
        *,
        name: str = "",
        roles: Sequence[str] = (),
        permissions: Sequence[str] = (),
        address: str = "",
        agent: str = "",
        data: bytes | str = b"",
        idle: Seconds = 86400.0,
        lifetime: Seconds = 604800.0,
        limit: int = 1000,
        when_full: WhenFull = "end_oldest",
        expect: SessionUser | None = None,
    ) -> Session:
        """Make a session of a user, with a new id.

        name, address, agent: what to show of the user, and where the login came from.
        roles, permissions, data: what the program needs to know with each request.
        idle: seconds without use after which the session ends.
        lifetime: seconds after which it ends in any case.
        limit: how many sessions the user may have. when_full: `end_oldest` ends the one that would end first; `refuse`
        raises SessionRefused.
        expect: what `user` answered before the login was checked. If the sessions of the user were revoked since,
        SessionRefused is raised. If the rights of the user have changed, the session is `authz_stale`.
        """
        tag = self._tag(user)
        if expect is not None and expect.user != user:
            raise unfit("expect", expect.user, f"the facts of {user!r}")
        about: dict[str, Any] = {
            "name": name,
            "roles": checked_list("roles", roles),
            "permissions": checked_list("permissions", permissions),
            "address": address,
            "agent": agent,
            "data": data,
        }
        for _ in range(DRAWS):
            id = _draw(tag)
            hash = hash_of(self.name, id)
            told = await self._call_at(
                tag,
                "create",
                hash=hash,
                user=user,
                idle=idle,
                lifetime=lifetime,
                limit=limit,
                when_full=when_full,
                expect_us=None if expect is None else expect.not_before,
                authz_ver=None if expect is None else expect.authz_ver,
                **about,
            )
            if told.status == "created":
                return replies.created(id, hash, user, told, about, idle)
            if told.status != "exists":
                break
        raise SessionRefused(user, told.status)

    async def get(self, id: str, *, touch: bool = True) -> Session | None:
        """Return the session with this id; None if there is none, or no longer.

        touch: whether this is a use of the session, so that it does not end by idleness.
        """
        hash, tag = self._named(id)
        return replies.session(id, hash, await self._call_at(tag, "get", hash=hash, touch=touch))

    async def update(self, session: Session, **changes: Any) -> Session | None:
        """Change fields of a session as it was read; None if it has ended.

        changes: `name`, `roles`, `permissions`, `address`, `agent`, `data`, `authz_ver`.

        Raises SessionChanged if another request has changed or rotated the session: read it again.
        """
        hash, tag = self._named(session.id)
        item = {"hash": hash, "ver": session.ver, **changes}
        told = await self._call_at(tag, "update", item=[item])
        if told.status == "gone":
            return None
        if told.status != "ok":
            raise SessionChanged(session.handle, told.status)
        return replies.updated(session, changes, told.ver)

    async def rotate(self, session: Session, *, grace: Seconds = 10.0) -> Session | None:
        """Give a session a new id; None if it has ended.

        grace: for how many seconds the former id may read the session: other requests with it may be on their way. Use
        0 if the session gets more rights. The former id is then gone at once.

        If another request has rotated the session, the answer has the same id, and `rotated` is true. Nobody learns a
        newer id.
        """
        hash, tag = self._named(session.id)
        for _ in range(DRAWS):
            new = _draw(tag)
            new_hash = hash_of(self.name, new)
            told = await self._call_at(tag, "rotate", hash=hash, new_hash=new_hash, grace=grace)
            if told.status == "ok":
                return session.model_copy(update={"id": new, "handle": handle_of(new_hash), "rotated": False})
            if told.status != "exists":
                break
        return session.model_copy(update={"rotated": True}) if told.status == "rotated" else None

    async def revoke(self, id: str) -> bool:
        """End a session. False if there is none: of several calls, only the one that has ended it returns True."""
        hash, tag = self._named(id)
        return bool((await self._call_at(tag, "revoke", item=[hash])).items[0].status == "revoked")

    async def revoke_handles(self, user: str, handles: Sequence[str]) -> list[bool]:
        """End sessions of a user by their handles, 1 to 100 at once, and return for each whether this call ended it."""
        for handle in checked_list("handles", handles):
            if not isinstance(handle, str) or not HANDLE.fullmatch(handle):
                # not shown: it may be an id
                raise BadArgument("ADEQ_ARG", "pyadeq", "handles: one is not accepted; allowed: 16 hex digits each")
        told = await self._call_at(self._tag(user), "revoke", user=user, item=list(handles))
        return [one.status == "revoked" for one in told.items]

    async def revoke_all(self, user: str, *, keep: str | None = None, renew_authz: bool = False) -> RevokedSessions:
        """End all sessions of a user. Sessions that are created later are valid.

        keep: the id of one session that stays, that of the request.
        renew_authz: also have the rights of the user read again.
        """
        kept = None if keep is None else hash_of(self.name, keep)
        told = await self._call_at(
            self._tag(user), "set_user", user=user, revoke=True, renew_authz=renew_authz, keep=kept
        )
        return RevokedSessions(ended=told.ended, kept=bool(told.kept))

    async def renew_authz(self, user: str) -> int:
        """Have the rights of a user read again: the user's sessions are `authz_stale`. Returns the new `authz_ver`."""
        told = await self._call_at(self._tag(user), "set_user", user=user, renew_authz=True)
        return int(told.authz_ver)

    async def user(self, user: str) -> SessionUser:
        """Return what is stored of a user. Call it before you check a login."""
        told = await self._call_at(self._tag(user), "list", user=user, limit=1)
        return SessionUser(user=user, not_before=told.not_before_us, authz_ver=told.authz_ver)

    async def iterate(self, user: str | None = None) -> AsyncIterator[SessionEntry]:
        """Iterate over the valid sessions of a user, or of all users, partition by partition."""
        for tag in TAGS if user is None else (self._tag(user),):
            cursor: str | None = None
            while cursor != "":
                page = await self._call_at(tag, "list", user=user, cursor=cursor, limit=PAGE)
                for found in page.items:
                    yield replies.entry(found)
                cursor = page.cursor

    async def count(self) -> int:
        """Return how many sessions are stored. Some may have ended: the server deletes them within an hour."""
        return sum([(await self._call_at(tag, "stats")).sessions for tag in TAGS])

    async def sweep(self) -> int:
        """Delete sessions whose lifetime is over, and return their number.

        Logins do it, too: this is for a realm without logins.
        """
        ended = 0
        for tag in TAGS:
            more = True
            while more:
                told: Result = await self._call_at(tag, "sweep", limit=1000)
                ended, more = ended + told.ended, bool(told.more)
        return ended

    def handle(self, id: str) -> str:
        """Return the handle of an id, for logs. The server is not asked."""
        return handle_of(hash_of(self.name, id))

    def _tag(self, user: str) -> str:
        if not isinstance(user, str) or not PATTERNS["label"].fullmatch(user):
            raise BadArgument("ADEQ_ARG", "pyadeq", f"user: {user!r} is not accepted; allowed: {ALLOWED['label']}")
        return tag_of(self.name, user)

    def _named(self, id: str) -> tuple[str, str]:
        """Return the hash of an id, and its partition."""
        hash = hash_of(self.name, id)
        return hash, tag_of_id(id, hash)


def _draw(tag: str) -> str:
    return f"{tag}.{secrets.token_urlsafe(32)}"
