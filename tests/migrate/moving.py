"""Moving in a process that is killed, and what ran where.

ADEQ_MIGRATE_TASKS, ADEQ_MIGRATE_KILLS: how many tasks and kills
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any, NamedTuple

from redis import Redis

from pyadeq import Queue
from pyadeq.embedded import EmbeddedServer

TASKS = int(os.environ.get("ADEQ_MIGRATE_TASKS", "2000"))
KILLS = int(os.environ.get("ADEQ_MIGRATE_KILLS", "5"))
CODE = """
import os, signal, sys
from redis import Redis
from pyadeq import Adeq
from pyadeq.ext.migrate import CeleryQueues, Migration, RqQueues, move
from tests.migrate import {module}
url, old, last, verb = sys.argv[1:]
steps, move.LEASE = 0, 1.0
def at(step):
    global steps
    steps += 1
    if steps == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    getattr(Migration(adeq, {queues}(client, tasks={module}.tasks), to="here", at=at), verb)()
"""


class New(NamedTuple):
    """pyadeq, on a server of its own."""

    url: str
    queue: Queue


def drain_into(queue: Queue, ran: list[int]) -> int:
    """Run what is ready, and return how many tasks are still delayed."""
    ran += drain(queue)
    return queue.stats().pending


def drain(queue: Queue) -> list[int]:
    """Run everything that is ready in pyadeq. Returns the numbers of the tasks."""
    ran: list[int] = []
    while leases := queue.claim(limit=100):
        ran += [lease.payload["number"] for lease in leases]
        queue.ack_many([(lease, None) for lease in leases])
    return ran


def run(old: EmbeddedServer, new: New, verb: str = "move", last: int = 0, source: str = "celery") -> int:
    """Run a command in a process, which is killed at the step with this number, if any."""
    code = CODE.format(module=f"test_{source}", queues=f"{source.title()}Queues")
    return subprocess.run([sys.executable, "-c", code, new.url, old.url, str(last), verb], check=False).returncode


def ran_in(old: Redis) -> list[int]:
    """The numbers of the tasks that Celery has run."""
    found: Any = old.lrange("ran", 0, -1)
    return [int(one) for one in found]
