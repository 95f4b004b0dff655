"""Schedules: when they fire, what they enqueue, and what has become of it. Times are as in `models`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, computed_field

from pyadeq.models.base import Model, Moment, Seconds, read_json

Overlap = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "allow"]
PutStatus = Literal["created", "changed", "unchanged"]
FireStatus = Literal["fired", "exists", "skipped", "missed", "stale", "early", "not_found", "failed"]
SteerScheduleStatus = Literal["done", "unchanged", "stale", "not_found"]


@dataclass(frozen=True)
class Cron:
    """The times of a cron expression in a time zone: minute, hour, day, month, weekday; with six fields, seconds first.

    Over a change of the clocks five fields do as Debian's cron: what is due at a fixed time in the hour that is left
    out comes right after it, and in the hour that comes twice once; what is due every hour or more often, and all of
    six fields, follows the wall clock.
    start, until: no time before, none after. Needs the extra `schedules`.
    """

    expression: str
    tz: str = "UTC"
    start: Moment | None = None
    until: Moment | None = None


@dataclass(frozen=True)
class Every:
    """Every period, counted from the epoch: `Every(3600)` is on the hour, with offset=300 five minutes past it.

    period: seconds, 0.1 at least. start, until: no time before, none after.
    """

    period: Seconds
    offset: Seconds = 0.0
    start: Moment | None = None
    until: Moment | None = None


@dataclass(frozen=True)
class At:
    """One moment."""

    moment: Moment


Timing = Cron | Every | At


class Schedule(Model):
    """A schedule as it is now.

    timing: None for one that this release does not know. next: when it fires next; None where it is paused, or has no
    time left. rev: rises with every change. catch_up: seconds for which a time that came while nobody was there is made
    up for. jitter: up to so many seconds later its task starts.
    fired, skipped, missed: how many times a task was enqueued, left out for one that had not ended, and came too late.
    last, last_id: the time that fired last, and its task. open: tasks of it that had not ended when it fired last.
    unreadable: why the codec does not accept the payload, which is None then; it fires all the same, as it is stored.
    """

    name: str
    timing: Timing | None
    overlap: Overlap = "skip"
    catch_up: float = 3600.0
    jitter: float = 0.0
    next: float | None = None
    paused: bool = False
    rev: int
    created: float
    changed: float
    fired: int = 0
    skipped: int = 0
    missed: int = 0
    last: float | None = None
    last_id: str | None = None
    open: tuple[str, ...] = ()
    envelope: dict[str, Any] = Field(default_factory=dict)
    data: bytes | None = Field(default=None, repr=False, exclude=True)
    sealed: bytes | None = Field(default=None, repr=False, exclude=True)
    unreadable: dict[str, str] = Field(default_factory=dict)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def payload(self) -> Any:
        """The payload as JSON; None where it is left out, the text where it is not JSON."""
        return read_json(self.data)

    @property
    def state(self) -> Literal["active", "paused", "ended"]:
        """`ended` has no time left."""
        return "paused" if self.paused else "active" if self.next is not None else "ended"


class SchedulePut(Model):
    """The answer to a put: `created`, `changed` or `unchanged`, and the schedule's revision."""

    status: PutStatus
    rev: int


class Firing(Model):
    """One time of a schedule, and what became of it.

    status: `fired`, with the task's id; `skipped`, for one that had not ended; `missed`, it came too late; `exists`, a
    task of that id is there; `stale`, somebody else was first, or has changed the schedule; `early`, `not_found`;
    `failed`, with the error: it is tried again.
    """

    schedule: str
    at: float
    status: FireStatus
    id: str | None = None
    error: str | None = None


class Fired(Model):
    """The answer to `fire_due`: what became of the times that had come, and the server's time then.

    next: when a schedule of the queue is due next; None where none is.
    """

    firings: list[Firing]
    now: float
    next: float | None
