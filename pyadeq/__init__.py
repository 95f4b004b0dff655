"""A durable task queue and locks on Redis or Valkey, as versioned Lua scripts.

    from pyadeq import Adeq

    with Adeq.embedded() as adeq:
        queue = adeq.queue("default")
        queue.enqueue({"prompt": "…"})
        for lease in queue.claim(limit=10, wait=5):
            queue.ack(lease, result={"ok": True})

`pyadeq.asyncio` has the same names with coroutines, and the Worker.
"""

from typing import TYPE_CHECKING

from pyadeq import _names
from pyadeq._version import __version__

if TYPE_CHECKING:
    from pyadeq._core.config.flags import Flag, FlagChoice
    from pyadeq._core.kernel.call import Call
    from pyadeq._core.kernel.manifest import Script, library
    from pyadeq._core.kernel.nouncalls import NounCalls, Result
    from pyadeq._core.kernel.sending import Deferred
    from pyadeq._core.kernel.tracing import traced
    from pyadeq._core.lock.calls import LockCalls
    from pyadeq._core.lock.graph import LockGraph
    from pyadeq._core.queue.calls import QueueCalls
    from pyadeq._core.queue.failures import Failures, ProcessDied, Rule, TaskFailed
    from pyadeq._core.queue.items import Failure
    from pyadeq._core.queue.steps import StepValue, Wait
    from pyadeq._sync.change import Changes
    from pyadeq._sync.change.delegations import ChangeDelegations
    from pyadeq._sync.change.policies import ChangePolicies
    from pyadeq._sync.change.run import Run
    from pyadeq._sync.client.client import Adeq
    from pyadeq._sync.config import Config
    from pyadeq._sync.config.snapshot import ConfigSnapshot
    from pyadeq._sync.events import Events
    from pyadeq._sync.kernel.pipeline import Pipeline
    from pyadeq._sync.lock import Locks
    from pyadeq._sync.lock.admin import LockAdmin
    from pyadeq._sync.lock.capacities import LockCapacities
    from pyadeq._sync.lock.grant import Grant
    from pyadeq._sync.lock.inspect import LockInspect
    from pyadeq._sync.queue import Queue
    from pyadeq._sync.queue.admin import QueueAdmin
    from pyadeq._sync.queue.dead import QueueDead
    from pyadeq._sync.queue.inspect import QueueInspect
    from pyadeq._sync.queue.leases import QueueLeases
    from pyadeq._sync.queue.limits import Limits
    from pyadeq._sync.queue.mailbox import Batch, Mailbox
    from pyadeq._sync.queue.partitions import PartitionedQueue
    from pyadeq._sync.queue.partitions.areas import PartitionedLimits, PartitionedSchedules, PartitionedShares
    from pyadeq._sync.queue.partitions.events import PartitionedEvents
    from pyadeq._sync.queue.partitions.waits import Waits
    from pyadeq._sync.queue.results import Receipt
    from pyadeq._sync.queue.schedules import Schedules
    from pyadeq._sync.queue.shares import Shares
    from pyadeq._sync.queue.tasks import QueueTask
    from pyadeq._sync.queue.workers import QueueWorkers
    from pyadeq._sync.rate import Rates
    from pyadeq._sync.session import Sessions
    from pyadeq._tasks.context import SyncTaskContext, TaskContext
    from pyadeq._tasks.dependencies import Depends, Shared
    from pyadeq._tasks.functions import TaskFunction, Tasks
    from pyadeq._tasks.steps import TaskSuspended
    from pyadeq.embedded import EmbeddedServer
    from pyadeq.errors import (
        AdeqError,
        BadArgument,
        CannotApply,
        ChangeLost,
        ChangeStopped,
        ClientClosed,
        ClockError,
        ConfigConflict,
        ConfigError,
        ConfigFull,
        ConflictError,
        DamagedError,
        DeadlockError,
        DurabilityError,
        LayoutError,
        LeaseLost,
        LockLost,
        LockUnavailable,
        OwnerWaits,
        PartitionsChanged,
        PayloadError,
        QueueDraining,
        RateLimited,
        ScriptError,
        SessionChanged,
        SessionRefused,
        StaleError,
        TaskCancelled,
        TaskDead,
        TaskGone,
        TransportError,
        UnknownGroup,
        UnknownTask,
        WaitTimeout,
        WorkerReplaced,
    )
    from pyadeq.models.base import Migration
    from pyadeq.models.change import (
        Change,
        ChangeAnswer,
        ChangeContent,
        ChangeExecution,
        ChangeLogEntry,
        ChangePage,
        ChangeRef,
        ChangeRequest,
        ChangeRisk,
        ChangeStats,
        ChangeSummary,
        ChangeVotes,
        Delegation,
        Delegations,
        Delivered,
        FollowTask,
        Inbox,
        InboxEntry,
        ReviewerStats,
        ReviewPolicy,
    )
    from pyadeq.models.config import Annotation, ConfigValue, ConfigVersion
    from pyadeq.models.events import Event, EventBatch, EventGap, EventGroup, EventGroups, EventsTrimmed
    from pyadeq.models.limit import Limit, LimitUse
    from pyadeq.models.lock import (
        Capacity,
        CycleEdge,
        Detected,
        Edge,
        EdgePage,
        Forced,
        FoundDeadlock,
        HeldLock,
        Hint,
        LockRenewal,
        LockRequest,
        LockStats,
        LockView,
        Reaped,
        RequestPage,
        RequestState,
        RequestView,
    )
    from pyadeq.models.lock_settings import LockSettings
    from pyadeq.models.partition import Partition
    from pyadeq.models.queue import (
        Backoff,
        Bulk,
        Claimed,
        DeadGroup,
        DeadSummary,
        Failed,
        HistoryPoint,
        Lease,
        Page,
        QueueOverview,
        QueueStats,
        Renewal,
        Repair,
        Retried,
        RunNow,
        Settled,
        Snoozed,
        Task,
        TaskRepair,
        TaskView,
    )
    from pyadeq.models.queue_settings import Settings
    from pyadeq.models.rate import RateAnswer, RateRule, RuleAnswer
    from pyadeq.models.schedule import At, Cron, Every, Fired, Firing, Schedule, SchedulePut
    from pyadeq.models.session import RevokedSessions, Session, SessionEntry, SessionUser
    from pyadeq.models.steps import StepKept, Suspended, TaskStep
    from pyadeq.models.worker import Heartbeat, LogLine, Outcome, TaskRun, TaskUpdate, WorkerInfo

