"""What workers say and hear, and what is seen of their work. Times and points in time are as in `models`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, computed_field

from pyadeq.models.base import Model, read_json
from pyadeq.models.queue import Renewal, State

ProgressStatus = Literal["noted", "cancelling", "lease_lost"]
SteerStatus = Literal["asked", "not_found"]
WorkerMode = Literal["run", "quiet", "stop", "restart"]


class Heartbeat(Model):
    """The answer to a worker's heartbeat: one renewal per lease, and what is wanted of the worker.

    mode: `run`; `quiet`, to claim no more; `stop`; `restart`. capacity: how many tasks at a time, 0 where nobody said.
    """

    mode: WorkerMode
    capacity: int
    renewals: list[Renewal]


class WorkerInfo(Model):
    """A live worker, as it registered and as it was seen last.

    name: its own. group, instance: which instance of which group it is, if of one. capacity: tasks at a time.
    busy: how many it held when it
    last said so; None if it never does. mode and wanted: what somebody wants of it, wanted as its capacity; heard:
    whether it knows. layout: the newest of the stored data that its release knows.
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
        """How many more tasks it would take now; None where that is not known."""
        capacity = self.wanted or self.capacity
        if capacity is None or self.busy is None:
            return None
        return max(capacity - self.busy, 0) if self.mode == "run" else 0


class Outcome(Model):
    """How a task ended, if it has.

    status: `waiting` (state says where, told whether the end will be published); `completed`; `result_dropped`,
    completed, but the server's memory was full;
    `dead` for a reason, with the error; `cancelled`; `removed` before it ran; `not_found`.
    unreadable: which of result and error the codec does not accept, and why; they are None then.
    """

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
        """The result as JSON; None where there is none, the text where it is not JSON."""
        return read_json(self.data)


class LogLine(Model):
    """What a run logged. at: when, on the server's clock."""

    at: float
    text: str = Field(repr=False)
