"""How long a worker bears that its server is away."""

import asyncio

import pytest

from pyadeq._worker import outage
from pyadeq.errors import TransportError


async def test_the_end_may_be_said_again_while_a_call_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outage, "LAST_CALL", 0.01)
    away = outage.Outage()

    async def call() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            away.end()

    away.out_of_time.set()
    with pytest.raises(TransportError, match="no answer in time"):
        await away.bear(call)
