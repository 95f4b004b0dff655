"""The modules of the public names. A module is imported when one of its names is first used, so importing pyadeq is
fast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from pyadeq._importing import load

# Module -> its public names. `make gen` writes them into `pyadeq` and `pyadeq.asyncio`, where type checkers read them.
SHARED = {
    "pyadeq._core.config.flags": "Flag FlagChoice",
    "pyadeq._core.kernel.call": "Call",
    "pyadeq._core.kernel.manifest": "Script library",
    "pyadeq._core.kernel.nouncalls": "NounCalls Result",
    "pyadeq._core.kernel.sending": "Deferred",
    "pyadeq._core.kernel.tracing": "traced",
    "pyadeq._core.lock.calls": "LockCalls",
    "pyadeq._core.lock.graph": "LockGraph",
    "pyadeq._core.queue.calls": "QueueCalls",
    "pyadeq._core.queue.failures": "Failures ProcessDied Rule TaskFailed",
    "pyadeq._core.queue.items": "Failure",
    "pyadeq._core.queue.steps": "StepValue Wait",
    "pyadeq._tasks.context": "SyncTaskContext TaskContext",
    "pyadeq._tasks.dependencies": "Depends Shared",
    "pyadeq._tasks.functions": "TaskFunction Tasks",
    "pyadeq._tasks.steps": "TaskSuspended",
    "pyadeq.embedded": "EmbeddedServer",
    "pyadeq.errors": (
        "AdeqError BadArgument CannotApply ChangeLost ChangeStopped ClientClosed ClockError ConfigConflict "
        "ConfigError ConfigFull ConflictError DamagedError DeadlockError DurabilityError "
        "LayoutError LeaseLost LockLost LockUnavailable OwnerWaits PartitionsChanged PayloadError QueueDraining "
        "RateLimited ScriptError SessionChanged SessionRefused StaleError TaskCancelled "
        "TaskDead TaskGone TransportError UnknownGroup UnknownTask WaitTimeout WorkerReplaced"
    ),
    "pyadeq.models.base": "Migration",
    "pyadeq.models.lock": "CycleEdge",
}
# Module of `pyadeq.models` -> its models. Written by `make gen`: all of them are public.
MODELS: dict[str, str] = {
    "change": (
        "ChangeRef ChangeContent ChangeRisk ChangeVotes ChangeExecution ChangeRequest ChangeLogEntry Change "
        "ChangeSummary ChangePage InboxEntry ReviewerStats Inbox ChangeStats ChangeAnswer FollowTask ReviewPolicy "
        "Delegation Delegations Delivered"
    ),
    "config": "ConfigValue Annotation ConfigVersion",
    "events": "Event EventGap EventBatch EventGroup EventGroups EventsTrimmed",
    "limit": "Limit LimitUse",
    "lock": (
        "LockRequest RequestState LockRenewal Forced Edge EdgePage FoundDeadlock Detected HeldLock RequestView "
        "RequestPage Capacity LockView LockStats Reaped Hint"
    ),
    "lock_settings": "LockSettings",
    "partition": "Partition",
    "queue": (
        "Backoff Receipt Task Lease Failed Snoozed Retried RunNow Bulk TaskRepair Repair Renewal Claimed Settled "
        "TaskView Page QueueStats QueueOverview HistoryPoint DeadGroup DeadSummary"
    ),
    "queue_settings": "Settings",
    "rate": "RateRule RuleAnswer RateAnswer",
    "schedule": "Cron Every At Schedule SchedulePut Firing Fired",
    "session": "SessionEntry Session SessionUser RevokedSessions",
    "steps": "TaskStep StepKept Suspended",
    "worker": "Heartbeat WorkerInfo Outcome LogLine TaskUpdate TaskRun",
}
# In `_sync` for `pyadeq`, in `_async` for `pyadeq.asyncio`.
TWINS = {
    "change": "Changes",
    "change.delegations": "ChangeDelegations",
    "change.policies": "ChangePolicies",
    "change.run": "Run",
    "config": "Config",
    "config.snapshot": "ConfigSnapshot",
    "events": "Events",
    "client.client": "Adeq",
    "kernel.pipeline": "Pipeline",
    "lock": "Locks",
    "lock.grant": "Grant",
    "lock.inspect": "LockInspect",
    "lock.admin": "LockAdmin",
    "lock.capacities": "LockCapacities",
    "queue": "Queue",
    "queue.admin": "QueueAdmin",
    "queue.dead": "QueueDead",
    "queue.inspect": "QueueInspect",
    "queue.leases": "QueueLeases",
    "queue.limits": "Limits",
    "queue.mailbox": "Batch Mailbox",
    "queue.partitions": "PartitionedQueue",
    "queue.partitions.areas": "PartitionedLimits PartitionedSchedules PartitionedShares",
    "queue.partitions.events": "PartitionedEvents",
    "queue.partitions.waits": "Waits",
    "queue.results": "Receipt",
    "queue.schedules": "Schedules",
    "queue.shares": "Shares",
    "queue.tasks": "QueueTask",
    "queue.workers": "QueueWorkers",
    "rate": "Rates",
    "session": "Sessions",
}
# In `pyadeq.asyncio` alone.
WORKER = {
    "pyadeq._worker.connections": "client_for",
    "pyadeq._worker.health": "Health HealthServer",
    "pyadeq._worker.programs": "Program ProgramFailed",
    "pyadeq._worker.worker": "Worker",
}
# Modules of `pyadeq`, for `pyadeq.errors` after no more than `import pyadeq`.
MODULES = "codec embedded errors ids keys models"


def homes(twin: str, own: Mapping[str, str]) -> dict[str, str]:
    """Return a map from each name to its module.

    twin: `_sync` or `_async`.
    own: names that the other twin does not have.
    """
    models = {f"pyadeq.models.{part}": found for part, found in MODELS.items()}
    twins = {f"pyadeq.{twin}.{part}": found for part, found in TWINS.items()}
    tables = (models, SHARED, twins, own)
    return {name: module for places in tables for module, found in places.items() for name in found.split()}


def lazy(package: str, twin: str, *, own: Mapping[str, str] = {}, modules: str = "") -> Callable[[str], object]:
    """Return the `__getattr__` of a module (PEP 562). It imports a name or a public module at its first use."""
    found = homes(twin, own)

    def find(name: str) -> object:
        if name in modules.split():
            return load(f"{package}.{name}")
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(load(found[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find
