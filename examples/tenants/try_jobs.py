"""Enqueue tasks of three tenants, the largest first. Start three workers, and print when each tenant's tasks ran."""

import os
import subprocess
import sys
from contextlib import ExitStack

from pyadeq import EmbeddedServer

BACKLOG = {"big": 80, "mid": 10, "tiny": 2}  # tasks of each tenant, in the order in which they are enqueued
Spans = list[tuple[float, float]]


def most_at_once(spans: Spans) -> int:
    """Return how many of these ran at the same time, at most."""
    running = most = 0
    for _, step in sorted([(began, 1) for began, _ in spans] + [(ended, -1) for _, ended in spans]):
        running += step
        most = max(most, running)
    return most


def main() -> None:
    """Run the example."""
    from jobs import queue, set_up, sync_contacts

    set_up()
    receipts = {
        tenant: queue.enqueue_many([sync_contacts.options(user=tenant).item() for _ in range(tasks)])
        for tenant, tasks in BACKLOG.items()
    }
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "jobs:queue", "--concurrency", "10"],
            cwd=sys.path[0],
        )
        for _ in range(3)
    ]
    try:
        ran: dict[str, Spans] = {
            tenant: [sync_contacts.result(receipt.id, timeout=60) for receipt in of_tenant]
            for tenant, of_tenant in receipts.items()
        }
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
    everything = [span for spans in ran.values() for span in spans]
    first = min(everything)[0]
    print("tenant  tasks  at once  done after")
    for tenant, spans in ran.items():
        last = max(ended for _, ended in spans)
        print(f"{tenant:6} {len(spans):6} {most_at_once(spans):8} {last - first:9.1f} s")
    print(f"all    {len(everything):6} {most_at_once(everything):8}")


with ExitStack() as stack:
    if "ADEQ_URL" not in os.environ:  # then on a private server, which ends with this program
        os.environ["ADEQ_URL"] = stack.enter_context(EmbeddedServer()).url
    main()
