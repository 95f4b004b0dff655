"""Helpers for tests of programs that use pyadeq: run waiting tasks, inspect them, wait for results without a worker,
and run a task twice as after a crash.

    def test_a_mail_is_sent_again(adeq, adeq_clock):
        queue = adeq.queue("mail")
        queue.enqueue({"to": "a@example.org"})
        runs = run_all(queue, send, raise_errors=False)
        assert [run.outcome for run in runs] == ["retried", "completed"]

The functions take a queue of `pyadeq`, or of `pyadeq.asyncio`; then they must be awaited. pytest has the fixtures
`adeq`, `aio_adeq`, `adeq_clock`, `adeq_server` and `adeq_prefix` as soon as pyadeq is installed.
"""

from pyadeq._tasks.dependencies import override
from pyadeq.testing.clock import Clock
from pyadeq.testing.looking import enqueued
from pyadeq.testing.running import Run, run_all
from pyadeq.testing.twice import assert_safe_to_run_twice
from pyadeq.testing.waiting import worker

__all__ = ["Clock", "Run", "assert_safe_to_run_twice", "enqueued", "override", "run_all", "worker"]
