"""Every metric: its name, kind, labels and meaning, and the panel of the board that shows it.

The collector, the board and the reference page are made of this table. Labels never hold ids, users, tags or names of
workers, so their number stays small.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

LANES: Final = 50
"""Lanes of a queue with a series of their own, the longest first. The others are counted as `_other`."""
GROUPS: Final = 20
"""Kinds and reasons of dead tasks of a queue with a series of their own, the largest. The others are `_other`."""
COUNTED: Final = 1_000
"""Dead tasks of a queue that are counted by kind and reason, the newest."""
READERS: Final = 500
"""Groups of events with series of their own, those in trouble first."""
UNREADABLE: Final = 20
"""Names of what cannot be read with a series of their own, the first ones."""
MARKS: Final = 10
"""Deployment marks that are exported, the newest."""


class Metric(NamedTuple):
    """A metric. `_total` belongs to the names of counters. Times are in seconds."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...]
    help: str


class Panel(NamedTuple):
    """A panel of the board, and its metrics. unit: of Grafana. as_list: shows the present values, not lines."""

    title: str
    unit: str
    metrics: tuple[Metric, ...]
    as_list: bool = False


class Row(NamedTuple):
    """A row of the board."""

    title: str
    panels: tuple[Panel, ...]


def _of_queue(name: str, help: str) -> Metric:
    return Metric(name, "counter", ("queue",), help)


def _of_group(name: str, help: str, kind: Literal["gauge", "counter"] = "gauge") -> Metric:
    return Metric(name, kind, ("stream", "group"), f"{help} Read once a minute.")


