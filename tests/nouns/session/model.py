"""What a partition of a session realm does, in few words; and what must hold of all that is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyadeq._core.kernel.nouncalls import Result
from pyadeq._core.session.ids import handle_of
from tests.nouns.audit import NounAudit

Told = tuple[str, dict[str, Any]]
DAY = 86_400_000
TEXTS = ("name", "address", "agent")


@dataclass
class Stored:
    """A session. Times are in ms. indexed: whether the index of its user has it."""

    hash: str
    user: str
    born: int
    created: int
    active: int
    idle: int
    ends: int
    authz: int
    ver: int = 1
    about: dict[str, Any] = field(default_factory=dict)
    indexed: bool = True

    def record(self) -> dict[str, Any]:
        times = {"created": self.created, "active": self.active, "idle": self.idle, "ends": self.ends}
        own = {"user": self.user, "born_us": self.born, "ver": self.ver, "authz_ver": self.authz}
        return {**own, **{name: at / 1000 for name, at in times.items()}, **self.about}


@dataclass
class User:
    not_before: int
    begun: int
    authz: int = 1


class Model:
    def __init__(self) -> None:
        self.now = 0.0
        self.sessions: dict[str, Stored] = {}
        self.aliases: dict[str, tuple[str, int]] = {}
        self.users: dict[str, User] = {}
        self.events: list[str] = []

    def create(
        self,
        hash: str,
        user: str,
        idle_ms: int = DAY,
        lifetime_ms: int = 7 * DAY,
        limit: int = 1000,
        when_full: str = "end_oldest",
        expect_us: int = -1,
        authz_ver: int = -1,
        **about: Any,
    ) -> Told:
        known, exists = self._user(user), user in self.users
        not_before = known.not_before if exists else 0
        unrevoked = expect_us == not_before or (expect_us == 0 and known.not_before == known.begun)
        if expect_us >= 0 and not unrevoked:
            return "revoked_since", {"not_before_us": not_before}
        if hash in self.sessions or hash in self.aliases:
            return "exists", {}
        mine = self._of(user)
        if len(mine) >= limit:
            valid = [one for one in mine if self._is_valid(one)]
            if len(valid) >= limit and when_full == "refuse":
                return "full", {"sessions": len(valid)}
            ending = valid[: max(0, len(valid) - limit + 1)]
            self.events += ["session.ended"] * len(ending)
            for one in mine:
                if one in ending or not self._is_valid(one):
                    del self.sessions[one.hash]
        for one in self._of(user):
            one.indexed = one.ends > self._ms
        self.users[user] = known
        authz = known.authz if authz_ver < 0 else authz_ver
        kept = {name: tuple(one) if isinstance(one, list) else one for name, one in about.items() if one}
        ends = self._ms + lifetime_ms
        self.sessions[hash] = Stored(
            hash, user, known.not_before + 1, self._ms, self._ms, idle_ms, ends, authz, about=kept
        )
        self.events.append("session.created")
        self.sweep(10)
        times = {"created": self._ms / 1000, "ends": ends / 1000}
        return "created", {**times, "authz_ver": authz, "authz_stale": int(authz != known.authz)}

    def get(self, hash: str, touch: bool = True) -> Told:
        own, rotated = self._find(hash)
        if not own:
            return "gone", {}
        if touch and self._ms - own.active > min(60_000, own.idle / 10):
            own.active = self._ms
        return "rotated" if rotated else "ok", {"authz_ver": self.users[own.user].authz, "session": own.record()}

    def update(self, item: Sequence[dict[str, Any]]) -> Told:
        given = dict(item[0])
        own, rotated = self._find(given.pop("hash"))
        ver = given.pop("ver")
        if not own or rotated:
            return "rotated" if own else "gone", {}
        if ver != own.ver:
            return "changed", {"ver": own.ver}
        own.ver += 1
        given = {name: one for name, one in given.items() if one is not None}
        own.authz = given.pop("authz_ver", own.authz)
        own.about |= {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
        return "ok", {"ver": own.ver}

    def rotate(self, hash: str, new_hash: str, grace_ms: int = 10_000) -> Told:
        own, rotated = self._find(hash)
        if not own or rotated:
            return "rotated" if own else "gone", {}
        if new_hash in self.sessions or new_hash in self.aliases:
            return "exists", {}
        self.sessions[new_hash] = self.sessions.pop(hash)
        own.hash, own.indexed = new_hash, True
        if grace_ms:
            self.aliases[hash] = new_hash, self._ms + grace_ms
        self.events.append("session.rotated")
        return "ok", {}

    def revoke(self, item: Sequence[dict[str, str]], user: str = "") -> Told:
        handles = {handle_of(one.hash): one.hash for one in self._of(user)}
        answers = []
        for one in item:
            own, _ = self._find(handles.get(one["id"], "") if user else one["id"])
            answers.append(Result("revoked" if own else "gone", {}))
            if own:
                del self.sessions[own.hash]
                self.events.append("session.revoked")
        return "ok", {"items": answers}

    def set_user(self, user: str, revoke: bool = False, renew_authz: bool = False, keep: str = "") -> Told:
        known, ended, kept = self._user(user), 0, 0
        known.authz += renew_authz
        if revoke:
            own, _ = self._find(keep) if keep else (None, False)
            own = own if own and own.user == user else None
            ended = sum(self._is_valid(one) and one is not own for one in self._of(user))
            for one in self._of(user):
                if one is not own:
                    del self.sessions[one.hash]
            known.not_before = max(self._ms * 1000, known.not_before + 1)
            if own:
                kept, own.born = 1, known.not_before + 1
        self.users[user] = known
        self.events.append("session.user")
        told = {"not_before_us": known.not_before, "authz_ver": known.authz, "ended": ended, "kept": kept}
        return "ok", told

    def list(self, user: str = "", limit: int = 20) -> Told:
        order = self._of(user) if user else sorted(self.sessions.values(), key=lambda one: (one.ends, one.hash))
        items = []
        for one in order[:limit]:
            if self._is_valid(one):
                own = one.record()
                entry = {name: own[name] for name in ("created", "active", "idle", "ends", *TEXTS) if name in own}
                items.append(Result("session", {"handle": handle_of(one.hash), "user": one.user, "entry": entry}))
        not_before = self.users[user].not_before if user in self.users else 0
        authz = self._user(user).authz if user else 0
        return "ok", {"not_before_us": not_before, "authz_ver": authz, "items": items}

    def stats(self) -> Told:
        due = sum(one.ends <= self._ms for one in self.sessions.values())
        return "ok", {"sessions": len(self.sessions), "due": due}

    def sweep(self, limit: int = 100) -> Told:
        order = sorted((one.ends, one.hash) for one in self.sessions.values() if one.ends <= self._ms)[:limit]
        for _, hash in order:
            del self.sessions[hash]
        return "ok", {"ended": len(order), "more": int(len(order) == limit)}

    # what is stored

    @property
    def _ms(self) -> int:
        return round(self.now * 1000)

    def _user(self, user: str) -> User:
        begun = self._ms * 1000
        return self.users.get(user) or User(begun, begun)

    def _of(self, user: str) -> Sequence[Stored]:
        mine = [one for one in self.sessions.values() if one.user == user and one.indexed]
        return sorted(mine, key=lambda one: (one.ends, one.hash))

    def _is_valid(self, own: Stored) -> bool:
        in_time = self._ms < min(own.active + own.idle, own.ends)
        return in_time and own.user in self.users and own.born > self.users[own.user].not_before

    def _find(self, hash: str) -> tuple[Stored | None, bool]:
        rotated = False
        for _ in range(5):
            if hash not in self.aliases:
                break
            hash, until = self.aliases[hash]
            rotated = True
            if until <= self._ms:
                return None, True
        own = self.sessions.get(hash)
        return (own, rotated) if own and self._is_valid(own) else (None, rotated)


class Audit(NounAudit):
    noun = "session"

    def rules(self) -> Iterator[str]:
        records = {hash: self.hash(f"s:{hash}") for hash in self.suffixes("s")}
        ends = {hash: int(one["ends_ms"]) for hash, one in records.items() if "user" in one}
        whole = self.zset("all")
        for hash, at in ends.items():
            if whole.get(hash) != at:
                yield f"session {hash} ends at {at}, all has {whole.get(hash)}"
            user = records[hash]["user"]
            known = self.hash(f"u:{user}")
            if known and int(records[hash]["born_us"]) > int(known["not_before_us"]) + 1:
                yield f"session {hash} is newer than the next one of its user {user} would be: {known}"
        for user in self.suffixes("of"):
            for hash, at in self.zset(f"of:{user}").items():
                if hash in ends and (records[hash]["user"] != user or ends[hash] != at):
                    yield f"of:{user} has {hash} at {at}: {records[hash]}"
        for name in self.names:
            if name.startswith(("s:", "u:", "of:")) and self.stored.ttls[name] == -1:
                yield f"{name} never expires"
        if self.hash("once").keys() != self.zset("once:due").keys():
            yield "once and once:due differ"