__all__ = [
    "Adeq",
    "AdeqError",
    "Annotation",
    "At",
    "Backoff",
    "BadArgument",
    "Batch",
    "Bulk",
    "Call",
    "CannotApply",
    "Capacity",
    "Change",
    "ChangeAnswer",
    "ChangeContent",
    "ChangeDelegations",
    "ChangeExecution",
    "ChangeLogEntry",
    "ChangeLost",
    "ChangePage",
    "ChangePolicies",
    "ChangeRef",
    "ChangeRequest",
    "ChangeRisk",
    "ChangeStats",
    "ChangeStopped",
    "ChangeSummary",
    "ChangeVotes",
    "Changes",
    "Claimed",
    "ClientClosed",
    "ClockError",
    "Config",
    "ConfigConflict",
    "ConfigError",
    "ConfigFull",
    "ConfigSnapshot",
    "ConfigValue",
    "ConfigVersion",
    "ConflictError",
    "Cron",
    "CycleEdge",
    "DamagedError",
    "DeadGroup",
    "DeadSummary",
    "DeadlockError",
    "Deferred",
    "Delegation",
    "Delegations",
    "Delivered",
    "Depends",
    "Detected",
    "DurabilityError",
    "Edge",
    "EdgePage",
    "EmbeddedServer",
    "Event",
    "EventBatch",
    "EventGap",
    "EventGroup",
    "EventGroups",
    "Events",
    "EventsTrimmed",
    "Every",
    "Failed",
    "Failure",
    "Failures",
    "Fired",
    "Firing",
    "Flag",
    "FlagChoice",
    "FollowTask",
    "Forced",
    "FoundDeadlock",
    "Grant",
    "Heartbeat",
    "HeldLock",
    "Hint",
    "HistoryPoint",
    "Inbox",
    "InboxEntry",
    "LayoutError",
    "Lease",
    "LeaseLost",
    "Limit",
    "LimitUse",
    "Limits",
    "LockAdmin",
    "LockCalls",
    "LockCapacities",
    "LockGraph",
    "LockInspect",
    "LockLost",
    "LockRenewal",
    "LockRequest",
    "LockSettings",
    "LockStats",
    "LockUnavailable",
    "LockView",
    "Locks",
    "LogLine",
    "Mailbox",
    "Migration",
    "NounCalls",
    "Outcome",
    "OwnerWaits",
    "Page",
    "Partition",
    "PartitionedEvents",
    "PartitionedLimits",
    "PartitionedQueue",
    "PartitionedSchedules",
    "PartitionedShares",
    "PartitionsChanged",
    "PayloadError",
    "Pipeline",
    "ProcessDied",
    "Queue",
    "QueueAdmin",
    "QueueCalls",
    "QueueDead",
    "QueueDraining",
    "QueueInspect",
    "QueueLeases",
    "QueueOverview",
    "QueueStats",
    "QueueTask",
    "QueueWorkers",
    "RateAnswer",
    "RateLimited",
    "RateRule",
    "Rates",
    "Reaped",
    "Receipt",
    "Renewal",
    "Repair",
    "RequestPage",
    "RequestState",
    "RequestView",
    "Result",
    "Retried",
    "ReviewPolicy",
    "ReviewerStats",
    "RevokedSessions",
    "Rule",
    "RuleAnswer",
    "Run",
    "RunNow",
    "Schedule",
    "SchedulePut",
    "Schedules",
    "Script",
    "ScriptError",
    "Session",
    "SessionChanged",
    "SessionEntry",
    "SessionRefused",
    "SessionUser",
    "Sessions",
    "Settings",
    "Settled",
    "Shared",
    "Shares",
    "Snoozed",
    "StaleError",
    "StepKept",
    "StepValue",
    "Suspended",
    "SyncTaskContext",
    "Task",
    "TaskCancelled",
    "TaskContext",
    "TaskDead",
    "TaskFailed",
    "TaskFunction",
    "TaskGone",
    "TaskRepair",
    "TaskRun",
    "TaskStep",
    "TaskSuspended",
    "TaskUpdate",
    "TaskView",
    "Tasks",
    "TransportError",
    "UnknownGroup",
    "UnknownTask",
    "Wait",
    "WaitTimeout",
    "Waits",
    "WorkerInfo",
    "WorkerReplaced",
    "__version__",
    "library",
    "traced",
]

if not TYPE_CHECKING:  # to a type checker every name would be there
    __getattr__ = _names.lazy(__name__, "_sync", modules=_names.MODULES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
