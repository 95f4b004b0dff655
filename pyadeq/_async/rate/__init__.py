"""Rates: limits of calls by anybody to anything."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from time import monotonic
from typing import Any, TypedDict, Unpack

from pyadeq._async.kernel.noun import Noun
from pyadeq._async.kernel.partitions import PartitionedNoun
from pyadeq._async.kernel.runner import Runner
from pyadeq._core.kernel.nouncalls import NounCalls, Result
from pyadeq._core.kernel.options import checked_options
from pyadeq._core.rate.cache import Known
from pyadeq._core.rate.calls import Hit, HitCalls, Item, item_of
from pyadeq._core.rate.partitions import partition_of, partition_tags
from pyadeq.errors import ConfigError, TransportError
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds
from pyadeq.models.rate import OnError, RateAlgorithm, RateAnswer, RateRule, RuleAnswer


class RuleFields(TypedDict, total=False):
    """The fields of a rule.

    limit: how many hits a period may have; of concurrency, how many leases there may be at a time. It has no default.
    period: seconds, at most 31 days. Rules of concurrency have none.
    algorithm: `gcra` (the default) spreads hits evenly: a period has at most burst + limit. `log` counts each hit: no
    period has more than `limit`, at most 5,000. `concurrency` counts leases.
    burst: gcra: how many hits may come at once; by default as many as `limit`.
    lease: concurrency: how many seconds a lease lasts if it is not renewed (60; at most one hour).
    shadow: it only reports what it would refuse.
    on_error: whether clients refuse (closed, the default) or allow (open) while they cannot ask the server.
    """

    limit: int
    period: Seconds
    algorithm: RateAlgorithm
    burst: int
    lease: Seconds
    shadow: bool
    on_error: OnError


class Rates(Noun):
    """The rates of a namespace: rules, and hits that they allow or refuse."""

    noun = "rate"

    def __init__(self, runner: Runner, name: str, base: str) -> None:
        super().__init__(runner, name, base)
        self._hits = HitCalls(base, runner.now_ms)
        self._known = Known()
        self._partitioned: dict[int, PartitionedRates] = {}

    def partitioned(self, partitions: int) -> PartitionedRates:
        """The namespace of this name that is spread over so many partitions, from 1 to 1024: always the same object.

        It shares nothing with this one, nor with one of another number: rules and counts are its own.
        """
        found = self._partitioned.get(partitions)
        return found or self._partitioned.setdefault(partitions, PartitionedRates(self, partitions))

    # Where the data of a subject is

    def _hits_of(self, items: Sequence[Item]) -> HitCalls:
        return self._hits

    def _calls_of(self, subject: str) -> NounCalls:
        return self.calls

    def _all_calls(self) -> Sequence[NounCalls]:
        """What builds the calls of each base."""
        return [self.calls]

    # Hits

    async def hit(
        self,
        rule: str,
        subject: str,
        cost: int = 1,
        *,
        remember: bool = False,
        rid: str | None = None,
        on_error: OnError = "closed",
        retry_for: float | None = None,
    ) -> RateAnswer:
        """Count a hit of a rule for a subject, if the rule allows it. The answer is true if it does.

        The answer to a refused hit is known for the time after which it could be allowed, at most 1 s. Until then the
        same hit is refused without asking the server.

        cost: how much the hit counts; at most 1,000,000.
        remember: give the hit a request id, for which the server remembers the answer for a minute. So a hit whose
        answer was lost counts once. Without it, it may count twice, which never allows more than the rule. Rules of
        concurrency need it: `rid` of the answer is the lease.
        rid: a request id of your own. Implies remember.
        on_error: whether to refuse (closed) or allow (open) while the server cannot be asked, if this client has not
        read the rule yet. After that, the rule says it. The status is then `unavailable`.
        retry_for: seconds for which to try again to reach the server; None: as the client does.
        """
        return await self.hit_all(
            [(rule, subject, cost)], remember=remember, rid=rid, on_error=on_error, retry_for=retry_for
        )

    async def hit_all(
        self,
        hits: Sequence[Hit],
        *,
        remember: bool = False,
        rid: str | None = None,
        on_error: OnError = "closed",
        retry_for: float | None = None,
    ) -> RateAnswer:
        """Count hits of 1 to 8 rules, if all of them allow it: all or nothing.

        hits: rules with their subjects and costs; a cost that is left out is 1. Everything else as in `hit`.
        """
        items = tuple([item_of(one) for one in hits])
        if rid is None and remember:
            rid = new_ulid()
        is_cacheable = rid is None and not self._runner.now_ms()
        if is_cacheable and (known := self._known.refusal(items, monotonic())) is not None:
            return known
        try:
            answer = await self._runner.send(self._hits_of(items).hit(items, rid), retry_for)
        except TransportError as error:
            if not error.retryable:  # a right is missing, for instance: waiting does not help
                raise
            return self._known.without_server(items, on_error, error)
        self._known.note(items if is_cacheable else None, answer, monotonic())
        return answer

    async def peek(self, rule: str, subject: str) -> RuleAnswer:
        """What a rule allows a subject now; counts nothing."""
        items = [(rule, subject, 0)]
        return (await self._runner.send(self._hits_of(items).hit(items))).rules[0]

    async def release(self, rule: str, subject: str, lease: str) -> bool:
        """Give a lease of concurrency back: the `rid` of the hit. False: it had ended before."""
        item = {"rule": rule, "subject": subject, "lease": lease}
        return bool((await self._call_of(subject, "release", item)).status == "released")

    async def renew(self, rule: str, subject: str, lease: str) -> float | None:
        """Let a lease of concurrency last as long as its rule says from now on.

        Returns when it ends (since the epoch, on the server's clock); None: it has ended, so stop the work.
        """
        item = {"rule": rule, "subject": subject, "lease": lease}
        found: float | None = (await self._call_of(subject, "renew", item)).deadline
        return found

    async def refund(self, rule: str, subject: str, cost: int = 1) -> int:
        """Take hits back that should not have counted. Returns how much the rule allows now."""
        return await self._adjust({"rule": rule, "subject": subject, "action": "refund", "cost": cost})

    async def reset(self, rule: str, subject: str) -> int:
        """Forget all that a rule has counted for a subject; of concurrency, all leases.

        Returns how much the rule allows now.
        """
        return await self._adjust({"rule": rule, "subject": subject, "action": "reset"})

    async def _adjust(self, item: dict[str, Any]) -> int:
        remaining: int = (await self._call_of(item["subject"], "adjust", item)).remaining
        self._known.forget()
        return remaining

    async def _call_of(self, subject: str, verb: str, item: dict[str, Any]) -> Result:
        """A call for one item, and the answer to it."""
        found: Result = (await self._runner.send(self._calls_of(subject).build(verb, item=[item]))).items[0]
        return found

    # Rules

    async def set(self, name: str, **rule: Unpack[RuleFields]) -> Result:
        """Store a rule, in place of the one of this name. Returns `stored` or `same`, and `version`.

        See RuleFields. What was counted goes on counting if only numbers change. Another algorithm begins anew.
        """
        checked_options(rule, RuleFields.__annotations__, required=["limit"], besides=["name"])
        return await self._set({"name": name, **rule})

    async def remove(self, name: str) -> bool:
        """Remove a rule: hits that name it are refused as errors from now on. False: there was none."""
        return (await self._set({"name": name, "remove": True})).status == "removed"

    async def _set(self, item: dict[str, Any]) -> Result:
        found = Result("", {})
        for calls in self._all_calls():  # one after the other; each changes in one step
            found = (await self._runner.send(calls.build("set_rules", item=[item]))).items[0]
        self._known.forget()
        return found

    async def get(self, name: str) -> RateRule | None:
        """The rule of this name, or None."""
        return next(iter(await self._rules([name])), None)

    async def list(self) -> builtins.list[RateRule]:
        """All rules, in the order of their names."""
        return sorted(await self._rules([]), key=lambda rule: rule.name)

    async def _rules(self, names: builtins.list[str]) -> builtins.list[RateRule]:
        items = (await self._runner.send(self._all_calls()[0].build("rules", item=names))).items
        return [RateRule(name=one.name, **one.rule) for one in items if one.status == "found"]


class PartitionedRates(Rates, PartitionedNoun):
    """Rates of a namespace that one core cannot serve: its subjects are spread over partitions.

    All rules of a call need the same subject. Rules are stored in each partition.
    """

    def __init__(self, rates: Rates, partitions: int) -> None:
        PartitionedNoun.__init__(self, rates._runner, rates.name, rates.base, partition_tags(partitions))
        self._known = Known()
        self._hits_at = [HitCalls(base, self._runner.now_ms) for base in self.bases]

    def partitioned(self, partitions: int) -> PartitionedRates:
        """Not here: take it from `adeq.rates(…)`."""
        raise ConfigError("partitioned: these rates have partitions already; call it on adeq.rates(…)")

    def _hits_of(self, items: Sequence[Item]) -> HitCalls:
        return self._hits_at[partition_of({subject for _, subject, _ in items}, len(self.tags))]

    def _calls_of(self, subject: str) -> NounCalls:
        return self.part(self.tags[partition_of({subject}, len(self.tags))])

    def _all_calls(self) -> Sequence[NounCalls]:
        return [self.part(tag) for tag in self.tags]
