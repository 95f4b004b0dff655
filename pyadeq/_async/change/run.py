"""A run: an approved change that this process applies, while its lease is renewed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyadeq._async.kernel.held import Held
from pyadeq._core.change.content import content_of
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.errors import ChangeLost, ChangeStopped, LeaseLost
from pyadeq.models.change import ChangeRef, RunResult

HEARTBEAT = 5.0
"""Seconds between heartbeats at most, so that a run learns soon that it was cancelled."""


class RunKeeper(Protocol):
    """The interface of the object that renews and ends a run."""

    def here(self) -> float: ...

    async def finish(self, run: Run, result: RunResult, **options: Any) -> Result: ...


class Locked(Protocol):
    """The interface of a grant of locks."""

    rid: str
    fences: dict[str, int]

    def check(self) -> None: ...

    async def release(self) -> None: ...


class Run(Held):
    """A change that is applied here. Its lease is renewed in the background until it is finished or lost.

    id, rev, digest: what is applied.
    content: what to do, a ChangeContent whose digest was verified.
    agent: who applies it.
    token: of the lease. fence: rises with every run of the domain, so that other systems can refuse an earlier one.
    timeout: how many seconds the run may take.
    grant: the Grant of the locks, if there are any.
    bases: how heartbeats name the lock domain, if the server verifies the locks.
    output, output_key: set them in the block. They are stored at its end: what was printed, and where all of it is.
    retry: whether a failure leaves the change approved, while attempts are left. May be set in the block, too.
    outcome: the answer to its end; None before.
    """

    def __init__(
        self,
        keeper: RunKeeper,
        seen: ChangeRef,
        agent: str,
        begun: Result,
        sent: float,
        grant: Locked | None,
        bases: dict[str, str],
        retry: bool,
        on_stop: Callable[[Run], object] | None,
    ) -> None:
        lease = (sent, begun.now, begun.deadline)
        super().__init__(keeper.here, begun.token, lease, heartbeat=HEARTBEAT, on_lost=on_stop)
        self.id, self.rev, self.digest = seen
        self.agent = agent
        self.token: str = begun.token
        self.fence: int = begun.fence
        self.timeout: float = begun.run
        self.content = content_of(begun.content, begun.parameters, seen.digest)
        self.grant = grant
        self.bases = bases
        self.retry = retry
        self.output: str | bytes = b""
        self.output_key = ""
        self.outcome: Result | None = None
        self._keeper = keeper
        self.told = False
        self._why_stop = ""

    def __repr__(self) -> str:
        return f"<Run of {self.id} rev {self.rev} by {self.agent}, {self._state}>"

    @property
    def cancelled(self) -> bool:
        """Whether somebody has cancelled the change: stop, and let the block end by `check`."""
        return self._why_stop == "cancelled"

    @property
    def timed_out(self) -> bool:
        """Whether the run takes longer than it may. 30 s later its lease ends."""
        return self._why_stop == "timeout"

    def check(self) -> None:
        """Raise ChangeLost if it is no longer applied here, or ChangeStopped if it was cancelled or takes too long.

        Call this before each step.
        """
        if self.lost or self._released:
            why = self._why_lost or "it was finished"
            raise ChangeLost(f"change {self.id!r} is not applied by {self.agent} any more: {why}")
        if self.grant:
            try:
                self.grant.check()
            except LeaseLost as error:
                raise ChangeLost(f"change {self.id!r} is not applied by {self.agent} any more: {error}") from error
        if self._why_stop:
            raise ChangeStopped(self.id, self._why_stop)

    async def finish(
        self, result: RunResult, *, retry: bool | None = None, error: str = "", error_details: str = ""
    ) -> Result:
        """End the run before the block does. Returns the new state of the change. See `Changes.finish`.

        Raises ChangeLost if it was no longer applied here.
        """
        if self.foreign:
            self.check()
        answer = await self._keeper.finish(
            self, result, retry=self.retry if retry is None else retry, error=error, error_details=error_details
        )
        if answer.status == "lost":
            self.lose("it was over when it was finished")
            raise ChangeLost(f"change {self.id!r} was not applied by {self.agent} any more when it was finished")
        return answer

    # The members below are for the RunKeeper

    @property
    def _state(self) -> str:
        if self.outcome:
            return self.outcome.status
        return "lost" if self.lost else "finished" if self._released else self._why_stop or "applying"

    def stop(self, why: str) -> bool:
        """Note that it has to stop. Returns whether that is new."""
        new = not self._why_stop
        self._why_stop = self._why_stop or why
        return new

    def settle(self) -> None:
        """Note that its end was tried."""
        self._released = True
