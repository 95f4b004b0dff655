"""Models of schedules: when they fire, what they enqueue, and their history. Times are as in `models`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, computed_field, field_serializer

from pyadeq.models.base import Model, Moment, Seconds, Storing, base64_field, flaw_of, read_json

Overlap = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "allow"]
PutStatus = Literal["created", "changed", "unchanged", "stale", "not_found"]
FireStatus = Literal["fired", "exists", "skipped", "missed", "stale", "early", "not_found", "failed"]
SteerScheduleStatus = Literal["done", "unchanged", "stale", "not_found"]


@dataclass(frozen=True)
class Cron:
    """The times of a cron expression in a time zone: minute, hour, day, month, weekday. With six fields, seconds come
    first.

    At a change of the clocks, five fields follow Debian's cron. A time at a fixed hour fires directly after a skipped
    hour, and once in a repeated hour. If the expression is for every hour or more often, or has six fields, it fires
    whenever the local time matches. Needs the extra `schedules`.

    start, until: the first and the last time that may fire.
    """

    expression: str
    tz: str = "UTC"
    start: Moment | None = None
    until: Moment | None = None


@dataclass(frozen=True)
class Every:
    """Every period, counted from the epoch: `Every(3600)` is on the hour, with offset=300 five minutes past it.

    period: seconds, at least 0.1.
    start, until: the first and the last time that may fire.
    """

    period: Seconds
    offset: Seconds = 0.0
    start: Moment | None = None
    until: Moment | None = None


@dataclass(frozen=True)
class At:
    """One point in time."""

    moment: Moment


Timing = Cron | Every | At


class Schedule(Storing):
    """A schedule as it is now.

    timing: None if this release does not know its form.
    next: when it fires next; None if it is paused or has no time left.
    rev: rises with every change.
    catch_up: a missed time is made up for if it is not older than this number of seconds.
    jitter: its task starts up to this number of seconds later, at random.
    fired, skipped, missed: how many scheduled times enqueued a task, how many were left out because an earlier task had
    not ended, and how many were noticed too late.
    last, last_id: the time that fired last, and its task.
    open: its tasks that had not ended when it fired last.
    unreadable: why the codec does not accept the payload, which is None then. The schedule fires all the same, with the
    stored payload. In JSON also why not each program could read the payload: then `payload_base64` has its bytes.
    """

    STORED = {"payload": "data"}  # noqa: RUF012

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
        """The payload as JSON; None if it is left out, the text if it is not JSON."""
        return read_json(self.data)

    payload_base64 = base64_field("data")

    @field_serializer("envelope", when_used="json")
    def _readable(self, value: dict[str, Any]) -> dict[str, Any]:
        return {name: one for name, one in value.items() if not flaw_of([name, one])}

    @property
    def state(self) -> Literal["active", "paused", "ended"]:
        """The state; `ended` means that no time is left."""
        return "paused" if self.paused else "active" if self.next is not None else "ended"


class SchedulePut(Model):
    """The answer to a put: `created`, `changed` or `unchanged`, and the schedule's revision.

    `stale` or `not_found` if the schedule is not as the put expected: nothing has changed. rev: 0 if there is none.
    """

    status: PutStatus
    rev: int


class Firing(Model):
    """One time of a schedule, and its outcome.

    status: `fired`, with the task's id; `skipped`, because an earlier task had not ended; `missed`, because it came too
    late; `exists`: a task with that id exists; `stale`: another program fired it first, or the schedule was changed;
    `early`; `not_found`; `failed`, with the error: it is tried again.
    """

    schedule: str
    at: float
    status: FireStatus
    id: str | None = None
    error: str | None = None


class Fired(Model):
    """The answer to `fire_due`: the outcome of all due times, and the server's time.

    next: when the next schedule of the queue is due; None if there is none.
    """

    firings: list[Firing]
    now: float
    next: float | None
