"""The tasks of one user: what a request with a token for one user may name.

A queue has one space of ids and keys for all users. So keys of such a request are stored with a mark of their user, and
ids that it names must be those of its own tasks. A task of somebody else answers 409, and not whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

from pyadeq.asyncio import TaskView
from pyadeq.ext.server.gate import Access
from pyadeq.ext.server.problems import Refused

ENDED: Final = ("completed", "dead", "cancelled")
KEYS: Final = ("idempotency_key", "unique", "scope", "ordering_key")
OF_KEYS: Final = "once-"
"""How the ids of requests with an Idempotency-Key begin."""
MARK: Final = 24
"""Characters of a mark, without the colon behind it."""
LONGEST_KEY: Final = 200
MOST_IN_TREE: Final = 10_000
"""Tasks below one that is cancelled with its tree, for a token of one user: each of them is looked at."""


async def keep_to_user(access: Access, fields: dict[str, Any]) -> None:
    """Keep the fields of a task to the user of the scope, if it has one. Refused if they name what others have."""
    user = access.scope.user
    if user is None:
        return
    if fields.setdefault("user", user) != user:
        raise Refused(403, "FORBIDDEN", "#/user: you may enqueue tasks of your own user only")
    for name in KEYS:
        if fields.get(name) is not None:
            fields[name] = _own_key(user, name, fields[name])
    named = {"parent": [fields["parent"]] if fields.get("parent") else [], "after": [*(fields.get("after") or ())]}
    for name, ids in named.items():
        for id in ids:  # in a queue in partitions, they are in several
            task: TaskView | None = await access.found.get(id)
            if task is None or task.user != user:  # one that somebody else creates later would be of theirs
                raise Refused(409, "TAKEN", f"#/{name}: {id!r} is no task of yours")


def check_own(access: Access, task: TaskView, name: str = "id") -> None:
    """Refuse a task of somebody else. name: the field that names it."""
    if access.scope.user not in (None, task.user):
        raise Refused(409, "TAKEN", f"#/{name}: {task.id!r} is in use, and no task of yours")


async def check_tree(access: Access, id: str) -> None:
    """Refuse a tree with open tasks of other users. Tasks without a user belong to the tree."""
    if access.scope.user is None:
        return
    below: list[str] = [id]
    seen = {id}
    while below:
        async for task in access.found.iterate(parent=below.pop()):
            if task.user not in (None, access.scope.user) and task.state not in ENDED:
                raise Refused(409, "TAKEN", "#/tree: a task below is in use, and no task of yours")
            if task.id not in seen:
                seen.add(task.id)
                below.append(task.id)
            if len(seen) > MOST_IN_TREE:
                why = f"there are more than {MOST_IN_TREE:,} tasks below it; a token for all users can cancel them"
                raise Refused(409, "TOO_LARGE", f"#/tree: {why}")


def id_of_key(access: Access, key: str, place: Sequence[str]) -> str:
    """The id of what a request with this Idempotency-Key makes: the same for the same caller, user and place."""
    user = access.scope.user
    who = [access.principal.name, *place, key, *([] if user is None else [user])]
    return f"{OF_KEYS}{_digest(who)[:40]}"


def _own_key(user: str, name: str, key: str) -> str:
    most = LONGEST_KEY - MARK - 1
    if not isinstance(key, str) or len(key) > LONGEST_KEY or (len(key) > most and not key.startswith(_mark(user))):
        raise Refused(400, "BAD_REQUEST", f"#/{name}: allowed with a token for one user: at most {most} characters")
    return key if key.startswith(_mark(user)) else _mark(user) + key  # as an answer shows it


def _mark(user: str) -> str:
    return f"{_digest([user])[:MARK]}:"


def _digest(words: Sequence[str]) -> str:
    return sha256(json.dumps(words).encode()).hexdigest()
