"""The asyncio twin of `pyadeq`: the same names, to be awaited where they talk to the server, and the Worker."""

from pyadeq._async.client import Adeq
from pyadeq._async.lock_grant import Grant
from pyadeq._async.locks import Locks
from pyadeq._async.mailbox import Batch, Mailbox
from pyadeq._async.partition_care import PartitionedLimits, PartitionedSchedules, PartitionedShares
from pyadeq._async.partitioned import PartitionedQueue
from pyadeq._async.pipeline import Pipeline
from pyadeq._async.queue import Queue
from pyadeq._async.queue_limits import Limits
from pyadeq._async.queue_results import Receipt
from pyadeq._async.queue_schedules import Schedules
from pyadeq._async.queue_shares import Shares
from pyadeq._async.queue_tasks import QueueTask
from pyadeq._core.call import Call
from pyadeq._core.failures import Failures, ProcessDied, Rule, TaskFailed
from pyadeq._core.lock_graph import LockGraph
from pyadeq._core.locks import LockCalls
from pyadeq._core.manifest import Script, library
from pyadeq._core.queue import QueueCalls
from pyadeq._core.queue_items import Failure
from pyadeq._core.sending import Deferred
from pyadeq._worker.connections import client_for
from pyadeq._worker.context import TaskContext
from pyadeq._worker.health import Health, HealthServer
from pyadeq._worker.programs import Program, ProgramFailed
from pyadeq._worker.tasks import TaskFunction, Tasks
from pyadeq._worker.worker import Worker
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import (
    AdeqError,
    BadArgument,
    ClientClosed,
    ClockError,
    ConfigError,
    ConflictError,
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
    TaskCancelled,
    TaskDead,
    TaskGone,
    TransportError,
    UnknownTask,
    WaitTimeout,
    WorkerReplaced,
)
from pyadeq.limit_models import Limit, LimitUse
from pyadeq.lock_models import (
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
    LockSettings,
    LockStats,
    LockView,
    Reaped,
    RequestPage,
    RequestState,
    RequestView,
)
from pyadeq.models import (
    Backoff,
    Bulk,
    Claimed,
    Failed,
    Lease,
    Migration,
    Page,
    QueueStats,
    Renewal,
    Repair,
    Retried,
    Settings,
    Settled,
    Snoozed,
    Task,
    TaskRepair,
    TaskView,
)
from pyadeq.partition_models import Partition
from pyadeq.schedule_models import At, Cron, Every, Fired, Firing, Schedule, SchedulePut
from pyadeq.worker_models import Heartbeat, LogLine, Outcome, WorkerInfo

__all__ = [
    "Adeq",
    "AdeqError",
    "At",
    "Backoff",
    "BadArgument",
    "Batch",
    "Bulk",
    "Call",
    "Capacity",
    "Claimed",
    "ClientClosed",
    "ClockError",
    "ConfigError",
    "ConflictError",
    "Cron",
    "CycleEdge",
    "DeadlockError",
    "Deferred",
    "Detected",
    "DurabilityError",
    "Edge",
    "EdgePage",
    "EmbeddedServer",
    "Every",
    "Failed",
    "Failure",
    "Failures",
    "Fired",
    "Firing",
    "Forced",
    "FoundDeadlock",
    "Grant",
    "Health",
    "HealthServer",
    "Heartbeat",
    "HeldLock",
    "Hint",
    "LayoutError",
    "Lease",
    "LeaseLost",
    "Limit",
    "LimitUse",
    "Limits",
    "LockCalls",
    "LockGraph",
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
    "Outcome",
    "OwnerWaits",
    "Page",
    "Partition",
    "PartitionedLimits",
    "PartitionedQueue",
    "PartitionedSchedules",
    "PartitionedShares",
    "PartitionsChanged",
    "PayloadError",
    "Pipeline",
    "ProcessDied",
    "Program",
    "ProgramFailed",
    "Queue",
    "QueueCalls",
    "QueueDraining",
    "QueueStats",
    "QueueTask",
    "RateLimited",
    "Reaped",
    "Receipt",
    "Renewal",
    "Repair",
    "RequestPage",
    "RequestState",
    "RequestView",
    "Retried",
    "Rule",
    "Schedule",
    "SchedulePut",
    "Schedules",
    "Script",
    "ScriptError",
    "Settings",
    "Settled",
    "Shares",
    "Snoozed",
    "Task",
    "TaskCancelled",
    "TaskContext",
    "TaskDead",
    "TaskFailed",
    "TaskFunction",
    "TaskGone",
    "TaskRepair",
    "TaskView",
    "Tasks",
    "TransportError",
    "UnknownTask",
    "WaitTimeout",
    "Worker",
    "WorkerInfo",
    "WorkerReplaced",
    "client_for",
    "library",
]
