"""Renewal: leases are prolonged while their tasks run, and the server's answers say what is wanted of the worker."""

from __future__ import annotations

from collections.abc import Callable

from pyadeq._worker.renewal.base import Renewal
from pyadeq._worker.renewal.loop import LoopRenewal
from pyadeq.errors import ConfigError


def renewal_class(renew: str) -> Callable[..., Renewal]:
    """Return the class that renews leases, for `thread`, `loop` or `process`. Its module is imported when needed."""
    match renew:
        case "thread":
            from pyadeq._worker.renewal.thread import ThreadRenewal

            return ThreadRenewal
        case "process":
            from pyadeq._worker.renewal.process import ProcessRenewal

            return ProcessRenewal
        case "loop":
            return LoopRenewal
    raise ConfigError(f"renew: {renew!r} is not accepted; allowed: thread, loop, process")
