"""Locks, changes, sessions, rates and configs by REST."""

import inspect
from typing import Any

import pytest
from httpx import AsyncClient, Response

from pyadeq import asyncio as api
from pyadeq.asyncio import Adeq
from pyadeq.ext.operations import ALL
from pyadeq.ext.server.api import configs
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine


def ok(answer: Response, status: int = 200) -> Any:
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


async def test_a_lock_is_acquired_waited_for_and_released(http: AsyncClient) -> None:
    wanted = {"resource": "repo:a", "owner": "ann", "ttl": 30, "wait": 20}
    first = ok(await http.post("/v1/locks/git/requests", json=wanted, headers={"Idempotency-Key": "r1"}), 201)
    again = ok(await http.post("/v1/locks/git/requests", json=wanted, headers={"Idempotency-Key": "r1"}), 201)
    assert (first["id"], first["status"], first["fences"]) == ("r1", "granted", again["fences"])
    second = await http.post("/v1/locks/git/requests", json=wanted | {"owner": "ben"})
    waiting = ok(second, 202)
    assert (waiting["status"], waiting["place"]) == ("queued", 1)
    refused = await http.post("/v1/locks/git/requests", json=wanted | {"owner": "cy", "wait": 0})
    assert (refused.status_code, refused.json()["code"]) == (409, "BUSY")
    assert ok(await http.post("/v1/locks/git/requests/r1:renew"))["status"] == "renewed"
    assert ok(await http.post("/v1/locks/git/requests/r1:release")) == {"status": "released"}
    granted = ok(await http.get(f"/v1/locks/git/requests/{waiting['id']}"))
    assert granted["status"] == "granted"
    assert granted["fences"]["repo:a"] > first["fences"]["repo:a"]
    lost = await http.post("/v1/locks/git/requests/r1:renew")
    assert (lost.status_code, lost.json()["code"]) == (409, "LOCK_LOST")
    shown = ok(await http.get("/v1/locks/git/resources/repo%3Aa"))
    assert [one["owner"] for one in shown["holders"]] == ["ben"]
    assert ok(await http.get("/v1/locks/git/edges")) == {"items": []}


async def test_a_change_goes_from_its_author_to_its_reviewer(asking: Ask) -> None:
    operator = asking()
    ok(await operator.put("/v1/changes/code/policies/one", json={"required": 1, "reviewers": ["user:ben"]}))
    ann = asking("change.author", "change.observe", user="ann")
    ben = asking("change.review", "change.observe", user="ben")
    new = {"type": "merge", "description": "Merge it", "parameters": {"branch": "x"}}
    put = ok(await ann.post("/v1/changes/code/changes", json={"id": "c1", **new}))
    seen = {"rev": put["rev"], "digest": put["digest"]}
    ok(await ann.post("/v1/changes/code/changes/c1:submit", json={"policy": "one", **seen}))
    assert (await ann.post("/v1/changes/code/changes/c1:approve", json=seen)).status_code == 403
    other = await ben.post("/v1/changes/code/changes/c1:approve", json={"actor": "cy", **seen})
    assert (other.status_code, other.json()["detail"]) == (
        403,
        "#/actor: you act as ben; acting for others needs the right actor.any",
    )
    inbox = ok(await operator.get("/v1/changes/code/users/ben/inbox"))
    assert [entry["id"] for entry in inbox["entries"]] == ["c1"]
    ok(await ben.post("/v1/changes/code/changes/c1:approve", json={"reason": "good", **seen}))
    found = ok(await ben.get("/v1/changes/code/changes/c1"))
    assert found["state"] == "approved"
    begun = ok(await operator.post("/v1/changes/code/changes/c1:begin", json={"agent": "bot", **seen}))
    ended = {"token": begun["token"], "result": "success"}
    ok(await operator.post("/v1/changes/code/changes/c1:finish", json=ended))
    assert ok(await ann.get("/v1/changes/code/changes/c1"))["state"] == "completed"
    assert (await ann.get("/v1/changes/code/changes/none")).status_code == 404
    late = await ben.post("/v1/changes/code/changes/c1:reject", json={"reason": "no", **seen})
    assert (late.status_code, late.json()["code"]) == (409, "CLOSED")
    assert "state=completed" in late.json()["detail"]
    assert (await operator.delete("/v1/changes/code/policies/two")).status_code == 404


