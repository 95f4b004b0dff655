"""Moving waiting tasks from other queues into pyadeq: `adeq migrate`."""

from pyadeq.ext.move.migrate.bullmq import BullQueues
from pyadeq.ext.move.migrate.celery import CeleryQueues
from pyadeq.ext.move.migrate.escrow import IN_PROGRESS, State
from pyadeq.ext.move.migrate.lists import ListQueues, ListWriter
from pyadeq.ext.move.migrate.locks import BridgedGrant, LockBridge
from pyadeq.ext.move.migrate.move import Migration
from pyadeq.ext.move.migrate.reports import Mirrored, Moved, Plan, Reasons, RolledBack, Status
from pyadeq.ext.move.migrate.rq import RqQueues
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Source
from pyadeq.ext.move.migrate.stream import StreamQueue, StreamWriter
from pyadeq.ext.move.migrate.writer import Writer

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
