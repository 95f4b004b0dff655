"""Following a task until it ends: its states, its progress and its log lines."""

from __future__ import annotations

from collections.abc import AsyncIterator
from math import inf
from time import monotonic

from pyadeq._async.queue.results import UNTOLD_FIRST, Awaiting
from pyadeq._core.queue.updates import ENDED, Changes
from pyadeq.errors import TransportError, WaitTimeout
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import TaskView
from pyadeq.models.worker import LogLine, TaskUpdate


class Following(Awaiting):
    """The part of a queue for following tasks."""

    async def updates(
        self, id: str, *, timeout: Seconds | None = None, interval: Seconds = 1.0
    ) -> AsyncIterator[TaskUpdate]:
        """Iterate over what happens to a task: its states, runs, progress and log lines. The last update has the
        `outcome`.

        The first update is the task as it is now. The end of a task that was enqueued with reply=True is noticed at
        once, other changes within `interval`. Nothing is kept for slow readers: they miss intermediate updates, and log
        lines beyond the last 100, but not the end. A task that is retried is followed through all its runs.

        timeout: seconds until WaitTimeout, if the task has not ended; None: no limit.
        interval: seconds between two reads of the task, at most. The first ones follow each other faster.
        """
        until = inf if timeout is None else monotonic() + to_ms("timeout", timeout) / 1000
        longest = max(to_ms("interval", interval) / 1000, UNTOLD_FIRST)
        changes, pause = Changes(), UNTOLD_FIRST
        async with self._runner.hints.listening(self._channel(id)) as ear:
            while True:
                looked = monotonic()
                update = await self._look_again(id, changes, until)
                if update is not None:
                    yield update
                    if update.outcome is not None:
                        return
                if looked >= until:
                    raise WaitTimeout(f"task {id!r} has not ended within the time to follow it")
                await ear.wait(min(looked + pause, until) - monotonic())
                self._check_open()
                pause = min(pause * 1.5, longest)

    async def _look_again(self, id: str, changes: Changes, until: float) -> TaskUpdate | None:
        """Read the task. Returns None if nothing has changed, or if the server is away and there is time left."""
        try:
            task, log = await self._with_log(id, until)
        except TransportError as error:
            if not error.retryable or monotonic() >= until:
                raise
            return None
        if task is not None and task.state not in ENDED:
            return changes.update(task, log)
        found = await self._look(self.calls.outcome([id]), until)
        # A dead task may have been retried between the two reads.
        return None if found is None or found[0].status == "waiting" else changes.end(task, log, found[0])

    async def _with_log(self, id: str, until: float) -> tuple[TaskView | None, list[LogLine]]:
        """Read a task, and then its log, in one round trip: a task that has ended logs nothing any more."""
        pipeline = self._runner.pipeline()
        tasks, log = pipeline.add(self.calls.get([id])), pipeline.add(self.calls.log(id))
        await pipeline._execute(self._runner.retry_until(until))
        return tasks.value[0], log.value
