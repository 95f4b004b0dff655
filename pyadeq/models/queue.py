"""What goes into and comes out of a queue. Times are as in `models.base`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal, TypedDict, cast

from pydantic import Field, computed_field

from pyadeq.errors import PayloadError
from pyadeq.models.base import (
    NO_TEXT,
    Given,
    Model,
    Moment,
    Seconds,
    Storing,
    base64_field,
    flaw,
    in_base64,
    read_json,
)
from pyadeq.models.option import Option, declared

State = Literal["ready", "delayed", "blocked", "running", "stalled", "completed", "cancelled", "dead"]
Mode = Literal["running", "paused", "draining"]
Tier = Literal["public", "internal", "confidential", "restricted"]
RevealStatus = Literal["revealed", "not_found"]
AfterWhen = Literal["completed", "failed", "ended"]
AckStatus = Literal["completed", "result_dropped", "already", "lease_lost"]
FailStatus = Literal["retried", "dead", "cancelled", "lease_lost"]
ReleaseStatus = Literal["released", "cancelled", "lease_lost"]
SnoozeStatus = Literal["snoozed", "cancelled", "lease_lost"]
AbandonStatus = Literal["abandoned", "not_dead", "not_found"]
CancelStatus = Literal["cancelled", "cancelling", "finished", "not_found"]


class TaskFilter(TypedDict, total=False):
    """A filter for tasks: all given conditions must match. tag: one of the task's tags.

    A new condition is a line here, and an argument of the script `queue.list`. The commands, the REST service and the
    board make their parameters from these fields.
    """

    user: str | None
    tag: str | None
    parent: str | None
    kind: str | None
    reason: str | None
    source: str | None
    lane: str | None


INDEXED: Final = ("user", "tag", "parent")
"""Conditions that the server has an index for, as it has one for each state. A list needs one of these, or a state."""


def given_conditions(filter: TaskFilter) -> TaskFilter:
    """The filter without conditions that are None."""
    return cast("TaskFilter", {name: value for name, value in filter.items() if value is not None})


class Backoff(Given):
    """The delay before retry n: min(base × multiplier^(n-1), cap) ± jitter, but never above cap (seconds)."""

    base: float = Field(default=1.0, ge=0)
    multiplier: float = Field(default=2.0, ge=1, le=100)
    cap: float = Field(default=300.0, ge=0)
    jitter: float = Field(default=0.1, ge=0, le=1)


ReceiptStatus = Literal["created", "exists", "deduplicated"]


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """The answer to an enqueue: `created`; `exists` if the id was taken; `deduplicated` if another task has its key.

    id: of the task; for `deduplicated`, of the existing task.
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
    """A task to enqueue. The payload is bytes, or anything that JSON can hold.

    kind, user, tags: 1 to 200 bytes of UTF-8 each, without spaces and control characters. At most 16 tags.
    priority: 0 (first) to 9.
    lane: `any`, `group/<g>` or `group/<g>/inst/<i>`.
    fallback: where the task goes if no worker takes it within `fallback_after` seconds. One lane or several, one after
    the other, or `wider`: from an instance to its group, then to `any`. In the last lane it keeps waiting. With `fail`
    at the end of the list, it moves to the dead set instead.
    delay: seconds from now until the task may start.
    run_after: the earliest start, a point in time on the server's clock.
    expires_at: if the task has not started by then, it moves to the dead set.
    timeout: seconds that one run may take.
    limits: at most 8 limit keys of the task. Limits can also apply to its user and its tags.
    parent: the id of the task that this one belongs to.
    after: ids or receipts of up to 64 tasks. The task is `blocked` until all of them have ended as `after_when` says.
    after_any: one of the tasks in `after` is enough.
    after_when: `completed`, `failed` (dead, cancelled or deleted) or `ended` (either). If the condition can no longer
    be met, the task is dead with the reason `after_failed`, or cancelled with `after_when="failed"`. `delay` counts
    from the moment when the task is no longer blocked.
    gather: the task is also blocked until this number of its children has ended as `after_when` says. Children are
    tasks that are enqueued later with its id as their parent.
    ordering_key: tasks with the same key run one at a time, in the order of their enqueue. Each is `blocked` until the
    task before it has ended, retries included. Not together with `after` and `gather`.
    idempotency_key: no other task with this key is created for a day.
    unique: no other task with this key is created until this one has ended.
    scope: no other task with this scope is created until the first lease of this one.
    coalesce: with `last`, a later task's payload replaces the payload of the task that holds the scope.
    result_ttl: how long the result is kept, in seconds; 0: not at all; None: the queue's setting.
    reply: clients that wait for the result are notified when the task ends. They find the result for an hour, even if
    the record is gone.
    source: who wants the task, for instance `user`, `system` or `hook`. None: the source of the client.
    headers: stored with the task and never interpreted, at most 4 KiB as JSON.
    tier: what may be shown of the task outside of its programs, see `pyadeq.tiers`. None: the queue's setting.
    """

    payload: Any = Field(default=None, repr=False)
    id: Annotated[
        str | None,
        Option(
            shown=True,
            once=True,
            help="The task's id. [default: a new one]",
            field="Id",
            note="an id that is taken enqueues nothing",
            more=True,
            row=1,
            copied=False,
        ),
    ] = None
    kind: Annotated[str | None, Option(shown=True, help="The kind of the task.", title="Kind", field="Kind", row=1)] = (
        None
    )
    priority: Annotated[
        int,
        Option(
            shown=True,
            help="0 (first) to 9. [default: 5]",
            title="Priority",
            field="Priority",
            note="0 (first) to 9; empty: 5",
        ),
    ] = 5
    lane: Annotated[
        str,
        Option(
            shown=True,
            help="Which workers may take it: any, group/G, group/G/inst/I.",
            metavar="LANE",
            title="Lane",
            field="Lane",
            note="any, group/NAME or group/NAME/inst/NAME",
            more=True,
            row=2,
        ),
    ] = "any"
    fallback: Annotated[
        str | Sequence[str] | None,
        Option(
            shown=True,
            help="The next lane if no worker takes it: a lane; wider: all wider lanes; or fail. Repeat it for more.",
            metavar="LANE",
            title="Fallback",
        ),
    ] = None
    fallback_after: Annotated[Seconds | None, Option(help="How long it waits in each lane before the next.")] = None
    delay: Annotated[Seconds, Option(help="The earliest start, from now.", field="Delay in seconds")] = 0.0
    run_after: Annotated[
        Moment | None,
        Option(
            once=True,
            help="The earliest start.",
            field="Not before",
            note="a time with its zone, as in 2027-01-31T09:00Z",
        ),
    ] = None
    expires_at: Annotated[
        Moment | None,
        Option(
            shown=True,
            once=True,
            help="Dead if not started by then.",
            field="Expires at",
            note="a time with its zone",
            more=True,
            copied=False,
        ),
    ] = None
    timeout: Annotated[
        Seconds | None,
        Option(
            shown=True,
            help="How long one run may take.",
            title="Timeout",
            field="Timeout of a run in seconds",
            more=True,
            row=3,
        ),
    ] = None
    user: Annotated[
        str | None,
        Option(help="The user for whom the task runs.", title="User", field="User", row=2),
    ] = None
    tags: Annotated[
        Sequence[str],
        Option(
            help="A tag; repeat it for more.",
            title="Tags",
            field="Tags",
            note="with commas between them",
            row=3,
        ),
    ] = ()
    limits: Annotated[
        Sequence[str],
        Option(
            help="A key that adeq limit set key:KEY limits; repeat it for more.",
            metavar="KEY",
            title="Limits",
            field="Limits",
            note="with commas between them",
            more=True,
        ),
    ] = ()
    parent: Annotated[
        str | None,
        Option(
            shown=True, once=True, help="The id of the parent task.", field="Parent", note="the id of a task", more=True
        ),
    ] = None
    after: Annotated[
        Earlier,
        Option(
            shown=True,
            once=True,
            help="A task that must end first; repeat it for more. The new task is blocked until then.",
            field="Runs after",
            note="ids of tasks",
            more=True,
            copied=False,
        ),
    ] = ()
    after_any: Annotated[bool, Option(shown=True, once=True, help="With --after: one of the tasks is enough.")] = False
    after_when: Annotated[
        AfterWhen, Option(shown=True, once=True, help="With --after: how the tasks must end. [default: completed]")
    ] = "completed"
    gather: Annotated[
        int | None,
        Option(shown=True, once=True, help="How many children, later tasks with this one as parent, must end first."),
    ] = None
    ordering_key: Annotated[
        str | None,
        Option(
            once=True,
            help="Tasks with the same key run one at a time, in order.",
            title="Ordering key",
            field="Ordering key",
            more=True,
        ),
    ] = None
    idempotency_key: Annotated[
        str | None,
        Option(
            once=True,
            help="Create no other task with this key for a day.",
            title="Idempotency key",
            field="Idempotency key",
            more=True,
            copied=False,
        ),
    ] = None
    unique: Annotated[
        str | None,
        Option(
            help="Create no other task with this key until it has ended.",
            title="Unique",
            field="Unique key",
            more=True,
            copied=False,
        ),
    ] = None
    scope: Annotated[
        str | None,
        Option(help="Create no other task with this scope until it is started.", title="Scope"),
    ] = None
    coalesce: Annotated[
        Literal["first", "last"], Option(help="With --scope: which payload is kept. [default: first]")
    ] = "first"
    result_ttl: Annotated[Seconds | None, Option(wire="result_ms", help="How long the result is kept.")] = None
    reply: Annotated[bool, Option(shown=True, once=True, help="Notify clients that wait for the result at once.")] = (
        False
    )
    max_attempts: Annotated[
        int | None,
        Option(
            shown=True,
            help="The most runs. [default: the queue's]",
            field="Attempts at most",
            note="empty: as the queue says",
        ),
    ] = None
    backoff: Annotated[Backoff | None, Option()] = None
    source: Annotated[
        str | None,
        Option(
            help="The source of the task: user, system, hook or another word.",
            metavar="TEXT",
            title="Source",
            field="Source",
            note="empty: who you are",
            more=True,
            copied=False,
        ),
    ] = None
    headers: Annotated[dict[str, Any] | None, Option()] = Field(default=None, repr=False)
    tier: Annotated[
        Tier | None,
        Option(
            shown=True,
            help="What may be shown of the task: its data tier. [default: the queue's]",
            title="Tier",
            field="Tier",
            note="empty: as the queue says",
        ),
    ] = None