BOARD: Final = (
    Row(
        "Installation",
        (
            Panel(
                "Does the server answer?",
                "short",
                (
                    Metric(
                        "adeq_up",
                        "gauge",
                        (),
                        "Whether the server has answered this scrape. 0: most others are missing.",
                    ),
                ),
            ),
            Panel(
                "What cannot be read",
                "short",
                (
                    Metric(
                        "adeq_unreadable",
                        "gauge",
                        (),
                        "Queues, lock domains and so on that are left out: they may need a newer pyadeq, or have "
                        "damaged data.",
                    ),
                ),
            ),
            Panel(
                "Names of what cannot be read",
                "short",
                (
                    Metric(
                        "adeq_unreadable_info",
                        "gauge",
                        ("noun", "name"),
                        f"What is left out, by name: the first {UNREADABLE}.",
                    ),
                ),
                as_list=True,
            ),
            Panel(
                "Memory of the servers",
                "bytes",
                (Metric("adeq_server_memory_bytes", "gauge", ("server",), "Memory that the server uses."),),
            ),
            Panel(
                "Time of a scrape",
                "s",
                (Metric("adeq_scrape_seconds", "gauge", (), "How long it took to read the server."),),
            ),
            Panel(
                "Version",
                "short",
                (Metric("adeq_build_info", "gauge", ("version",), "The version of pyadeq that exports."),),
                as_list=True,
            ),
            Panel(
                "Deployments",
                "dateTimeAsIso",
                (
                    Metric(
                        "adeq_mark_timestamp_seconds",
                        "gauge",
                        ("mark",),
                        f"When an annotation was made (adeq annotate). The {MARKS} newest. Read once a minute.",
                    ),
                ),
                as_list=True,
            ),
        ),
    ),
    Row(
        "Queues",
        (
            Panel(
                "Tasks by state",
                "short",
                (
                    Metric(
                        "adeq_tasks",
                        "gauge",
                        ("queue", "state"),
                        "Tasks in a state. Stalled tasks are also counted as running.",
                    ),
                ),
            ),
            Panel(
                "Oldest ready task",
                "s",
                (
                    Metric(
                        "adeq_queue_oldest_seconds",
                        "gauge",
                        ("queue", "lane"),
                        f"For how long the oldest ready task of a lane has waited. At most {LANES} lanes, those that "
                        "wait longest.",
                    ),
                ),
            ),
            Panel(
                "Tasks per second",
                "ops",
                (
                    _of_queue("adeq_tasks_enqueued_total", "Tasks that were created."),
                    _of_queue("adeq_tasks_claimed_total", "Leases that workers got."),
                    _of_queue("adeq_tasks_completed_total", "Tasks that completed."),
                ),
            ),
            Panel(
                "Failures per second",
                "ops",
                (
                    _of_queue("adeq_tasks_retried_total", "Failed attempts that were followed by another."),
                    _of_queue("adeq_tasks_dead_total", "Tasks that failed for good."),
                    _of_queue("adeq_tasks_stalled_total", "Leases that ran out."),
                    _of_queue("adeq_tasks_dropped_total", "Dead tasks that retention has deleted."),
                ),
            ),
            Panel(
                "Dead tasks by kind and reason",
                "short",
                (
                    Metric(
                        "adeq_dead_tasks",
                        "gauge",
                        ("queue", "kind", "reason"),
                        f"Dead tasks by kind and reason, of the {COUNTED:,} newest; after {GROUPS} pairs: _other. Read "
                        "once a minute.",
                    ),
                ),
            ),
            Panel(
                "Waiting time",
                "s",
                (Metric("adeq_task_wait_seconds", "histogram", ("queue",), "Time from ready to claimed."),),
            ),
            Panel(
                "Running time",
                "s",
                (Metric("adeq_task_run_seconds", "histogram", ("queue",), "Time from claimed to completed."),),
            ),
            Panel(
                "Attempts of completed tasks",
                "short",
                (Metric("adeq_task_attempts", "histogram", ("queue",), "Attempts that completed tasks have taken."),),
            ),
            Panel("Workers", "short", (Metric("adeq_workers", "gauge", ("queue",), "Live workers."),)),
            Panel(
                "Lost workers per second",
                "ops",
                (_of_queue("adeq_workers_lost_total", "Workers that were silent for too long."),),
            ),
            Panel(
                "Ready tasks by lane",
                "short",
                (
                    Metric(
                        "adeq_lane_tasks",
                        "gauge",
                        ("queue", "lane"),
                        f"Ready tasks of a lane; after {LANES} lanes: _other.",
                    ),
                ),
            ),
            Panel(
                "Actions per second",
                "ops",
                (
                    _of_queue("adeq_tasks_cancelled_total", "Tasks that were cancelled."),
                    _of_queue("adeq_tasks_released_total", "Leases that workers gave back."),
                    _of_queue("adeq_tasks_snoozed_total", "Leases that workers put aside for a time."),
                    _of_queue("adeq_tasks_suspended_total", "Runs that ended because their tasks wait, for a time."),
                    _of_queue("adeq_tasks_revived_total", "Dead tasks that were retried."),
                ),
            ),
            Panel(
                "Paused or draining",
                "short",
                (
                    Metric("adeq_queue_paused", "gauge", ("queue",), "Whether no tasks are leased."),
                    Metric("adeq_queue_draining", "gauge", ("queue",), "Whether no new tasks are taken."),
                ),
            ),
        ),
    ),
    Row(
        "Events in groups",
        (
            Panel(
                "Events to read",
                "short",
                (
                    _of_group("adeq_event_group_lag", "Events that were not delivered to the group yet."),
                    _of_group("adeq_event_group_pending", "Events that were delivered and not acknowledged."),
                ),
            ),
            Panel(
                "Silence, and the oldest pending event",
                "s",
                (
                    _of_group("adeq_event_group_silent_seconds", "Time since a reader came last, exact to a minute."),
                    _of_group(
                        "adeq_event_group_oldest_seconds",
                        "Age of the oldest event that was delivered and not acknowledged. 0: there is none.",
                    ),
                ),
            ),
            Panel(
                "Lost events per second",
                "ops",
                (
                    _of_group(
                        "adeq_event_group_lost_total",
                        "Events that the bound of memory deleted before the group had read or acknowledged them.",
                        "counter",
                    ),
                ),
            ),
            Panel(
                "Gaps and lapsed groups",
                "short",
                (
                    _of_group("adeq_event_group_gap", "Whether the group has a gap that is not acknowledged."),
                    _of_group("adeq_event_group_lapsed", "Whether no reader came for so long that it holds no events."),
                ),
            ),
            Panel(
                "Events in streams",
                "short",
                (
                    Metric(
                        "adeq_events",
                        "gauge",
                        ("stream",),
                        "Stored events of a queue, or of another stream with groups. Read once a minute.",
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Locks, changes, sessions and rate limits",
        (
            Panel(
                "Locks",
                "short",
                (
                    Metric("adeq_locks_held", "gauge", ("domain",), "Requests that hold locks."),
                    Metric("adeq_locks_waiting", "gauge", ("domain",), "Requests that wait for locks."),
                    Metric(
                        "adeq_locks_unchecked",
                        "gauge",
                        ("domain",),
                        "Waiting requests whose deadlock search exceeded its budget.",
                    ),
                ),
            ),
            Panel(
                "Changes by state",
                "short",
                (Metric("adeq_changes", "gauge", ("domain", "state"), "Changes in a state."),),
            ),
            Panel(
                "Overdue changes",
                "short",
                (
                    Metric(
                        "adeq_changes_overdue",
                        "gauge",
                        ("domain",),
                        "Changes with a step that is due and waits for a call.",
                    ),
                ),
            ),
            Panel(
                "Sessions",
                "short",
                (
                    Metric(
                        "adeq_sessions",
                        "gauge",
                        ("realm",),
                        "Stored sessions. Some may have ended by idleness a short time ago. Read once a minute.",
                    ),
                ),
            ),
            Panel(
                "Rules of rate limits",
                "short",
                (
                    Metric(
                        "adeq_rate_rules",
                        "gauge",
                        ("namespace", "mode"),
                        "Rules of a rate namespace that are enforced, or shadow: only reported. Read once a minute.",
                    ),
                ),
            ),
        ),
    ),
)
TABLE: Final = tuple(metric for row in BOARD for panel in row.panels for metric in panel.metrics)

LABELS: Final = {
    "domain": "a lock domain or a change domain",
    "group": "a group that reads events, as it was registered",
    "kind": "the kind of a task; empty: it has none",
    "lane": "a lane of a queue; `any`: the usual one, `group/<name>/inst`: those of single workers of a group, "
    "`_other`: the rest",
    "mark": "the text of `adeq annotate`",
    "mode": "`enforced` or `shadow`",
    "name": "of what cannot be read: the name of a queue, a domain, a realm or a namespace",
    "namespace": "a namespace of rate limits",
    "noun": "queue, lock, change, session, rate or config",
    "queue": "a queue. Its partitions are added up",
    "realm": "a realm of sessions. Its partitions are added up",
    "reason": "the reason of a failure",
    "server": "a primary, as `host:port`",
    "state": "of a task: ready, delayed, blocked, running, stalled, finished or dead. Or the state of a change",
    "stream": "a stream of events, as `--stream` has it: `queue:default`. Its partitions are added up",
    "version": "a version of pyadeq",
}
"""The meaning of each label. The values are names that operators give, or one of a few words."""
