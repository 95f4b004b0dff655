# Generated from pyadeq/_async/queue.py by pyadeq/_unasync.py; do not edit.
"""A queue: its calls, sent. Every answer is the script's own; nothing is kept here but the identity of workers."""

from __future__ import annotations

from pyadeq._sync.queue_produce import Producing
from pyadeq._sync.queue_tend import Tending
from pyadeq._sync.queue_work import Working


class Queue(Producing, Working, Tending):
    """A durable queue of tasks. `calls` builds the same calls for pipelines: `pipe.add(queue.calls.stats())`."""
