"""Lists of names on the board and in REST: all of them, or the answer says so."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import naming
from pyadeq.ext.server.api import names as api_names
from pyadeq.ext.server.board import looks
from tests.waiting import DEADLINE

NOTICE = "Some names may be missing"
SCANNED = 1_000  # keys of a page of a scan
MANY = 1_500


async def fill(adeq: Adeq, names: int) -> None:
    """Queues of a client that does not use registries."""
    pipe = adeq.client.pipeline(transaction=False)
    for number in range(names):
        pipe.hset(f"{adeq.prefix}:{{queue:q{number:04}}}:config", mapping={"layout": 1})
    await pipe.execute()


async def test_the_service_completes_the_registries(adeq: Adeq, http: AsyncClient) -> None:
    await fill(adeq, MANY)
    await http.get("/")  # a mounted service begins with its first list

    until = monotonic() + DEADLINE
    while (await adeq.registry("queue").page(limit=1)).complete_until == 0:
        assert monotonic() < until
        await asyncio.sleep(0.01)
    assert (await adeq.registry("queue").page(limit=1)).total == MANY
    page = (await http.get(f"/?q=q{MANY - 1}")).text
    assert page.count(f"q{MANY - 1}") > 1
    assert NOTICE not in page
    found = (await http.get("/v1/queues?limit=1000")).json()
    assert len(found["items"]) == 1000
    assert not found["complete"]


async def test_a_list_that_lacks_names_says_so(adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(adeq, 3 * SCANNED)  # more than a page of a scan, even of a table that the server makes larger
    for module in (looks, api_names):
        monkeypatch.setattr(module, "LOOK", 0.0)
    monkeypatch.setattr(naming.Naming, "start", lambda self: None)
    assert not (await http.get("/v1/queues")).json()["complete"]
    assert NOTICE in (await http.get("/")).text
    await adeq.update_registries()
    assert (await http.get("/v1/queues?limit=1")).json() == {"items": ["q0000"], "complete": False}
    for number in range(3, 3 * SCANNED):
        await adeq.client.delete(f"{adeq.prefix}:{{queue:q{number:04}}}:config")
    await adeq.update_registries()
    assert (await http.get("/v1/queues")).json() == {"items": ["q0000", "q0001", "q0002"], "complete": True}
