"""Groups of events: the first one of a group makes a post at once, the others a digest when their period ends.

A period begins at a multiple of `every` seconds since the epoch. Posts are tasks of the queue `adeq-posts`, and their
ids name the endpoint, the group and the period. So whoever enqueues a post again makes no second one. A digest is
about all events of its period but the one in the first post, whoever has read them. So it loses and doubles none, and
no process has to count.

The digests of a group are sent one after the other. One that is late, because the service or the receiver was away, is
about all periods until now. The name `told:…` in the config `_posts` has these periods before it is sent. So their own
digests say nothing, and no first posts come later.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel

from pyadeq import Task
from pyadeq.ext.posts.endpoints import About, Endpoint

RETRIES: Final = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800)
"""Seconds between the attempts of a post: with the first one, ten in about 16 hours."""
GRACE: Final = 1.0
"""Seconds between the end of a period and its digest: the clocks of several servers differ."""
PRIORITY: Final = {"first": 4, "digest": 5, "test": 4}


class Group(NamedTuple):
    """What one post is about. stream: `<noun>:<name>`, without a partition. kind, reason: of tasks, or empty."""

    stream: str
    about: About
    kind: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """The name of the queue or domain."""
        return self.stream.partition(":")[2]


class Told(BaseModel, frozen=True):
    """The periods that a late digest is about. start, end: in ms. by: the id of the digest."""

    start: int = 0
    end: int = 0
    by: str = ""

    def has(self, start: int, end: int) -> bool:
        """Whether all of a time is in it."""
        return self.start <= start and end <= self.end


def read_told(value: bytes | None) -> Told:
    """The same as it is stored; nothing, if it is not there."""
    return Told.model_validate_json(value) if value else Told()


class Happened(NamedTuple):
    """An event of a group. id: of the task or change. at: seconds since the epoch, in whole milliseconds."""

    group: Group
    id: str
    at: float


class Message(BaseModel, frozen=True, extra="forbid"):
    """The payload of a post. id, at: of the event in a first post. since, until: the period of a digest."""

    post: Literal["first", "digest", "test"]
    stream: str = ""
    about: About = "dead"
    kind: str = ""
    reason: str = ""
    id: str = ""
    at: float = 0.0
    since: float = 0.0
    until: float = 0.0

    @property
    def group(self) -> Group:
        """What it is about."""
        return Group(self.stream, self.about, self.kind, self.reason)


class Period(NamedTuple):
    """A period of a group, for one endpoint. start, length: in ms."""

    endpoint: str
    group: Group
    start: int
    length: int

    @property
    def key(self) -> str:
        """What all periods of the group and the endpoint share."""
        return f"{self.endpoint}:{sha256(chr(0).join(self.group).encode()).hexdigest()[:16]}"

    @property
    def end(self) -> int:
        """Its end, in ms."""
        return self.start + self.length

    @property
    def digest(self) -> str:
        """The id of its digest."""
        return f"post:{self.key}:{self.start}"

    @property
    def told(self) -> str:
        """The name with the periods of a late digest."""
        return f"told:{self.key}"

    @property
    def first(self) -> str:
        """The id of its first post, if it has one."""
        return f"{self.digest}:first"

    @property
    def before(self) -> Period:
        """The period before it."""
        return self._replace(start=self.start - self.length)


def period_of(id: str, endpoint: Endpoint, group: Group, at: float) -> Period:
    """Return the period of a time. id: of the endpoint."""
    length = round(endpoint.every * 1000)
    return Period(id, group, round(at * 1000) // length * length, length)


def first_ones(id: str, endpoint: Endpoint, happened: Iterable[Happened]) -> dict[Period, Happened]:
    """Return the first event of each period and group, the oldest period first."""
    found: dict[Period, Happened] = {}
    for one in sorted(happened, key=lambda one: one.at):
        found.setdefault(period_of(id, endpoint, one.group, one.at), one)
    return found


def first_post(period: Period, one: Happened) -> Task:
    """Return the post about the first event of a group that was quiet in the period before."""
    return task(period.endpoint, period.first, post="first", **period.group._asdict(), id=one.id, at=one.at)


def digest(period: Period) -> Task:
    """Return the post about all others of a period."""
    since, until = period.start / 1000, period.end / 1000
    made = task(period.endpoint, period.digest, post="digest", **period.group._asdict(), since=since, until=until)
    return made.model_copy(update={"run_after": until + GRACE, "ordering_key": period.key})


def task(endpoint: str, task_id: str, **message: Any) -> Task:
    """Return a post as a task."""
    made = Message(**message)
    return Task(
        id=task_id,
        kind=made.post,
        user=endpoint,
        priority=PRIORITY[made.post],
        max_attempts=len(RETRIES) + 1,
        payload=made.model_dump(exclude_defaults=True),
    )
