"""What a rollback does with a message, by its state in the escrow and by its task in pyadeq."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple

from pyadeq import TaskView
from pyadeq.ext.move.migrate.enqueuer import was_put_back
from pyadeq.ext.move.migrate.escrow import State

WAITING: Final = ("ready", "delayed", "blocked")


class Found(Enum):
    """What has become of the task of a message."""

    lost = auto()
    """The task is missing, and pyadeq does not know its key: a server has lost it, or somebody has purged it."""
    deleted = auto()
    """The task was enqueued and was deleted since."""
    rolled_back = auto()
    """This rollback has cancelled the task, before it was killed."""
    waiting = auto()
    """The task has not begun."""
    changed = auto()
    """The task has not begun, and its job on the old server has changed since it was moved."""
    replaced = auto()
    """The task is of another job with the same id; or it has begun, and its job has changed since."""
    begun = auto()
    """The task has begun or ended."""


class Then(NamedTuple):
    """What follows. state: of the message. cancel: whether its task is cancelled. why: the task stays in pyadeq."""

    state: State
    cancel: bool = False
    why: Callable[[TaskView | None], str] | None = None


def _its_state(view: TaskView | None) -> str:
    if view is None:
        return "deleted"
    return f"{view.state}, and has run before" if view.state in WAITING else view.state


def _replaced(view: TaskView | None) -> str:
    return f"{view.state if view else 'deleted'}; its job on the old server was replaced or deleted"


CANCEL: Final = Then(State.rollback, cancel=True)
BACK: Final = Then(State.rollback)
HELD: Final = Then(State.held)  # it is put back, whatever its id has in pyadeq
UNSURE: Final = Then(State.unsure)
STAYS: Final = Then(State.done, why=_its_state)
OTHER: Final = Then(State.done, why=_replaced)
TWICE: Final = Then(State.done, why=lambda view: "delivered twice by the old system")

_STATES: Final = (State.moved, State.again, State.unsure, State.rollback)
_ROWS: Final = {
    Found.lost: (UNSURE, UNSURE, UNSURE, UNSURE),
    Found.deleted: (STAYS, TWICE, HELD, BACK),
    Found.rolled_back: (BACK, BACK, BACK, BACK),
    Found.waiting: (CANCEL, CANCEL, CANCEL, CANCEL),
    Found.changed: (OTHER, TWICE, HELD, CANCEL),  # if a rollback was overtaken, it may cancel the task at any moment
    Found.replaced: (OTHER, TWICE, HELD, OTHER),
    Found.begun: (STAYS, TWICE, STAYS, STAYS),
}
THEN: Final[Mapping[Found, Mapping[State, Then]]] = {
    found: dict(zip(_STATES, row, strict=True)) for found, row in _ROWS.items()
}


def found_as(view: TaskView | None, *, lost: bool, rolled_back: bool, own: bool, same: bool) -> Found:
    """Return what has become of a task.

    lost: pyadeq does not know its key. rolled_back: this rollback may have cancelled it. own: it is of this job, and
    not of an earlier one with the same id. same: and the job has not changed.
    """
    if view is None:
        return Found.lost if lost else Found.deleted
    if rolled_back and was_put_back(view):
        return Found.rolled_back
    waiting = view.state in WAITING and not view.deliveries
    if own and same:
        return Found.waiting if waiting else Found.begun
    return Found.changed if own and waiting else Found.replaced
