"""Callers and their rights.

A right is a role in a noun: `queue.produce`. The roles are those of access rules on the server, see `pyadeq.access`:
`observe`, and each noun's own, such as `produce`, `work` and `operate`. Some rights belong to no role.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from pyadeq import library
from pyadeq.access import ROLES
from pyadeq.errors import ConfigError

REVEAL: Final = "payload.reveal"
"""The right to see what the tier of a task hides. No role has it."""
MANAGE: Final = "tokens.manage"
"""The right to make, see and revoke tokens that allow no more than one has. No role has it."""
WEBHOOKS: Final = "webhooks.manage"
"""The right to manage the webhooks of what one may observe. No role has it: webhooks send to the outside."""
ACT: Final = "actor.any"
"""The right to act in changes for others, with any groups. No role has it: its owner can vote as anybody."""
MOST_GROUPS: Final = 32
"""Groups of somebody who acts in changes: a call of a script takes no more."""
_GENERAL: Final = {
    "observer": ("observe",),
    "producer": ("observe", "produce"),
    "worker": ("observe", "work"),
    "operator": ("observe", "operate", "produce"),
}


def all_rights() -> frozenset[str]:
    """Every right that there is."""
    nouns = library().manifest["nouns"]
    return frozenset(
        {
            REVEAL,
            MANAGE,
            WEBHOOKS,
            ACT,
            *(
                f"{word}.{role}"
                for word, noun in nouns.items()
                if word != "registry"  # nobody asks the service for it
                for role in ("observe", *noun["roles"])
            ),
        }
    )


def rights_of(names: Iterable[str]) -> frozenset[str]:
    """The rights that these names mean: a right is itself, and a role of `pyadeq.access` is that role in all nouns."""
    known, found = all_rights(), set[str]()
    for name in names:
        if name in _GENERAL:
            found |= {right for right in known if right.partition(".")[2] in _GENERAL[name]}
        elif name in known:
            found.add(name)
        else:
            raise ConfigError(f"rights: {name!r} is not accepted; allowed: {', '.join([*ROLES, *sorted(known)])}")
    return frozenset(found)


@dataclass(frozen=True)
class Scope:
    """Rights in some names, and for one user or for all.

    names: patterns of the names of queues, domains, realms and namespaces, in which `*` is any text.
    user: only tasks of this user; everything that does not belong to a user is refused.
    """

    rights: frozenset[str]
    names: tuple[str, ...] = ("*",)
    user: str | None = None

    def has(self, name: str) -> bool:
        """Whether it is about this name."""
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def has_all(self, pattern: str) -> bool:
        """Whether it is about each name that fits this pattern, in which `*` is the only special character."""
        # As a text, `mail-*` fits `mail*` and `*-*`: the own `*` of a pattern can only be one of these. But it would
        # also fit `mail-?`, which is about single characters.
        return any(
            fnmatchcase(pattern, own) and not ("*" in pattern and re.search(r"[?\[]", own)) for own in self.names
        )


@dataclass(frozen=True)
class Principal:
    """The caller of an operation.

    name: stored as the actor of what they do. rate: how many requests they may make in how many seconds; None: any.
    groups: in which they answer requests of changes. shared: everybody who reaches the service is this one.
    """

    name: str
    scopes: tuple[Scope, ...] = field(default=(), repr=False)
    rate: tuple[int, float] | None = None
    groups: tuple[str, ...] = ()
    shared: bool = False

    def scopes_of(self, name: str) -> list[Scope]:
        """The scopes that are about this name; [] hides that it exists."""
        return [scope for scope in self.scopes if scope.has(name)]

    def may(self, right: str, name: str, *, by_user: bool = False) -> bool:
        """Whether they have a right in a name: for all users, or `by_user` also for one."""
        return any(right in scope.rights and (by_user or scope.user is None) for scope in self.scopes_of(name))


def everything(name: str) -> Principal:
    """Somebody who may do anything."""
    return Principal(name, (Scope(all_rights()),))
