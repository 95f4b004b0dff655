"""What goes into and comes out of a queue. Times are as in `models.base`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, computed_field

from pyadeq.errors import PayloadError
from pyadeq.models.base import Given, Model, Moment, Seconds, read_json

State = Literal["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled", "dead"]
Mode = Literal["running", "paused", "draining"]
AfterWhen = Literal["completed", "failed", "ended"]
AckStatus = Literal["completed", "result_dropped", "already", "lease_lost"]
FailStatus = Literal["retried", "dead", "cancelled", "lease_lost"]
ReleaseStatus = Literal["released", "cancelled", "lease_lost"]
SnoozeStatus = Literal["snoozed", "cancelled", "lease_lost"]
AbandonStatus = Literal["abandoned", "not_dead", "not_found"]
CancelStatus = Literal["cancelled", "cancelling", "finished", "not_found"]


class Backoff(Given):
    """The delay before retry n is min(base × multiplier^(n-1), cap) ± jitter, never above cap (seconds)."""

    base: float = Field(default=1.0, ge=0)
    multiplier: float = Field(default=2.0, ge=1)
    cap: float = Field(default=300.0, ge=0)
    jitter: float = Field(default=0.1, ge=0, le=1)


ReceiptStatus = Literal["created", "exists", "deduplicated"]


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """The answer to an enqueue: `created`; `exists` where the id was taken before; or `deduplicated`.

    id: of the task; where it is `deduplicated`, of the one that stands for it.
    """

    status: ReceiptStatus
    id: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Receipt) and (self.status, self.id) == (other.status, other.id)

    def __hash__(self) -> int:
        return hash((self.status, self.id))


Earlier = str | Receipt | Sequence[str | Receipt]
"""Tasks that another one comes after: ids or receipts, or one of them alone."""


class Task(Given):
    """One unit of work to enqueue. The payload is bytes, or anything that JSON can hold.

    kind, user, tags (16 at most): each 1 to 200 bytes of UTF-8, without spaces and control characters.
    priority: 0 (first) to 9. lane: `any`, `group/<g>` or `group/<g>/inst/<i>`. fallback: where the task goes if nobody
    has taken it within fallback_after seconds: a lane, or several in turn, or `wider`, from an instance to its group to
    any; after the last it waits on or, where that is `fail`, goes to the dead set. delay: seconds from now; run_after:
    a point in time, on the server's clock. limits: keys, 8 at most, by which the queue's limits count it, besides its
    user and tags. expires_at: not started by then, the task goes to the dead set. timeout:
    seconds that one run may take. parent: the id of the task that this one belongs to.
    after: ids or receipts of up to 64 tasks; this one is `blocked` until all of them have ended, or with after_any one
    of them, as after_when says: `completed`, `failed` (dead, cancelled or deleted) or `ended`, either way. gather: it
    is blocked until so many tasks that are enqueued later as its children, with its id as their parent, have ended so.
    If that can be no more, it is dead with the reason `after_failed`; one that waits for `failed` is cancelled. delay
    counts from when it is no longer blocked.
    ordering_key: tasks with the same one run one at a time, in the order in which they were enqueued: each is `blocked`
    until the one before it has ended, well or badly, retries included. Not together with after and gather.
    idempotency_key, unique, scope: under the same one no other task is made: for a day, until this one has ended, until
    its first lease. coalesce: with `last` a newcomer's payload replaces that of the task that holds the scope.
    result_ttl: seconds that the result is kept, 0 for not at all; None: the queue's setting. reply: whoever waits for
    the result is told when the task ends, and finds it for an hour, whatever becomes of the record.
    source: who or what wants the task, `user`, `system` or `hook` for instance; None: the source of the client.
    headers: carried, never looked into (at most 4 KiB as JSON).
    """

    payload: Any = Field(default=None, repr=False)
    id: str | None = None
    kind: str | None = None
    priority: int = 5
    lane: str = "any"
    fallback: str | Sequence[str] | None = None
    fallback_after: Seconds | None = None
    delay: Seconds = 0.0
    run_after: Moment | None = None
    expires_at: Moment | None = None
    timeout: Seconds | None = None
    user: str | None = None
    tags: Sequence[str] = ()
    limits: Sequence[str] = ()
    parent: str | None = None
    after: Earlier = ()
    after_any: bool = False
    after_when: AfterWhen = "completed"
    gather: int | None = None
    ordering_key: str | None = None
    idempotency_key: str | None = None
    unique: str | None = None
    scope: str | None = None
    coalesce: Literal["first", "last"] = "first"
    result_ttl: Seconds | None = None
    reply: bool = False
    max_attempts: int | None = None
    backoff: Backoff | None = None
    source: str | None = None
    headers: dict[str, Any] | None = Field(default=None, repr=False)


@dataclass(frozen=True)
class Lease:
    """One worker's right to one task until `deadline`. `fence` rises with every lease of the same task.

    attempt: which run this is against max_attempts, from 1. delivery: which lease this is, from 1.
    data: the payload's bytes; `payload` reads them as JSON. PayloadError where the codec does not accept them.
    """

    id: str
    token: str
    fence: int
    attempt: int
    delivery: int
    deadline: float
    data: bytes = field(repr=False, compare=False)
    record: dict[str, bytes] = field(repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:  # asked for what is not there: `data` that the codec has refused
        if name == "data" and "unreadable" in self.__dict__:
            raise PayloadError(f"task {self.id!r}: payload: {self.__dict__['unreadable']}")
        raise AttributeError(name)

    @property
    def readable(self) -> bool:
        """Whether the codec, if there is one, accepts the payload."""
        return "unreadable" not in self.__dict__

    @cached_property
    def payload(self) -> Any:
        """The payload read as JSON; None if it is empty. ValueError if it is not JSON: `data` has the bytes."""
        return json.loads(self.data) if self.data else None

    @property
    def kind(self) -> str | None:
        """What kind of work it is."""
        return self._word("kind")

    @property
    def user(self) -> str | None:
        """For whom the task is done."""
        return self._word("user")

    @property
    def tags(self) -> tuple[str, ...]:
        """The task's tags."""
        return tuple((self._word("tags") or "").split(",")) if "tags" in self.record else ()

    @property
    def parent(self) -> str | None:
        """The id of the task that this one belongs to."""
        return self._word("parent")

    @property
    def after(self) -> tuple[str, ...]:
        """The ids of the tasks that this one came after."""
        return tuple((self._word("after") or "").split(",")) if "after" in self.record else ()

    @property
    def timeout(self) -> float | None:
        """Seconds that this run may take."""
        value = self._word("timeout_ms")
        return None if value is None else int(value) / 1000

    @property
    def schedule(self) -> str | None:
        """The name of the schedule that has enqueued the task."""
        return self._word("schedule")

    @property
    def nominal(self) -> float | None:
        """The time of the schedule that the task is for."""
        value = self._word("nominal_ms")
        return None if value is None else int(value) / 1000

    @property
    def source(self) -> str | None:
        """Who or what wants the task."""
        return self._word("source")

    @property
    def headers(self) -> Any:
        """What the producer sent along, read as JSON; the text where it is not JSON."""
        return read_json(self.record.get("headers", b"{}"))

    def _word(self, name: str) -> str | None:
        value = self.record.get(name)
        return None if value is None else value.decode()


