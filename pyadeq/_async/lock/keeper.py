"""Keeps the grants of this process in a lock domain: renews all of them in one call, and releases what is left over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from pyadeq._async.kernel.keeper import Keeper
from pyadeq._async.kernel.runner import Runner
from pyadeq._async.lock.base import closed
from pyadeq._async.lock.grant import Grant
from pyadeq._core.lock.calls import MAX_RENEWED, LockCalls
from pyadeq.errors import ClientClosed, DurabilityError
from pyadeq.models.lock import DowngradeStatus, ReleaseLockStatus


class LockKeeper(Keeper[Grant]):
    """Renews the grants of one domain."""

    log = logging.getLogger("pyadeq.locks")
    most = MAX_RENEWED

    def __init__(self, runner: Runner, calls: LockCalls, here: Callable[[], float]) -> None:
        super().__init__(runner, here)
        self._calls = calls

    def closed_error(self) -> ClientClosed:
        """Return the error for a grant that is made after `aclose`."""
        return closed()

    async def release(self, grant: Grant) -> ReleaseLockStatus:
        """Release a grant. If the server cannot be reached now, the release is sent later, in the background."""
        self.drop(grant)
        status: ReleaseLockStatus
        try:
            (status,) = await self._runner.send(self._calls.release([grant.rid]))
        except DurabilityError as error:  # if the primary loses the release, the lease still ends by itself
            (status,) = error.answer
        except BaseException:
            await self.abandon(grant.rid)
            raise
        return status

    async def downgrade(self, grant: Grant) -> DowngradeStatus:
        """Make a grant a shared one."""
        return await self._runner.send(self._calls.downgrade(grant.rid))

    async def abandon(self, rid: str) -> None:
        """Make sure that a request neither waits nor holds anything, whatever its state; see `see_through`."""
        await self.see_through(self._calls.cancel([rid]), f"request {rid} could not be cancelled; it ends by itself")

    async def _renew_some(self, held: Sequence[Grant]) -> None:
        sent = self.here()
        try:
            answers = await self._runner.send_apart(self._calls.renew([grant.rid for grant in held]))
        except DurabilityError as error:
            answers = error.answer
        for grant, answer in zip(held, answers, strict=True):
            if answer.deadline is None:
                self.lose(grant, "the server says that its lease has ended")
            elif not grant.lost:
                grant.prolong(sent, answer.now, answer.deadline)
