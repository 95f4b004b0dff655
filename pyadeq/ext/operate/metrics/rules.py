"""Alerts and recording rules for Prometheus, and the file that it reads. All are made of the tables here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

QUANTILES = ("0.5", "0.95", "0.99")
PER_SECOND = ("enqueued", "completed", "dead", "retried", "cancelled", "stalled")


class Alert(NamedTuple):
    """An alert. lasts: how long the expression must hold. summary: what a person reads; `{{ }}` is Prometheus' own."""

    name: str
    expression: str
    lasts: str
    severity: str
    summary: str


ALERTS = (
    Alert(
        "AdeqServerAway",
        "adeq_up == 0",
        "1m",
        "critical",
        "The server does not answer adeq metrics at {{ $labels.instance }}.",
    ),
    Alert(
        "AdeqNoWorkers",
        'sum by (queue) (adeq_tasks{state="ready"}) > 0 and sum by (queue) (adeq_workers) == 0',
        "5m",
        "critical",
        "Tasks wait in queue {{ $labels.queue }}, and it has no workers.",
    ),
    Alert(
        "AdeqTasksWaitLong",
        "histogram_quantile(0.95, sum by (queue, le) (rate(adeq_task_wait_seconds_bucket[5m]))) > 300",
        "10m",
        "warning",
        "One task in twenty of queue {{ $labels.queue }} has waited for more than 5 minutes.",
    ),
    Alert(
        "AdeqTaskNotTaken",
        "max by (queue) (adeq_queue_oldest_seconds) > 1800",
        "5m",
        "warning",
        "A task of queue {{ $labels.queue }} has been ready for half an hour: adeq queue stats {{ $labels.queue }}",
    ),
    Alert(
        "AdeqTasksDead",
        "sum by (queue) (increase(adeq_tasks_dead_total[10m])) > 0",
        "0m",
        "warning",
        "Tasks of queue {{ $labels.queue }} have failed for good: adeq dead ls {{ $labels.queue }}",
    ),
    Alert(
        "AdeqDeadTasksDropped",
        "sum by (queue) (increase(adeq_tasks_dropped_total[1h])) > 0",
        "0m",
        "critical",
        "Retention has deleted dead tasks of queue {{ $labels.queue }}.",
    ),
    Alert(
        "AdeqLeasesRunOut",
        "sum by (queue) (rate(adeq_tasks_stalled_total[10m])) > 0.1",
        "10m",
        "warning",
        "Workers of queue {{ $labels.queue }} die or freeze: their leases run out.",
    ),
    Alert(
        "AdeqWorkersLost",
        "sum by (queue) (increase(adeq_workers_lost_total[10m])) > 0",
        "0m",
        "warning",
        "Workers of queue {{ $labels.queue }} have fallen silent: adeq worker ls --queue {{ $labels.queue }}",
    ),
    Alert(
        "AdeqQueuePaused",
        "max by (queue) (adeq_queue_paused) == 1",
        "1h",
        "warning",
        "Queue {{ $labels.queue }} has been paused for an hour: adeq queue resume {{ $labels.queue }}",
    ),
    Alert(
        "AdeqEventsLost",
        "sum by (stream, group) (increase(adeq_event_group_lost_total[1h])) > 0 "
        "or max by (stream, group) (adeq_event_group_gap) == 1",
        "0m",
        "critical",
        "Group {{ $labels.group }} of {{ $labels.stream }} has lost events, or has a gap: "
        "adeq events groups --stream {{ $labels.stream }}",
    ),
    Alert(
        "AdeqGroupLags",
        "max by (stream, group) (adeq_event_group_lag) > 10000",
        "10m",
        "warning",
        "Group {{ $labels.group }} of {{ $labels.stream }} is more than 10,000 events behind.",
    ),
    Alert(
        "AdeqGroupNotRead",
        "max by (stream, group) (adeq_event_group_silent_seconds) > 900 "
        "and max by (stream, group) (adeq_event_group_lag) > 0",
        "5m",
        "warning",
        "Events wait for group {{ $labels.group }} of {{ $labels.stream }}, and nobody reads.",
    ),
    Alert(
        "AdeqDeadlocksUnchecked",
        "max by (domain) (adeq_locks_unchecked) > 0",
        "10m",
        "warning",
        "Searches for deadlocks in lock domain {{ $labels.domain }} exceed their budget: "
        "adeq lock graph --domain {{ $labels.domain }}",
    ),
    Alert(
        "AdeqChangesOverdue",
        "max by (domain) (adeq_changes_overdue) > 0",
        "10m",
        "warning",
        "Steps of changes in domain {{ $labels.domain }} are due, and nobody sweeps: "
        "adeq change sweep --domain {{ $labels.domain }}",
    ),
)
RECORDS = {
    "ade_queue_pending_total": 'sum by (queue) (adeq_tasks{state="ready"})',
    "ade_queue_delayed_total": 'sum by (queue) (adeq_tasks{state="delayed"})',
    "ade_queue_stream_length": "sum by (queue) "
    '(label_replace(adeq_events{stream=~"queue:.+"}, "queue", "$1", "stream", "queue:(.+)"))',
    "ade_workers_active_total": "sum by (queue) (adeq_workers)",
    "ade_workers_dead_total": "sum by (queue) (adeq_workers_lost_total)",
    "ade_tasks_failed_rate": "sum by (queue) (rate(adeq_tasks_retried_total[5m]) + rate(adeq_tasks_dead_total[5m]))",
    "ade_task_attempts": "sum by (queue) (rate(adeq_task_attempts_sum[5m])) "
    "/ sum by (queue) (rate(adeq_task_attempts_count[5m]))",
    **{f"ade_tasks_{word}_rate": f"sum by (queue) (rate(adeq_tasks_{word}_total[5m]))" for word in PER_SECOND},
}
"""Metrics under names that dashboards of other systems use; rates are per second."""


def all_records() -> Iterator[tuple[str, str]]:
    """Yield the name and the expression of each recording rule, those of quantiles with their label."""
    yield from RECORDS.items()
    for name, of in (("ade_task_wait_ms", "wait"), ("ade_task_duration_ms", "run")):
        for quantile in QUANTILES:
            buckets = f"sum by (queue, le) (rate(adeq_task_{of}_seconds_bucket[5m]))"
            yield f'{name}{{quantile="{quantile}"}}', f"1000 * histogram_quantile({quantile}, {buckets})"


def rules() -> str:
    """The rule file, in YAML."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# alerts and recording rules for adeq metrics; written by adeq metrics --rules"
    yield "groups:"
    yield "  - name: adeq_alerts"
    yield "    rules:"
    for one in ALERTS:
        yield f"      - alert: {one.name}"
        yield f"        expr: {json.dumps(one.expression)}"
        yield f"        for: {one.lasts}"
        yield f"        labels: {{severity: {one.severity}}}"
        yield f"        annotations: {{summary: {json.dumps(one.summary)}}}"
    yield "  - name: adeq_records"
    yield "    rules:"
    for named, expression in all_records():
        name, _, label = named.removesuffix("}").partition("{")
        yield f"      - record: {name}"
        yield f"        expr: {json.dumps(expression)}"
        if label:
            yield f"        labels: {{{label.replace('=', ': ')}}}"
