"""The calls of rates that are made often. The others are built by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from pyadeq._core.kernel.call import Call, Reply, build_call
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.options import unfit
from pyadeq._core.kernel.packing import Wire
from pyadeq.errors import AdeqError
from pyadeq.keys import PATTERNS
from pyadeq.models.rate import RateAnswer, RuleAnswer

SCRIPT: Final = "rate.hit.v1"
MOST_ITEMS: Final = 8
MOST_COST: Final = 1_000_000
is_id, is_label = PATTERNS["id"].fullmatch, PATTERNS["label"].fullmatch
Hit = tuple[str, str] | tuple[str, str, int]
"""A rule, a subject and a cost. A cost that is left out is 1."""
Item = tuple[str, str, int | None]
"""A rule, a subject and a cost, as they are sent. A cost of None means 1."""


def item_of(hit: Hit) -> Item:
    if not isinstance(hit, tuple) or not 2 <= len(hit) <= 3:
        raise unfit("hits", hit, "tuples of a rule, a subject and a cost; a cost of 1 may be left out")
    return hit if len(hit) == 3 else (*hit, None)


class HitCalls:
    """Builds hits. now_ms: the time of a test clock, otherwise 0."""

    def __init__(self, base: str, now_ms: Callable[[], int]) -> None:
        self.base = base
        self._now_ms = now_ms
        self._keys: tuple[str, ...] = ()

    def hit(self, items: Sequence[Item], rid: str | None = None) -> Call[RateAnswer]:
        """Build a hit of these items."""
        decode, now_ms = partial(read_hit, items, rid), self._now_ms()
        if self._keys and 1 <= len(items) <= MOST_ITEMS and not now_ms and rid is None:
            args: list[Wire] = [b"", b"", len(items)]
            if add_items(args, items):
                return Call(library()[SCRIPT], self._keys, tuple(args), decode)
        call = build_call(SCRIPT, self.base, {"rid": rid, "now_ms": now_ms or None}, {"item": items}, decode=decode)
        self._keys = call.keys
        return call


def add_items(args: list[Wire], items: Sequence[Item]) -> bool:
    """Add items as they are sent. False: one is not as usual, so that build_call has to look at it.

    What build_call does for any script takes twice as long.
    """
    try:
        for rule, subject, cost in items:
            if not (is_id(rule) and is_label(subject)):
                return False
            if cost is None:
                args += (rule, subject, b"")
            elif type(cost) is int and 0 <= cost <= MOST_COST:
                args += (rule, subject, cost)
            else:
                return False
    except (TypeError, ValueError):
        return False
    return True


def read_hit(items: Sequence[Item], rid: str | None, reply: Reply) -> RateAnswer:
    """The answer to a hit. By position: by names, it takes as long as the rest of the call."""
    try:
        status = reply[0].decode()
        if status == "returned":
            return RateAnswer(False, "returned", rid=rid)
        retry_after = reply[2] / 1000 if status == "refused" else 0.0
        rules = tuple([_read_rule(item, one) for item, one in zip(items, reply[-1], strict=True)])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise AdeqError(f"rate.hit.v1: the reply is not what the manifest declares: {error}") from error
    return RateAnswer(status == "allowed", status, retry_after, rules, rid)


def _read_rule(item: Item, reply: Reply) -> RuleAnswer:
    status, remaining, retry_ms, reset_ms, limit, period_ms, on_error = reply
    return RuleAnswer(
        item[0],
        item[1],
        status.decode(),
        remaining,
        retry_ms / 1000,
        reset_ms / 1000,
        limit,
        period_ms / 1000,
        on_error.decode(),
    )
