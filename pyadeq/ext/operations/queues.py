"""Queues, and their schedules, limits, shares, workers and dead tasks."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import (
    Limits,
    Queue,
    QueueAdmin,
    QueueDead,
    QueueInspect,
    QueueWorkers,
    Schedules,
    Shares,
)
from pyadeq.ext.operations.row import Button, Operation

MISSING: Final = {"not_found": 404}
SCHEDULE: Final = {"not_found": 404, "stale": 409}
DEAD: Final = {"not_found": 404, "not_dead": 409, "conflict": 409}

OPERATIONS: Final = (
    Operation("GET /queues/{queue}/stats", Queue.stats, "observe", etag=True),
    Operation("GET /queues/{queue}", QueueInspect.overview, "observe", "inspect", etag=True),
    Operation("GET /queues/{queue}/history", QueueInspect.history, "observe", "inspect"),
    Operation("GET /queues/{queue}/lengths", QueueInspect.length, "observe", "inspect"),
    Operation("GET /queues/{queue}/settings", Queue.settings, "observe", etag=True),
    Operation("PATCH /queues/{queue}/settings", Queue.configure, "operate", create=True, without=("clock",)),
    Operation("POST /queues/{queue}:pause", QueueAdmin.pause, "operate", "admin"),
    Operation("POST /queues/{queue}:resume", QueueAdmin.resume, "operate", "admin"),
    Operation("POST /queues/{queue}:drain", QueueAdmin.drain, "operate", "admin"),
    Operation("POST /queues/{queue}:purge", QueueAdmin.purge, "operate", "admin"),
    Operation("POST /queues/{queue}:trim", QueueAdmin.trim, "operate", "admin"),
    Operation("GET /queues/{queue}/dead:summary", QueueDead.summary, "observe", "dead"),
    Operation(
        "POST /queues/{queue}/tasks/{id}:retry",
        QueueDead.retry,
        "operate",
        "dead",
        DEAD,
        button=Button("Retry", ("dead",), "The task is ready again.", "main"),
    ).at_terminal(
        "task retry QUEUE ID...",
        "Make dead tasks ready again, with all their attempts. `adeq dead retry` does this by filter.",
        good="retried",
        fails="a task is not dead, or if another task has its unique key or scope now",
    ),
    Operation(
        "POST /queues/{queue}/tasks/{id}:abandon",
        QueueDead.abandon,
        "operate",
        "dead",
        DEAD,
        button=Button(
            "Abandon",
            ("dead",),
            "The task is deleted.",
            "danger",
            "This deletes the task. It cannot be undone.",
            "/tasks?state=dead",
        ),
    ),
    Operation("GET /queues/{queue}/workers", QueueWorkers.list, "observe", "workers").at_terminal(
        "worker ls",
        "List the live workers of a queue: capacity, running tasks, and requests to the worker.\n\n"
        "A worker is alive if it was seen within 30 s (adeq queue configure --presence).",
        columns="name mode capacity busy wanted group seen heard hostname free pid capabilities",
    ),
    Operation("GET /queues/{queue}/workers/{name}", QueueWorkers.get, "observe", "workers").at_terminal(
        "worker show NAME", "Show everything about a worker."
    ),
    Operation("POST /queues/{queue}/workers:control", QueueWorkers.control, "operate", "workers"),
    Operation("GET /queues/{queue}/limits", Limits.list, "observe", "limits", etag=True),
    Operation("GET /queues/{queue}/limits/{key}", Limits.get, "observe", "limits", etag=True),
    Operation("PUT /queues/{queue}/limits/{key}", Limits.set, "operate", "limits", create=True),
    Operation("DELETE /queues/{queue}/limits/{key}", Limits.remove, "operate", "limits", MISSING),
    Operation("GET /queues/{queue}/shares", Shares.list, "observe", "shares"),
    Operation("GET /queues/{queue}/shares/{user}", Shares.get, "observe", "shares"),
    Operation("PUT /queues/{queue}/shares/{user}", Shares.set, "operate", "shares", create=True),
    Operation(
        "GET /queues/{queue}/schedules",
        Schedules.iterate,
        "observe",
        "schedules",
        name="schedules_list",
        etag=True,
    ),
    Operation("GET /queues/{queue}/schedules/{name}", Schedules.get, "observe", "schedules", etag=True),
    Operation(
        "POST /queues/{queue}/schedules/{name}:pause", Schedules.pause, "operate", "schedules", SCHEDULE
    ).at_terminal(
        "schedule pause SCHEDULE...",
        "Stop schedules until `resume`. Times in between are not made up for.",
        good="paused unchanged",
        fails="a schedule does not exist",
    ),
    Operation(
        "POST /queues/{queue}/schedules/{name}:resume", Schedules.resume, "operate", "schedules", SCHEDULE, feeds=True
    ).at_terminal(
        "schedule resume SCHEDULE...",
        "End `pause`: the next time is the first from now on.",
        good="resumed unchanged",
        fails="a schedule does not exist",
    ),
    Operation(
        "POST /queues/{queue}/schedules/{name}:trigger", Schedules.trigger, "operate", "schedules", SCHEDULE, feeds=True
    ),
    Operation(
        "PUT /queues/{queue}/schedules/{name}", needs="operate", create=True, feeds=True, name="queue_schedules_set"
    ),
    Operation(
        "DELETE /queues/{queue}/schedules/{name}", None, "operate", "schedules", name="queue_schedules_remove"
    ).at_terminal(
        "schedule rm SCHEDULE...",
        "Delete schedules. Tasks that they have enqueued stay.",
        method=Schedules.remove,
        good="removed",
        fails="a schedule does not exist",
        ask="This deletes schedules of queue {queue!r} for good: {schedule}.",
    ),
    Operation("GET /stats", needs="observe", name="queue_load"),
    Operation("POST /queues/{queue}:claim", needs="work", create=True, name="queue_claim"),
    Operation("POST /queues/{queue}:settle", needs="work", name="queue_settle"),
    Operation("POST /queues/{queue}:heartbeat", needs="work", name="queue_heartbeat"),
)
