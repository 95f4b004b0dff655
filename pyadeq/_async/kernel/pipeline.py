"""Many calls in few round trips."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.sending import Deferred
from pyadeq.errors import DurabilityError, TransportError

if TYPE_CHECKING:  # which imports redis-py
    from pyadeq._async.kernel.scripts import Scripts

T = TypeVar("T")


class Pipeline:
    """Collects calls and sends them together when its with block ends: `adeq.pipeline()` makes one.

    No transaction: each call succeeds or fails by itself, and its `Deferred.value` raises its error. A call that the
    server did not answer, or whose safety it did not confirm, is raised at the end of the block too, when the others
    have their values. Calls go out in the order in which they were added (to each node of a cluster), at most 100 or
    4 MiB at a time; one that its node cannot take yet, because it lacks the script or the slot moves, is sent again
    after those. A call that must come after another belongs into a second block. If the block raises, nothing is sent.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._deferred: list[tuple[Call[Any], Deferred[Any]]] = []

    def __len__(self) -> int:
        return len(self._deferred)

    def add(self, call: Call[T]) -> Deferred[T]:
        """Take a call; what comes back has its result in `.value` after the pipeline has run."""
        deferred = Deferred(call)
        self._deferred.append((call, deferred))
        return deferred

    async def execute(self) -> None:
        """Send what was added since the last time. TransportError if a call got no answer; DurabilityError likewise."""
        deferred, self._deferred = self._deferred, []
        outcomes = await self._scripts.send([call for call, _ in deferred])
        for (_, one), outcome in zip(deferred, outcomes, strict=True):
            one.settle(outcome)
        for outcome in outcomes:
            if isinstance(outcome, TransportError | DurabilityError):
                raise outcome

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            await self.execute()
