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
    """Collects calls and sends them together when its with block ends. `adeq.pipeline()` creates it.

    It is not a transaction: each call succeeds or fails by itself, and its `Deferred.value` raises its error. If the
    server does not answer a call, or does not confirm its durability, the end of the block raises that error too, after
    the other calls have their values.

    Calls are sent in the order in which they were added, for each node of a cluster, at most 100 or 4 MiB at a time. If
    a node cannot run a call yet, because it lacks the script or the slot moves, the call is sent again after the
    others. So put a call that must follow another into a second block. If the block raises, nothing is sent.
    """

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._deferred: list[tuple[Call[Any], Deferred[Any]]] = []

    def __len__(self) -> int:
        return len(self._deferred)

    def add(self, call: Call[T]) -> Deferred[T]:
        """Add a call. After the pipeline has run, `.value` of the returned object is its result."""
        deferred = Deferred(call)
        self._deferred.append((call, deferred))
        return deferred

    async def execute(self) -> None:
        """Send the calls added since the last time. Raises TransportError without an answer, DurabilityError if
        unconfirmed.
        """
        await self._execute()

    async def _execute(self, retry_for: float | None = None) -> None:
        """retry_for: as in `Adeq.send`."""
        deferred, self._deferred = self._deferred, []
        outcomes = await self._scripts.send([call for call, _ in deferred], retry_for)
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
