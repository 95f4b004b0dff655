"""`/admin/queue`: a page for browsers, JSON for programs."""

import pytest

from pyadeq.asyncio import Adeq
from pyadeq.ext.server.board.admin_queue import HTML, JSON, preferred
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", HTML),
        (BROWSER, HTML),
        ("application/json", JSON),
        ("APPLICATION/JSON; q=0.5, text/html;q=0.4", JSON),
        ("application/*", JSON),
        ("text/html;q=0, */*;q=0.1", JSON),
        ("application/json;q=x", None),
        ("text/plain", None),
        ("application/xml, image/*", None),
        ("", None),
    ],
)
def test_what_a_header_prefers(accept: str, kind: str | None) -> None:
    assert preferred(accept) == kind


async def test_numbers_of_all_queues_that_somebody_may_see(adeq: Adeq, asking: Ask) -> None:
    mail = adeq.queue("mail")
    for number in range(5):
        await mail.enqueue(number, max_attempts=2 if number else 1)
    await mail.enqueue(9, delay=3600, id="later")
    await mail.enqueue(9, after=["later"])
    await mail.enqueue(9, delay=3600, id="never")
    await mail.cancel("never")
    await mail.workers.register("w1")
    leases = await mail.claim("w1", 4)
    await mail.ack(leases[3])
    for lease in leases[:2]:
        await mail.fail(lease, "no")
    await adeq.queue("news").enqueue(1)
    http = asking("queue.observe", names=("mail",))
    answer = await http.get("/admin/queue", headers={"Accept": "application/json"})
    assert answer.headers["vary"] == "Accept, Cookie"
    found = answer.json()
    assert found.pop("queues")["mail"]["processed"] == 3
    latency = found.pop("latency")
    assert 0 < latency < 600
    assert found == {
        "processed": 3,
        "failed": 2,
        "retries": 1,
        "completed": 1,
        "cancelled": 1,
        "busy": 1,
        "processes": 1,
        "enqueued": 1,
        "scheduled": 2,
        "blocked": 1,
        "dead": 1,
        "complete": True,
    }
    both = (await asking().get("/admin/queue", headers={"Accept": "application/json"})).json()
    assert (list(both["queues"]), both["enqueued"]) == (["mail", "news"], 2)


async def test_a_browser_gets_a_page_and_other_types_nothing(adeq: Adeq, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1)
    http = asking("observer")
    for accept in (BROWSER, "*/*"):
        page = await http.get("/admin/queue", headers={"Accept": accept})
        assert page.headers["content-type"].startswith("text/html")
        assert 'href="/queues/mail"' in page.text
    assert (await http.get("/admin/queue", headers={"Accept": "text/csv"})).status_code == 406
    nobody = await asking(None).get("/admin/queue", headers={"Accept": "application/json"})
    assert nobody.status_code == 401
