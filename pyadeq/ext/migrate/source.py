"""What differs between the queues that tasks come from. The rest of a migration is the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from redis import Redis

from pyadeq import Task

Kind = Literal["right", "left", "times"]


class Place(NamedTuple):
    """A key of the old server with waiting messages.

    queue: the old queue. priority: of its tasks in pyadeq, 0 (first) to 9.
    kind: `right` or `left`, a list from that end of which workers take; or `times`, a sorted set by the time in
    seconds, whose messages are `<score> <member>`.
    guard: a key that exists while a program enqueues what is due in that sorted set.
    """

    key: str
    queue: str
    priority: int
    kind: Kind = "right"
    guard: str = ""


class Moving(NamedTuple):
    """A task to be moved. Its id is the old one.

    digest: of all that the old system would run. It tells another delivery of the task from another task.
    """

    task: Task
    digest: str


class Left(NamedTuple):
    """A message that cannot be moved. id: of its task, "" if it names none. why: without any content of it.

    digest: as in Moving, if what the old system would run is not in the message and may have changed: "" if it is gone.
    """

    id: str
    why: str
    digest: str | None = None


class Unmovable(Exception):
    """Why a message stays where it is."""


class Source(Protocol):
    """A system from which tasks come.

    name: `celery`, and with a prefix of its keys `celery:<prefix>`. It names the migration and its keys.
    client: of the old server.
    """

    name: str
    client: Redis

    def places(self, queues: Sequence[str]) -> list[Place]:
        """Return the lists of these queues, of all if none is given. Those of one queue come by their priority."""
        ...

    def read(self, place: Place, messages: Sequence[bytes]) -> list[Moving | Left]:
        """Return what each message is. Nothing in it is executed."""
        ...

    def others(self) -> dict[str, int]:
        """Return how many tasks there are that a migration only reports, by what they do: `running`."""
        ...
