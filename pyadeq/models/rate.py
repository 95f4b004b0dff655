"""Models of rates: rules, and what they say to a hit. Times are as in `models.base`."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pyadeq.models.base import Model

RateAlgorithm = Literal["gcra", "log", "concurrency"]
OnError = Literal["closed", "open"]
HitStatus = Literal["allowed", "refused", "never", "returned", "unavailable"]
RuleStatus = Literal["allowed", "refused", "never", "shadowed"]


class RateRule(Model):
    """A rule as it is stored.

    limit: how many hits a period may have; of concurrency, how many leases there may be at a time.
    period: seconds; 0: concurrency.
    burst: gcra: how many hits may come at once. Other algorithms: 0.
    lease: concurrency: how many seconds a lease lasts if it is not renewed. Other algorithms: 0.
    on_error: whether clients refuse (closed) or allow (open) while they cannot ask the server.
    shadow: it only reports what it would refuse.
    version: rises with each rule that is stored in the namespace.
    """

    name: str
    algorithm: RateAlgorithm
    limit: int
    period: float
    burst: int
    lease: float
    on_error: OnError
    shadow: bool
    version: int


class RuleAnswer(NamedTuple):
    """What one rule says to a hit.

    status: `shadowed`: a shadow rule would refuse it. `never`: the cost is more than the rule ever allows at once.
    remaining: how much more the rule allows now.
    retry_after: seconds after which the rule allows this cost, if nothing else comes; 0: it allows it.
    reset_after: seconds after which the rule allows as much as it ever does. Of concurrency: seconds after which the
    lease of this hit ends, unless it is renewed.
    limit, period, on_error: of the rule, see RateRule.
    """

    rule: str
    subject: str
    status: RuleStatus
    remaining: int
    retry_after: float
    reset_after: float
    limit: int
    period: float
    on_error: OnError


class RateAnswer(NamedTuple):
    """What all rules together say to a hit. It is true where the hit is allowed.

    status: `never`: the cost is more than a rule ever allows at once. `returned`: the lease was given back before the
    hit arrived. `unavailable`: the server could not be asked; `error` says why.
    retry_after: seconds after which all rules allow the hit, if nothing else comes; 0: it is allowed, or never is.
    rules: what each rule says, in the order of the call; empty for `returned` and `unavailable`.
    rid: the request id; of concurrency, the lease.
    cached: the client knew the answer, and did not ask the server.
    """

    allowed: bool
    status: HitStatus
    retry_after: float = 0.0
    rules: tuple[RuleAnswer, ...] = ()
    rid: str | None = None
    cached: bool = False
    error: Exception | None = None

    def __bool__(self) -> bool:
        return self.allowed
