"""What the clients of a chaos run do with rates: hit rules, hold leases, and change the rules meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from pyadeq.errors import BadArgument
from pyadeq.ext.prove.chaos.rate.recorder import RecordedRates
from pyadeq.ext.prove.chaos.workload import PAUSE, Client, tried
from pyadeq.ids import new_ulid

# Each rule in its forms, of which no two have the same limit and period.
RULES: Final[Mapping[str, list[dict[str, Any]]]] = {
    "flow": [
        {"limit": 4, "period": 1, "burst": 2},
        {"limit": 8, "period": 1, "burst": 4},
        {"limit": 4, "period": 2, "burst": 1},
    ],
    "log": [{"limit": limit, "period": period, "algorithm": "log"} for limit, period in ((4, 1), (8, 1), (4, 2))],
    "once": [{"limit": limit, "period": period, "algorithm": "log"} for limit, period in ((3, 1), (6, 1), (6, 2))],
    "slots": [{"limit": limit, "lease": 1, "algorithm": "concurrency"} for limit in (1, 2, 3)],
}
SUBJECTS: Final = ("red", "blue")
REFUNDED: Final = "green"  # whose hits are taken back now and then
FLOWS: Final = 3  # of one process
PACE: Final = 8.0  # calls a second of each


async def call(client: Client) -> None:
    """Hit rules in several flows."""
    await _store(client)
    await asyncio.gather(*(_flow(client) for _ in range(FLOWS)))


async def _store(client: Client) -> None:
    for name in RULES:
        while not client.stopped.is_set() and not await _change(client, name):
            await client.idle(PAUSE)


async def _change(client: Client, name: str) -> Any:
    return await tried(client.noun(RecordedRates).set(name, **client.random.choice(RULES[name])))


async def _flow(client: Client) -> None:
    while not client.stopped.is_set():
        try:
            await _step(client)
        except BadArgument:  # a rule is not stored; `rules_found` knows whether the server may have lost it
            await _store(client)
        await client.idle(client.random.expovariate(PACE))


async def _step(client: Client) -> None:
    random, rates = client.random, client.noun(RecordedRates)
    chance, subject = random.random(), random.choice(SUBJECTS)
    if chance < 0.4:
        await tried(rates.hit(random.choice(("flow", "log")), subject, random.choice((1, 1, 1, 2))))
    elif chance < 0.55:
        await _hit_again(client, partial(rates.hit, "once", subject))
    elif chance < 0.7:
        several = [(name, subject) for name in random.sample(("flow", "log", "once"), 2)]
        await _hit_again(client, partial(rates.hit_all, several))
    elif chance < 0.9:
        await _hold(client, subject)
    elif chance < 0.94:
        await _take_back(client)
    elif chance < 0.97:
        await tried(rates.peek(random.choice(list(RULES)), subject))
    else:
        await _change(client, random.choice(list(RULES)))


async def _hit_again(client: Client, hit: Any) -> None:
    """A hit with a rid; sometimes twice at the same time, or once more afterwards."""
    hit = partial(hit, rid=new_ulid())
    await asyncio.gather(*(tried(hit()) for _ in range(2 if client.chance(0.2) else 1)))
    if client.chance(0.2):
        await tried(hit())


async def _hold(client: Client, subject: str) -> None:
    """Take a lease, alone or together with a hit of another rule, and renew it or not, and give it back or not."""
    random, rates, rid = client.random, client.noun(RecordedRates), new_ulid()
    several = [("slots", subject), *([("once", subject)] if client.chance(0.3) else [])]
    if client.chance(0.03):
        await tried(rates.release("slots", subject, rid))  # it arrives before its hit, which takes no place then
    answer = await tried(rates.hit_all(several, rid=rid))
    if not answer:
        return
    await client.idle(random.random() * 0.4)
    while client.chance(0.4):
        if await tried(rates.renew("slots", subject, rid)) is None:
            return
        await client.idle(random.random() * 0.4)
    if client.chance(0.8):
        await tried(rates.release("slots", subject, rid))


async def _take_back(client: Client) -> None:
    """Hit a rule and take the hit back."""
    name = client.random.choice(("flow", "log"))
    if await tried(client.noun(RecordedRates).hit(name, REFUNDED)):
        await tried(client.noun(RecordedRates).refund(name, REFUNDED))
    if client.chance(0.2):
        await tried(client.noun(RecordedRates).reset(name, REFUNDED))
