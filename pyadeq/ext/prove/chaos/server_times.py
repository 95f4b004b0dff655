"""When the server has run a call, as far as the answers tell it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import inf

from pyadeq.ext.prove.chaos.history import Op

LATE = 10.0  # seconds after its end in which a copy of a call may still arrive
LONGEST = 30.0  # seconds after its begin, if the client was killed before its end


class ServerTimes:
    """The times of one server's clock in answers, in ms. Calls of another clock need an object of their own.

    An answer that came before a call began is older than what the call does: so its time is the earliest at which the
    server can have run the call. Only the order of calls by the clients' common clock is used, and no difference.

    stepped: the clock went back, so that times say nothing.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        answered = sorted((op.ended, now) for op in ops if op.ended is not None and (now := now_of(op)) is not None)
        self._ended = [ended for ended, _ in answered]
        self._highest: list[int] = []
        for _, now in answered:
            self._highest.append(max(now, self._highest[-1]) if self._highest else now)
        began = sorted((op.began, now) for op in ops if (now := now_of(op)) is not None)
        self._began = [at for at, _ in began]
        self._lowest: list[int] = []  # from here on
        for _, now in reversed(began):
            self._lowest.append(min(now, self._lowest[-1]) if self._lowest else now)
        self._lowest.reverse()
        self.stepped = any(now_of(op) is not None and self.since(op) > (now_of(op) or 0) for op in ops)

    def since(self, op: Op) -> int:
        """The earliest time at which the server can have run a call; 0 if nothing is known."""
        at = bisect_left(self._ended, op.began)
        return self._highest[at - 1] if at else 0

    def after(self, at: float) -> float:
        """A time of the server's clock that it had not before a time of the clients' clock; infinite if none is known.

        A call that began later was answered with it.
        """
        first = bisect_right(self._began, at)
        return self._lowest[first] if first < len(self._lowest) else inf

    def latest(self, op: Op) -> float:
        """The latest time at which the server can have run a call, or a second copy of it."""
        return self.after(op.began + LONGEST if op.ended is None else op.ended + LATE)


def now_of(op: Op) -> int | None:
    """The server's time in an answer. If the call was sent more than once, it may have run earlier."""
    now = op.answer.get("now")
    return None if now is None else round(now * 1000)


def by_place(ops: Iterable[tuple[str, Op]]) -> dict[str, ServerTimes]:
    """The times of several servers: of each place the calls that went there."""
    found: defaultdict[str, list[Op]] = defaultdict(list)
    for place, op in ops:
        found[place].append(op)
    return {place: ServerTimes(own) for place, own in found.items()}
