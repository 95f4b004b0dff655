# Generated from pyadeq/_async/scripts.py by pyadeq/_unasync.py; do not edit.
"""Sends calls until each has an outcome: loads what the server lacks, sends again what got no reply."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

from pyadeq._sync.wire import Wire
from pyadeq._core.call import Call
from pyadeq._core.manifest import Script
from pyadeq._core.sending import Outcome, Sending, backoff
from pyadeq._twins import sleep


class Scripts:
    """The scripts of one server."""

    def __init__(self, wire: Wire, retry_for: float) -> None:
        self._wire = wire
        self._retry_for = retry_for

    def send(self, calls: Sequence[Call[Any]], retry_for: float | None = None) -> list[Outcome]:
        """Send calls in order; return for each its raw reply or the error that ended it."""
        sending = Sending(calls)
        self._finish(sending, self._retry_for if retry_for is None else retry_for)
        return sending.outcomes

    def load(self, scripts: Iterable[Script]) -> None:
        """SCRIPT LOAD all of them, whether the server has them or not."""
        sending = Sending((), load=scripts)
        self._finish(sending, self._retry_for)
        for error in sending.load_errors.values():
            raise error

    def _finish(self, sending: Sending, retry_for: float) -> None:
        """Go on for `retry_for` seconds after the last exchange that went well."""
        failures, deadline = 0, monotonic() + retry_for
        while commands := sending.commands():
            if sending.take(*self._wire.exchange(commands)):
                failures, deadline = 0, monotonic() + retry_for
                continue
            failures += 1
            pause = backoff(failures, random.random())
            if sending.hopeless or monotonic() + pause >= deadline:
                sending.give_up()
            else:
                sleep(pause)
