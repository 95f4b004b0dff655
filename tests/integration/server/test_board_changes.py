"""The board's pages of changes: the inbox, lists, and one change with its answers."""

import html
import re

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Changes
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
MARKUP = "<script>alert(1)</script>"
REVIEWER = ("change.observe", "change.review")


async def proposed(
    adeq: Adeq, domain: str = "prod", id: str = "c1", reviewers: tuple[str, ...] = ("user:ben",)
) -> Changes:
    """A change of eve that waits for these reviewers."""
    changes = adeq.changes(domain)
    await changes.policies.set("one", required=1, reviewers=reviewers)
    made = await changes.put(
        id, type="migration", description=f"Index {id}\nand more", parameters={"sql": "CREATE"}, actor="eve"
    )
    await changes.submit(made, policy="one", actor="eve")
    return changes


def seen_in(page: str) -> dict[str, str]:
    """The revision and the digest that the form of a page names."""
    form = page[page.index(":approve") - 3000 : page.index(":approve")]
    return dict(re.findall(r'name="(rev:int|digest)" value="([^"]+)"', form))


async def shown(http: AsyncClient, path: str) -> str:
    answer = await http.get(path)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


async def test_an_inbox_has_what_waits_in_all_domains(adeq: Adeq, asking: Ask) -> None:
    await proposed(adeq)
    await proposed(adeq, "stage", "c2")
    await proposed(adeq, "prod", "c3", ("user:cleo", "group:dba"))
    ben = asking(*REVIEWER, user="ben")
    own = await shown(ben, "/inbox")
    assert 'href="/changes/prod/c1"' in own
    assert 'href="/changes/stage/c2"' in own
    assert "/changes/prod/c3" not in own
    assert (await ben.get("/inbox?groups=dba")).status_code == 403
    assert "/changes/prod/c3" in await shown(asking(*REVIEWER, user="ben", groups=("dba",)), "/inbox")
    assert "/changes/prod/c3" in await shown(asking(*REVIEWER), "/inbox?groups=dba")
    assert "stage" not in await shown(asking(*REVIEWER, user="ben", names=("prod",)), "/inbox")
    assert (await ben.get("/inbox?principal=cleo")).status_code == 403
    assert "/changes/prod/c3" in await shown(asking(*REVIEWER), "/inbox?principal=cleo")
    assert "Nothing waits" in await shown(asking(*REVIEWER), "/inbox")
    assert (await asking("queue.observe").get("/inbox?domain=prod")).status_code == 404


async def test_an_inbox_of_many_domains_has_the_order_of_one(adeq: Adeq, asking: Ask) -> None:
    given = [("urgent", 0), ("low", 90), ("normal", 95), ("high", None), ("low", 100), ("normal", None), ("high", 50)]
    for number, (priority, score) in enumerate(given):
        for domain in ("all", ("prod", "stage", "test")[number % 3]):
            changes = adeq.changes(domain)
            await changes.policies.set("one", required=1, reviewers=["user:ben"])
            made = await changes.put(f"c{number}", type="x", description="y", actor="eve")
            await changes.submit(made, policy="one", priority=priority, actor="eve")  # type: ignore[arg-type]
            if score is not None:
                await changes.assess(made, score=score, actor="meter")
    order = [one.id async for one in adeq.changes("all").iterate_inbox("ben")]
    assert order == ["c2", "c0", "c4", "c6", "c1", "c3", "c5"]
    for names in (("all",), ("prod", "stage", "test")):
        page = await shown(asking(*REVIEWER, user="ben", names=names), "/inbox")
        assert re.findall(r'href="/changes/\w+/(c\d)"', page) == order


async def test_an_answer_is_for_the_revision_that_the_page_showed(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq)
    ben = asking(*REVIEWER, user="ben")
    page = await shown(ben, "/changes/prod/c1")
    old = seen_in(page)
    before = await changes.get("c1")
    assert before
    assert old == {"rev:int": "1", "digest": before.digest}
    await changes.revise(before, parameters={"sql": "DROP"}, actor="eve")
    at, next = "/do/v1/changes/prod/changes/c1:approve", {"_next": "/changes/prod/c1"}
    refused = await ben.post(at, data=old | next)
    assert refused.status_code == 412
    assert "the change was edited meanwhile, so nothing was done" in refused.text
    assert 'href="/changes/prod/c1"' in refused.text
    page = await shown(ben, "/changes/prod/c1")
    assert '-  "sql": "CREATE"' in page.replace('-{"sql": "CREATE"}', '-  "sql": "CREATE"')
    assert '+  "sql": "DROP"' in page.replace('+{"sql": "DROP"}', '+  "sql": "DROP"')
    done = await ben.post(at, data=seen_in(page) | next | {"reason": f"fine {MARKUP}", "_said": "It is {status}."})
    assert (done.status_code, done.headers["location"]) == (303, "/changes/prod/c1")
    answer = await ben.get("/changes/prod/c1")
    assert "It is approved." in answer.text
    assert MARKUP not in answer.text
    assert html.escape(MARKUP) in answer.text
    after = await changes.get("c1")
    assert after
    assert (after.state, after.decided_by) == ("approved", "ben")