OPTIONS: Final = declared(Task)
"""All options of a task, by name."""


@dataclass(frozen=True)
class Lease:
    """One worker's right to run one task until `deadline`. `fence` rises with every lease of the same task.

    attempt: the number of this attempt, from 1; at most `max_attempts`. Released runs and crashes do not count.
    delivery: which lease of the task this is, from 1.
    data: the payload's bytes; `payload` reads them as JSON. Raises PayloadError if the codec does not accept them.
    claimed: when the claim was, by the server's clock.
    """

    id: str
    token: str
    fence: int
    attempt: int
    delivery: int
    deadline: float
    data: bytes = field(repr=False, compare=False)
    record: dict[str, bytes] = field(repr=False, compare=False)
    claimed: float = field(default=0.0, compare=False)

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
        """The payload, read as JSON; None if it is empty. Raises ValueError if it is not JSON: `data` has the bytes."""
        return json.loads(self.data) if self.data else None

    @property
    def kind(self) -> str | None:
        """The kind of the task."""
        return self._word("kind")

    @property
    def user(self) -> str | None:
        """The user for whom the task runs."""
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
        """The ids of the tasks that this one waited for."""
        return tuple((self._word("after") or "").split(",")) if "after" in self.record else ()

    @property
    def timeout(self) -> float | None:
        """How many seconds this run may take."""
        value = self._word("timeout_ms")
        return None if value is None else int(value) / 1000

    @property
    def schedule(self) -> str | None:
        """The name of the schedule that enqueued the task."""
        return self._word("schedule")

    @property
    def nominal(self) -> float | None:
        """The time of the schedule for which the task was enqueued."""
        value = self._word("nominal_ms")
        return None if value is None else int(value) / 1000

    @property
    def source(self) -> str | None:
        """The origin of the task, such as `user`, `system` or `hook`; None if it was not given."""
        return self._word("source")

    @property
    def tier(self) -> Tier:
        """What may be shown of the task, see `pyadeq.tiers`."""
        return cast("Tier", self._word("tier") or "internal")

    @property
    def headers(self) -> Any:
        """The headers of the task, read as JSON; the text if they are not JSON."""
        return read_json(self.record.get("headers", b"{}"))

    def _word(self, name: str) -> str | None:
        value = self.record.get(name)
        return None if value is None else value.decode()


