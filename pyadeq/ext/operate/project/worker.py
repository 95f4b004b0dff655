"""The worker. It runs until SIGTERM: `adeq worker run worker:worker`."""

from pyadeq.asyncio import Worker
from tasks import queue

worker = Worker(queue, queue.tasks, concurrency=10, grace=30)
