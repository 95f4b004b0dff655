"""The board's pages about tasks: which ones are shown, what tiers and rights hide, and what the forms do."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, StepValue, Task
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
TASKS = "/queues/mail/tasks"
MARKUP = "<b>&amp;"
SHOWN = "&lt;b&gt;&amp;amp;"


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages share nothing, so that each shows what has just changed."""
    for name in ("task.SEEN_FOR", "task_list.LISTED_FOR", "task_list.SEARCHED_FOR", "looks.NUMBERS_FOR"):
        monkeypatch.setattr(f"pyadeq.ext.server.board.{name}", 0.0)


def ids(page: str) -> list[str]:
    """The tasks of a list, in order."""
    return [
        unquote(one) for one in re.findall(r'<th scope="row"><a class="id" href="/queues/mail/tasks/([^"]+)"', page)
    ]


def link(page: str, rel: str) -> str:
    """The address of a link."""
    found = re.search(rf'href="([^"]+)" rel="{rel}"', page)
    assert found, page
    return found[1].replace("&amp;", "&")


async def listed(http: AsyncClient, **query: str) -> list[str]:
    answer = await http.get(TASKS, params=query)
    assert answer.status_code == 200, answer.text
    return ids(answer.text)


async def test_tasks_are_listed_by_what_the_url_says(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many(
        [
            Task(payload="not in lists", id="a/1", kind="send", user="ann", tags=["eu"]),
            Task(payload=1, id="a/2", kind="digest", user="bob", delay=60),
            Task(payload=1, id="b:3", kind="send", user="bob", source="hook", parent="a/1"),
        ]
    )
    first = await http.get(TASKS)
    assert (first.status_code, first.headers["location"]) == (303, f"{TASKS}?state=ready")
    page = (await http.get(TASKS, params={"state": "ready"})).text
    assert ids(page) == ["a/1", "b:3"]
    assert "not in lists" not in page
    assert await listed(http, user="bob") == ["a/2", "b:3"]
    assert await listed(http, state="ready", kind="send", source="hook") == ["b:3"]
    assert await listed(http, tag="eu") == ["a/1"]
    assert await listed(http, parent="a/1") == ["b:3"]
    assert await listed(http, state="ready", text="/") == ["a/1"]
    assert await listed(http, state="ready", kind="none") == []
    assert "There is a task with this id" in (await http.get(TASKS, params={"state": "ready", "text": "a/2"})).text


async def test_pages_follow_each_other_and_say_what_was_looked_at(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = adeq.queue("mail")
    made = [f"x{n}" if n % 2 else f"y{n}" for n in range(130)]
    await queue.enqueue_many([Task(id=id, kind="k" if id[0] == "x" else None) for id in made])
    for query in ({}, {"text": "x"}, {"kind": "k"}):
        expected = [id for id in made if not query or id[0] == "x"]
        seen, path = list[str](), f"{TASKS}?state=ready" + "".join(f"&{name}={value}" for name, value in query.items())
        while path:
            page = (await http.get(path)).text
            assert len(ids(page)) <= 50
            seen += ids(page)
            path = link(page, "next") if 'rel="next"' in page else ""
        assert seen == expected
        assert ids((await http.get(link(page, "first"))).text) == expected[:50]
    monkeypatch.setattr("pyadeq.ext.server.board.task_list.CALL", 20)
    monkeypatch.setattr("pyadeq.ext.server.board.task_list.MOST_CALLS", 2)
    page = (await http.get(TASKS, params={"state": "ready", "text": "129"})).text
    assert ids(page) == []
    assert "looked at 40 tasks at most" in page
    assert "No such task in this part" in page
    assert 'rel="next"' in page


async def test_partitions_are_listed_one_after_the_other(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.partitioned("mail")
    await queue.repartition(3)
    made = [one.id for one in await queue.enqueue_many(range(9))]
    assert sorted(await listed(http, state="ready")) == sorted(made)
    page = await http.get(f"{TASKS}/{made[0]}")
    assert page.status_code == 200


@pytest.mark.parametrize(
    "query", [{"state": "ready", "cursor": "x"}, {"user": "no user"}, {"state": "ready", "lane": "a b"}]
)
async def test_a_filter_that_is_not_accepted_is_kept(adeq: Adeq, http: AsyncClient, query: dict[str, str]) -> None:
    await adeq.queue("mail").enqueue(1)
    refused = await http.get(TASKS, params=query)
    assert refused.status_code == 400
    assert 'role="alert"' in refused.text
    assert all(f'value="{value}"' in refused.text for name, value in query.items() if name != "cursor")


async def test_a_user_sees_own_tasks_only(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue("of ann", id="mine", user="ann")
    await queue.enqueue("of bob", id="theirs", user="bob", after=["mine"], parent="mine")
    http = asking("queue.observe", "queue.produce", user="ann")
    assert await listed(http) == ["mine"]
    assert await listed(http, user="bob") == []
    assert "There is a task" not in (await http.get(TASKS, params={"text": "theirs"})).text
    assert (await http.get(f"{TASKS}/theirs")).status_code == 404
    assert "theirs" not in (await http.get(f"{TASKS}/mine")).text
    assert "theirs" in (await asking().get(f"{TASKS}/mine")).text
    assert (await http.post(f"/do/v1{TASKS}/theirs:cancel", data={"_next": "/"})).status_code == 404
    assert (await http.post(f"/do/v1{TASKS}/mine:cancel", data={"_next": "/"})).status_code == 303


async def test_markup_is_shown_as_text(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue({"a": MARKUP}, id="m", source=MARKUP, headers={"a": MARKUP})
    (lease,) = await queue.claim(worker="w")
    await queue.progress(lease, 0.5, MARKUP, log=MARKUP)
    page = (await http.get(f"{TASKS}/m")).text
    await queue.fail(lease, MARKUP, retryable=False)
    for text, count in ((page, 4), ((await http.get(f"{TASKS}/m")).text, 5)):  # at least: some are there twice
        assert "<b>&" not in text
        assert text.count(SHOWN) >= count
    refused = await http.get(TASKS, params={"state": "dead", "user": MARKUP, "lane": MARKUP})
    assert MARKUP not in refused.text


async def test_a_task_is_shown_with_its_runs_log_and_chain(
    adeq: Adeq, http: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADEQ_TRACE_URL", "https://traces.example.org/{trace_id}")
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    traced = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    await http.post(f"/v1{TASKS}", json={"id": "a/1", "payload": {"to": "ann"}}, headers=traced)
    queue = adeq.queue("mail")
    await queue.enqueue(2, id="child", parent="a/1", delay=60)
    await queue.enqueue(2, id="later", after=["a/1"])
    (lease,) = await queue.claim(worker="w-1")
    await queue.progress(lease, 0.25, "half of it", log="a line")
    await queue.leases.keep_steps([StepValue(lease, "plan", 2, "step", b'{"files": 3}')])
    page = (await http.get(f"{TASKS}/a%2F1")).text
    for text in (
        "State: running",
        "25 %",
        "half of it",
        "a line",
        "plan#2",
        '{"files": 3}',
        "w-1",
        "child",
        "later",
        "{&#34;to&#34;:&#34;ann&#34;}",
    ):
        assert text in page, text
    assert f'href="https://traces.example.org/{trace}"' in page
    await queue.fail(lease, "no such address", reason="bad_address", retryable=False)
    page = (await http.get(f"{TASKS}/a%2F1")).text
    for text in ("State: dead", "bad_address", "task.enqueued", "task.dead", "error no such address"):
        assert text in page, text
    assert "Wait for it" not in page
    assert 'href="/queues/mail/tasks/a%2F1"' in (await http.get(f"{TASKS}/later")).text


async def test_forms_change_a_task_and_a_reader_has_none(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(1, id="a/1")
    await queue.enqueue(1, id="b", parent="a/1", delay=60)
    (lease,) = await queue.claim()
    await queue.fail(lease, "no", retryable=False)
    http, reader = asking("operator"), asking("queue.observe")

    async def button(verb: str, task: str = "a%2F1") -> Any:
        page = (await http.get(f"{TASKS}/{task}")).text
        found = re.search(rf'action="([^"]+:{verb}[^"]*)"', page)
        assert found, page
        assert "<form" not in (await reader.get(f"{TASKS}/{task}")).text.partition("<main")[2]
        assert (await reader.post(found[1], data={"_next": "/"})).status_code == 403
        done = await http.post(found[1], data={"_next": TASKS})
        assert done.status_code == 303, done.text

    async def state(id: str) -> str | None:
        found = await queue.get(id)
        return found.state if found else None

    await button("retry")
    assert await state("a/1") == "ready"
    await button("run-now", "b")
    assert await state("b") == "ready"
    assert ":run-now" not in (await http.get(f"{TASKS}/b")).text
    await button("cancel", "b")
    assert await state("b") == "cancelled"
    (lease,) = await queue.claim()
    await queue.fail(lease, "no", retryable=False)
    await button("abandon")
    assert await state("a/1") is None


ALL = ["secret-payload", "secret-error", "secret-user", "secret-log", "secret-text", "secret-header"]


@pytest.mark.parametrize(
    ("tier", "shown"), [("internal", ALL), ("confidential", ["secret-error", "secret-user"]), ("restricted", [])]
)
async def test_a_tier_hides_until_it_is_revealed(adeq: Adeq, asking: Ask, tier: Any, shown: list[str]) -> None:
    hidden = [text for text in ALL if text not in shown]
    queue = adeq.queue("mail")
    header = {"h": "secret-header"}
    await queue.enqueue("secret-payload", id="a/1", user="secret-user", tier=tier, headers=header)
    (lease,) = await queue.claim()
    await queue.progress(lease, 0.5, "secret-text", log="secret-log")
    await queue.fail(lease, "secret-error", retryable=False)
    some, all = asking("operator"), asking("operator", "payload.reveal")
    path = f"{TASKS}/a%2F1"
    pages = [(await some.get(path)).text, (await all.get(path)).text]
    for page in pages:
        assert not [text for text in shown if text not in page]
        assert not [text for text in hidden if text in page]
    assert ["/reveal" in page for page in pages] == [False, bool(hidden)]
    assert (await some.post(f"{path}/reveal", data={})).status_code == 403
    revealed = await all.post(f"{path}/reveal")
    assert revealed.status_code == 200
    assert not [text for text in ALL if text not in revealed.text]
    assert 'data-refresh="0"' in revealed.text
    assert revealed.headers["cache-control"] == "private, no-store"
    again = await all.get(f"{path}/reveal")
    assert (again.status_code, again.headers["location"]) == (303, path)
    assert str(await adeq.client.xrange(f"{queue.base}:events")).count("task.revealed") == 1


async def test_a_long_payload_is_cut_and_can_be_downloaded(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue("x" * 70_000, id="a")
    await queue.enqueue(b"\xff\x00", id="b")
    page = (await http.get(f"{TASKS}/a")).text
    assert "beginning of 70,002 bytes" in page
    assert 'href="/v1/queues/mail/tasks/a" download' in page
    assert page.count("x" * 1000) < 140
    assert "it is not UTF-8" in (await http.get(f"{TASKS}/b")).text


async def test_a_task_of_the_far_future_hides_no_other(adeq: Adeq, asking: Ask) -> None:
    http = asking("operator")
    for id, zone in (("far", "-12:00"), ("near", "Z")):
        new = {"payload": 1, "id": id, "run_after": f"9999-12-31T23:59:59{zone}"}
        assert (await http.post("/v1/queues/mail/tasks", json=new)).status_code == 202
    page = await http.get("/queues/mail/tasks?state=delayed")
    assert page.status_code == 200
    assert "after the year 9999" in page.text
    assert "9999-12-31 23:59:59 UTC" in page.text
    assert (await http.get("/queues/mail/tasks/far")).status_code == 200
