"""The page of workers: what they run, and requests to them."""

import html

import pytest

from pyadeq.asyncio import Adeq
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine


async def crew(adeq: Adeq) -> None:
    """Two workers of `mail`, one of which runs a task, and one of `news`."""
    mail = adeq.queue("mail")
    for name in ("w1", "w2"):
        await mail.workers.register(name, capacity=4, group="blue", capabilities=["gpu"])
    await mail.enqueue(1, id="a/b", kind="send", tier="restricted", user="secret-user")
    await mail.claim("w1", 1)
    await adeq.queue("news").enqueue(1)
    await adeq.queue("news").workers.register("n1", capacity=1)


async def test_workers_are_shown_with_their_tasks(adeq: Adeq, asking: Ask) -> None:
    await crew(adeq)
    http = asking("queue.observe", names=("mail",))
    for path in ("/workers", "/workers?queue=mail"):
        text = (await http.get(path)).text
        assert '<tr data-id="w2">' in text
        assert 'href="/queues/mail/tasks/a%2Fb"' in text
        assert "secret-user" not in text
        assert "n1" not in text
        assert ":control" not in text
    assert (await http.get("/workers?queue=news")).status_code == 404
    assert (await http.get("/workers?queue=_bulk")).status_code == 404
    assert "n1" in (await asking().get("/workers")).text


async def test_requests_to_workers_are_forms(adeq: Adeq, asking: Ask) -> None:
    await crew(adeq)
    http, steer = asking("operator"), "/do/v1/queues/mail/workers:control"
    workers = adeq.queue("mail").workers
    assert f'action="{steer}"' in (await http.get("/workers?queue=mail")).text
    said = "w1 was asked to claim no more."
    form = {"workers:list": "w1", "mode": "quiet", "_next": "/workers?queue=mail", "_said": said}
    assert (await http.post(steer, data=form)).headers["location"] == "/workers?queue=mail"
    assert [one.mode for one in await workers.list()] == ["quiet", "run"]
    text = html.unescape((await http.get("/workers?queue=mail")).text)
    assert said in text
    assert '<span class="tag warn">quiet</span>' in text
    assert (await http.post(steer, data={"group": "blue", "mode": "stop"})).status_code == 303
    assert {one.mode for one in await workers.list()} == {"stop"}
    assert (await http.post(steer, data={"everybody:bool": "true", "capacity:int": "7"})).status_code == 303
    assert {one.wanted for one in await workers.list()} == {7}


async def test_a_reader_sends_no_request(adeq: Adeq, asking: Ask) -> None:
    await crew(adeq)
    refused = await asking("observer").post(
        "/do/v1/queues/mail/workers:control", data={"group": "blue", "mode": "stop"}
    )
    assert refused.status_code == 403
    assert {one.mode for one in await adeq.queue("mail").workers.list()} == {"run"}


async def test_workers_of_a_queue_in_partitions(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.partitioned("many")
    await queue.repartition(2)
    ids = [f"t{number}" for number in range(4)]
    for id in ids:
        await queue.enqueue(1, id=id)
    for one in await queue.partitions():
        await queue.part(one.tag).workers.register("w1", capacity=4)
    await queue.claim("w1", 4)
    text = (await asking().get("/workers?queue=many")).text
    assert text.count('<tr data-id="w1">') == 1
    assert all(f"/queues/many/tasks/{id}" in text for id in ids)
