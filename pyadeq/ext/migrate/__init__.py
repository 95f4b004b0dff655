"""Moving waiting tasks from other queues into pyadeq: `adeq migrate`."""

from pyadeq.ext.migrate.celery import CeleryQueues
from pyadeq.ext.migrate.escrow import State
from pyadeq.ext.migrate.move import Migration
from pyadeq.ext.migrate.reports import Moved, Plan, Reasons, RolledBack, Status
from pyadeq.ext.migrate.rq import RqQueues
from pyadeq.ext.migrate.source import Left, Moving, Place, Source

__all__ = [
    "CeleryQueues",
    "Left",
    "Migration",
    "Moved",
    "Moving",
    "Place",
    "Plan",
    "Reasons",
    "RolledBack",
    "RqQueues",
    "Source",
    "State",
    "Status",
]
