"""First posts, and rounds of digests.

A group is the dead tasks of a queue with one kind and reason, or the changes of a domain with one event. A period
begins at a multiple of `every` seconds since the epoch.

A first post is about the first event of a group that was quiet in the period before. It is sent at once. Its task id
names the endpoint, the period, and a number below 10. So each endpoint gets at most 10 of them in a period, whatever
the number of groups and of processes.

A round is one task for each endpoint and period with events. When the period ends, the round reads what has happened
since the last round, except what first posts have said. It sends a digest for each of the 10 largest groups, and one
for all other groups together. The name `told:<endpoint>` in the config `_posts` has the time until which rounds have
told everything. So nothing is lost or told twice, a late round tells all periods until now, and no process counts.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final, Literal, NamedTuple

from pydantic import BaseModel

from pyadeq import ConfigValue, Task
from pyadeq.ext.outgoing.posts.endpoints import About, Endpoint
from pyadeq.ext.outgoing.stored import Stored

RETRIES: Final = (5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800)
"""Seconds between the attempts of a post: with the first one, ten in about 16 hours."""
GRACE: Final = 1000
"""Milliseconds between the end of a period and its round: the clocks of several servers differ."""
FIRSTS: Final = 10
"""First posts of an endpoint in one period, at most."""
DIGESTS: Final = 10
"""Groups that have a digest of their own in one round, at most."""
PRIORITY: Final = {"first": 4, "lost": 4, "round": 5, "test": 4}
TOLD: Final = "told:"


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

    @property
    def key(self) -> str:
        """A short text that differs from those of other groups."""
        return sha256(chr(0).join(self).encode()).hexdigest()[:16]


class Told(Stored, frozen=True):
    """The progress of an endpoint's rounds. until: all events before it were told. since, until: in ms since the epoch.

    epoch: a part of task ids. It rises if the endpoint is added anew, or if the clock of the server goes back.
    since, by, done: of the last round: what it is about begins here, its task id, and the keys of the groups that have
    had their digest.
    """

    epoch: int = 0
    since: int = 0
    until: int = 0
    by: str = ""
    done: tuple[str, ...] = ()


def read_told(stored: ConfigValue | None, endpoint: Endpoint) -> Told:
    """Return the stored progress of an endpoint. For a new endpoint, everything before it was added counts as told."""
    told = Told.read(stored) or Told()  # if it is of another version: better told twice than not at all
    epoch, until = max(told.epoch, round(endpoint.created * 1000)), max(told.until, round(endpoint.since * 1000))
    return told.model_copy(update={"epoch": epoch, "until": until})


class Happened(NamedTuple):
    """An event of a group. id: of the task or change. at: seconds since the epoch, in whole milliseconds."""

    group: Group
    id: str
    at: float


class Message(BaseModel, frozen=True, extra="forbid"):
    """What a post is about; of `first`, `lost`, `round` and `test`, it is the payload of a task.

    id, at: of the event in a first post; of a gap, its number. count: of lost events; 0: not known.
    since, until: of a digest.
    """

    post: Literal["first", "lost", "round", "digest", "others", "test"]
    stream: str = ""
    about: About = "dead"
    kind: str = ""
    reason: str = ""
    id: str = ""
    at: float = 0.0
    since: float = 0.0
    until: float = 0.0
    count: int = 0

    @property
    def group(self) -> Group:
        """What it is about."""
        return Group(self.stream, self.about, self.kind, self.reason)

    @property
    def topic(self) -> tuple[str, ...]:
        """What two first posts of a period never share."""
        return (self.post, *self.group, self.id if self.post == "lost" else "")


class Period(NamedTuple):
    """A period of an endpoint. start, length: in ms."""

    endpoint: str
    epoch: int
    start: int
    length: int

    @property
    def end(self) -> int:
        """The end of the period, in ms since the epoch."""
        return self.start + self.length

    @property
    def round(self) -> str:
        """The task id of its round."""
        return f"post:{self.endpoint}:{self.epoch:x}:{self.start}"

    @property
    def firsts(self) -> list[str]:
        """The task ids of its first posts."""
        return [f"{self.round}:{number}" for number in range(FIRSTS)]

    @property
    def lost(self) -> str:
        """The task id of the post about all gaps that do not find a place among the first posts."""
        return f"{self.round}:lost"

    def next(self, number: int) -> Period:
        """A later period, or an earlier one."""
        return self._replace(start=self.start + number * self.length)


def period_of(id: str, endpoint: Endpoint, told: Told, at: int) -> Period:
    """Return the period of a time in ms. id: of the endpoint."""
    length = round(endpoint.every * 1000)
    return Period(id, told.epoch, at // length * length, length)


def is_timely(period: Period, created: float) -> bool:
    """Whether a first post was enqueued before the round of its period could run. If not, the round tells the event."""
    return round(created * 1000) < period.end + GRACE


def round_of(period: Period) -> Task:
    """Return the round of a period."""
    made = task(period.endpoint, period.round, post="round", since=period.start / 1000, until=period.end / 1000)
    return made.model_copy(update={"run_after": (period.end + GRACE) / 1000, "ordering_key": period.endpoint})


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
