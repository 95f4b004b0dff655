"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

from pyadeq._async.queue.chains import Chaining
from pyadeq._async.queue.limits import Limiting
from pyadeq._async.queue.mailbox import Mailing
from pyadeq._async.queue.schedules import Scheduling
from pyadeq._async.queue.shares import Sharing
from pyadeq._async.queue.tasks import Handling


class Queue(Handling, Chaining, Mailing, Scheduling, Limiting, Sharing):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`."""