async def test_operators_see_logins_and_end_them_without_their_ids(adeq: Adeq, http: AsyncClient) -> None:
    session = await adeq.sessions("web").create("ann", name="phone")
    await adeq.sessions("web").create("ann", name="desk")
    listed = await http.get("/v1/sessions/web/sessions", params={"user": "ann"})
    assert {one["name"] for one in ok(listed)["items"]} == {"phone", "desk"}
    assert session.id not in listed.text
    handle = session.handle
    assert ok(await http.post("/v1/sessions/web/users/ann:revoke", json={"handles": [handle]})) == {"items": [True]}
    assert await adeq.sessions("web").get(session.id) is None
    assert ok(await http.post("/v1/sessions/web/users/ann:revoke_all"))["ended"] == 1
    assert ok(await http.get("/v1/sessions/web/count")) == {"count": 0}


async def test_a_rate_is_set_hit_and_looked_at(http: AsyncClient) -> None:
    rule = {"limit": 2, "period": 3600, "algorithm": "log"}
    ok(await http.put("/v1/rates/web/rules/login", json=rule))
    at = "/v1/rates/web/rules/login/subjects/ann"
    allowed = [ok(await http.post(f"{at}:hit"))["allowed"] for _ in range(3)]
    assert allowed == [True, True, False]
    assert ok(await http.get(at))["remaining"] == 0
    assert ok(await http.get("/v1/rates/web/rules"))["items"][0]["limit"] == 2
    assert ok(await http.post(f"{at}:reset"))["count"] >= 0
    assert ok(await http.post(f"{at}:hit"))["allowed"]


async def test_a_value_is_set_only_as_it_was_seen(http: AsyncClient) -> None:
    at = "/v1/configs/app/values/colour"
    first = ok(await http.put(at, json={"rgb": [1, 2]}, headers={"If-Match": '"v0"'}))["version"]
    found = await http.get(at)
    assert (found.headers["etag"], ok(found)["value"]) == (f'"v{first}"', {"rgb": [1, 2]})
    late = await http.put(at, json="red", headers={"If-Match": '"v0"'})
    assert (late.status_code, late.json()["code"]) == (412, "CONFIG_CONFLICT")
    ok(await http.put(at, json="red", headers={"If-Match": f'"v{first}"'}, params={"reason": "nicer"}))
    history = ok(await http.get(f"{at}/history"))["items"]
    assert [(one["value"], one["reason"], one["actor"]) for one in history] == [
        ("red", "nicer", "ann"),
        ({"rgb": [1, 2]}, "", "ann"),
    ]
    ok(await http.post(f"{at}:revert", json={"version": first}))
    assert ok(await http.get("/v1/configs/app/values"))["items"]["colour"]["value"] == {"rgb": [1, 2]}
    ok(await http.delete(at), 204)
    assert (await http.get(at)).status_code == 404
    assert (await http.put(at, json=1, headers={"If-Match": "7"})).status_code == 400


async def test_a_flag_is_decided(http: AsyncClient) -> None:
    flag = {
        "state": "ENABLED",
        "variants": {"on": True, "off": False},
        "defaultVariant": "off",
        "targeting": {"if": [{"==": [{"var": "plan"}, "pro"]}, "on", "off"]},
    }
    ok(await http.put("/v1/configs/app/values/flag%3Anew", json=flag))
    at = "/v1/flags/app/new:evaluate"
    assert ok(await http.post(at, json={"attributes": {"plan": "pro"}}))["value"] is True
    assert ok(await http.post(at)) == {"value": False, "variant": "off", "reason": "TARGETING_MATCH"}
    bad = await http.put("/v1/configs/app/values/flag%3Abad", json={"state": "ENABLED", "variants": {}})
    assert bad.status_code == 400


async def test_schedules_and_limits(http: AsyncClient) -> None:
    at = "/v1/queues/mail/schedules/nightly"
    new = {
        "timing": {"expression": "0 3 * * *", "tz": "Europe/Berlin"},
        "task": {"payload": {"a": 1}, "kind": "report"},
    }
    assert ok(await http.put(at, json=new))["status"] == "created"
    assert ok(await http.put(at, json=new))["status"] == "unchanged"
    assert ok(await http.get(at))["timing"]["expression"] == "0 3 * * *"
    assert ok(await http.post(f"{at}:trigger"))["status"] == "fired"
    assert [one["name"] for one in ok(await http.get("/v1/queues/mail/schedules"))["items"]] == ["nightly"]
    assert ok(await http.delete(at)) == {"status": "done"}
    assert (await http.delete(at)).status_code == 404
    await http.put(at, json=new | {"task": {"tier": "restricted", "payload": "only-for-ann", "user": "only-for-ann"}})
    for path in (at, "/v1/queues/mail/schedules"):
        found = await http.get(path)
        assert found.status_code == 200
        assert "only-for-ann" not in found.text


