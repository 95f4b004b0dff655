# Generated from pyadeq/_async/lock/capacities.py by pyadeq/_unasync.py; do not edit.
"""Capacities of a lock domain: how many permits a resource gives."""

from __future__ import annotations

from collections.abc import Sequence

from pyadeq._sync.lock.base import LocksBase
from pyadeq.models.base import Seconds
from pyadeq.models.lock import CapacityStatus


class LockCapacities:
    """`locks.capacities`: how many permits each resource gives."""

    def __init__(self, locks: LocksBase) -> None:
        self._runner = locks._runner
        self._calls = locks.calls
        self._in_batches = locks._in_batches

    def set(self, resource: str, max: int, *, silent: Seconds = 0) -> None:
        """Let a resource give up to `max` permits.

        silent: seconds without a `heartbeat` after which it gives none; 0: it needs no heartbeat.
        """
        self._runner.send(self._calls.set_capacity(resource, max, silent))

    def heartbeat(self, resource: str) -> CapacityStatus:
        """Show that a resource with a capacity is alive."""
        return (self.heartbeat_many([resource]))[0]

    def heartbeat_many(self, resources: Sequence[str]) -> list[CapacityStatus]:
        """Show that many resources are alive. Returns a status for each."""
        return self._in_batches(self._calls.heartbeat, resources)

    def drain(self, resource: str) -> str:
        """Give no more permits of a resource; permits in use stay. Returns `draining` or `no_capacity`."""
        return self._runner.send(self._calls.drain(resource))

    def remove(self, resource: str) -> str:
        """Remove a resource's capacity. Returns `removed`, `in_use` while permits are in use, or `no_capacity`."""
        return self._runner.send(self._calls.remove(resource))