class Failed(Model):
    """The answer to a fail: `retried` with the time it is due, `dead`, `cancelled` or `lease_lost`."""

    status: FailStatus
    due: float | None = None


class Snoozed(Model):
    """The answer to a snooze: `snoozed` with the time it is due, `cancelled` or `lease_lost`."""

    status: SnoozeStatus
    due: float | None = None


class Retried(Model):
    """The answer to a retry of a dead task.

    status: `retried`; `conflict` where another task has its unique key or scope now; `not_dead`, `not_found`.
    holder: the id of that other task.
    """

    status: Literal["retried", "conflict", "not_dead", "not_found"]
    holder: str | None = None


class Bulk(Model):
    """What was done to many tasks: how many matched the filter, and for how many it was done (none in a dry run)."""

    matched: int
    done: int


class TaskRepair(Model):
    """What was found of one task, and what was done about it.

    status: `sound`; `damaged`, found in a dry run; `repaired`. kind: `lost` (the task was in no set), `twice` (in
    several), `lease` (a part of its lease was missing), `line` (it waited for a limit, but not in that limit's line).
    state: that of the task after the repair; `gone` if no task was left. created, rid, index: the order of the tasks,
    for the next call; known in a dry run.
    """

    id: str
    status: str
    kind: str | None = None
    state: str | None = None
    created: float | None = None
    rid: str = ""
    index: int = 0


class Repair(Model):
    """The answer of `Queue.repair`: one entry for each task, a status for each lane, and what was seen of a limit.

    seen: members of the limit's sets that were looked at, in the longer of the two. damaged: how many of them were
    wrong.
    """

    tasks: list[TaskRepair]
    lanes: list[str]
    seen: int = 0
    damaged: int = 0


class Renewal(Model):
    """The answer to a heartbeat: `lease_lost`, or the new deadline.

    status: `renewed`; `cancelling`, somebody wants the task stopped; `timed_out`, it has run for longer than its
    timeout, and after a grace is not renewed.
    """

    status: Literal["renewed", "cancelling", "timed_out", "lease_lost"]
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer to a claim. next_due: when a delayed task is due or a lease ends next, as seen before the claim.

    status: `ok`; `stale` or `unregistered`, where nothing was written. lease: for how many seconds leases are given.
    """

    status: Literal["ok", "stale", "unregistered"]
    now: float
    lease: float
    next_due: float | None
    leases: list[Lease]
    next_firing: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer to a settle: one status per ack, one answer per fail, and what was claimed.

    unanswered: the tokens of those of which nothing is known, for their partition of the queue did not answer.
    """

    acks: list[AckStatus]
    fails: list[Failed]
    claimed: Claimed
    unanswered: frozenset[str] = frozenset()


