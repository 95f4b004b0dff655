"""The areas of a queue: what is not done every day."""

from __future__ import annotations

from pyadeq._async.kernel.runner import Runner
from pyadeq._async.queue.admin import QueueAdmin
from pyadeq._async.queue.chains import Chaining
from pyadeq._async.queue.claims import Claiming
from pyadeq._async.queue.dead import QueueDead
from pyadeq._async.queue.inspect import QueueInspect
from pyadeq._async.queue.leases import QueueLeases
from pyadeq._async.queue.limits import Limits
from pyadeq._async.queue.schedules import Schedules
from pyadeq._async.queue.shares import Shares
from pyadeq._async.queue.workers import QueueWorkers
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
