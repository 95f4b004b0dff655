"""The board's pages about dead tasks and bulks."""

import asyncio
import html
import re
from typing import Any

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Failure, PartitionedQueue, Queue, Task
from tests.integration.server.conftest import Ask
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine
DEAD = "/queues/mail/dead"


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages share nothing, so that each shows what has just changed."""
    for name in ("dead.COUNTED_FOR", "looks.NUMBERS_FOR"):
        monkeypatch.setattr(f"pyadeq.ext.server.board.{name}", 0.0)


async def die(queue: Queue | PartitionedQueue, *tasks: Task, error: str = "no", reason: str = "error") -> None:
    """Tasks that are dead for a reason."""
    await queue.enqueue_many(tasks)
    leases: list[Any] = []
    while len(leases) < len(tasks):
        leases += await queue.claim(limit=len(tasks) - len(leases))
    await queue.fail_many([Failure(one, error, reason=reason, retryable=False) for one in leases])


def rows(page: str) -> dict[str, str]:
    """The groups of the page, and how many tasks each has."""
    found = re.findall(r'<tr data-id="([^"]+)">\n<th scope="row">[^<]+</th>\n.*\n<td class="n"><a [^>]+>([\d,]+)', page)
    return dict(found)


def form(page: str) -> tuple[str, dict[str, str]]:
    """Where the form of a page leads, and its fields."""
    action, inner = re.findall(r'<form method="post" action="(/do/[^"]+)"[^>]*>(.*?)</form>', page, re.DOTALL)[0]
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', inner)
    return action, {name: html.unescape(value) for name, value in fields}


async def done(http: AsyncClient, path: str) -> str:
    """The page of a bulk when it has ended."""
    async with asyncio.timeout(DEADLINE):
        while 'data-refresh="0"' not in (page := (await http.get(path)).text):
            await asyncio.sleep(0.02)
    return page


async def test_a_group_is_counted_retried_and_its_progress_shown(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await die(queue, *[Task(payload=n, kind="shop/send") for n in range(3)], reason="bad_address")
    await die(queue, Task(kind="send"), Task(kind="digest"), Task())
    page = (await http.get(DEAD)).text
    assert "6 of 6 dead tasks were looked at" in page
    assert rows(page) == {"shop/send bad_address": "3", "send error": "1", "digest error": "1", " error": "1"}
    link = re.search(r'href="([^"]+verb=retry[^"]+send[^"]+bad[^"]+)"', page)
    assert link
    confirm = (await http.get(html.unescape(link[1]))).text
    assert "<h1>Retry 3 tasks?</h1>" in confirm
    assert (await queue.stats()).dead == 6, "a look changes nothing"
    action, fields = form(confirm)
    begun = await http.post(action, data=fields)
    assert begun.status_code == 303
    assert re.fullmatch(r"/queues/mail/bulks/\w+", begun.headers["location"])
    page = await done(http, begun.headers["location"])
    assert re.findall(r"<b>(\d+)</b>", page.partition("<dl")[0]) == ["3", "3", "0"]
    assert ":cancel" not in page
    stats = await queue.stats()
    assert (stats.dead, stats.ready) == (3, 3)
    assert begun.headers["location"] in (await http.get("/queues/mail/bulks")).text


async def test_the_newest_errors_are_shown_by_tier(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    for n in range(12):  # ids in their order: several may die in the same millisecond
        await die(queue, Task(payload="a payload", id=f"a/{n:02}"), error=f"error-{n} <b>")
    await die(queue, Task(id="b", tier="confidential"), error="of-b")
    await die(queue, Task(id="c", tier="restricted"), error="of-c")
    page = (await http.get(DEAD)).text
    found = re.findall(r'<th scope="row"><a class="id" href="/queues/mail/tasks/([^"]+)"', page)
    assert found == ["c", "b", *[f"a%2F{n:02}" for n in range(11, 3, -1)]]
    assert "of-b" in page
    assert "error-4 &lt;b&gt;" in page
    assert not [text for text in ("of-c", "<b>", "a payload") if text in page]


async def test_dead_tasks_of_partitions(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    await die(queue, *[Task(payload=n, kind="k") for n in range(9)])
    page = (await http.get(DEAD)).text
    assert rows(page) == {"k error": "9"}
    assert page.count('class="id"') == 9


async def test_open_tasks_are_cancelled_as_the_list_selects_them(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many([Task(user="ann", kind="a"), Task(user="ann", kind="b"), Task(user="bob", kind="a")])
    page = (await http.get("/queues/mail/tasks", params={"user": "ann", "kind": "a"})).text
    link = re.search(r'href="([^"]+verb=cancel[^"]*)"', page)
    assert link
    action, fields = form((await http.get(html.unescape(link[1]))).text)
    begun = await http.post(action, data=fields)
    await done(http, begun.headers["location"])
    assert (await queue.stats()).ready == 2


async def test_a_bulk_is_stopped_by_a_form(adeq: Adeq, asking: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq.ext.server.api.bulk_runs.CHUNK", 1)
    wait = asyncio.Event()
    looked = Queue.list

    async def slow(self: Queue, *arguments: Any, **options: Any) -> Any:
        if options.get("limit") == 1 and options.get("cursor"):
            await wait.wait()
        return await looked(self, *arguments, **options)

    await die(adeq.queue("mail"), *[Task(payload=n) for n in range(4)])
    monkeypatch.setattr(Queue, "list", slow)
    http, reader = asking("operator"), asking("queue.observe")
    action, fields = form((await http.get("/queues/mail/bulks/new?verb=retry")).text)
    path = (await http.post(action, data=fields)).headers["location"]
    assert ":cancel" not in (await reader.get(path)).text
    stop, fields = form((await http.get(path)).text)
    assert (await reader.post(stop, data=fields)).status_code == 403
    assert (await http.post(stop, data=fields)).status_code == 303
    wait.set()
    page = await done(http, path)
    assert "cancelled</span>" in page
    assert (await adeq.queue("mail").stats()).dead > 0


async def test_who_may_change_dead_tasks(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await die(queue, Task(user="ann"))
    await queue.enqueue_many([Task(user="ann"), Task(user="bob")])
    reader = asking("queue.observe")
    assert "bulks/new" not in (await reader.get(DEAD)).text
    assert (await reader.get("/queues/mail/bulks/new?verb=retry")).status_code == 403
    assert (await reader.post("/do/v1/queues/mail/bulks", data={"verb": "retry"})).status_code == 403
    ann = asking("queue.observe", "queue.produce", "queue.operate", user="ann")
    assert (await ann.get(DEAD)).status_code == 403
    assert (await ann.get("/queues/mail/bulks/new?verb=abandon")).status_code == 403
    assert "Cancel 1 task?" in (await ann.get("/queues/mail/bulks/new?verb=cancel&state=ready")).text
    assert (await ann.get("/queues/mail/bulks/new?verb=cancel&user=bob")).status_code == 403
    assert (await asking().get("/queues/mail/bulks/new?verb=purge")).status_code == 400
    assert (await asking().get("/queues/mail/bulks/new?verb=cancel&kind=a")).status_code == 400
    assert (await asking().get("/queues/mail/bulks/none")).status_code == 404
