"""The work of all tenants. Workers run it: `adeq worker run jobs:queue`."""

import asyncio
import os
import time

from pyadeq import Adeq

queue = Adeq.from_url(os.environ.get("ADEQ_URL", "redis://localhost:6379")).queue("jobs")


def set_up() -> None:
    """Store the limits. An operator does this once, and may change them while the workers run."""
    queue.configure(fair=True)  # tenants take turns; a tenant is the user of a task
    queue.limits.set("user:*", concurrency=2)  # each tenant
    queue.limits.set("user:big", concurrency=4)  # has paid for more
    queue.limits.set("key:crm", concurrency=5)  # an interface that all tenants use


@queue.task(timeout=30, limits=["crm"])
async def sync_contacts() -> tuple[float, float]:
    """Do the work. The result is when it ran, by the clock of this machine."""
    began = time.time()
    await asyncio.sleep(0.1)
    return began, time.time()
