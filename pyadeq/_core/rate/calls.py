"""The calls of rates that are made often. The others are built by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyadeq._core.kernel.call import Call, Reply, build_call
from pyadeq._core.kernel.options import unfit
from pyadeq.errors import AdeqError
from pyadeq.models.rate import RateAnswer, RuleAnswer

Hit = tuple[str, str] | tuple[str, str, int]
"""A rule, a subject and a cost. A cost that is left out is 1."""
Item = tuple[str, str, int | None]
"""The same, as it is sent; None: 1."""


def item_of(hit: Hit) -> Item:
    if not isinstance(hit, tuple) or not 2 <= len(hit) <= 3:
        raise unfit("hits", hit, "tuples of a rule, a subject and a cost; a cost of 1 may be left out")
    return hit if len(hit) == 3 else (*hit, None)


class HitCalls:
    """Builds hits. now_ms: the time of a test clock, otherwise 0."""

    def __init__(self, base: str, now_ms: Callable[[], int]) -> None:
        self.base = base
        self._now_ms = now_ms

    def hit(self, items: Sequence[Item], rid: str | None = None) -> Call[RateAnswer]:
        scalars = {"rid": rid, "now_ms": self._now_ms() or None}
        return build_call("rate.hit.v1", self.base, scalars, {"item": items}, decode=partial(read_hit, items, rid))


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
