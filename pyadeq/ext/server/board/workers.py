"""Workers: what they do, whether they are heard of, and requests to them."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from fastapi import Request, Response

from pyadeq.asyncio import TaskView, WorkerInfo
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.board.per_queue import Chosen, Page, first_tasks, of_queues
from pyadeq.ext.server.gate import Access

MOST: Final = 200
"""Workers of a queue, and running tasks that are looked at for them."""
MOST_TASKS: Final = 5
"""Tasks of a worker, at most."""
SILENT: Final = 15.0
"""Seconds after which a worker is marked that has not been heard of: half of what a queue allows by default."""

router = pages()


class Crew(NamedTuple):
    """The workers of a queue. tasks: the tasks that each runs, of the first that run. groups: their groups."""

    now: float
    workers: list[WorkerInfo]
    total: int
    tasks: dict[str, list[TaskView]]
    groups: list[str]


@router.get("/workers")
async def workers(request: Request, queue: Chosen = "", page: Page = 1) -> Response:
    """The live workers of a queue, or of all."""
    found = await of_queues(request, "workers", queue, page, _crew)
    return await render(request, "workers.html", found=found, queue=queue, silent=SILENT, most_tasks=MOST_TASKS)


async def _crew(access: Access) -> Crew:
    workers = await access.found.workers.list()
    running = await first_tasks(access.found, "running", MOST)
    by_worker = sorted((task for task in running if task.worker), key=attrgetter("worker"))
    return Crew(
        (await access.found.stats()).now,
        workers[:MOST],
        len(workers),
        {str(name): list(tasks) for name, tasks in groupby(by_worker, attrgetter("worker"))},
        sorted({worker.group for worker in workers if worker.group}),
    )
