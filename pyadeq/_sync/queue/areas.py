# Generated from pyadeq/_async/queue/areas.py by pyadeq/_unasync.py; do not edit.
"""The areas of a queue, and the short names of their methods."""

from __future__ import annotations

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue.admin import QueueAdmin
from pyadeq._sync.queue.chains import QueueChains
from pyadeq._sync.queue.dead import QueueDead
from pyadeq._sync.queue.inspect import QueueInspect
from pyadeq._sync.queue.leases import QueueLeases
from pyadeq._sync.queue.limits import Limits
from pyadeq._sync.queue.produce import Producing
from pyadeq._sync.queue.schedules import Schedules
from pyadeq._sync.queue.settings import QueueSettings
from pyadeq._sync.queue.shares import Shares
from pyadeq._sync.queue.whole import WholeNames
from pyadeq._sync.queue.workers import QueueWorkers
from pyadeq._core.kernel.areas import AreaOf, forward, named


@named
class QueueAreas(Producing, WholeNames):
    """A queue with an attribute for each area, and with the short names of their methods."""

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._inspect = QueueInspect(runner, self.calls)
        self._settings = QueueSettings(runner, self.calls)
        self._workers = QueueWorkers(runner, self.calls, self._identities)
        self._leases = QueueLeases(runner, self.calls, self._identities, self._workers)
        self._dead = QueueDead(runner, self.calls, self._inspect)
        self._admin = QueueAdmin(runner, self.calls, self._inspect, self._settings, self._workers)
        self._chains = QueueChains(self, self._inspect)
        self._limits = Limits(runner, self.calls)
        self._shares = Shares(runner, self.calls)
        self._schedules = Schedules(runner, self.calls)

    inspect = AreaOf(QueueInspect)
    settings = AreaOf(QueueSettings)
    workers = AreaOf(QueueWorkers)
    leases = AreaOf(QueueLeases)
    dead = AreaOf(QueueDead)
    admin = AreaOf(QueueAdmin)
    chains = AreaOf(QueueChains)
    limits = AreaOf(Limits)
    shares = AreaOf(Shares)
    schedules = AreaOf(Schedules)

    get = forward("inspect", QueueInspect.get)
    get_many = forward("inspect", QueueInspect.get_many)
    outcome = forward("inspect", QueueInspect.outcome)
    log = forward("inspect", QueueInspect.log)
    runs = forward("inspect", QueueInspect.runs)
    length = forward("inspect", QueueInspect.length)
    stats = forward("inspect", QueueInspect.stats)
    overview = forward("inspect", QueueInspect.overview)
    history = forward("inspect", QueueInspect.history)
    list = forward("inspect", QueueInspect.list)
    iterate = forward("inspect", QueueInspect.iterate)

    configure = forward("settings", QueueSettings.change)

    worker = forward("workers", QueueWorkers.get)
    control = forward("workers", QueueWorkers.control)
    register = forward("workers", QueueWorkers.register)
    deregister = forward("workers", QueueWorkers.deregister)
    beat = forward("workers", QueueWorkers.beat)

    claim = forward("leases", QueueLeases.claim)
    claim_once = forward("leases", QueueLeases.claim_once)
    settle = forward("leases", QueueLeases.settle)
    settle_when_woken = forward("leases", QueueLeases.settle_when_woken)
    block = forward("leases", QueueLeases.block)
    block_as = forward("leases", QueueLeases.block_as)
    ack = forward("leases", QueueLeases.ack)
    ack_many = forward("leases", QueueLeases.ack_many)
    fail = forward("leases", QueueLeases.fail)
    fail_many = forward("leases", QueueLeases.fail_many)
    heartbeat = forward("leases", QueueLeases.heartbeat)
    heartbeat_many = forward("leases", QueueLeases.heartbeat_many)
    progress = forward("leases", QueueLeases.progress)
    progress_many = forward("leases", QueueLeases.progress_many)
    release = forward("leases", QueueLeases.release)
    release_many = forward("leases", QueueLeases.release_many)
    snooze = forward("leases", QueueLeases.snooze)
    snooze_many = forward("leases", QueueLeases.snooze_many)

    retry = forward("dead", QueueDead.retry)
    retry_many = forward("dead", QueueDead.retry_many)
    retry_dead = forward("dead", QueueDead.retry_all)
    dead_summary = forward("dead", QueueDead.summary)
    abandon = forward("dead", QueueDead.abandon)
    abandon_many = forward("dead", QueueDead.abandon_many)
    abandon_dead = forward("dead", QueueDead.abandon_all)

    reveal = forward("admin", QueueAdmin.reveal)
    purge = forward("admin", QueueAdmin.purge)
    trim = forward("admin", QueueAdmin.trim)
    promote = forward("admin", QueueAdmin.promote)
    expire = forward("admin", QueueAdmin.expire)
    reap = forward("admin", QueueAdmin.reap)
    repair = forward("admin", QueueAdmin.repair)
    migrate = forward("admin", QueueAdmin.migrate)

    chain = forward("chains", QueueChains.chain)
    gather = forward("chains", QueueChains.gather)
    gathered = forward("chains", QueueChains.gathered)
    gathered_page = forward("chains", QueueChains.gathered_page)
