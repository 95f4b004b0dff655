"""The tasks. Workers run them: `adeq worker run reports:queue`."""

import asyncio
import os

from pyadeq import Rule
from pyadeq.asyncio import Adeq, TaskContext

queue = Adeq.from_url(os.environ.get("ADEQ_URL", "redis://localhost:6379")).queue("reports")


@queue.task(timeout=60, max_attempts=5, failures={ConnectionError: Rule(delay=0.5)})
async def make_report(context: TaskContext, customer: str, pages: int) -> dict[str, str]:
    """Make a report of a customer. It may run twice, so it writes under the id of its task."""
    if customer == "globex" and context.attempt == 1:
        raise ConnectionError("the warehouse does not answer")  # the queue runs the task again
    for page in range(pages):
        await context.progress(page / pages, f"page {page + 1} of {pages}")
        await asyncio.sleep(0.1)  # the work
    return {"file": f"/reports/{context.id}.pdf"}
