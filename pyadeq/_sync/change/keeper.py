# Generated from pyadeq/_async/change/keeper.py by pyadeq/_unasync.py; do not edit.
"""Keeps the runs of this process in a change domain: sends their heartbeats, and ends them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from pyadeq._sync.change.base import closed
from pyadeq._sync.change.run import Run
from pyadeq._sync.kernel.keeper import Keeper
from pyadeq._sync.kernel.runner import Runner
from pyadeq._core.change.ending import ending
from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.nouncalls import NounCalls, Result
from pyadeq.errors import AdeqError, ClientClosed, DurabilityError, TransportError
from pyadeq.models.change import RunResult


class ChangeKeeper(Keeper[Run]):
    """Renews the runs of one domain."""

    log = logging.getLogger("pyadeq.changes")
    most = 100

    def __init__(self, runner: Runner, calls: NounCalls, here: Callable[[], float]) -> None:
        super().__init__(runner, here)
        self._calls = calls

    def closed_error(self) -> ClientClosed:
        """Return the error for a run that is begun after `close`."""
        return closed()

    def finish(self, run: Run, result: RunResult, **options: Any) -> Result:
        """End a run, once. If the server cannot be reached now, its end is sent later, in the background."""
        if run.outcome:
            return run.outcome
        run.settle()
        self.drop(run)
        options = {"output": run.output, "output_key": run.output_key, **options}
        call = self._calls.build("finish", id=run.id, token=run.token, **ending(result, **options))
        try:
            run.outcome = self._runner.send(call)
        except DurabilityError as error:
            run.outcome = error.answer
            raise
        except TransportError as error:
            if error.retryable:
                self._later(call, run.id)
            raise
        except AdeqError:
            raise
        except BaseException:
            self._later(call, run.id)
            raise
        assert run.outcome
        return run.outcome

    def abandon(self, id: str, token: str) -> None:
        """Make sure that a run that may have begun does not last until the end of its lease."""
        self._later(self._calls.build("finish", id=id, token=token, result="released"), id)

    def _later(self, call: Call[Any], id: str) -> None:
        self.see_through(call, f"the end of the run of {id} could not be sent; its lease ends by itself")

    def _renew_some(self, held: Sequence[Run]) -> None:
        problem: AdeqError | None = None
        for run in held:
            try:
                self._renew_one(run)
            except AdeqError as error:  # the others are renewed all the same
                problem = error
        if problem:
            raise problem

    def _renew_one(self, run: Run) -> None:
        sent = self.here()
        call = self._calls.build("heartbeat", id=run.id, token=run.token, **run.bases)
        try:
            answer = self._runner.send_apart(call)
        except DurabilityError as error:
            answer = error.answer
        if answer.status in ("lost", "lock_lost"):
            what = "its lease" if answer.status == "lost" else f"its lock of {answer.resource}"
            self.lose(run, f"the server says that {what} has ended")
            return
        if not run.lost:
            run.prolong(sent, answer.now, answer.deadline)
        why = {"cancelling": "cancelled", "timed_out": "timeout"}.get(answer.status)
        if why and run.stop(why):
            self.log.warning("to be stopped: %r", run)
            self.tell(run)

    def tell(self, run: Run) -> None:
        """Call its `on_stop`, once: a run that was cancelled may be lost later."""
        if not run.told:
            run.told = True
            super().tell(run)
