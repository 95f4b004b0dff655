"""What a tier hides cannot be found by a filter either, unless somebody may reveal it."""

from typing import Any

import pytest
from httpx import AsyncClient, Response

from pyadeq.asyncio import Adeq, Queue
from pyadeq.ext.operations.rights import REVEAL
from tests.integration.server.conftest import Ask
from tests.waiting import eventually

pytestmark = pytest.mark.any_engine
AT = "/v1/queues/mail"
WORDS = [{"user": "ann"}, {"tag": "vip"}, {"source": "shop", "state": "dead"}, {"user": "ann", "state": "dead"}]


@pytest.fixture
async def queue(adeq: Adeq) -> Queue:
    """Dead tasks of one user, one tag and one source: two that anybody may know of, and three restricted ones."""
    queue = adeq.queue("mail")
    for id, tier in (("a", "restricted"), ("b", "internal"), ("c", "restricted"), ("d", "public"), ("e", "restricted")):
        task: dict[str, Any] = {"tier": tier, "user": "ann", "tags": ["vip"], "source": "shop", "max_attempts": 1}
        await queue.enqueue({}, id=id, **task)
        (lease,) = await queue.claim(limit=1)
        await queue.fail(lease, reason="failed", retryable=False)
    return queue


def ok(answer: Response) -> Any:
    assert answer.status_code < 300, answer.text
    return answer.json()


async def pages(http: AsyncClient, **query: Any) -> list[list[str]]:
    """The ids of each page."""
    found, cursor = [], ""
    while True:
        page = ok(await http.get(f"{AT}/tasks", params={**query, "cursor": cursor}))
        found.append([one["id"] for one in page["items"]])
        cursor = page["cursor"]
        if not cursor:
            return found


@pytest.mark.parametrize("words", WORDS)
async def test_a_list(queue: Queue, asking: Ask, words: dict[str, str]) -> None:
    observer, revealer = asking("observer"), asking("observer", REVEAL)
    assert await pages(observer, **words) == [["b", "d"]]
    assert await pages(observer, **words, limit=1) == [["b"], ["d"]], "no cursor tells of a restricted task"
    assert await pages(observer, **words, limit=2) == [["b", "d"]]
    assert sorted((await pages(revealer, **words))[0]) == ["a", "b", "c", "d", "e"]
    assert await pages(observer, **{**words, "kind": "none"}) == [[]]
    page = (await observer.get("/queues/mail/tasks", params=words)).text
    assert ["/mail/tasks/b" in page, "/mail/tasks/a" in page, "/mail/tasks/e" in page] == [True, False, False]


async def test_what_a_tier_shows_is_found(queue: Queue, asking: Ask) -> None:
    assert sorted((await pages(asking("observer"), state="dead", reason="failed"))[0]) == ["a", "b", "c", "d", "e"]


async def test_a_scope_finds_the_tasks_of_its_user(queue: Queue, asking: Ask) -> None:
    ann = asking("observer", user="ann")
    assert await pages(ann, user="ann") == [["a", "b", "c", "d", "e"]]
    assert await pages(ann, tag="vip") == [["b", "d"]]


@pytest.mark.parametrize("words", WORDS[:3])
async def test_a_bulk(queue: Queue, asking: Ask, words: dict[str, str]) -> None:
    operator, revealer = asking("operator"), asking("operator", REVEAL)
    filter = {name: value for name, value in words.items() if name != "state"}
    for http, matched in ((operator, 2), (revealer, 5)):
        for verb in ("retry", "abandon"):
            dry = {"verb": verb, "filter": filter, "dry_run": True}
            assert ok(await http.post(f"{AT}/bulks", json=dry)) == {"matched": matched, "complete": True}
            found = ok(await http.post(f"{AT}/dead:{verb}", json={**filter, "dry_run": True}))
            assert found == {"matched": matched, "done": 0}
    assert ok(await operator.post(f"{AT}/dead:abandon", json={**filter, "kind": "none"}))["done"] == 0
    bulk = ok(await operator.post(f"{AT}/bulks", json={"verb": "retry", "filter": filter}))

    async def ended() -> Any:
        found = ok(await operator.get(f"{AT}/bulks/{bulk['id']}"))
        return found if found["state"] == "done" else None

    await eventually(ended)
    assert ((await ended())["matched"], (await ended())["changed"]) == (2, 2)
    assert [one.id async for one in queue.iterate("dead")] == ["a", "c", "e"]
    assert ok(await operator.post(f"{AT}/dead:retry", json=filter)) == {"matched": 0, "done": 0}
    assert ok(await revealer.post(f"{AT}/dead:retry", json=filter)) == {"matched": 3, "done": 3}


async def test_the_filter_of_another_is_hidden(queue: Queue, asking: Ask) -> None:
    begun = {"verb": "retry", "filter": {"user": "ann", "reason": "failed"}}
    for rights, shown in ((("operator",), "ann"), (("operator", REVEAL), "(hidden)")):
        bulk = ok(await asking(*rights).post(f"{AT}/bulks", json=begun))
        assert bulk["filter"] == begun["filter"], "who has begun it knows it"
        for found in (
            ok(await asking("observer").get(f"{AT}/bulks/{bulk['id']}")),
            ok(await asking("observer").get(f"{AT}/bulks"))["items"][0],
        ):
            assert found["filter"] == {"user": shown, "reason": "failed"}


async def test_events_do_not_name_the_source(url: str, base_name: str, asking: Ask) -> None:
    async with Adeq.from_url(url, prefix=base_name, source="shop") as shop:
        await shop.queue("mail").enqueue({}, id="a", tier="restricted")
        await shop.queue("mail").enqueue({}, id="b")
        await shop.queue("mail").configure(tier="restricted")
        await shop.queue("mail").enqueue({}, id="c")
    for id, source in (("a", ""), ("b", "shop"), ("c", "")):
        (enqueued,) = ok(await asking("observer").get(f"{AT}/tasks/{id}/events"))["items"]
        assert enqueued["source"] == source
    assert ok(await asking("observer", REVEAL).post(f"{AT}/tasks/a:reveal"))["source"] == "shop"
