"""What differs between the queues that tasks come from. The rest of a migration is the same for all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from redis import Redis
from redis.client import Pipeline

from pyadeq import Task
from pyadeq.errors import AdeqError, BadArgument

ENDS: Final[tuple[Literal["right", "left"], ...]] = ("right", "left")
Kind = Literal["right", "left", "times", "ms", "stream", "wait", "prioritized", "delayed"]


class Place(NamedTuple):
    """A key of the old server with waiting messages.

    queue: the old queue. priority: of its tasks in pyadeq, 0 (first) to 9. None: each has its own.
    kind: `right` or `left`, a list from that end of which workers take; `times` or `ms`, a sorted set by the time in
    seconds or milliseconds, whose messages are `<score> <member>`; `stream`, whose messages are fields (`fields_of`).
    `wait`, `prioritized` and `delayed` are those of BullMQ: two lists, and two sorted sets.
    guard: a key that exists while a program enqueues what is due in that sorted set; `lua/ends.lua` says when.
    """

    key: str
    queue: str
    priority: int | None
    kind: Kind = "right"
    guard: str = ""

    @property
    def state(self) -> str:
        """The state of its messages, in a word for tables."""
        return {"times": "scheduled", "ms": "delayed", "prioritized": "prioritized", "delayed": "delayed"}.get(
            self.kind, "waiting"
        )

    @property
    def type(self) -> str:
        """The type of its keys."""
        return "list" if self.lists else "stream" if self.kind == "stream" else "zset"

    @property
    def lists(self) -> list[tuple[str, Literal["right", "left"]]]:
        """The keys of a place of lists; workers take from the first key first. Each has the end where they take."""
        if self.kind == "wait":
            return [(self.key.removesuffix("wait") + "paused", "right"), (self.key, "right")]
        return [(self.key, end) for end in ENDS if end == self.kind]


class Moving(NamedTuple):
    """A task to be moved. Its id is the old one.

    digest: of all that the old system would run. It tells another delivery of the task from another task.
    delivered: whether the old system had delivered it before, so that a part of it may have run.
    """

    task: Task
    digest: str
    delivered: bool = False


class Left(NamedTuple):
    """A message that cannot be moved. id: of its task, "" if it names none. why: without any content of it.

    digest: as in Moving, if what the old system would run is not in the message and may have changed: "" if it is gone.
    """

    id: str
    why: str
    digest: str | None = None


def id_of(one: Moving | Left) -> str:
    """Return the id of a task, "" if its message names none."""
    return one.id if isinstance(one, Left) else one.task.id or ""


class Unmovable(Exception):
    """Why a message stays where it is."""


def check_id(id: str) -> None:
    """Raise Unmovable if there is no id: pyadeq would make one, by which the task is not found again.

    Or if it is no text: JSON can have half of a surrogate pair, which neither server can be asked for.
    """
    if not id:
        raise Unmovable("it has no id")
    try:
        id.encode()
    except UnicodeEncodeError:
        raise Unmovable("its id has half of a surrogate pair") from None


def existing(client: Redis, places: Sequence[Place]) -> list[Place]:
    """Return the places that exist. A key of another type belongs to another program."""
    types = _types_of(client, places)
    return [place for place in places if {*types[place].values()} - {"none"} == {place.type}]


def check_types(client: Redis, places: Sequence[Place]) -> None:
    """Raise AdeqError if a key from which tasks were moved belongs to another program now."""
    for place, types in _types_of(client, places).items():
        for key, type in types.items():
            if type not in (place.type, "none"):
                raise AdeqError(
                    f"--from: the key {key!r} was a {place.type} and is a {type} now; rename or delete it, and repeat "
                    "the command"
                )


def _types_of(client: Redis, places: Sequence[Place]) -> dict[Place, dict[str, str]]:
    """Return the types of the keys of each place, "none" for one that does not exist."""
    keys = [(place, key) for place in places for key in ([key for key, _ in place.lists] or [place.key])]
    with client.pipeline(transaction=False) as pipe:
        for _, key in keys:
            pipe.type(key)
        types = pipe.execute()
    found: dict[Place, dict[str, str]] = {place: {} for place in places}
    for (place, key), type in zip(keys, types, strict=True):
        found[place][key] = type.decode()
    return found


def replies(pipe: Pipeline) -> list[Any]:
    """Return the replies to reads: None for a key of another type. Such a key must not stop a command."""
    found = pipe.execute(raise_on_error=False)
    for reply in found:
        if isinstance(reply, Exception) and not str(reply).startswith("WRONGTYPE"):
            raise reply
    return [None if isinstance(reply, Exception) else reply for reply in found]


def moving_or_left(id: str, digest: str, read: Callable[[], Task], otherwise: str) -> Moving | Left:
    """The task that `read` makes of a job, or why it cannot be moved. otherwise: said after any other error.

    A job that was made on purpose, or damaged, must not stop a command.
    """
    try:
        check_id(id)
        return Moving(read(), digest)
    except Unmovable as error:
        return Left(id, str(error), digest)
    except BadArgument as error:
        return Left(id, error.message, digest)
    except Exception:
        return Left(id, otherwise, digest)


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


def escaped(text: str) -> str:
    """Return a text as a pattern of SCAN that matches only it."""
    return re.sub(r"([*?\[\]\\^])", r"\\\1", text)
