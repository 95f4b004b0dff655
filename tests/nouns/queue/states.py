"""Tasks in each state."""

from typing import Any

from pyadeq._core.queue.items import Failure
from tests.nouns.queue.workbench import Workbench


def put(bench: Workbench, state: str, **task: Any) -> str:
    """A task in that state."""
    if state == "ready":
        return bench.fill(1, **task)[0]
    if state == "delayed":
        return bench.fill(1, delay=600, **task)[0]
    if state == "blocked":
        return bench.fill(1, gather=1, **task)[0]
    (lease,) = bench.lease(1, **task)
    match state:
        case "stalled":
            bench.pass_time(15_000)
        case "completed":
            bench.real(bench.calls.ack([(lease, None)]))
        case "dead":
            bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
        case "cancelled":
            bench.real(bench.calls.cancel([lease.id]))
            bench.real(bench.calls.release([lease]))
    return lease.id
