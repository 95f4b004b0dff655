"""Moving waiting tasks from other queues into pyadeq: `adeq migrate`."""

from pyadeq.ext.migrate.bullmq import BullQueues
from pyadeq.ext.migrate.celery import CeleryQueues
from pyadeq.ext.migrate.escrow import IN_PROGRESS, State
from pyadeq.ext.migrate.lists import ListQueues, ListWriter
from pyadeq.ext.migrate.locks import BridgedGrant, LockBridge
from pyadeq.ext.migrate.move import Migration
from pyadeq.ext.migrate.reports import Mirrored, Moved, Plan, Reasons, RolledBack, Status
from pyadeq.ext.migrate.rq import RqQueues
from pyadeq.ext.migrate.source import Left, Moving, Place, Source
from pyadeq.ext.migrate.stream import StreamQueue, StreamWriter
from pyadeq.ext.migrate.writer import Writer

__all__ = [
    "IN_PROGRESS",
    "BridgedGrant",
    "BullQueues",
    "CeleryQueues",
    "Left",
    "ListQueues",
    "ListWriter",
    "LockBridge",
    "Migration",
    "Mirrored",
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
    "StreamQueue",
    "StreamWriter",
    "Writer",
]
