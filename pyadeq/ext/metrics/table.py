"""Every metric: its name, kind, labels and meaning. The collector and the reference page are made of this table.

Labels never hold ids, users, tags or names of workers, so their number stays small.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

LANES = 50
"""Lanes of a queue with a series of their own, the longest first. The others are counted as `_other`."""

GROUPS = 20
"""Kinds and reasons of dead tasks of a queue with a series of their own, the largest. The others are `_other`."""
COUNTED = 1_000
"""Dead tasks of a queue that are counted by kind and reason, the newest."""


class Metric(NamedTuple):
    """A metric. `_total` belongs to the names of counters. Times are in seconds."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str


TABLE = (
    Metric("adeq_up", "gauge", (), "Whether the server has answered this scrape. 0: most others are missing."),
    Metric("adeq_build_info", "gauge", ("version",), "The version of pyadeq that exports."),
    Metric("adeq_scrape_seconds", "gauge", (), "How long it took to read the server."),
    Metric("adeq_server_memory_bytes", "gauge", ("server",), "Memory that the server uses."),
    Metric("adeq_tasks", "gauge", ("queue", "state"), "Tasks in a state. Stalled tasks are also counted as running."),
    Metric("adeq_lane_tasks", "gauge", ("queue", "lane"), f"Ready tasks of a lane; after {LANES} lanes: _other."),
    Metric(
        "adeq_queue_oldest_seconds",
        "gauge",
        ("queue", "lane"),
        "For how long the oldest ready task of a lane has waited. At most 50 lanes, those that wait longest.",
    ),
    Metric(
        "adeq_dead_tasks",
        "gauge",
        ("queue", "kind", "reason"),
        f"Dead tasks by kind and reason, of the {COUNTED:,} newest; after {GROUPS} pairs: _other. Read once a minute.",
    ),
    Metric("adeq_workers", "gauge", ("queue",), "Live workers."),
    Metric("adeq_queue_paused", "gauge", ("queue",), "Whether no tasks are leased."),
    Metric("adeq_queue_draining", "gauge", ("queue",), "Whether no new tasks are taken."),
    Metric("adeq_tasks_enqueued_total", "counter", ("queue",), "Tasks that were created."),
    Metric("adeq_tasks_claimed_total", "counter", ("queue",), "Leases that workers got."),
    Metric("adeq_tasks_completed_total", "counter", ("queue",), "Tasks that completed."),
    Metric("adeq_tasks_retried_total", "counter", ("queue",), "Failed attempts that were followed by another."),
    Metric("adeq_tasks_dead_total", "counter", ("queue",), "Tasks that failed for good."),
    Metric("adeq_tasks_cancelled_total", "counter", ("queue",), "Tasks that were cancelled."),
    Metric("adeq_tasks_released_total", "counter", ("queue",), "Leases that workers gave back."),
    Metric("adeq_tasks_snoozed_total", "counter", ("queue",), "Leases that workers put aside for a time."),
    Metric("adeq_tasks_stalled_total", "counter", ("queue",), "Leases that ran out."),
    Metric("adeq_tasks_revived_total", "counter", ("queue",), "Dead tasks that were retried."),
    Metric("adeq_tasks_dropped_total", "counter", ("queue",), "Dead tasks that retention has deleted."),
    Metric("adeq_workers_lost_total", "counter", ("queue",), "Workers that were silent for too long."),
    Metric("adeq_task_wait_seconds", "histogram", ("queue",), "Time from ready to claimed."),
    Metric("adeq_task_run_seconds", "histogram", ("queue",), "Time from claimed to completed."),
    Metric("adeq_locks_held", "gauge", ("domain",), "Requests that hold locks."),
    Metric("adeq_locks_waiting", "gauge", ("domain",), "Requests that wait for locks."),
    Metric("adeq_locks_unchecked", "gauge", ("domain",), "Waiting requests whose deadlock search exceeded its budget."),
    Metric("adeq_changes", "gauge", ("domain", "state"), "Changes in a state."),
    Metric("adeq_changes_overdue", "gauge", ("domain",), "Changes with a step that is due and waits for a call."),
    Metric(
        "adeq_sessions",
        "gauge",
        ("realm",),
        "Stored sessions. Some may have ended by idleness a short time ago. Read once a minute.",
    ),
    Metric(
        "adeq_rate_rules",
        "gauge",
        ("namespace", "mode"),
        "Rules of a rate namespace that are enforced, or shadow: only reported. Read once a minute.",
    ),
)  # fmt: skip
