"""What a worker needs of a queue: of a single queue, or, through `Partitions`, of all partitions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from pyadeq._async.kernel.runner import Runner
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Failure, Held
from pyadeq._core.queue.steps import Wait
from pyadeq._tasks.context import TaskLeases, TaskQueue
from pyadeq.models.base import Seconds
from pyadeq.models.queue import AckStatus, Failed, ReleaseStatus, Renewal, Settled, Snoozed, TaskView
from pyadeq.models.schedule import Fired
from pyadeq.models.steps import Suspended
from pyadeq.models.worker import Heartbeat


class FiresSchedules(Protocol):
    """The schedules of a queue, as far as a worker needs them."""

    async def fire_due(self) -> Fired: ...


class RegistersWorkers(Protocol):
    """The workers of a queue, as far as one of them needs them."""

    async def register(
        self,
        worker: str,
        *,
        capacity: int | None = None,
        group: str | None = None,
        instance: str | None = None,
        capabilities: Sequence[str] = (),
        lanes: Sequence[str] = (),
    ) -> str: ...

    async def deregister(self, worker: str, reason: str = "stopped", leases: Sequence[Held] = ()) -> str: ...

    async def beat(
        self, leases: Sequence[Held], *, worker: str, extend: Seconds = 0, busy: int | None = None
    ) -> Heartbeat: ...


class WorkerLeases(TaskLeases, Protocol):
    """The leases of a queue, as far as a worker needs them."""

    async def settle(
        self,
        worker: str,
        *,
        acks: Sequence[tuple[Held, Any]] = (),
        fails: Sequence[Failure] = (),
        claim: int = 0,
        lanes: Sequence[str] = ("any",),
        lane_first: bool = False,
        lease: Seconds = 0,
        busy: int | None = None,
        retry_for: float | None = None,
    ) -> Settled: ...

    async def _settle_when_woken(
        self,
        worker: str,
        seconds: float,
        *,
        claim: int,
        lanes: Sequence[str],
        lane_first: bool,
        lease: Seconds,
        busy: int,
        given_up: Callable[[Settled], Awaitable[object]],
        retry_for: float | None = None,
    ) -> tuple[str | None, Settled]: ...

    async def _block_as(self, worker: str, lanes: Sequence[str], seconds: float) -> str | None: ...

    async def heartbeat_many(self, leases: Sequence[Held], *, extend: Seconds = 0) -> list[Renewal]: ...

    async def release_many(self, leases: Sequence[Held]) -> list[ReleaseStatus]: ...

    async def snooze_many(self, leases: Sequence[tuple[Held, Seconds]]) -> list[Snoozed]: ...

    async def suspend_many(self, waits: Sequence[tuple[Held, Wait]]) -> list[Suspended]: ...


class WorkerQueue(TaskQueue, Protocol):
    """A queue with a name. base: None for all partitions of a queue."""

    @property
    def base(self) -> str | None: ...

    @property
    def adeq(self) -> Runner: ...

    @property
    def calls(self) -> QueueCalls: ...

    @property
    def schedules(self) -> FiresSchedules: ...

    @property
    def workers(self) -> RegistersWorkers: ...

    @property
    def leases(self) -> WorkerLeases: ...

    async def ack_many(self, acks: Sequence[tuple[Held, Any]]) -> list[AckStatus]: ...

    async def fail_many(self, fails: Sequence[Failure]) -> list[Failed]: ...

    async def get_many(self, ids: Sequence[str]) -> list[TaskView | None]: ...