def shown_payload(lease: Lease) -> dict[str, Any]:
    """The payload as it is given to programs in other languages.

    `payload`: as JSON. `payload_base64`: its bytes, if it is no JSON, or none that each program could read.
    `unreadable`: why it is not given as JSON, although it is; or why the codec refuses it.
    """
    try:
        if why := flaw(lease.data):
            return {"payload_base64": in_base64(lease.data), **({} if why == NO_TEXT else {"unreadable": why})}
        return {"payload": lease.payload}
    except PayloadError as error:
        return {"unreadable": str(error)}
    except ValueError:  # a text
        return {"payload_base64": in_base64(lease.data)}


class Failed(Model):
    """The answer to a fail: `retried` with the due time of the retry, `dead`, `cancelled` or `lease_lost`."""

    status: FailStatus
    due: float | None = None


class Snoozed(Model):
    """The answer to a snooze: `snoozed` with the due time, `cancelled` or `lease_lost`."""

    status: SnoozeStatus
    due: float | None = None


class Retried(Model):
    """The answer to a retry of a dead task.

    status: `retried`; `conflict` if another task has its unique key or scope now; `not_dead`; `not_found`.
    holder: the id of that other task.
    """

    _from_reply: ClassVar = {"id": "holder"}

    status: Literal["retried", "conflict", "not_dead", "not_found"]
    holder: str | None = None


