"""Who acts in changes by REST: the principal that has authenticated, whatever a request says of itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from httpx import AsyncClient, Response

from pyadeq.asyncio import Adeq
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
AT = "/v1/changes/code/changes"
NEW = {"type": "merge", "description": "Merge it"}
RIGHTS = ("change.author", "change.review", "change.observe", "change.assess", "change.override")


async def submitted(adeq: Adeq, *reviewers: str, required: int = 1) -> dict[str, Any]:
    """A change of eve that waits for these reviewers. Returns what a reviewer has seen."""
    changes = adeq.changes("code")
    await changes.policies.set("one", required=required)
    await changes.put("c", type="merge", description="Merge it", actor="eve")
    draft = await changes.get("c")
    assert draft
    await changes.submit(draft, policy="one", reviewers=reviewers, actor="eve")
    return {"rev": draft.rev, "digest": draft.digest}


def refused(answer: Response) -> str:
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN"), answer.text
    return str(answer.json()["detail"])


async def steps(adeq: Adeq) -> list[tuple[str, str, str]]:
    """What the log of the change says: the step, who has done it, and who has sent it."""
    found = await adeq.changes("code").get("c", log=100)
    assert found
    return [(one.event.removeprefix("change."), one.by, one.caller or "") for one in found.log or ()]


async def test_nobody_votes_as_somebody_else(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "user:bob", "user:cleo", required=2)
    ann = asking(*RIGHTS, name="ann")
    for named in ({"actor": "bob"}, {"actor": "BOB"}, {"principal": "bob", "kind": "agent"}, {"principal": "bob"}):
        assert "you act as ann" in refused(await ann.post(f"{AT}/c:approve", json=seen | named))
    assert "groups" in refused(await ann.post(f"{AT}/c:approve", json=seen | {"groups": ["dba"]}))
    assert "proof" in refused(await ann.post(f"{AT}/c:approve", json=seen | {"proof": "sso"}))
    assert "you act as ann" in refused(await ann.post(AT, json={"id": "d", "actor": "zed", **NEW}))
    assert {by for _, by, _ in await steps(adeq)} == {"eve"}
    assert (await ann.post(AT, json={"id": "d", "actor": "Ann", **NEW})).status_code == 200
    made = await adeq.changes("code").get("d")
    assert made
    assert made.author == "ann"


async def test_a_right_of_its_own_lets_a_service_act_for_people_and_stores_both(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "user:bob", "group:dba", required=2)
    bot = asking(*RIGHTS, "actor.any", name="slackbot")
    ok = await bot.post(f"{AT}/c:approve", json=seen | {"actor": "Bob", "proof": "slack U1"})
    assert ok.json() == {"status": "recorded", "state": "reviewing", "round": 1}, ok.text
    ok = await bot.post(f"{AT}/c:approve", json=seen | {"actor": "cleo", "groups": ["dba"]})
    assert ok.json()["status"] == "approved", ok.text
    told = [one for one in await steps(adeq) if one[0] == "answered"]
    assert told == [("answered", "bob", "slackbot"), ("answered", "cleo", "slackbot")]
    page = await asking().get("/changes/code/c")
    assert "slackbot" in page.text


async def test_a_token_for_one_user_acts_as_that_user_in_small_letters(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "group:dba", "group:security", required=2)
    one, two = (asking(*RIGHTS, name="portal", user=user, groups=("dba", "security")) for user in ("Ann", "ann"))
    assert (await one.post(f"{AT}/c:approve", json=seen)).json()["status"] == "recorded"
    again = await two.post(f"{AT}/c:approve", json=seen)
    assert again.json()["status"] == "same", again.text
    assert [one for one in await steps(adeq) if one[0] == "answered"] == [("answered", "ann", "portal")]


async def test_an_agent_has_a_token_for_the_person_who_answers_for_it(adeq: Adeq, asking: Ask) -> None:
    bot = asking(*RIGHTS, name="bot-7", user="rita")
    made = await bot.post(AT, json={"id": "c", "kind": "agent", **NEW})
    assert made.status_code == 200, made.text
    found = await adeq.changes("code").get("c")
    assert found
    assert (found.author, found.principal) == ("bot-7", "rita")
    assert "you act as rita" in refused(
        await bot.post(AT, json={"id": "d", "kind": "agent", "principal": "bob", **NEW})
    )


async def test_groups_come_from_who_has_authenticated(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "group:dba")
    outside, inside = asking(*RIGHTS, name="ann"), asking(*RIGHTS, name="ann", groups=("dba", "ops"))
    assert (await outside.post(f"{AT}/c:approve", json=seen)).json()["code"] == "NOT_ELIGIBLE"
    assert "you are in dba, ops" in refused(await inside.post(f"{AT}/c:approve", json=seen | {"groups": ["security"]}))
    assert (await inside.post(f"{AT}/c:approve", json=seen)).json()["status"] == "approved"
    assert "#/groups" in refused(await outside.post(f"{AT}/c:comment", json={"text": "a", "groups": ["dba"], **seen}))


async def test_delegations_are_those_of_who_asks(adeq: Adeq, asking: Ask) -> None:
    ann, operator = asking(*RIGHTS, name="ann"), asking(*RIGHTS, "actor.any", name="root")
    at = "/v1/changes/code/users/{}/delegations/holiday"
    assert "another person" in refused(await ann.put(at.format("bob"), json={"to": "ann"}))
    assert (await ann.put(at.format("Ann"), json={"to": "Bob"})).json()["status"] == "stored"
    assert [one.to for one in (await adeq.changes("code").delegations.list("ann")).delegations] == ["bob"]
    assert (await operator.put(at.format("bob"), json={"to": "cleo"})).json()["status"] == "stored"
    assert "another person" in refused(await ann.delete(at.format("bob")))
    assert (await ann.delete(at.format("ann"))).json()["status"] == "removed"
    mine = asking(*RIGHTS, name="portal", user="ann")
    assert (await mine.get("/v1/changes/code/users/ann/inbox")).status_code == 200
    assert "another person" in refused(await mine.get("/v1/changes/code/users/bob/inbox"))
    assert (await ann.get("/v1/changes/code/users/bob/inbox")).status_code == 200  # who observes all sees all


async def test_who_applies_is_who_asks(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "user:bob")
    await asking(*RIGHTS, name="bob").post(f"{AT}/c:approve", json=seen)
    ci = asking("change.apply", "change.observe", name="ci")
    assert "you apply as ci" in refused(await ci.post(f"{AT}/c:begin", json=seen | {"agent": "bob"}))
    begun = await ci.post(f"{AT}/c:begin", json=seen | {"agent": "ci/run-7"})
    assert begun.status_code == 200, begun.text
    assert (await steps(adeq))[-1] == ("applying", "ci/run-7", "")
    fleet = asking("change.apply", "actor.any", name="fleet")
    await fleet.post(f"{AT}/c:finish", json={"token": begun.json()["token"], "result": "released"})
    assert (await fleet.post(f"{AT}/c:begin", json=seen | {"agent": "m-2"})).status_code == 200
    assert (await steps(adeq))[-1] == ("applying", "m-2", "fleet")


async def test_a_manager_of_tokens_makes_none_that_votes_as_others(adeq: Adeq, asking: Ask) -> None:
    manager = asking(*RIGHTS, "tokens.manage", "producer", name="ann", groups=("dba",))
    make = {"owner": "bob", "rights": ["change.review"]}
    assert "it would act in changes as bob" in refused(await manager.post("/v1/tokens", json=make))
    assert "as bob" in refused(await manager.post("/v1/tokens", json=make | {"owner": "ann", "user": "Bob"}))
    assert "not in ops" in refused(
        await manager.post("/v1/tokens", json=make | {"owner": "ann", "groups": ["dba", "ops"]})
    )
    own = await manager.post("/v1/tokens", json=make | {"owner": "Ann", "groups": ["dba"]})
    assert (own.status_code, own.json()["groups"]) == (201, ["dba"])
    assert (await manager.post("/v1/tokens", json={"owner": "ci", "rights": ["producer"]})).status_code == 201
    root = asking(*RIGHTS, "tokens.manage", "actor.any", name="root")
    assert (await root.post("/v1/tokens", json=make | {"groups": ["ops"]})).status_code == 201


async def test_the_board_offers_and_takes_only_own_groups(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "group:dba", "group:ops")
    form: dict[str, Any] = {"rev:int": str(seen["rev"]), "digest": seen["digest"], "_next": "/changes/code/c"}
    ann: AsyncClient = asking(*RIGHTS, name="ann", groups=("dba",))
    page = (await ann.get("/changes/code/c")).text
    assert ("group dba" in page, "group ops" in page) == (True, False)
    assert (
        await ann.post("/do/v1/changes/code/changes/c:approve", data=form | {"groups:list": "ops"})
    ).status_code == 403
    assert (await ann.post("/do/v1/changes/code/changes/c:approve", data=form | {"actor": "bob"})).status_code == 403
    assert (
        await ann.post("/do/v1/changes/code/changes/c:approve", data=form | {"groups:list": "dba"})
    ).status_code == 303
    assert [one for one in await steps(adeq) if one[0] == "answered"] == [("answered", "ann", "")]
    assert (await asking("change.observe", name="eve", user="eve").get("/inbox?groups=dba")).status_code == 403


async def test_nobody_says_who_has_sent_a_step(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "user:bob")
    bob = asking(*RIGHTS, name="bob")
    named = await bob.post(f"{AT}/c:approve", json=seen | {"caller": "slackbot"})
    assert (named.status_code, "caller" in named.text) == (400, True)
    form: dict[str, Any] = {"rev:int": str(seen["rev"]), "digest": seen["digest"], "text": "a", "caller": "slackbot"}
    assert (await bob.post("/do/v1/changes/code/changes/c:comment", data=form)).status_code == 400
    assert (
        await asking(*RIGHTS, "change.operate").patch("/v1/changes/code/settings", json={"caller": "slackbot"})
    ).status_code == 400


async def test_ann_is_one_person_whichever_client_asks(adeq: Adeq, asking: Ask) -> None:
    """Names of people have small letters in Python, too."""
    changes = adeq.changes("code")
    await changes.policies.set("two", required=2, reviewers=["user:Bob", "group:Ops"])
    put = await changes.put("c", type="merge", description="Merge it", actor="Ann")
    await changes.submit(put, policy="two", actor="ANN")
    seen = {"rev": put.rev, "digest": put.digest}
    ann, bob = asking(*RIGHTS, name="ann", groups=("Ops",)), asking(*RIGHTS, name="Bob", groups=("Ops",))
    assert (await ann.post(f"{AT}/c:approve", json=seen)).json()["code"] == "NOT_ELIGIBLE"
    found = await changes.get("c")
    assert found
    assert (await changes.approve(found, actor="BOB")).status == "recorded"
    assert (await bob.post(f"{AT}/c:approve", json=seen)).json()["status"] == "same"
    assert [one.id for one in (await changes.list(author="Ann")).changes] == ["c"]
    assert [one.id for one in (await changes.list(reviewer="user:BOB")).changes] == ["c"]


@pytest.mark.parametrize("name", ["zoë", "Google/123", "a:b"])
async def test_a_user_may_have_any_name_that_a_label_can_be(adeq: Adeq, asking: Ask, name: str) -> None:
    seen = await submitted(adeq, f"user:{name}")
    person = asking(*RIGHTS, name="portal", user=name)
    path = quote(name, safe="")
    assert (await person.get(f"/v1/changes/code/users/{path}/inbox")).json()["entries"]
    assert (await person.post(f"{AT}/c:approve", json=seen)).json()["status"] == "approved"
    assert (await steps(adeq))[-1][1:] == (name.lower(), "portal")


async def test_a_principal_of_an_application_may_have_a_name_that_no_actor_has(adeq: Adeq, asking: Ask) -> None:
    seen = await submitted(adeq, "user:bob")
    olga = asking(*RIGHTS, name="Olga Smith")
    assert (await olga.get("/v1/changes/code/users/bob/inbox")).status_code == 200
    assert (await olga.post(f"{AT}/c:approve", json=seen)).status_code == 400
    bot = asking(*RIGHTS, "actor.any", name="Slack Bot")
    assert (await bot.post(f"{AT}/c:approve", json=seen | {"actor": "bob"})).json()["status"] == "approved"
    assert (await steps(adeq))[-1][1:] == ("bob", "slackbot")


async def test_an_inbox_has_the_groups_of_its_person(adeq: Adeq, asking: Ask) -> None:
    await submitted(adeq, "group:dba")
    at = "/v1/changes/code/users/{}/inbox"
    dan, observer = asking(*RIGHTS, name="dan", groups=("dba",)), asking("change.observe")
    assert [one["id"] for one in (await dan.get(at.format("Dan"))).json()["entries"]] == ["c"]
    assert (await dan.get(at.format("bob"))).json()["entries"] == []
    assert [one["id"] for one in (await observer.get(f"{at.format('dan')}?groups=dba")).json()["entries"]] == ["c"]
    many = asking(*RIGHTS, name="eve", groups=tuple(f"g{number}" for number in range(33)))
    assert "at most 32" in refused(await many.get(at.format("eve")))
    assert (await many.get(f"{at.format('eve')}?groups=g1")).status_code == 200


async def test_the_person_of_a_path_has_small_letters(adeq: Adeq, asking: Ask) -> None:
    bob = asking(*RIGHTS, name="bob")
    at = "/v1/changes/code/users/BOB/delegations"
    assert (await bob.put(f"{at}/h", json={"to": "cleo"})).json()["status"] == "stored"
    assert [one["name"] for one in (await bob.get(at)).json()["delegations"]] == ["h"]


async def test_a_domain_names_only_queues_and_locks_of_its_operator(asking: Ask) -> None:
    few = asking("change.operate", "queue.produce", "lock.observe", names=("code",))
    at = "/v1/changes/code/settings"
    for given in ({"follow_queue": "payments"}, {"follow_queue": "_own"}, {"lock_domain": "payments"}):
        assert "you do not have the right" in refused(await few.patch(at, json=given))
    every = asking("change.operate", "queue.produce", "lock.observe")
    assert "adeq-webhooks" in refused(await every.patch(at, json={"follow_queue": "adeq-webhooks"}))
    assert (await every.patch(at, json={"follow_queue": "payments", "lock_domain": "code"})).status_code == 200
    assert (await few.patch(at, json={"follow_queue": "none"})).status_code == 200


async def test_a_manager_for_one_user_makes_no_agent_of_another(asking: Ask) -> None:
    rita = asking(*RIGHTS, "tokens.manage", name="bot", user="rita")
    make = {"rights": ["change.review"], "user": "rita"}
    assert "act in changes as bob" in refused(await rita.post("/v1/tokens", json=make | {"owner": "bob"}))
    assert (await rita.post("/v1/tokens", json=make | {"owner": "bot"})).status_code == 201
    everything = {"owner": "bot", "user": "rita", "rights": ["actor.any"]}
    assert (await asking().post("/v1/tokens", json=everything)).status_code == 400
