"""Models of workers and of their tasks. Times and points in time are as in `models`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, computed_field

from pyadeq.models.base import Model, Storing, base64_field, read_json
from pyadeq.models.queue import Renewal, State, TaskView

ProgressStatus = Literal["noted", "cancelling", "lease_lost"]
SteerStatus = Literal["asked", "not_found"]
WorkerMode = Literal["run", "quiet", "stop", "restart"]
RunOutcome = Literal["completed", "failed", "stalled", "released", "snoozed", "cancelled", "running"]


class Heartbeat(Model):
    """The answer to a worker's heartbeat: a renewal for each lease, and requests to the worker.

    mode: `run`; `quiet`: claim no more; `stop`; `restart`.
    capacity: how many tasks the worker should run at a time; 0: no request.
    """

    mode: WorkerMode
    capacity: int
    renewals: list[Renewal]


class WorkerInfo(Model):
    """A live worker, with the values of its registration and of its last heartbeat.

    group, instance: its group and its name in the group, if it has one.
    capacity: how many tasks it runs at a time.
    busy: how many tasks it held at its last report; None if it never reports.
    mode, wanted: the requested mode and capacity.
    heard: whether the worker has received that request.
    layout: the newest layout of the stored data that its release knows.
    """

    name: str
    seen: float
    registered: float | None = None
    incarnation: str | None = None
    group: str | None = None
    instance: str | None = None
    capabilities: tuple[str, ...] = ()
    lanes: tuple[str, ...] = ()
    capacity: int | None = None
    wanted: int | None = None
    busy: int | None = None
    mode: WorkerMode = "run"
    heard: bool = True
    hostname: str | None = None
    pid: int | None = None
    version: str | None = None
    layout: int = 1

    @computed_field  # type: ignore[prop-decorator]
    @property
    def free(self) -> int | None:
        """How many more tasks it could take now; None if unknown."""
        capacity = self.wanted or self.capacity
        if capacity is None or self.busy is None:
            return None
        return max(capacity - self.busy, 0) if self.mode == "run" else 0


class Outcome(Storing):
    """How a task ended, if it has.

    status: `waiting`; `completed`; `result_dropped`: completed, but the server's memory was full; `dead`, with a reason
    and the error; `cancelled`; `removed` before it ran; `not_found`.
    state: of a waiting task.
    told: whether the task was enqueued with `reply`, so that waiting clients are notified of its end.
    unreadable: which of result and error the codec does not accept, and why. They are None then. In JSON also why not
    each program could read the result: then `result_base64` has its bytes.
    """

    STORED = {"result": "data"}  # noqa: RUF012

    status: Literal["waiting", "completed", "result_dropped", "dead", "cancelled", "removed", "not_found"]
    state: State | None = None
    told: bool = False
    reason: str | None = None
    error: str | None = Field(default=None, repr=False)
    data: bytes | None = Field(default=None, repr=False, exclude=True)
    unreadable: dict[str, str] = Field(default_factory=dict)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def result(self) -> Any:
        """The result as JSON; None if there is none, the text if it is not JSON."""
        return read_json(self.data)

    result_base64 = base64_field("data")


class LogLine(Model):
    """A line that a run logged.

    at: when, on the server's clock.
    """

    at: float
    text: str = Field(repr=False)


class TaskUpdate(Model):
    """A task as it is now, from `updates`, and what its runs have logged since the last update.

    task: None if it does not exist, or no longer.
    log: the new lines, oldest first.
    outcome: how it ended; None until then. An update with an outcome is the last one.
    """

    task: TaskView | None
    log: tuple[LogLine, ...] = ()
    outcome: Outcome | None = None

    @property
    def state(self) -> State | None:
        """The state; None if the task does not exist, or was deleted before it ran."""
        if self.outcome is None:
            return None if self.task is None else self.task.state
        return ENDS.get(self.outcome.status)

    @property
    def attempt(self) -> int:
        """The number of the current or last run, counted as in `TaskView.attempts`; 0 before the first one."""
        return 0 if self.task is None else self.task.attempts

    @property
    def progress(self) -> float | None:
        """How far the current or last run has come, 0 to 1; None if it has not said so."""
        return self.task.progress if self.task is not None and self._reports else None

    @property
    def text(self) -> str | None:
        """What the current or last run is doing, in its own words."""
        return self.task.progress_text if self.task is not None and self._reports else None

    @property
    def result(self) -> Any:
        """The result of a completed task as JSON; None if there is none, or not yet."""
        return None if self.outcome is None else self.outcome.result

    @property
    def _reports(self) -> bool:
        """Whether the progress is that of the last run: a record keeps that of an earlier one until there is news."""
        task = self.task
        return task is not None and (task.progress_at or 0.0) >= (task.started or 0.0)


ENDS: dict[str, State] = {
    "completed": "completed",
    "result_dropped": "completed",
    "dead": "dead",
    "cancelled": "cancelled",
}


class TaskRun(Model):
    """One run of a task: one lease, from its claim to its end.

    outcome: `completed`; `failed`, with a reason and the error; `stalled`: its lease ran out; `released` or `snoozed`:
    its worker returned the task; `cancelled`; `running`.
    delivery: which run of the task this is, from 1.
    attempt: which attempt it was or would have been. Released, snoozed and stalled runs do not count as attempts.
    ended: None while it runs.
    reason: why it failed; `crash_loop` if its lease was one too many that ran out.
    error: the last 1 KiB of the error; None if there is none, or if a codec has encrypted an error that is longer.
    unreadable: why the codec does not accept the error. The error is None then.
    """

    outcome: RunOutcome
    delivery: int
    attempt: int
    fence: int
    worker: str
    started: float
    ended: float | None = None
    reason: str | None = None
    error: str | None = Field(default=None, repr=False)
    unreadable: dict[str, str] = Field(default_factory=dict)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended is None else self.ended - self.started
