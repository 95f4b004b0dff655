# Generated from pyadeq/_async/queue/areas.py by pyadeq/_unasync.py; do not edit.
"""The areas of a queue: what is not done every day."""

from __future__ import annotations

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.admin import QueueAdmin
from pyadeq._sync.queue.chains import Chaining
from pyadeq._sync.queue.claims import Claiming
from pyadeq._sync.queue.dead import QueueDead
from pyadeq._sync.queue.inspect import QueueInspect
from pyadeq._sync.queue.leases import QueueLeases
from pyadeq._sync.queue.limits import Limits
from pyadeq._sync.queue.schedules import Schedules
from pyadeq._sync.queue.shares import Shares
from pyadeq._sync.queue.workers import QueueWorkers
from pyadeq._core.kernel.areas import AreaOf


class QueueAreas(Chaining, Claiming):
    """A queue with an attribute for each area. A call is in one area, or it is a method of the queue."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._inspect = QueueInspect(self)
        self._workers = QueueWorkers(runner, self.calls, self._identities)
        self._leases = QueueLeases(runner, self.calls, self._identities, self._workers)
        self._dead = QueueDead(self)
        self._admin = QueueAdmin(self, self._workers)
        self._limits = Limits(runner, self.calls)
        self._shares = Shares(runner, self.calls)
        self._schedules = Schedules(runner, self.calls)

    inspect = AreaOf(QueueInspect)
    workers = AreaOf(QueueWorkers)
    leases = AreaOf(QueueLeases)
    dead = AreaOf(QueueDead)
    admin = AreaOf(QueueAdmin)
    limits = AreaOf(Limits)
    shares = AreaOf(Shares)
    schedules = AreaOf(Schedules)
