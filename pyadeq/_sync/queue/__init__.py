# Generated from pyadeq/_async/queue/__init__.py by pyadeq/_unasync.py; do not edit.
"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

from pyadeq._sync.queue.chains import Chaining
from pyadeq._sync.queue.limits import Limiting
from pyadeq._sync.queue.mailbox import Mailing
from pyadeq._sync.queue.schedules import Scheduling
from pyadeq._sync.queue.shares import Sharing
from pyadeq._sync.queue.tasks import Handling


class Queue(Handling, Chaining, Mailing, Scheduling, Limiting, Sharing):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`."""
