# Generated from lua/manifest.json and lua/queue/noun.toml by pyadeq/_settings.py; do not edit.
"""The settings of a queue: all of them, and those that can be changed."""

from __future__ import annotations

from typing import Literal, TypedDict

from pyadeq.models.base import Model, Seconds
from pyadeq.models.queue import Backoff, Mode

QueueTier = Literal["public", "internal", "confidential", "restricted"]


class SettingsChange(TypedDict, total=False):
    """The settings of a queue that can be changed; see Settings."""

    lease: Seconds
    max_attempts: int
    max_crashes: int
    backoff: Backoff
    events_max: int
    events_keep: Seconds
    events_error_max: int
    presence: Seconds
    finished_keep: Seconds
    finished_max: int
    dead_keep: Seconds
    dead_max: int
    result_ttl: Seconds
    payload_ttl: Seconds
    idempotency: Seconds
    reply_ttl: Seconds
    timeout: Seconds
    timeout_grace: Seconds
    tier: QueueTier
    steps_max: int
    steps_bytes: int
    fair: bool


class Settings(Model):
    """The settings of a queue. Times are in seconds. If nothing is stored, the defaults apply.

    lease: how long a lease lasts, if the call names no time.
    max_attempts: how many attempts a task has.
    max_crashes: after this number of expired leases the task is dead.
    backoff.base: the delay before the first retry.
    backoff.multiplier: the factor of each further delay.
    backoff.cap: the longest delay before a retry.
    backoff.jitter: by how much a delay varies at random.
    events_max: about how many events are kept; 0: none are written.
    events_keep: about how long events are kept.
    events_error_max: the maximum number of error bytes in the event of a dead task; 0: none.
    presence: how long a worker may be silent before it counts as gone; it sends a heartbeat at least every 10 s.
    finished_keep: how long completed and cancelled tasks are kept.
    finished_max: how many completed and cancelled tasks are kept.
    dead_keep: how long dead tasks are kept.
    dead_max: how many dead tasks are kept.
    result_ttl: how long results are kept; not set: as long as the task.
    payload_ttl: how long the payloads of completed tasks are kept, by the server's clock; not set: as long as the task.
    idempotency: how long an idempotency key applies.
    reply_ttl: how long the reply of a task with `reply` is kept.
    timeout: how long a run may take, for tasks without a timeout of their own; 0: no limit.
    timeout_grace: how long a lease is still renewed after the task's timeout.
    tier: the data tier of new tasks that name none: what may be shown of them.
    steps_max: how many steps a task may have.
    steps_bytes: how many bytes the steps of a task may have.
    fair: users take turns, each according to its weight.
    digest: of what `settings.change` can change, for its `expect`.
    """

    clock: Literal["server", "test"] = "server"
    layout: int = 2
    lease: float = 15.0
    max_attempts: int = 3
    max_crashes: int = 5
    backoff: Backoff = Backoff(base=1.0, multiplier=2.0, cap=300.0, jitter=0.1)
    events_max: int = 100000
    events_keep: float = 604800.0
    events_error_max: int = 200
    presence: float = 30.0
    finished_keep: float = 604800.0
    finished_max: int = 100000
    dead_keep: float = 2592000.0
    dead_max: int = 100000
    result_ttl: float | None = None
    payload_ttl: float | None = None
    idempotency: float = 86400.0
    reply_ttl: float = 3600.0
    timeout: float = 0.0
    timeout_grace: float = 10.0
    tier: QueueTier = "internal"
    steps_max: int = 1000
    steps_bytes: int = 1048576
    fair: bool = False
    mode: Mode = "running"
    digest: str = ""
