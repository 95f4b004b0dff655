"""What differs between the queues that tasks come from. The rest of a migration is the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from redis import Redis

from pyadeq import Task


class Place(NamedTuple):
    """A list of waiting messages on the old server. Workers take from its right end.

    queue: the old queue. priority: of its tasks in pyadeq, 0 (first) to 9.
    """

    key: str
    queue: str
    priority: int


class Moving(NamedTuple):
    """A task to be moved. Its id is the old one.

    digest: of all that the old system would run. It tells another delivery of the task from another task.
    """

    task: Task
    digest: str


class Left(NamedTuple):
    """A message that cannot be moved. id: of its task, "" if it names none. why: without any content of it."""

    id: str
    why: str


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