class TaskView(Model):
    """A task as it is now. In lists, payload, result, error and headers are left out (None).

    after, after_any, after_when, gather: what it waits or waited for, as in `Task`; None where that is nothing.
    awaits: how many ends a blocked task waits for still. limited_by: the limit in whose line it is. schedule, nominal:
    which schedule has enqueued it, and for which of its times. unreadable: which of payload, result and error the codec
    does not accept, and why; they are None then.
    """

    id: str
    state: State
    kind: str | None = None
    priority: int = 5
    lane: str = "any"
    user: str | None = None
    tags: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    limited_by: str | None = None
    place: int | None = None
    due: float | None = None
    deadline: float | None = None
    created: float | None = None
    started: float | None = None
    ended: float | None = None
    attempts: int = 0
    crashes: int = 0
    deliveries: int = 0
    max_attempts: int | None = None
    parent: str | None = None
    after: tuple[str, ...] = ()
    after_any: bool | None = None
    after_when: AfterWhen | None = None
    gather: int | None = None
    awaits: int | None = None
    schedule: str | None = None
    nominal: float | None = None
    ordering_key: str | None = None
    idempotency_key: str | None = None
    unique: str | None = None
    scope: str | None = None
    expires_at: float | None = None
    timeout: float | None = None
    fallback: tuple[str, ...] = ()
    reply: bool = False
    source: str | None = None
    trace: str | None = None
    worker: str | None = None
    fence: int | None = None
    progress: float | None = None
    progress_text: str | None = Field(None, repr=False)
    output: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    error: str | None = Field(None, repr=False)
    data: bytes | None = Field(None, repr=False, exclude=True)
    result_data: bytes | None = Field(None, repr=False, exclude=True)
    headers: Any = Field(None, repr=False)
    unreadable: dict[str, str] = Field(default_factory=dict)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def payload(self) -> Any:
        """The payload as JSON; None where it is left out, the text where it is not JSON."""
        return read_json(self.data)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def result(self) -> Any:
        """The result as JSON; None where there is none, the text where it is not JSON."""
        return read_json(self.result_data)


class Page(Model):
    """Some tasks, and the cursor that gets the next ones; it is empty on the last page. now: when it was read."""

    tasks: list[TaskView]
    cursor: str
    now: float


class QueueStats(Model):
    """How many tasks are in each state. `stalled` ones are counted in `running` too.

    lanes: the tasks in line by lane, for 1,000 lanes; more_lanes: how many are not shown.

    counters: totals since the queue began; `wait_ms:<b>` and `run_ms:<b>` count durations up to b milliseconds and
    above half of it.
    """

    now: float
    mode: Mode
    ready: int
    delayed: int
    blocked: int
    running: int
    stalled: int
    finished: int
    dead: int
    workers: int
    lanes: dict[str, int]
    more_lanes: int = 0
    counters: dict[str, int]

    @property
    def pending(self) -> int:
        """Tasks that wait: ready, delayed and blocked."""
        return self.ready + self.delayed + self.blocked

    @property
    def completed(self) -> int:
        """Tasks that have completed since the queue began; `finished` counts those that are still kept."""
        return self.counters.get("completed", 0)

    @property
    def cancelled(self) -> int:
        """Tasks that were cancelled since the queue began."""
        return self.counters.get("cancelled", 0)


class Settings(Model):
    """The settings of a queue, in seconds. Defaults hold where nothing is stored.

    events_max, events_keep: about how many events are kept, and for about how long. events_error_max: how
    many bytes of its error the event of a task that dies shows; 0: none. presence: a worker that is silent
    for so long counts as gone.
    finished_keep, finished_max, dead_keep, dead_max: for how long ended tasks are kept, and how many at most.
    result_ttl: for how long results are kept; None: as long as their tasks. reply_ttl: for how long those who wait for
    a task with `reply` find how it ended. idempotency: how long a key stands.
    timeout: seconds that a run may take, for tasks that have no timeout of their own; 0: no limit.
    timeout_grace: how long a task that timed out is still renewed. fair: users take turns, see `queue.shares`.
    """

    clock: Literal["server", "test"] = "server"
    layout: int = 1
    lease: float = 15.0
    max_attempts: int = 3
    max_crashes: int = 5
    backoff: Backoff = Backoff()
    events_max: int = 100_000
    events_keep: float = 604_800.0
    events_error_max: int = 200
    presence: float = 30.0
    mode: Mode = "running"
    finished_keep: float = 604_800.0
    finished_max: int = 100_000
    dead_keep: float = 2_592_000.0
    dead_max: int = 100_000
    result_ttl: float | None = None
    reply_ttl: float = 3600.0
    idempotency: float = 86_400.0
    timeout: float = 0.0
    timeout_grace: float = 10.0
    fair: bool = False
