"""Check that nothing was lost: the records of clients and of the server, and the rules that both have to keep."""

from __future__ import annotations

from pyadeq.ext.prove.chaos.case import Verdict, Violation
from pyadeq.ext.prove.chaos.history import Entry, History, Mark, Op, aio_read_entries, gather, read_entries, read_final
from pyadeq.ext.prove.chaos.judge import RULES, judge
from pyadeq.ext.prove.chaos.recorder import RecordedLocks, RecordedQueue, Recorder, load_recorded

__all__ = [
    "RULES",
    "Entry",
    "History",
    "Mark",
    "Op",
    "RecordedLocks",
    "RecordedQueue",
    "Recorder",
    "Verdict",
    "Violation",
    "aio_read_entries",
    "gather",
    "judge",
    "load_recorded",
    "read_entries",
    "read_final",
]
