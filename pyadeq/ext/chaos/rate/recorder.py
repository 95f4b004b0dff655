"""The calls of a rate namespace that the rules need, each recorded."""

from __future__ import annotations

from pyadeq.asyncio import Adeq, NounCalls, Rates
from pyadeq.ext.chaos.noun_recorder import RecordingRunner
from pyadeq.ext.chaos.recorder import Recorder


class RecordedRates(Rates):
    """A rate namespace whose calls are recorded: see RecordingRunner. Not recorded: a refusal that the client knew."""

    def __init__(self, recorder: Recorder, adeq: Adeq, namespace: str, client: str, durability: str = "memory") -> None:
        plain = adeq.rates(namespace)
        # What the method reads of an answer has not the server's time.
        whole = NounCalls(plain.base, noun="rate").build("hit", item=[("any", "any", 1)]).decode
        runner = RecordingRunner(recorder, adeq, client, durability, results={"hit": whole})
        super().__init__(runner, plain.name, plain.base)
