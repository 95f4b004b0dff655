# Generated from pyadeq/_async/queue.py by pyadeq/_unasync.py; do not edit.
"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

from pyadeq._sync.mailbox import Mailing
from pyadeq._sync.queue_chains import Chaining
from pyadeq._sync.queue_limits import Limiting
from pyadeq._sync.queue_schedules import Scheduling
from pyadeq._sync.queue_shares import Sharing
from pyadeq._sync.queue_tasks import Handling


class Queue(Handling, Chaining, Mailing, Scheduling, Limiting, Sharing):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`."""
