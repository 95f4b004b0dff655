"""The asyncio twin of `pyadeq`: the same names, to be awaited, and the Worker."""

from pyadeq._async.client import Adeq
from pyadeq._async.pipeline import Pipeline
from pyadeq._async.queue import Queue
from pyadeq._async.worker import TaskFailed, Worker
from pyadeq._core.sending import Deferred

__all__ = ["Adeq", "Deferred", "Pipeline", "Queue", "TaskFailed", "Worker"]
