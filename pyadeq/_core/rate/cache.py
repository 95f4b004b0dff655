"""What a client knows of rates without asking the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyadeq._core.rate.calls import Item
from pyadeq.models.rate import OnError, RateAnswer

LONGEST: Final = 1.0
"""Seconds for which a refusal is known at most. Then a rule that was changed, or a refund, counts."""
MOST: Final = 10_000
"""How many refusals are known at most."""


class Known:
    """Refusals that still hold, and whether rules are open or closed while the server is away.

    A refusal by concurrency is never kept: a lease may be given back at any time. now: seconds, of a monotonic clock.
    """

    def __init__(self) -> None:
        self._refused: dict[tuple[Item, ...], tuple[float, float, RateAnswer]] = {}
        self._on_error: dict[str, OnError] = {}

    def refusal(self, items: tuple[Item, ...], now: float) -> RateAnswer | None:
        """The refusal of such a hit, if there was one and it still holds."""
        found = self._refused.get(items)
        if found is None:
            return None
        until, retry_at, answer = found
        if now >= until:
            del self._refused[items]
            return None
        return answer._replace(retry_after=retry_at - now, cached=True)

    def note(self, items: tuple[Item, ...] | None, answer: RateAnswer, now: float) -> None:
        """Learn from an answer of the server. items: None: do not keep a refusal."""
        for rule in answer.rules:
            self._on_error[rule.rule] = rule.on_error
        if (
            items is None
            or answer.status != "refused"
            or any(one.status == "refused" and not one.period for one in answer.rules)
        ):
            return
        if len(self._refused) >= MOST:
            self._refused.clear()
        self._refused[items] = (now + min(answer.retry_after, LONGEST), now + answer.retry_after, answer)

    def forget(self) -> None:
        """Forget all refusals: what the server counts was changed."""
        self._refused.clear()

    def without_server(self, items: Sequence[Item], on_error: OnError, error: Exception) -> RateAnswer:
        """The answer while the server is away: allowed if all rules are open. on_error: of unknown rules."""
        is_open = all(self._on_error.get(rule, on_error) == "open" for rule, _, _ in items)
        return RateAnswer(is_open, "unavailable", error=error)
