"""The calls of a rate namespace that the rules need, each recorded."""

from __future__ import annotations

from pyadeq.asyncio import Adeq, NounCalls, Rates
from pyadeq.ext.prove.chaos.noun_recorder import Recorded

# What the method of the noun reads of an answer has not the server's time.
_WHOLE = NounCalls("{any}", noun="rate").build("hit", item=[("any", "any", 1)]).decode


class RecordedRates(Recorded, Rates, of=Adeq.rates, results={"hit": _WHOLE}):
    """A rate namespace whose calls are recorded. Not recorded: a refusal that the client knew."""
