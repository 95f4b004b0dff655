# Generated from pyadeq/_async/kernel/batching.py by pyadeq/_unasync.py; do not edit.
"""Sends calls that callers of one process make at the same time as one call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from pyadeq._core.kernel.call import MAX_ITEMS, Call
from pyadeq._core.kernel.joined import batches, joined, parts
from pyadeq._core.kernel.sending import Outcome, decoded
from pyadeq._twins import here, Later, Patience, set_all, spawn
from pyadeq.errors import AdeqError, ScriptError, TransportError
from pyadeq.ids import new_ulid

T = TypeVar("T")
PATIENCE: Final = 0.05
"""Seconds after which a call that waits no longer waits for the calls that are under way."""


class _Waiting:
    """A call that waits to be sent. left: its caller was cancelled."""

    __slots__ = ("call", "later", "left", "size", "taken")

    def __init__(self, call: Call[Any], size: int, patience: Patience) -> None:
        self.call = call
        self.size = size
        self.later: Later[Outcome | BaseException] = Later(patience)
        self.left = self.taken = False


class _Withdrawn(Exception):
    """A call was taken out of the line, because nothing can send it from there."""


class _Line:
    """The calls of one process, or of one event loop. What another one left behind is not touched.

    alone: a call is under way by itself. sending: something sends those that wait.
    """

    def __init__(self) -> None:
        self.home = here()
        self.patience = Patience(PATIENCE)
        self.waiting: deque[_Waiting] = deque()
        self.alone = self.sending = False

    def take(self, taken: list[_Waiting]) -> None:
        """Move calls out of the line into this list, at most 1,000."""
        with suppress(IndexError):  # in one step, which a signal handler cannot interrupt: no call is in neither
            taken.extend(islice(iter(self.waiting.popleft, None), MAX_ITEMS))
        taken[:] = [one for one in taken if not one.left]
        for one in taken:
            one.taken = True


class Batching:
    """Sends calls that wait at the same time as one call. Each caller gets its own answer or error.

    A call without others goes out by itself, at once. While it is under way, others wait; then a background task (or
    thread) sends them together. It is the only one that takes calls out of the line, and a signal handler cannot
    interrupt it. So a caller that is cancelled or interrupted takes nothing with it.
    """

    def __init__(self, send: Callable[[Sequence[Call[Any]]], list[Outcome]]) -> None:
        self._send = send
        self._line: _Line | None = None

    def send(self, call: Call[T], size: int) -> T:
        """Send one call with one item; see `joined`. Errors are those of a call that is sent by itself."""
        line = self._line
        if line is None or line.home != here():
            line = self._line = _Line()
        if line.alone or line.sending:
            one = _Waiting(call, size, line.patience)
            try:
                line.waiting.append(one)
                if line.sending or self._start(line) or not _withdraw(line, one):
                    return decoded(call, _raised(one.later.get(lambda: self._hurry(line, one))))
            except _Withdrawn:
                pass
            except BaseException:
                one.left = True
                raise
        line.alone = True
        try:
            (outcome,) = self._send([call])
        finally:
            line.alone = False
        return decoded(call, outcome)

    def _start(self, line: _Line) -> bool:
        """Send what waits, in the background. False: there can be no more threads."""
        try:
            line.sending = True
            spawn(partial(self._send_all, line))
        except RuntimeError:
            line.sending = False
        except BaseException:
            line.sending = False
            raise
        return line.sending

    def _hurry(self, line: _Line, one: _Waiting) -> None:
        """Do not wait for a slow exchange: the retries of this call are limited in time, and that time runs already."""
        if not one.taken and not self._start(line) and _withdraw(line, one):
            raise _Withdrawn

    def _send_all(self, line: _Line) -> None:
        taken: list[_Waiting] = []
        try:
            while True:
                line.take(taken)
                if taken:
                    self._answer(taken)
                    taken = []
                    continue
                line.sending = line.alone = False  # a signal handler may have kept `alone` from its end
                if not line.waiting:  # a call that came meanwhile saw that something sends
                    return
                line.sending = True
        except BaseException:
            line.sending = False
            set_all([(one.later, _stopped(one, True)) for one in taken])
            unsent: list[_Waiting] = []
            while line.waiting:
                line.take(unsent)
            set_all([(one.later, _stopped(one, False)) for one in unsent])
            raise

    def _answer(self, taken: list[_Waiting]) -> None:
        """Send calls, and give each its outcome. If a joined call is refused, each of its calls is sent by itself."""
        groups = batches(taken)
        refused: list[_Waiting] = []
        answers: list[tuple[Later[Outcome | BaseException], Outcome | BaseException]] = []
        outcomes = self._outcomes([_call_of(group) for group in groups])
        for group, outcome in zip(groups, outcomes, strict=True):
            if len(group) == 1 or not isinstance(outcome, list | AdeqError):
                answers += [(one.later, outcome) for one in group]
            elif isinstance(outcome, ScriptError) and not outcome.may_have_applied:
                refused += group
            else:
                replies = parts(outcome, len(group))
                answers += [(one.later, part) for one, part in zip(group, replies, strict=True)]
        set_all(answers)
        if refused:
            outcomes = self._outcomes([one.call for one in refused])
            set_all([(one.later, outcome) for one, outcome in zip(refused, outcomes, strict=True)])

    def _outcomes(self, calls: list[Call[Any]]) -> Sequence[Outcome | BaseException]:
        try:
            return self._send(calls)
        except Exception as error:
            return [error] * len(calls)


def _call_of(group: list[_Waiting]) -> Call[Any]:
    return group[0].call if len(group) == 1 else joined([one.call for one in group], new_ulid())


def _withdraw(line: _Line, one: _Waiting) -> bool:
    """Take a call out of the line, unless it was taken already."""
    try:
        line.waiting.remove(one)
    except ValueError:
        return False
    return True


def _raised(outcome: Outcome | BaseException) -> Outcome:
    """Return what a call was answered. Raise what is not an outcome."""
    if isinstance(outcome, BaseException) and not isinstance(outcome, AdeqError):
        raise outcome
    return outcome


def _stopped(one: _Waiting, sent: bool) -> TransportError:
    known = "may have been applied" if sent else "was not applied"
    what = f"{one.call.script.id}: what sends the calls was stopped; the call {known}"
    return TransportError(what, retryable=True, may_have_applied=sent)
