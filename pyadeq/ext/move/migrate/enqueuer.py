"""Tasks of a migration in pyadeq: each is created once, whatever was killed or lost."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pyadeq import Adeq, BadArgument, Queue, Receipt, Task, TaskView
from pyadeq.ext.move.migrate.escrow import State, batches
from pyadeq.ext.move.migrate.source import Moving

PORTION: Final = 20
"""Tasks of one call to pyadeq: each takes 50 to 100 µs of the server, which must not be blocked for long."""
LONGEST: Final = 200
"""Characters of an id."""
NOT_UNIQUE: Final = "another task of pyadeq has its unique key, or had it at the first move"
"""The idempotency key of a task keeps that answer until a rollback."""
ID: Final = re.compile(r"[A-Za-z0-9._:/@+-]{1,200}")

OTHER: Final = "pyadeq has another task with its id"

Taken = Literal["deleted", "put_back", "other"]
"""The task that had the id of a message: deleted since, cancelled by a rollback, or another one."""


class Enqueuer:
    """Enqueues tasks of a source. name: of the source. run: of the migration; after a rollback there is a new one."""

    def __init__(self, adeq: Adeq, name: str) -> None:
        self._adeq, self._name, self.run = adeq, name, ""

    def named(self, one: Moving, second: bool = False) -> Task:
        """Return a task by which a repeated call finds itself again. second: its id has an end; see `second_id`."""
        id = one.task.id or ""
        origin = {"from": self._name, "run": self.run, "digest": one.digest}
        return one.task.model_copy(
            update={
                "id": self.second_id(id) if second else id,
                "idempotency_key": f"migrate:{self.run}:{key_of(one)}",
                "headers": {**(one.task.headers or {}), "migrated": origin},
            }
        )

    def second_id(self, id: str) -> str:
        """Return the id of a task that is moved again after a rollback, if the cancelled task has its id."""
        end = f"+{self.run}"
        if len(id) + len(end) > LONGEST:
            id = hashlib.sha1(id.encode(), usedforsecurity=False).hexdigest()
        return id + end

    def enqueue(self, to: str, moving: Sequence[Moving], resumed: bool) -> list[State | str]:
        """Enqueue tasks. Returns the state of each message, or why it cannot be moved."""
        known = State.moved if resumed else State.again
        receipts = self.send(to, [self.named(one) for one in moving])
        answers = {i: _answer(receipt, known) for i, receipt in enumerate(receipts)}
        answers |= dict.fromkeys(self._not_unique(to, moving, receipts), NOT_UNIQUE)
        taken = self._ids_taken(to, moving, receipts)
        answers |= {i: OTHER for i, by in taken.items() if by == "other"}
        gone, second = ([i for i, by in taken.items() if by == wanted] for wanted in ("deleted", "put_back"))
        if gone:  # these were not created
            answers |= zip(gone, self.enqueue(to, [moving[i] for i in gone], resumed), strict=True)
        answers |= zip(second, self._enqueue_second(to, [moving[i] for i in second], known), strict=True)
        return [answers[i] for i in range(len(moving))]

    def _not_unique(self, to: str, moving: Sequence[Moving], receipts: Sequence[Receipt | str]) -> list[int]:
        """Return the messages with the unique key of a task that is not of this source."""
        others = {
            i: one.id for i, one in enumerate(receipts) if isinstance(one, Receipt) and self._is_other(one, moving[i])
        }
        found = views_of(self._adeq.queue(to), [*others.values()])
        return [i for i, view in zip(others, found, strict=True) if origin_of(view).get("from") != self._name]

    def _ids_taken(self, to: str, moving: Sequence[Moving], receipts: Sequence[Receipt | str]) -> dict[int, Taken]:
        """Return which ids a task of another message, or of another run, had when these were enqueued."""
        taken = _existing(receipts)
        views = views_of(self._adeq.queue(to), [moving[i].task.id or "" for i in taken])
        found: dict[int, Taken] = {}
        for i, view in zip(taken, views, strict=True):
            origin = origin_of(view)
            if view is None:
                found[i] = "deleted"
            elif (origin.get("digest"), origin.get("run")) == (moving[i].digest, self.run):
                continue
            elif origin.get("from") == self._name and was_put_back(view):  # also if the old system has tried it since
                found[i] = "put_back"
            else:
                found[i] = "other"
        return found

    def _enqueue_second(self, to: str, moving: Sequence[Moving], known: State) -> list[State | str]:
        """Enqueue tasks again that a rollback has cancelled; see `second_id`."""
        receipts = self.send(to, [self.named(one, second=True) for one in moving])
        answers = [_answer(receipt, known) for receipt in receipts]
        taken = _existing(receipts)
        views = views_of(self._adeq.queue(to), [self.second_id(moving[i].task.id or "") for i in taken])
        for i, view in zip(taken, views, strict=True):
            if view is not None and origin_of(view).get("digest") != moving[i].digest:
                answers[i] = OTHER
        return answers

    def views(self, to: str, ids: Mapping[int, str]) -> dict[int, TaskView | None]:
        """Return the tasks of moved messages. None: it was deleted, or its id is that of a task from elsewhere."""
        queue = self._adeq.queue(to)
        views: dict[int, TaskView | None] = dict.fromkeys(ids)
        valid = [n for n, id in ids.items() if is_id(id)]  # a message that is unsure may have any
        views |= zip(valid, views_of(queue, [ids[n] for n in valid]), strict=True)
        # the cancelled task may have been deleted since
        again = [
            n
            for n, view in views.items()
            if is_id(ids[n])
            and (view is None or (origin_of(view).get("run") not in {None, self.run} and was_put_back(view)))
        ]
        views |= zip(again, views_of(queue, [self.second_id(ids[n]) for n in again]), strict=True)
        return {n: view if origin_of(view).get("from") == self._name else None for n, view in views.items()}

    def remembered(self, to: str, keys: Mapping[int, str]) -> set[int]:
        """Return the messages whose keys pyadeq remembers.

        The other tasks were never enqueued. Or their keys have expired, were purged, or were lost by a server.
        """
        once, found = f"{self._adeq.queue(to).base}:once", set[int]()
        for some in batches([*keys.items()]):
            answer: Any = self._adeq.client.hmget(once, [f"key:migrate:{self.run}:{key}" for _, key in some])
            found |= {number for (number, _), value in zip(some, answer, strict=True) if value is not None}
        return found

    def _is_other(self, receipt: Receipt, one: Moving) -> bool:
        """Whether a task is a duplicate of one with another id: by its unique key, and not by that of the migration."""
        id = one.task.id or ""
        return receipt.status == "deduplicated" and receipt.id not in (id, self.second_id(id))

    def send(self, to: str, tasks: Sequence[Task]) -> list[Receipt | str]:
        """Enqueue tasks. Returns a receipt for each, or why it is refused."""
        return [answer for part in batches(tasks, PORTION) for answer in self._send_part(to, part)]

    def _send_part(self, to: str, tasks: Sequence[Task]) -> list[Receipt | str]:
        try:
            return [*self._adeq.queue(to).enqueue_many(tasks)]
        except BadArgument as error:
            if len(tasks) == 1:
                return [short(error)]
        return [answer for task in tasks for answer in self._send_part(to, [task])]


def _answer(receipt: Receipt | str, known: State) -> State | str:
    """Return the state of a message by the receipt of its task. known: if there was such a task."""
    if isinstance(receipt, str):
        return receipt
    return State.moved if receipt.status == "created" else known


def _existing(receipts: Sequence[Receipt | str]) -> list[int]:
    """Return the numbers of the tasks whose ids other tasks had."""
    return [i for i, one in enumerate(receipts) if isinstance(one, Receipt) and one.status == "exists"]


def key_of(one: Moving) -> str:
    """Return what names the task of a message, as the old system would run it."""
    return key_from(one.task.id or "", one.digest)


def key_from(id: str, digest: object) -> str:
    """Return what names a task, by its id in the old system."""
    return hashlib.sha1(f"{id}\n{digest}".encode(), usedforsecurity=False).hexdigest()


def views_of(queue: Queue, ids: Sequence[str]) -> list[TaskView | None]:
    """Return tasks as they are now; None for each that does not exist."""
    return [view for some in batches(ids, PORTION) for view in queue.get_many(some)]


def is_id(text: str) -> bool:
    """Whether a task of pyadeq can have this id."""
    return ID.fullmatch(text) is not None


def was_put_back(view: TaskView | None) -> bool:
    """Whether a moved task was cancelled by an earlier rollback."""
    return view is not None and view.state == "cancelled" and not view.deliveries


def origin_of(view: Any) -> dict[str, Any]:
    """Return what a moved task says about where it comes from."""
    headers = view.headers if view is not None else None
    origin = headers.get("migrated") if isinstance(headers, dict) else None
    return origin if isinstance(origin, dict) else {}


def short(error: BadArgument) -> str:
    """Return what is wrong with a task, without its place in the call."""
    return error.message.removeprefix("item[0].")