async def test_who_may_not_answer_gets_no_form_and_is_refused(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq)
    change = await changes.get("c1")
    assert change
    seen = {"rev:int": "1", "digest": change.digest}
    reader = asking("change.observe")
    assert "/do/v1/" not in await shown(reader, "/changes/prod/c1")
    author = asking(*REVIEWER, "change.author", user="eve")
    page = await shown(author, "/changes/prod/c1")
    assert ":approve" not in page
    assert ":withdraw" in page
    for http in (reader, author):
        for verb in ("approve", "reject", "request_changes", "abstain", "override"):
            answer = await http.post(f"/do/v1/changes/prod/changes/c1:{verb}", data=seen | {"reason": "x"})
            assert answer.status_code == 403, verb
    assert (await reader.post("/do/v1/changes/prod/changes/c1:withdraw", data={"reason": "x"})).status_code == 403
    assert (await asking("operator", names=("stage",)).get("/changes/prod/c1")).status_code == 404
    assert (await reader.get("/changes/prod/none")).status_code == 404
    assert (await author.post("/do/v1/changes/prod/changes/c1:withdraw", data={"reason": "x"})).status_code == 303
    after = await changes.get("c1")
    assert after
    assert after.state == "draft"


async def test_a_person_answers_for_a_group_delegates_and_comments(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq, reviewers=("user:cleo", "group:dba"))
    cleo, dan = asking(*REVIEWER, user="cleo"), asking(*REVIEWER, user="dan", groups=("dba",))
    at = "/do/v1/changes/prod/changes/c1"
    page = await shown(cleo, "/changes/prod/c1")
    slot = re.search(r'name="slot:int" value="(\d+)"', page)
    assert slot
    assert (await cleo.post(f"{at}:delegate", data={"to": "zoe", "slot:int": slot[1]})).status_code == 303
    assert "user:cleo → " in await shown(cleo, "/changes/prod/c1")
    page = await shown(dan, "/changes/prod/c1")
    assert '<option value="dba">' in page
    commented = await dan.post(f"{at}:comment", data=seen_in(page) | {"text": "is it tested?"})
    assert commented.status_code == 303
    assert (await dan.post(f"{at}:approve", data=seen_in(page) | {"groups:list": "dba"})).status_code == 303
    assert "is it tested?" in await shown(dan, "/changes/prod/c1")
    after = await changes.get("c1")
    assert after
    assert after.state == "approved"


async def test_an_operator_asks_others(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq, reviewers=("user:ben", "user:cleo"))
    http = asking("operator")
    at = "/do/v1/changes/prod/changes/c1/requests"
    assert (await http.post(at, data={"reviewer": "user:dan", "reason": "x"})).status_code == 303
    page = await shown(http, "/changes/prod/c1")
    assert f'formaction="{at}/1:move"' in page
    assert (await http.post(f"{at}/1:move", data={"reviewer": "user:zoe", "reason": "x"})).status_code == 303
    assert (await http.post(f"{at}/2", data={"_method": "DELETE", "reason": "x"})).status_code == 303
    found = await changes.get("c1", requests=True)
    assert found
    assert found.requests
    assert sorted(one.assignee for one in found.requests if one.status == "pending") == ["user:dan", "user:zoe"]


async def test_lists_of_changes(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq)
    await changes.put("c2", type="merge", description=MARKUP, actor="fay")
    http = asking("change.observe", user="zoe")
    assert 'href="/changes/prod"' in await shown(http, "/changes")
    page = await shown(http, "/changes/prod")
    assert "/changes/prod/c1" in page
    assert "/changes/prod/c2" not in page
    answer = await http.get("/changes/prod?by=author&value=fay")
    assert "/changes/prod/c2" in answer.text
    assert MARKUP not in answer.text
    assert (await http.get("/changes/prod?by=nothing&value=1")).status_code == 400
    assert (await http.get("/changes/prod?value=" + "x" * 301)).status_code == 400
    assert ">1</a>" in await shown(asking("change.observe"), "/changes")


async def test_a_change_shows_the_task_that_follows_it(adeq: Adeq, asking: Ask) -> None:
    changes = await proposed(adeq)
    await changes.policies.set("then", required=1, reviewers=["user:ben"], follow={"approved": "apply"})
    await changes.configure(follow_queue="deploys")
    made = await changes.put("c2", type="merge", description="Merge", actor="eve")
    await changes.submit(made, policy="then", actor="eve")
    await changes.approve(made, actor="ben")
    change = await changes.get("c2")
    assert change
    link = f"/queues/deploys/tasks/prod%2Fc2%2F{change.seq}"
    assert link in await shown(asking("change.observe", "queue.observe"), "/changes/prod/c2")
    for other in (asking("change.observe"), asking("change.observe", "queue.observe", user="zoe")):
        assert "deploys" not in await shown(other, "/changes/prod/c2")


async def test_a_change_of_metadata_is_answered_as_done(adeq: Adeq, asking: Ask) -> None:
    await proposed(adeq)
    new = {"type": "migration", "description": "Index c1\nand more", "parameters": {"sql": "CREATE"}}
    edit = {"id": "c1", "expect_rev": 1, "actor": "eve", "tags": ["urgent"], **new}
    answer = await asking().post("/v1/changes/prod/changes", json=edit)
    assert (answer.status_code, answer.json()["status"]) == (200, "edited")
