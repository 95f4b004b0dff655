"""What clients saw of sessions: each with its ids, and all calls that concern it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from math import inf
from typing import Any, NamedTuple

from pyadeq.ext.prove.chaos.case import Case
from pyadeq.ext.prove.chaos.history import Op
from pyadeq.ext.prove.chaos.server_times import ServerTimes, by_place, now_of

VERBS = "session."
READ = frozenset({"get ok", "get rotated"})
VALID = READ | {"update ok", "rotate ok", "rotate rotated"}
GONE = frozenset({"get gone", "update gone", "rotate gone"})


class Use(NamedTuple):
    """A call with an id. turn: which of the session's ids it is, from 0. what: verb and status; `get`: no answer."""

    op: Op
    turn: int
    what: str

    @property
    def record(self) -> dict[str, Any]:
        """The session, as a `get` answered it; nothing for other answers."""
        found: dict[str, Any] = self.op.answer.get("session") or {}
        return found


class End(NamedTuple):
    """A call that ends a session for the ids up to a turn, or may have. sure: the answer says so.

    after: ms from then on until the ids end: the grace of a rotation. shown: the call only shows that they have ended.
    """

    op: Op
    turn: int
    sure: bool
    after: int = 0
    shown: bool = False


@dataclass(slots=True)
class Login:
    """A session from the call that made it. hashes: of its ids, oldest first. made: the calls that made these.

    used_until: when the last of its uses was answered, by the clients' clock.
    """

    user: str
    hashes: list[str]
    made: list[Op]
    uses: list[Use] = field(default_factory=list)
    ends: list[End] = field(default_factory=list)
    used_until: float = 0.0

    @property
    def newest(self) -> int:
        """The turn of the newest id that a client knows."""
        return len(self.hashes) - 1

    @property
    def created_ms(self) -> int:
        """When it was created."""
        return _ms(self.made[0].answer["created"])

    @property
    def ends_ms(self) -> int:
        """When it ends at the latest."""
        return _ms(self.made[0].answer["ends"])

    @property
    def idle_ms(self) -> int:
        """How long it lasts without use."""
        return int(self.made[0].asked.get("idle_ms", 86_400_000))

    @property
    def handle(self) -> str:
        """The handle of the login's first id."""
        return handle_of(self.hashes[0])

    @property
    def touches(self) -> Iterator[Use]:
        """The uses that keep it from its idle end, also without an answer."""
        for use in self.uses:
            if (use.what in READ or use.what == "get") and use.op.asked.get("touch", True):
                yield use


class Logins:
    """All sessions of a history whose `create` was answered. times: by user, of the user's partition."""

    def __init__(self, case: Case) -> None:
        own = [op for op in case.history.ops if op.verb.startswith(VERBS) and op.may_be_done]
        self.all: list[Login] = []
        self.creates: defaultdict[str, list[Op]] = defaultdict(list)
        self._of: dict[str, tuple[Login, int]] = {}
        self._by_handle: dict[str, Login] = {}
        self._of_user: defaultdict[str, list[Login]] = defaultdict(list)
        for op in own:  # in the order in which they began: an id is known before it is used
            if op.verb == "session.create":
                self._create(op)
            elif op.verb == "session.rotate" and op.answer.get("status") == "ok":
                self._rotate(op)
        for op in own:
            self._use(op)
        for op in own:
            if op.verb == "session.revoke":
                self._revoke(op)
            elif op.verb == "session.set_user" and op.asked.get("revoke"):
                self._revoke_all(op)
        self.times = by_place((user, op) for op in own if (user := self._user(op)))
        self._clock_back = "clock_back" in case.calls.marked

    def clock(self, login: Login) -> ServerTimes | None:
        """The times of the session's partition; None if its clock went back."""
        found = self.times[login.user]
        return None if self._clock_back or found.stepped else found

    def _create(self, op: Op) -> None:
        if op.outcome != "ok" or op.answer["status"] == "created":
            self.creates[op.asked["user"]].append(op)
        if op.answer.get("status") == "created":
            login = Login(op.asked["user"], [op.asked["hash"]], [op])
            self.all.append(login)
            self._of_user[login.user].append(login)
            self._know(login)

    def _rotate(self, op: Op) -> None:
        if login := self._login(op.asked["hash"]):
            login.hashes.append(op.asked["new_hash"])
            login.made.append(op)
            self._know(login)

    def _know(self, login: Login) -> None:
        hash = login.hashes[-1]
        self._of[hash] = login, login.newest
        self._by_handle[handle_of(hash)] = login

    def _login(self, hash: str) -> Login | None:
        return self._of[hash][0] if hash in self._of else None

    def _user(self, op: Op) -> str | None:
        if "user" in op.asked:
            return str(op.asked["user"])
        login = self._login(_hash(op))
        return login.user if login else None

    def _use(self, op: Op) -> None:
        verb = op.verb.removeprefix(VERBS)
        known = self._of.get(_hash(op)) if verb in ("get", "update", "rotate") else None
        if known is None:
            return
        login, turn = known
        use = Use(op, turn, f"{verb} {op.answer['status']}" if op.outcome == "ok" else verb)
        login.uses.append(use)
        login.used_until = max(login.used_until, inf if op.ended is None else op.ended)
        if use.what in ("rotate ok", "rotate"):
            grace = op.asked.get("grace_ms", 10_000)
            login.ends.append(End(op, turn, use.what == "rotate ok", grace))
        elif use.what in GONE:
            login.ends.append(End(op, turn, True, shown=True))

    def _revoke_all(self, op: Op) -> None:
        for login in self._of_user[op.asked["user"]]:
            is_used = login.used_until >= op.began  # or nothing depends on it
            # `kept` is 0 if the id to keep was no longer valid, such as an older one after its grace.
            is_kept = op.asked.get("keep") in login.hashes and op.answer.get("kept", 0)
            if is_used and not is_kept:
                sure = op.outcome == "ok" and (login.made[0].ended or op.began) < op.began
                login.ends.append(End(op, login.newest, sure))

    def _revoke(self, op: Op) -> None:
        answers = op.answer.get("items", [None] * len(op.asked["item"]))
        for item, answer in zip(op.asked["item"], answers, strict=True):
            id = item["id"]
            login = self._by_handle.get(id) if "user" in op.asked else self._login(id)
            if login and (answer is None or answer["status"] == "revoked"):
                login.ends.append(End(op, login.newest, answer is not None))


def handle_of(hash: str) -> str:
    """What a session is called in lists and events."""
    return sha1(hash.encode()).hexdigest()[:16]


def now_in(use: Use) -> int:
    """The server's time in the answer to a use."""
    return now_of(use.op) or 0


def _hash(op: Op) -> str:
    asked = op.asked
    if op.verb == "session.revoke" and "user" not in asked:
        return str(asked["item"][0]["id"])
    return str(asked["item"][0]["hash"] if op.verb == "session.update" else asked.get("hash", ""))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
