"""The coordination core of an agentic development environment, as versioned Lua on Redis or Valkey.

    from pyadeq import Adeq

    with Adeq.embedded() as adeq:
        queue = adeq.queue("default")
        queue.enqueue({"prompt": "…"})
        for lease in queue.claim(limit=10, wait=5):
            queue.ack(lease, result={"ok": True})

`pyadeq.asyncio` has the same names, to be awaited, and the Worker.
"""

from pyadeq._core.call import Call
from pyadeq._core.manifest import Script, library
from pyadeq._core.queue import QueueCalls
from pyadeq._core.queue_items import Failure
from pyadeq._core.sending import Deferred
from pyadeq._sync.client import Adeq
from pyadeq._sync.pipeline import Pipeline
from pyadeq._sync.queue import Queue
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

__version__ = "0.1.0"

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
    "TaskView",
    "TransportError",
    "WorkerReplaced",
    "__version__",
    "library",
]