class RunNow(Model):
    """The answer to `run_now`.

    status: `ready`; `not_delayed`; `expired`: its `expires_at` has passed, so it may not start any more; `not_found`.
    state: of a task that is not delayed.
    """

    status: Literal["ready", "not_delayed", "expired", "not_found"]
    state: State | None = None


class Bulk(Model):
    """The answer to a change of many tasks: how many matched the filter, and how many were changed (0 in a dry run)."""

    matched: int
    done: int


class TaskRepair(Model):
    """What a repair found about one task, and what it did.

    status: `sound`; `damaged`, in a dry run; `repaired`.
    kind: `lost` (the task was in no set), `twice` (in several), `lease` (a part of its lease was missing), `line` (it
    waited for a limit, but not in that limit's queue), `runs` (it was deleted, but its runs were still stored).
    state: of the task after the repair; `gone` if no task was left.
    created, rid, index: only in a dry run: sort the tasks by these values before you pass their ids to the next call.
    """

    id: str
    status: str
    kind: str | None = None
    state: str | None = None
    created: float | None = None
    rid: str = ""
    index: int = 0


class Repair(Model):
    """The answer of `QueueAdmin.repair`: an entry for each task, a status for each lane, and the counts for a limit.

    seen: how many entries were checked: of the limit's queue or of its holders, whichever has more.
    damaged: how many of them were wrong.
    """

    tasks: list[TaskRepair]
    lanes: list[str]
    seen: int = 0
    damaged: int = 0


class Renewal(Model):
    """The answer to a heartbeat: `lease_lost`, or the new deadline.

    status: `renewed`; `cancelling`: the task was cancelled, so stop it; `timed_out`: it has run longer than its
    timeout, and is no longer renewed after a grace time.
    """

    status: Literal["renewed", "cancelling", "timed_out", "lease_lost"]
    deadline: float | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer to a claim.

    status: `ok`; `stale` or `unregistered`, and then nothing was written.
    next_due: when the next delayed task is due or the next lease ends, as seen before the claim.
    lease: how many seconds the leases last.
    """

    status: Literal["ok", "stale", "unregistered"]
    now: float
    lease: float
    next_due: float | None
    leases: list[Lease]
    next_firing: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The answer to a settle: a status for each ack, an answer for each fail, and the claimed leases.

    unanswered: tokens whose outcome is unknown, because their partition of the queue did not answer.
    """

    acks: list[AckStatus]
    fails: list[Failed]
    claimed: Claimed
    unanswered: frozenset[str] = frozenset()


