"""Tasks: enqueue, look at, wait for, cancel; change many at once."""

from __future__ import annotations

from typing import Final

from pyadeq.asyncio import QueueAdmin
from pyadeq.ext.operations.rights import REVEAL
from pyadeq.ext.operations.row import Button, Operation

OPERATIONS: Final = (
    Operation("GET /queues/{queue}/tasks/{id}/events", needs="observe", by_user="own", name="task_events"),
    Operation("POST /inbox", needs="produce", create=True, by_user="own", name="task_inbox"),
    Operation("POST /queues/{queue}/bulks", needs="operate produce", by_user="own", name="bulk_begin"),
    Operation("GET /queues/{queue}/bulks", needs="observe", by_user="own", name="bulk_list"),
    Operation("POST /queues/{queue}/dead:retry", needs="operate", name="queue_dead_retry_all"),
    Operation("POST /queues/{queue}/dead:abandon", needs="operate", name="queue_dead_abandon_all"),
    Operation("GET /queues/{queue}/bulks/{id}", needs="observe", by_user="own", name="bulk_get"),
    Operation("POST /queues/{queue}/bulks/{id}:cancel", needs="operate produce", by_user="own", name="bulk_cancel"),
    Operation("POST /queues/{queue}/tasks", needs="produce", by_user="own", create=True, name="task_enqueue"),
    Operation("GET /queues/{queue}/tasks/{id}", needs="observe", by_user="own", name="task_get"),
    Operation("GET /queues/{queue}/tasks", needs="observe", by_user="own", name="task_list"),
    Operation(
        "POST /queues/{queue}/tasks/{id}:reveal", needs="observe", also=REVEAL, by_user="own", name="task_reveal"
    ),
    Operation("GET /queues/{queue}/tasks/{id}/runs", needs="observe", by_user="own", name="task_runs"),
    Operation("GET /queues/{queue}/tasks/{id}/steps", needs="observe", by_user="own", name="task_steps"),
    Operation("GET /queues/{queue}/tasks/{id}/log", needs="observe", by_user="own", name="task_log"),
    Operation("POST /queues/{queue}/tasks/{id}:cancel", needs="produce", by_user="own", name="task_cancel"),
    Operation(
        "POST /queues/{queue}/tasks/{id}:run-now",
        QueueAdmin.run_now,
        "produce",
        "admin",
        name="run_now",
        by_user="own",
        about="task",
        refused={"not_found": 404, "expired": 409, "not_delayed": 409},
        says={"expired": "task {id!r} has expired", "not_delayed": "task {id!r} is {state}, not delayed"},
        button=Button("Run now", ("delayed",), "The task is {status}.", "main"),
    ).at_terminal(
        "task run-now QUEUE ID...",
        "Make delayed tasks due at once: those that wait for their time or next attempt, or that were snoozed.",
        good="ready",
        fails="a task is not delayed, has expired, or does not exist",
    ),
)
