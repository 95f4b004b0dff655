"""Signals that end a command which holds something, or is about to."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def ending_signals(*always: signal.Signals) -> list[signal.Signals]:
    """Return the signals that end a command. A signal that is ignored, as by nohup, counts only if `always` has it."""
    return [one for one in SIGNALS if one in always or signal.getsignal(one) != signal.SIG_IGN]


class Ending:
    """The first signal that asks the command to end.

    at_once: whether it raises SystemExit wherever the command is. Otherwise the command has to look at `asked`. Only
    one signal raises: a second one must not interrupt the release that the first has caused.
    """

    def __init__(self, at_once: bool) -> None:
        self.at_once = at_once
        self.asked = 0

    def hear(self, number: int, _: FrameType | None) -> None:
        """The handler of the signals."""
        self.asked = self.asked or number
        if self.at_once:
            self.at_once = False
            self.leave()

    def leave(self) -> None:
        """End as a program that the signal has killed."""
        sys.exit(128 + self.asked)


@contextmanager
def ended_in_order(*, at_once: bool = True) -> Iterator[Ending]:
    """Handle the signals that end a command."""
    ending = Ending(at_once)
    before = {one: signal.signal(one, ending.hear) for one in ending_signals()}
    try:
        yield ending
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
