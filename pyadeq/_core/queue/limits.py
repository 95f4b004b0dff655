"""A queue's calls that have to do with limits and fair shares."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, cast

from pyadeq._core.kernel.call import Call, Reply, build_call
from pyadeq._core.kernel.options import unfit
from pyadeq.errors import BadArgument
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.limit import Limit, LimitUse, Policy, SetLimitStatus


class LimitCalls:
    """The calls of a queue's limits."""

    base: str
    now_ms: Callable[[], int]
    _scalars: Callable[..., dict[str, Any]]

    def set_limits(self, limits: Sequence[tuple[str, dict[str, Any]]], rid: str) -> Call[list[SetLimitStatus]]:
        """limits: keys, each with what `limit_pairs` makes, or nothing to take its limit away."""
        return build_call(
            "queue.set_limits.v1",
            self.base,
            self._scalars(rid=rid),
            {"item": limits},
            decode=lambda reply: [item[0].decode() for item in reply[2]],
        )

    def limits(self, keys: Sequence[str] = (), cursor: str = "") -> Call[tuple[list[Limit], str, list[LimitUse]]]:
        """Build a call for a page of limits and the next cursor; or, with keys, for the state of these keys."""
        return build_call(
            "queue.limits.v1",
            self.base,
            {"now_ms": self.now_ms(), "cursor": cursor},
            {"item": [(key,) for key in keys]},
            decode=lambda reply: _limits(reply, keys),
        )


class WeightCalls:
    """The calls of the weights that users have in a queue with fair shares."""

    base: str
    now_ms: Callable[[], int]
    _scalars: Callable[..., dict[str, Any]]

    def set_weights(self, weights: Sequence[tuple[str, int]], rid: str) -> Call[None]:
        """Build a call. weights: users with their weight in percent; 0 resets to the default."""
        return build_call(
            "queue.set_weights.v1", self.base, self._scalars(rid=rid), {"item": weights}, decode=lambda _: None
        )

    def weights(self, users: Sequence[str] = (), cursor: str = "") -> Call[tuple[dict[str, float], str]]:
        """Some of the weights that are not 1, and the cursor that gets the next; or those of users that are named."""
        scalars = {"now_ms": self.now_ms(), "cursor": cursor}
        items = [(user,) for user in users]
        return build_call("queue.weights.v1", self.base, scalars, {"item": items}, decode=_weights)


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


def _limits(reply: Reply, keys: Sequence[str]) -> tuple[list[Limit], str, list[LimitUse]]:
    flat = [text.decode() for text in reply[3]]
    rules = [_limit(key, rule) for key, rule in zip(flat[::2], flat[1::2], strict=True)]
    return rules, reply[2].decode(), [_use(key, item) for key, item in zip(keys, reply[4], strict=True)]


def _weights(reply: Reply) -> tuple[dict[str, float], str]:
    flat = [text.decode() for text in reply[3]]
    return {user: int(pct) / 100 for user, pct in zip(flat[::2], flat[1::2], strict=True)}, reply[2].decode()


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


def _use(key: str, item: list[Any]) -> LimitUse:
    if item[0] == b"unlimited":
        return LimitUse(key=key, running=item[1], waiting=item[2])
    _, by, rule, running, waiting, next_ms = item
    limit = _limit(by.decode(), rule.decode())
    next_start = next_ms / 1000 if limit.rate else None
    return LimitUse(key=key, running=running, waiting=waiting, limit=limit, next_start=next_start)
