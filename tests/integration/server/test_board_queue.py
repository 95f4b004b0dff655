"""The board's page of one queue: its chart, its lanes and what one can do with it."""

import html
import re

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Task
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
QUEUE = "/queues/mail"


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages share nothing, so that each shows what has just changed."""
    for name in ("dead.COUNTED_FOR", "queue.DRAWN_FOR", "queue.ASKED_FOR", "looks.NUMBERS_FOR"):
        monkeypatch.setattr(f"pyadeq.ext.server.board.{name}", 0.0)


async def snapshots(adeq: Adeq, *counts: tuple[int, int]) -> None:
    """Snapshots of the last minutes, as the server keeps them: enqueued and completed tasks."""
    queue = adeq.queue("mail")
    now = int((await queue.inspect.overview()).now // 60) * 60_000
    for ago, (enqueued, completed) in zip(range(len(counts) - 1, -1, -1), counts, strict=True):
        at = now - ago * 60_000
        line = f"{at} {enqueued} {completed} {completed} 3 0 0 0 0 0 1 0 0 0 0 1"
        await adeq.client.rpush(f"{queue.base}:history:minutes", line)


async def test_the_chart_has_lines_marks_and_a_table(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1)
    await adeq.client.delete(f"{adeq.queue('mail').base}:history:minutes")
    await snapshots(adeq, (0, 0), (600, 60), (660, 660))
    await adeq.annotate("v1 <b>", actor="ann")
    page = (await http.get(QUEUE)).text
    chart = page[page.index('<svg class="chart"') : page.index("</svg>")]
    lines = dict(re.findall(r'<polyline class="line-(\w+)" points="([^"]+)"', chart))
    assert set(lines) == {"enqueued", "completed", "retried", "dead"}
    heights = {name: [float(point.split(",")[1]) for point in line.split()] for name, line in lines.items()}
    bottom, top = 230 - 24, 14
    assert heights["enqueued"] == pytest.approx([top, top + 0.9 * (bottom - top)], abs=0.1)  # 10 and 1 in a second
    assert heights["completed"] == pytest.approx([top + 0.9 * (bottom - top), top], abs=0.1)
    assert heights["dead"] == [bottom, bottom]
    assert chart.count('class="mark"') == 1
    values = re.findall(r"<title>[^<]* UTC: enqueued ([^,]*), completed ([^,]*), retried 0/s, dead 0/s</title>", chart)
    assert values == [("10.0/s", "1.0/s"), ("1.0/s", "10.0/s")]
    assert "v1 &lt;b&gt;" in page
    assert re.findall(r'<td class="n">(\d+)</td><td class="n">(\d+)</td>', page)[::2] == [("60", "600"), ("600", "60")]
    for past in ("6h", "24h", "30d"):
        assert (await http.get(QUEUE, params={"past": past})).status_code == 200
    assert (await http.get(QUEUE, params={"past": "9y"})).status_code == 400


async def test_lanes_groups_and_settings_are_shown(adeq: Adeq, http: AsyncClient) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(1, kind="send")
    (lease,) = await queue.claim()
    await queue.fail(lease, "no", reason="bad_one", retryable=False)
    await queue.enqueue_many([Task(lane="group/a"), Task(lane="group/a"), Task()])
    await queue.configure(lease=40, presence=90)
    page = (await http.get(QUEUE)).text
    assert re.findall(r'lane=([^"]+)">', page) == ["group/a", "any"]
    link = re.search(r'href="([^"]+reason=[^"]+)"', page)
    assert link
    assert 'class="id"' in (await http.get(html.unescape(link[1]))).text
    facts = dict(re.findall(r"<dt>(\w+)</dt><dd>([^<]*)</dd>", page))
    assert (facts["lease"], facts["presence"], facts["timeout"]) == ("40 s", "1 min 30 s", "none")
    assert "backoff" not in facts


async def test_a_queue_is_drained_and_purged_by_forms(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue_many([1, 2, 3])
    (lease,) = await queue.claim(limit=1)
    await queue.ack(lease)
    http, reader = asking("operator"), asking("queue.observe")
    page = (await http.get(QUEUE)).text
    assert "deletes the 2 waiting tasks" in page
    assert "<form" not in (await reader.get(QUEUE)).text.partition("<main")[2]
    for verb in ("drain", "purge"):
        assert f'action="/do/v1{QUEUE}:{verb}"' in page
        assert (await reader.post(f"/do/v1{QUEUE}:{verb}", data={"_next": "/"})).status_code == 403
    await http.post(f"/do/v1{QUEUE}:drain", data={"_next": QUEUE})
    assert "draining" in (await http.get(QUEUE)).text
    purged = {"all:bool": "on", "_next": QUEUE, "_said": "{count} tasks are deleted."}
    await http.post(f"/do/v1{QUEUE}:purge", data=purged)
    assert "3 tasks are deleted." in (await http.get(QUEUE)).text
    parts = adeq.partitioned("parts")
    await parts.repartition(2)
    ids = [(await parts.enqueue(1, ordering_key=f"k{number}")).id for number in range(8)]
    await http.post("/do/v1/queues/parts:purge", data={**purged, "_next": "/queues/parts"})
    assert "8 tasks are deleted." in (await http.get("/queues/parts")).text
    assert [await parts.get(id) for id in ids] == [None] * 8


async def test_settings_are_changed_only_as_the_page_has_shown_them(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.configure(lease=20, timeout=0.5)
    http, api = asking("operator"), "/do/v1/queues/mail/settings"
    text = (await http.get(QUEUE)).text
    form = text[text.index(f'action="{api}"') :]
    fields = dict(re.findall(r'name="([\w:]+)"[^>]* value="([^"]*)"', form[: form.index("</form>")]))
    assert (fields["lease:float"], fields["timeout:float"], fields["max_attempts:int"]) == ("20.0", "0.5", "3")
    assert (await http.post(api, data=fields | {"lease:float": "30"})).status_code == 303
    late = await http.post(api, data=fields | {"lease:float": "40"})
    assert (late.status_code, "Back to the page" in late.text) == (412, True)
    assert (await queue.settings()).lease == 30
    assert 'value="30.0"' in (await http.get(QUEUE)).text
    assert api not in (await asking("observer").get(QUEUE)).text


async def test_partitions_and_readers_of_events(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.partitioned("mail")
    tags = [one.tag for one in await queue.repartition(2) if one.current]
    await queue.events.add("audit")
    for number in range(20):
        await queue.enqueue(1, id=f"t{number}", user="ann")
    await queue.limits.set("user:ann", concurrency=5)
    await queue.claim("w", 8)
    ready = {tag: (await queue.part(tag).stats()).ready for tag in tags}
    http = asking("operator", "events.operate")
    page = (await http.get(QUEUE)).text
    rows: dict[str, str] = {}
    for tag, count in re.findall(r'<tr data-id="(\d-\d+|-)"><th scope="row">.*?</th><td class="n">(\d+)</td>', page):
        rows[tag] = count
    assert rows == {tags[0]: str(ready[tags[0]]), tags[1]: str(ready[tags[1]]), "-": "0"}
    assert f'data-id="ready"><b>{sum(ready.values())}</b>' in page
    lags = [int(lag) for lag in re.findall(r"<li>[^:]*: (\d+) to read", page)]
    (group,) = (await queue.events.groups()).groups
    assert len(lags) == 3
    assert sum(lags) == group.lag
    assert f'</th><td class="n">{group.lag}</td>' in page
    assert "Drop…" not in (await asking("observer").get(QUEUE)).text
    drop = re.search(r'action="(/do/v1/events[^"]+)"', page)
    assert drop
    refused = await asking("observer").post(drop[1], data={"_method": "DELETE", "_next": QUEUE})
    assert refused.status_code == 403
    await http.post(drop[1], data={"_method": "DELETE", "_next": QUEUE})
    assert (await queue.events.groups()).groups == ()
    limits = (await http.get("/limits", params={"queue": "mail"})).text
    assert "Each of the 3 partitions counts its own tasks" in limits
    full = [tag for tag in tags if (await queue.part(tag).limits.get("user:ann")).running >= 5]
    assert (f"full in {len(full)}" in limits) == bool(full)
    assert "one after the other" in (await http.get(f"{QUEUE}/tasks?state=ready")).text
