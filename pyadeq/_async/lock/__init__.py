"""A lock domain: its calls, sent, and the grants of this process, renewed."""

from __future__ import annotations

from pyadeq._async.lock.acquire import Acquiring
from pyadeq._async.lock.tend import TendingLocks


class Locks(Acquiring, TendingLocks):
    """The locks of a domain. `calls` builds the same calls for pipelines: `pipe.add(locks.calls.stats())`."""
