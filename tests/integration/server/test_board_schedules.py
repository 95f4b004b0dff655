"""The pages of schedules: when they fire, and the forms that make, change, pause, run and remove them."""

import html
import json
import re

import pytest

from pyadeq.asyncio import Adeq, At, Cron, Every
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
API = "/do/v1/queues/mail/schedules"


async def test_schedules_are_told_in_words_and_hide_what_a_tier_hides(adeq: Adeq, asking: Ask) -> None:
    schedules = adeq.queue("mail").schedules
    await schedules.set("a+b", Cron("0 8 * * *", tz="Europe/Berlin"), {"text": "<b>hi</b>"}, kind="report")
    await schedules.set("often", Every(900, offset=60), 1)
    await schedules.set("once", At(1_900_000_000), {"text": "hunter2"}, tier="restricted", user="secret-user")
    http = asking("queue.observe", names=("mail",))
    for path in ("/schedules", "/schedules?queue=mail"):
        text = (await http.get(path)).text
        assert "at 08:00 every day, Europe/Berlin" in text
        assert "every 15m, 1m past" in text
        assert 'once, at <time datetime="2030-03-17T17:46:40.000+00:00">' in text
        assert text.count("<li><time") == 10  # five of each of two
        assert 'href="/queues/mail/schedules/a%2Bb"' in text
        assert API not in text
    one = (await http.get("/queues/mail/schedules/a%2Bb")).text
    assert "&lt;b&gt;hi&lt;/b&gt;" in one
    assert "<b>hi</b>" not in one
    hidden = (await http.get("/queues/mail/schedules/once")).text
    assert "The tier of its tasks hides it." in hidden
    for secret in ("hunter2", "secret-user"):
        assert secret not in hidden + text
    assert (await http.get("/queues/mail/schedules/nothing")).status_code == 404
    assert (await http.get("/schedules?queue=news")).status_code == 404


async def test_forms_make_pause_run_and_remove_a_schedule(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.enqueue(0)
    http = asking("operator")
    assert f'action="{API}/-"' in (await http.get("/schedules?queue=mail")).text
    made = {
        "_method": "PUT",
        "_id": "a+b",
        "timing.expression": "0 8 * * *",
        "timing.tz": "Europe/Berlin",
        "task.kind": "report",
        "task.payload:json": '{"n": 1}',
        "overlap": "allow",
        "_said": "The schedule is {status}.",
    }
    assert (await http.post(f"{API}/-", data=made)).status_code == 303
    assert "The schedule is created." in (await http.get("/schedules?queue=mail")).text
    found = await queue.schedules.get("a+b")
    assert found
    assert (found.timing, found.payload, found.envelope["kind"], found.overlap) == (
        Cron("0 8 * * *", tz="Europe/Berlin"),
        {"n": 1},
        "report",
        "allow",
    )
    one = f"{API}/a%2Bb"
    assert (await http.post(f"{one}:pause", data={"_next": "/"})).status_code == 303
    assert '<span class="tag warn">paused</span>' in (await http.get("/schedules")).text
    assert (await http.post(f"{one}:resume", data={"_next": "/"})).status_code == 303
    assert (await http.post(f"{one}:trigger", data={"_next": "/"})).status_code == 303
    assert (await queue.stats()).counters["enqueued"] == 2
    assert (await http.post(one, data={"_method": "DELETE"})).status_code == 303
    assert await queue.schedules.get("a+b") is None


async def test_the_form_for_a_change_holds_the_whole_schedule(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.schedules.set("often", Every(900), {"n": 1}, kind="poll", tags=["t"], limits=["l"], catch_up=60)
    await queue.schedules.set("late", Every(900), 1, timeout=5)
    http = asking()
    text = (await http.get("/queues/mail/schedules/often")).text
    area = re.search(r"<textarea[^>]*>(.*?)</textarea>", text, re.DOTALL)
    assert area
    task = html.unescape(area[1])
    assert json.loads(task) == {"payload": {"n": 1}, "kind": "poll", "tags": ["t"], "limits": ["l"]}
    before = await queue.schedules.get("often")
    assert before
    changed = {"_method": "PUT", "timing.period:float": "900", "task:json": task, "catch_up:float": "60.0"}
    assert (await http.post(f"{API}/often", data=changed)).status_code == 303
    assert await queue.schedules.get("often") == before  # nothing is lost
    match = re.findall(r'name="_match" value="(r\d+)"', text)
    assert match
    assert set(match) == {f"r{before.rev}"}
    await queue.schedules.set("often", Every(900), 2)  # by another operator
    for form in (changed, {"_method": "DELETE"}):
        assert (await http.post(f"{API}/often", data=form | {"_match": match[0]})).status_code == 412
    seen = await queue.schedules.get("often")
    assert seen
    assert seen.payload == 2
    assert "adeq schedule set" in (await http.get("/queues/mail/schedules/late")).text


async def test_a_reader_changes_no_schedule(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.queue("mail")
    await queue.schedules.set("often", Every(900), 1)
    http = asking("observer")
    text = (await http.get("/schedules?queue=mail")).text + (await http.get("/queues/mail/schedules/often")).text
    assert "<form" not in text.replace('action="/logout"', "")
    for verb, method in ((":pause", "POST"), (":trigger", "POST"), ("", "DELETE"), ("", "PUT")):
        form = {"_method": method, "timing.period:float": "900", "_next": "/"}
        if method == "DELETE":
            form = {"_method": method}
        elif verb:
            form = {"_next": "/"}
        assert (await http.post(f"{API}/often{verb}", data=form)).status_code == 403
    found = await queue.schedules.get("often")
    assert found
    assert (found.state, found.fired) == ("active", 0)


@pytest.mark.parametrize(
    "form",
    [
        {"_method": "PUT", "_id": " ", "timing.period:float": "900"},
        {"_method": "PUT", "_id": "x", "timing": "900", "timing.period:float": "900"},
        {"_method": "PUT", "_id": "x", "timing.expression": "not cron"},
    ],
)
async def test_forms_of_schedules_that_are_not_accepted(adeq: Adeq, asking: Ask, form: dict[str, str]) -> None:
    await adeq.queue("mail").enqueue(1)
    assert (await asking().post(f"{API}/-", data=form)).status_code == 400
    assert [one async for one in adeq.queue("mail").schedules.iterate()] == []
