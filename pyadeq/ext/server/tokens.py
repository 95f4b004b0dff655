"""Tokens: who may use the service. The config namespace `_tokens` has them, without their secrets.

The text of a token is `adeq_<id>_<secret>`. It is shown once. The server has the SHA-256 of the secret, which is random
and has 256 bits. A revoked token stays as a tombstone until it would have expired, so that nothing can revive it.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, Field, ValidationError

from pyadeq.errors import ConfigError
from pyadeq.ext.operations.rights import ACT, MANAGE, MOST_GROUPS, Principal, Scope, rights_of
from pyadeq.keys import PATTERNS, check_name, shown

if TYPE_CHECKING:
    from pyadeq.models.config import ConfigValue

NAMESPACE: Final = "_tokens"
DAY: Final = 86_400.0
LIFETIME: Final = 90 * DAY
"""Seconds until a token expires, unless something else is said."""
TOMBSTONE: Final = 365 * DAY
"""Seconds for which a revoked token is kept that would never have expired."""
MOST_PATTERNS: Final = 32
MOST_REMOVED: Final = 99
"""Old tokens that are removed when another one is written: a call of a config has 100 names."""
TEXT: Final = re.compile(r"adeq_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
VOTES: Final = frozenset({"change.author", "change.assess", "change.review", "change.override"})
"""Rights with which it matters who somebody is: two people have to agree."""
_ID: Final = re.compile(r"([0-9a-f]{12})")
_PATTERN: Final = re.compile(r"[A-Za-z0-9._@+*-]{1,100}")


class Rate(BaseModel, frozen=True, extra="forbid"):
    """How many requests a period (seconds) may have."""

    limit: int = Field(ge=1, le=1_000_000)
    period: float = Field(ge=1, le=DAY, allow_inf_nan=False)


class Token(BaseModel, frozen=True, extra="forbid"):
    """What is stored of a token.

    rights: as `rights.rights_of` takes them. names, user: as in `rights.Scope`. rate: of its requests, in each process
    of the service; None: any. groups: in which its owner answers requests of changes. created, expires, revoked:
    seconds since the epoch. An older service does not accept a token that has a field unknown to it: it may restrict
    the token.
    """

    owner: str
    rights: tuple[str, ...]
    names: tuple[str, ...] = ("*",)
    user: str | None = None
    rate: Rate | None = None
    groups: tuple[str, ...] = ()
    created: float
    expires: float | None
    revoked: float | None = None
    hash: str = Field("", repr=False)

    @property
    def forgotten_at(self) -> float:
        """When it need not be kept any more."""
        if self.expires is not None:
            return self.expires
        return float("inf") if self.revoked is None else self.revoked + TOMBSTONE

    def state(self, now: float) -> str:
        """`valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires is None or now < self.expires else "expired"

    def scope(self) -> Scope:
        """What it allows. Rights that this version does not know allow nothing."""
        known = set[str]()
        for right in self.rights:
            try:
                known |= rights_of([right])
            except ConfigError:
                continue
        return Scope(frozenset(known), self.names, self.user)

    def fits(self, secret: str) -> bool:
        """Whether this is its secret. It takes as long for a wrong one."""
        return compare_digest(_hash(secret), self.hash)

    def encoded(self) -> bytes:
        """Encode the token as JSON, the form in which it is stored."""
        older = {name for name in ("rate", "groups") if not getattr(self, name)}  # an older service accepts it then
        return self.model_dump_json(exclude=older).encode()

    @property
    def acts_as(self) -> str:
        """The name under which it acts in changes."""
        return (self.user or self.owner).lower()


def new_token(
    owner: str,
    rights: Iterable[str],
    *,
    names: Iterable[str] = ("*",),
    user: str | None = None,
    rate: tuple[int, float] | None = None,
    groups: Iterable[str] = (),
    lifetime: float | None = LIFETIME,
    now: float | None = None,
) -> tuple[str, str, Token]:
    """Make a token: its id, its text, which nobody can find out again, and what to store.

    owner: who uses it: a person or a program; stored as the actor of what they do, in small letters.
    rights, names, user: see `rights.Scope`. rate: how many requests in how many seconds; None: any. groups: those of
    the owner, at most 32. lifetime: seconds; None: it never expires.
    """
    at = time.time() if now is None else now
    if lifetime is not None and not 1 <= lifetime <= 100 * 365 * DAY:
        raise ConfigError(f"expires: {lifetime:g} s is not accepted; allowed: 1 s to 100 years, or never")
    given, patterns = tuple(dict.fromkeys(rights)), tuple(dict.fromkeys(names))
    if not given:
        raise ConfigError("rights: none is named, and a token without rights is of no use")
    if ACT in rights_of(given) and user is not None:
        raise ConfigError(f"rights: {ACT} is not for one user; leave out the user, or the right")
    if not 1 <= len(patterns) <= MOST_PATTERNS:
        raise ConfigError(f"names: {len(patterns)} patterns are not accepted; allowed: 1 to {MOST_PATTERNS}")
    for pattern in patterns:
        if not _PATTERN.fullmatch(pattern):
            allowed = "1 to 100 of A-Z a-z 0-9 . _ @ + - and *, which is any text"
            raise ConfigError(f"names: {shown(pattern)} is not accepted; allowed: {allowed}")
    try:
        limited = None if rate is None else Rate(limit=rate[0], period=rate[1])
    except ValidationError:
        raise ConfigError(
            f"rate: {rate!r} is not accepted; allowed: 1 to 1,000,000 requests in 1 second to 1 day, as in 100/s"
        ) from None
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    made = Token(
        owner=owner_of("owner", owner),
        rights=given,
        names=patterns,
        user=None if user is None else check_name("user", user, "label"),
        rate=limited,
        groups=groups_of("groups", groups),
        created=at,
        expires=None if lifetime is None else at + lifetime,
        hash=_hash(secret),
    )
    return id, f"adeq_{id}_{secret}", made


def revoked(token: Token, now: float | None = None) -> Token:
    """The tombstone of a token. It has no hash, so no text fits it."""
    return token.model_copy(update={"revoked": time.time() if now is None else now, "hash": ""})


def old_tokens(stored: Mapping[str, bytes], now: float | None = None) -> list[str]:
    """The ids of tokens that need not be kept any more; at most 99 of them."""
    at = time.time() if now is None else now
    old = [id for id, value in stored.items() if (token := read_token(value)) and token.forgotten_at <= at]
    return old[:MOST_REMOVED]


def all_tokens(stored: Mapping[str, ConfigValue]) -> list[tuple[str, Token]]:
    """The ids and tokens of the namespace, the newest first."""
    found = [(id, token) for id, one in stored.items() if (token := read_token(one.value))]
    return sorted(found, key=lambda one: (one[1].created, one[0]), reverse=True)


def not_given(who: Principal, token: Token) -> str | None:
    """Why somebody may not manage this token: it allows more than they have. None: they may."""
    reasons = [_beyond(scope, who, token) for scope in who.scopes if MANAGE in scope.rights]
    if not reasons:
        return f"{who.name} does not have the right {MANAGE}"
    return None if None in reasons else reasons[0]


def _beyond(own: Scope, who: Principal, token: Token) -> str | None:
    """What a token allows beyond a scope of somebody."""
    if more := token.scope().rights - own.rights:
        return f"rights: you do not have {', '.join(sorted(more))}, so you cannot give it"
    if more_names := [name for name in token.names if not own.has_all(name)]:
        return f"names: {', '.join(more_names)} is more than you have; allowed: {', '.join(own.names)}"
    if own.user is not None and token.user != own.user:
        return f"user: you act for one user, so the token has to be for {own.user!r}, too"
    if ACT not in own.rights or own.user is not None:
        others = {token.owner.lower(), token.acts_as} - {who.name.lower(), (own.user or who.name).lower()}
        if VOTES & token.scope().rights and others:
            return f"owner: it would act in changes as {others.pop()}, so you need the right {ACT}"
        if more_groups := sorted({*token.groups}.difference(who.groups)):
            return f"groups: you are not in {', '.join(more_groups)}, so you need the right {ACT}"
    if who.rate is None:
        return None
    limit, period = who.rate
    if token.rate is None or token.rate.limit > limit or token.rate.limit / token.rate.period > limit / period:
        return f"rate: you may make {limit:,} requests in {period:g} s, so the token needs a rate that is no higher"
    return None


@lru_cache(maxsize=10_000)
def read_token(value: bytes) -> Token | None:
    """A token as it is stored; None if that is no token which this version knows."""
    try:
        return Token.model_validate_json(value)
    except ValidationError:
        return None


def id_of(text: str) -> str:
    """The id of a token, from its id or its text."""
    found = TEXT.fullmatch(text) or _ID.fullmatch(text)
    if not found:  # which is not shown: it may be most of a secret
        raise ConfigError("ID: this is not accepted; allowed: the 12 digits of an id, or the whole text of a token")
    return found[1]


def owner_of(field: str, name: str) -> str:
    """A name as an actor has it. Small letters only: `Ann` and `ann` are one person, who has one vote."""
    return check_name(field, name).lower()


def groups_of(field: str, names: Iterable[str]) -> tuple[str, ...]:
    """Groups of somebody, each once. ConfigError for names that no group has, and for more than 32."""
    found = tuple(dict.fromkeys(check_name(field, name, "label") for name in names))
    if len(found) > MOST_GROUPS:
        raise ConfigError(f"{field}: {len(found)} groups are not accepted; allowed: at most {MOST_GROUPS}")
    return found


def is_group(name: str) -> bool:
    """Whether requests of changes can name such a group."""
    pattern = PATTERNS["label"]
    return pattern.fullmatch(name) is not None


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
