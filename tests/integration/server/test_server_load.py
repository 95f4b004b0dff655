"""What autoscalers ask, by REST."""

import pytest
from fastapi import Request
from httpx import ASGITransport, AsyncClient

from pyadeq.asyncio import Adeq
from pyadeq.ext.server import Principal, app, everything
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
STATS = "/v1/stats"


async def somebody(_: Request) -> Principal:
    return everything("ann")


async def test_how_much_waits_and_runs(url: str, base_name: str) -> None:
    now = 1_000_000
    async with Adeq.from_url(url, prefix=base_name, clock=lambda: now) as adeq:
        queue = adeq.queue("mail")
        for name in ("mail", "news"):
            await adeq.queue(name).configure(clock="test")
        await queue.enqueue_many(range(3))
        await queue.enqueue(1, delay=60)
        await queue.claim("w", 1)
        now += 1500
        await queue.claim("w", 1)
        await adeq.queue("news").enqueue(1)
        transport = ASGITransport(app(adeq, authenticate=somebody))
        async with AsyncClient(transport=transport, base_url="http://service") as http:
            answer = (await http.get(STATS, params={"queue": ["mail", "news", "mail"]})).json()
    mail = {"queue": "mail", "queued": 1, "delayed": 1, "blocked": 0, "running": 2, "oldest": 1.5, "workers": 1}
    news = {"queue": "news", "queued": 1, "delayed": 0, "blocked": 0, "running": 0, "oldest": 0.0, "workers": 0}
    assert answer == {"items": [mail, news], "queued": 2, "running": 2}


async def test_partitions_are_one_queue(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    await queue.enqueue_many(range(9))
    (mail,) = (await http.get(STATS, params={"queue": "mail"})).json()["items"]
    assert mail["queued"] == 9


async def test_only_what_one_may_see(adeq: Adeq, asking: Ask) -> None:
    for name in ("mail", "news"):
        await adeq.queue(name).enqueue(1)
    params = {"queue": ["mail", "none", "news"]}
    for who, names in (
        (asking("observer"), ["mail", "news"]),
        (asking("observer", names=("mail",)), ["mail"]),
        (asking("observer", user="ann"), []),
        (asking("queue.work"), []),
    ):
        assert [one["queue"] for one in (await who.get(STATS, params=params)).json()["items"]] == names
    assert (await asking(None).get(STATS, params=params)).status_code == 401


async def test_one_to_a_hundred_queues_are_named(http: AsyncClient) -> None:
    assert (await http.get(STATS)).json()["errors"][0]["pointer"] == "?queue"
    many = [f"q{number}" for number in range(101)]
    assert (await http.get(STATS, params={"queue": many})).status_code == 400
    assert (await http.get(STATS, params={"queue": many[1:]})).json()["items"] == []
