"""The asyncio twin of `pyadeq`: the same names, to be awaited where they talk to the server, and the Worker."""

from pyadeq._async.client import Adeq
from pyadeq._async.pipeline import Pipeline
from pyadeq._async.queue import Queue
from pyadeq._async.worker import Worker
from pyadeq._core.call import Call
from pyadeq._core.failures import TaskFailed
from pyadeq._core.manifest import Script, library
from pyadeq._core.queue import QueueCalls
from pyadeq._core.queue_items import Failure
from pyadeq._core.sending import Deferred
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import (
    AdeqError,
    BadArgument,
    ClockError,
    ConfigError,
    ConflictError,
    DurabilityError,
    LayoutError,
    LeaseLost,
    QueueDraining,
    ScriptError,
    TransportError,
    WorkerReplaced,
)
from pyadeq.models import (
    Backoff,
    Bulk,
    Claimed,
    Failed,
    Lease,
    Page,
    QueueStats,
    Receipt,
    Renewal,
    Retried,
    Settings,
    Settled,
    Snoozed,
    Task,
    TaskView,
)

__all__ = [
    "Adeq",
    "AdeqError",
    "Backoff",
    "BadArgument",
    "Bulk",
    "Call",
    "Claimed",
    "ClockError",
    "ConfigError",
    "ConflictError",
    "Deferred",
    "DurabilityError",
    "EmbeddedServer",
    "Failed",
    "Failure",
    "LayoutError",
    "Lease",
    "LeaseLost",
    "Page",
    "Pipeline",
    "Queue",
    "QueueCalls",
    "QueueDraining",
    "QueueStats",
    "Receipt",
    "Renewal",
    "Retried",
    "Script",
    "ScriptError",
    "Settings",
    "Settled",
    "Snoozed",
    "Task",
    "TaskFailed",
    "TaskView",
    "TransportError",
    "Worker",
    "WorkerReplaced",
    "library",
]