class TaskView(Storing):
    """A task as it is now. In lists, payload, result, error and headers are left out (None).

    after, after_any, after_when, gather: what the task waits or waited for, as in `Task`; None if not given.
    awaits: for how many ends a blocked task still waits.
    limited_by: the limit in whose queue it waits.
    waits_for: the name of the sleep that suspended its run, until it is due.
    steps: how many stored steps it has.
    tier: what may be shown of it, see `pyadeq.tiers`.
    progress_at: when a run last reported progress or a log line.
    schedule, nominal: the schedule that enqueued it, and the time of the schedule.
    unreadable: which of payload, result and error the codec does not accept, and why. They are None then. In JSON also
    which of payload, result and headers not each program could read: then `payload_base64` and so on have the bytes.
    """

    STORED = {"payload": "data", "result": "result_data", "headers": "headers_data"}  # noqa: RUF012

    id: str
    state: State
    kind: str | None = None
    priority: int = 5
    lane: str = "any"
    user: str | None = None
    tags: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    limited_by: str | None = None
    waits_for: str | None = None
    steps: int = 0
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
    tier: Tier = "internal"
    trace: str | None = None
    worker: str | None = None
    fence: int | None = None
    progress: float | None = None
    progress_text: str | None = Field(None, repr=False)
    progress_at: float | None = None
    output: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    error: str | None = Field(None, repr=False)
    data: bytes | None = Field(None, repr=False, exclude=True)
    result_data: bytes | None = Field(None, repr=False, exclude=True)
    headers_data: bytes | None = Field(None, repr=False, exclude=True)
    unreadable: dict[str, str] = Field({})  # a factory would cost 20 µs for each task that is read

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def payload(self) -> Any:
        """The payload as JSON; None if it is left out, the text if it is not JSON."""
        return read_json(self.data)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def result(self) -> Any:
        """The result as JSON; None if there is none, the text if it is not JSON."""
        return read_json(self.result_data)

    @computed_field(repr=False)  # type: ignore[prop-decorator]
    @property
    def headers(self) -> Any:
        """The headers; None if there are none, the text if they are not JSON."""
        return read_json(self.headers_data)

    payload_base64 = base64_field("data")
    result_base64 = base64_field("result_data")
    headers_base64 = base64_field("headers_data")


class Page(Model):
    """Some tasks, and the cursor for the next page, empty on the last page.

    now: when the page was read.
    """

    tasks: list[TaskView]
    cursor: str
    now: float


class QueueStats(Model):
    """How many tasks are in each state. `stalled` tasks are also counted in `running`.

    lanes: the number of ready tasks in each lane, for at most 1,000 lanes.
    more_lanes: how many lanes are not listed.
    counters: totals since the queue began. `wait_ms:<b>` and `run_ms:<b>` count durations from above b / 2 to b
    milliseconds, and `wait_ms_sum` and `run_ms_sum` are the sums of these durations.
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
        """How many tasks wait: ready, delayed and blocked."""
        return self.ready + self.delayed + self.blocked

    @property
    def completed(self) -> int:
        """How many tasks have completed since the queue began. `finished` counts those that are still stored."""
        return self.counters.get("completed", 0)

    @property
    def cancelled(self) -> int:
        """How many tasks were cancelled since the queue began."""
        return self.counters.get("cancelled", 0)


class QueueOverview(QueueStats):
    """What `QueueStats` has, and how long tasks wait.

    oldest: since when the oldest ready task of each lane waits. It has the 50 lanes that wait longest, of at most 200.
    """

    oldest: dict[str, float]

    @property
    def waited(self) -> float:
        """The seconds for which the oldest ready task has waited; 0 if there is none."""
        return max(0.0, self.now - min(self.oldest.values(), default=self.now))


class HistoryPoint(Model):
    """What happened in a queue in one step of its history, and how many tasks there were at its end.

    at: the end of the step.
    seconds: the time between the snapshots. It is longer than a step if there was no worker to take them.
    waited, ran: the sums of waiting times of `claimed` tasks, and of running times of `completed` ones.
    ready: None if there were more than 200 lanes.
    buried: tasks in the dead set.
    """

    at: float
    seconds: float
    enqueued: int
    claimed: int
    completed: int
    retried: int
    dead: int
    cancelled: int
    stalled: int
    waited: float
    ran: float
    ready: int | None
    delayed: int
    blocked: int
    running: int
    buried: int
    workers: int

    def rate(self, name: str) -> float:
        """How often it happened in a second: `rate("completed")`."""
        return float(getattr(self, name)) / self.seconds if self.seconds else 0.0


class DeadGroup(Model):
    """Dead tasks with the same kind and reason. first, last: when the first and the last of them died."""

    kind: str | None
    reason: str | None
    count: int
    first: float
    last: float


class DeadSummary(Model):
    """Dead tasks by kind and reason.

    groups: the largest first.
    counted: how many tasks were looked at, the newest.
    complete: whether these are all dead tasks.
    """

    groups: list[DeadGroup]
    counted: int
    complete: bool