async def test_names_are_those_that_one_may_know(adeq: Adeq, asking: Ask) -> None:
    for name in ("mail", "news-1", "news-2"):
        await adeq.queue(name).enqueue(1)
    await adeq.config("app").set("a", 1)
    await adeq.annotate("v1")  # in a namespace of the service's own
    assert ok(await asking().get("/v1/queues")) == {"items": ["mail", "news-1", "news-2"], "complete": True}
    assert ok(await asking("observer", names=("news-*",)).get("/v1/queues"))["items"] == ["news-1", "news-2"]
    assert ok(await asking("lock.observe").get("/v1/queues"))["items"] == []
    assert ok(await asking().get("/v1/configs"))["items"] == ["app"]
    assert (await asking().get("/v1/configs/_marks/values")).status_code == 404


# What REST leaves out, and why. A new method is in a table of operations, or here.
FOR_PROGRAMS = "it holds something in the process of the caller"
IN_BATCHES = "the same as the method for one, or for all"
BY_HAND = "it has a function of its own"
SECRET = "it needs the id of a session, which is a secret of its user"
CARE = "workers, `adeq doctor` or `adeq maintain` do it"
LEFT_OUT = {
    api.QueueAdmin: {
        "expire": CARE,
        "promote": CARE,
        "reap": CARE,
        "repair": CARE,
        "snapshot": CARE,
        "migrate": CARE,
        "reveal": BY_HAND,
        "run_now_many": IN_BATCHES,
    },
    api.Queue: dict.fromkeys(("enqueue", "get", "list", "cancel", "result", "updates"), BY_HAND)
    | dict.fromkeys(("claim", "ack_many", "fail_many", "release", "snooze", "heartbeat", "progress"), BY_HAND)
    | dict.fromkeys(("ack", "fail", "get_many", "cancel_many", "iterate", "enqueue_many", "enqueue_stream"), IN_BATCHES)
    | dict.fromkeys(("run", "chain", "gather", "bind", "mailbox"), FOR_PROGRAMS),
    api.QueueInspect: dict.fromkeys(("ended", "log", "runs", "steps", "outcome"), BY_HAND) | {"gathered": FOR_PROGRAMS},
    api.QueueDead: {"retry_many": IN_BATCHES, "abandon_many": IN_BATCHES}
    | dict.fromkeys(("retry_all", "abandon_all"), BY_HAND),
    api.QueueWorkers: dict.fromkeys(("register", "deregister", "beat"), FOR_PROGRAMS),
    api.Limits: {},
    api.Shares: {},
    api.Schedules: {"set": BY_HAND, "remove": BY_HAND, "backfill": CARE, "fire_due": CARE, "upcoming": FOR_PROGRAMS},
    api.Locks: dict.fromkeys(("acquire", "acquire_many", "take", "take_many", "watch", "aclose"), FOR_PROGRAMS)
    | {"iterate": IN_BATCHES},
    api.LockInspect: {"graph": FOR_PROGRAMS},
    api.LockCapacities: {"heartbeat_many": IN_BATCHES},
    api.LockAdmin: dict.fromkeys(("cancel", "poll", "renew", "release"), BY_HAND)
    | dict.fromkeys(("abort", "migrate", "offline"), CARE),
    api.Changes: dict.fromkeys(("apply", "aclose", "revise", "iterate", "iterate_inbox"), FOR_PROGRAMS)
    | {"respond": IN_BATCHES, "get_many": IN_BATCHES, "migrate": CARE},
    api.ChangePolicies: {},
    api.ChangeDelegations: {},
    api.Sessions: dict.fromkeys(("create", "get", "update", "rotate", "revoke", "handle"), SECRET)
    | dict.fromkeys(("part", "configure"), FOR_PROGRAMS)
    | {"migrate": CARE, "sweep": CARE},
    api.Rates: {"hit_all": IN_BATCHES, "partitioned": FOR_PROGRAMS, "configure": CARE, "migrate": CARE},
}


@pytest.mark.parametrize("kind", LEFT_OUT, ids=lambda kind: kind.__name__)
def test_every_method_has_a_path_or_a_reason(kind: type) -> None:
    by_rest = {operation.method for operation in ALL.values()}
    methods = {name for name, of in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    there = {name for name in methods if getattr(kind, name) in by_rest}
    assert methods - there == LEFT_OUT[kind].keys()
    assert configs.router.routes


@pytest.mark.parametrize("conditions", [{}, {"state": "draft", "author": "ann"}])
async def test_a_list_of_changes_has_one_condition(http: AsyncClient, conditions: dict[str, str]) -> None:
    ok(await http.put("/v1/changes/code/policies/one", json={"required": 1, "reviewers": ["user:ben"]}))
    refused = await http.get("/v1/changes/code/changes", params=conditions)
    assert refused.status_code == 400
    assert "exactly one of these is needed: state, author" in refused.json()["detail"]
