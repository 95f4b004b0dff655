"""A queue's calls that have to do with limits and fair shares."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from pyadeq._core.kernel.call import Answer, Call
from pyadeq._core.kernel.nouncalls import NounCalls, statuses
from pyadeq._core.kernel.options import unfit
from pyadeq.errors import BadArgument
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.limit import Limit, LimitUse, Policy, SetLimitStatus


class LimitCalls(NounCalls):
    """The calls of a queue's limits."""

    def set_limits(self, limits: Sequence[tuple[str, dict[str, Any]]], rid: str) -> Call[list[SetLimitStatus]]:
        """limits: keys, each with what `limit_pairs` makes, or nothing to take its limit away."""
        return self.ask("set_limits", statuses, item=limits, rid=rid)

    def limits(self, keys: Sequence[str] = (), cursor: str = "") -> Call[tuple[list[Limit], str, list[LimitUse]]]:
        """Build a call for a page of limits and the next cursor; or, with keys, for the state of these keys."""
        return self.ask("limits", lambda answer: _limits(answer, keys), item=keys, cursor=cursor)


class WeightCalls(NounCalls):
    """The calls of the weights that users have in a queue with fair shares."""

    def set_weights(self, weights: Sequence[tuple[str, int]], rid: str) -> Call[None]:
        """Build a call. weights: users with their weight in percent; 0 resets to the default."""
        return self.ask("set_weights", lambda _: None, item=weights, rid=rid)

    def weights(self, users: Sequence[str] = (), cursor: str = "") -> Call[tuple[dict[str, float], str]]:
        """Some of the weights that are not 1, and the cursor that gets the next; or those of users that are named."""
        return self.ask("weights", _weights, item=users, cursor=cursor)


def weight_pct(weight: float) -> int:
    """Convert a weight to percent. The default weight 1 becomes 0."""
    if not isinstance(weight, int | float) or not 0.01 <= weight <= 100:
        raise unfit("weight", weight, "0.01 to 100")
    pct = round(weight * 100)
    return 0 if pct == 100 else pct


def limit_pairs(
    concurrency: int | None,
    starts: int | None,
    period: Seconds,
    burst: int | None,
    policy: Policy,
    expect: str | None = None,
) -> dict[str, Any]:
    """What `set_limits` takes for a key."""
    if concurrency is None and starts is None:
        raise BadArgument(
            "ADEQ_ARG", "pyadeq", "concurrency or starts: one of them at least; `remove` takes a limit away"
        )
    if burst is not None and starts is None:
        raise BadArgument("ADEQ_ARG", "pyadeq", f"burst: {burst!r} is not accepted without starts")
    if isinstance(starts, int) and 0 < 100 * to_ms("period", period) < starts:
        raise unfit("starts", starts, "100 for each ms of the period")
    rate = {} if starts is None else {"starts": starts, "period_ms": to_ms("period", period), "burst": burst}
    return {"concurrency": concurrency, **rate, "policy": policy, "expect": expect}


def rule_digest(rule: str) -> str:
    """What `expect` compares, of a stored rule."""
    return hashlib.sha1(rule.encode(), usedforsecurity=False).hexdigest()[:16]


def _limits(answer: Answer, keys: Sequence[str]) -> tuple[list[Limit], str, list[LimitUse]]:
    rules = [_limit(key, rule.decode()) for key, rule in answer["rules"].items()]
    return rules, answer["cursor"], [_use(key, one) for key, one in zip(keys, answer["items"], strict=True)]


def _weights(answer: Answer) -> tuple[dict[str, float], str]:
    return {user: int(pct) / 100 for user, pct in answer["weights"].items()}, answer["cursor"]


def _limit(key: str, rule: str) -> Limit:
    most, policy, interval_ms, burst = rule.split(" ")
    rated = float(interval_ms) > 0
    return Limit(
        key=key,
        concurrency=int(most) or None,
        rate=1000 / float(interval_ms) if rated else None,
        burst=int(burst) if rated else None,
        policy=cast(Policy, policy),
        digest=rule_digest(rule),
    )


def _use(key: str, answer: Answer) -> LimitUse:
    running, waiting = answer["holding"], answer["waiting"]
    if answer.status == "unlimited":
        return LimitUse(key=key, running=running, waiting=waiting)
    limit = _limit(answer["by"], answer["rule"])
    next_start = answer["next_ms"] / 1000 if limit.rate else None
    return LimitUse(key=key, running=running, waiting=waiting, limit=limit, next_start=next_start)
