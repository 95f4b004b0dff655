# Generated from pyadeq/_async/queue/workers.py by pyadeq/_unasync.py; do not edit.
"""The workers of a queue: listing and controlling them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.base import Area
from pyadeq._sync.queue.identities import Identities
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import MAX_ITEMS, Held, checked_lanes
from pyadeq.errors import BadArgument, DurabilityError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Renewal
from pyadeq.models.worker import Heartbeat, WorkerInfo, WorkerMode

MAX_WORKERS = 200


class QueueWorkers(Area):
    """`queue.workers`: lists and controls workers, and registers one of your own."""

    def __init__(self, runner: Runner, calls: QueueCalls, identities: Identities) -> None:
        super().__init__(runner, calls)
        self._identities = identities

    def get(self, name: str) -> WorkerInfo | None:
        """Return a live worker by its name; None if there is none."""
        found, _ = self._runner.send(self._calls.workers(name=name))
        return found[0] if found else None

    def list(self, *, group: str | None = None, capability: str | None = None) -> builtins.list[WorkerInfo]:
        """Return the live workers by name: all, or those of a group or with a capability.

        A worker is alive if it was seen within the last 30 s (setting `presence`).
        """
        found: dict[str, WorkerInfo] = {}
        cursor = ""
        while True:
            page, cursor = self._runner.send(
                self._calls.workers(group=group, capability=capability, cursor=cursor, limit=MAX_WORKERS)
            )
            found |= {worker.name: worker for worker in page}
            if not cursor:
                return [found[name] for name in sorted(found)]

    def control(
        self,
        workers: Sequence[str] = (),
        *,
        mode: WorkerMode | None = None,
        capacity: int | None = None,
        group: str | None = None,
        everybody: bool = False,
    ) -> builtins.list[str]:
        """Send a request to live workers: those named, those of a group, or all. Returns the names of the workers that
        get it.

        mode: `run`; `quiet`: claim no more; `stop`: finish running tasks and exit; `restart`.
        capacity: how many tasks to run at a time.
        """
        names = checked_list("workers", workers)
        if bool(names) + (group is not None) + everybody != 1:
            raise BadArgument("ADEQ_ARG", "pyadeq", "workers: name some, or a group, or everybody=True; one of these")
        if not names:
            names = [worker.name for worker in self.list(group=group)]
        statuses = self._in_batches(lambda some: self._calls.steer(some, mode, capacity, new_ulid()), names)
        return [name for name, status in zip(names, statuses, strict=True) if status == "asked"]

    def register(
        self,
        worker: str | None = None,
        *,
        capacity: int | None = None,
        group: str | None = None,
        instance: str | None = None,
        capabilities: Sequence[str] = (),
        lanes: Sequence[str] = (),
    ) -> str:
        """Register a worker under a new incarnation. From then on, an older one with the same name is `stale`.

        capacity: how many tasks it runs at a time.
        group, instance, capabilities, lanes: how other programs find it.
        """
        name = worker or self._identities.own_name()
        about = {
            "capacity": capacity,
            "group": group,
            "instance": instance,
            "capabilities": checked_list("capabilities", capabilities) or None,
            "lanes": checked_lanes(lanes) if lanes else None,
        }
        self._identities.register(name, about)
        return name

    def deregister(self, worker: str | None = None, reason: str = "stopped", leases: Sequence[Held] = ()) -> str:
        """Remove a worker and take back these leases, at most 1,000. Other leases stay until they end."""
        return self._identities.deregister(worker or self._identities.own_name(), reason, leases)

    def beat(
        self, leases: Sequence[Held], *, worker: str, extend: Seconds = 0, busy: int | None = None
    ) -> Heartbeat:
        """Renew leases, if there are any, show that the worker is alive, and read requests to it.

        busy: how many tasks it holds, for `queue.workers`.
        """
        check_lease(extend, "extend")
        renewals: builtins.list[Renewal] = []
        unconfirmed: DurabilityError | None = None
        for start in range(0, len(leases) or 1, MAX_ITEMS):
            try:
                heard = self._runner.send(
                    self._calls.heartbeat(leases[start : start + MAX_ITEMS], worker, extend, busy)
                )
            except DurabilityError as error:
                heard, unconfirmed = error.answer, error
            renewals += heard.renewals
        heard = heard.model_copy(update={"renewals": renewals})
        if unconfirmed is not None:
            unconfirmed.answer = heard
            raise unconfirmed
        return heard


def check_lease(seconds: Seconds, name: str = "lease") -> None:
    """Refuse a time that cannot be the length of a lease."""
    if 0 != to_ms(name, seconds) < 1000:
        raise BadArgument(
            "ADEQ_ARG",
            "pyadeq",
            f"{name}: {seconds!r} is not accepted; allowed: 0 (the queue's setting), or 1 s and more",
        )
