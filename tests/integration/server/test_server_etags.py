"""ETags: reads that have changed nothing are 304, and writes that have seen something old are 412."""

import asyncio

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Every, StaleError
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
QUEUE = "/v1/queues/mail"
NIGHTLY = f"{QUEUE}/schedules/nightly"
NEW = {"timing": {"period": 3600}, "task": {"payload": 1}}


@pytest.mark.parametrize("path", ["", "/stats", "/settings", "/limits", "/limits/all", "/schedules", "/schedules/s"])
async def test_what_is_still_the_same_is_not_sent_again(adeq: Adeq, http: AsyncClient, path: str) -> None:
    queue = adeq.queue("mail")
    await queue.schedules.set("s", Every(3600), 1)
    first = await http.get(f"{QUEUE}{path}")
    tag = first.headers["etag"]
    for given in (tag, f'W/{tag}, "other"', f'"other", {tag}', "*"):
        again = await http.get(f"{QUEUE}{path}", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), given
    assert (await http.get(f"{QUEUE}{path}", headers={"If-None-Match": '"other"'})).json().keys() == first.json().keys()
    await queue.enqueue(1)
    await queue.configure(max_attempts=7)
    await queue.limits.set("all", concurrency=3)
    await queue.schedules.set("s", Every(3600), 2)
    changed = await http.get(f"{QUEUE}{path}", headers={"If-None-Match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


async def test_what_may_not_be_seen_has_no_etag(adeq: Adeq, http: AsyncClient) -> None:
    answer = await http.get("/v1/queues/none/stats", headers={"If-None-Match": "*"})
    assert (answer.status_code, "etag" in answer.headers) == (404, False)


async def test_a_schedule_is_changed_and_removed_only_as_it_was_read(http: AsyncClient) -> None:
    await http.put(NIGHTLY, json=NEW)
    old = {"If-Match": (await http.get(NIGHTLY)).headers["etag"]}
    changed = await http.put(NIGHTLY, json=NEW | {"overlap": "allow"}, headers=old)
    assert (changed.status_code, changed.json()["status"]) == (200, "changed")
    for refused in (await http.put(NIGHTLY, json=NEW, headers=old), await http.delete(NIGHTLY, headers=old)):
        assert (refused.status_code, refused.json()["code"], refused.json()["may_have_applied"]) == (
            412,
            "STALE",
            False,
        )
    assert (await http.get(NIGHTLY)).json()["overlap"] == "allow"
    await http.put(NIGHTLY, json=NEW | {"jitter": 1}, headers={"If-Match": changed.headers["etag"]})
    seen = {"If-Match": (await http.get(NIGHTLY)).headers["etag"]}
    await http.post(f"{NIGHTLY}:trigger")  # which is no change
    assert (await http.delete(NIGHTLY, headers=seen)).json() == {"status": "done"}
    assert (await http.delete(NIGHTLY, headers=seen)).status_code == 404
    assert (await http.put(NIGHTLY, json=NEW, headers=seen)).status_code == 412
    assert (await http.get(NIGHTLY)).status_code == 404


@pytest.mark.parametrize("condition", ["12", '"v12"', 'W/"r1"', "*"])
async def test_conditions_that_mean_nothing_are_refused(http: AsyncClient, condition: str) -> None:
    await http.put(NIGHTLY, json=NEW)
    for verb in ("DELETE", "PUT"):
        refused = await http.request(verb, NIGHTLY, json=NEW, headers={"If-Match": condition})
        assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST")
    assert (await http.get(NIGHTLY)).status_code == 200


async def test_settings_and_limits_are_changed_only_as_they_were_read(adeq: Adeq, http: AsyncClient) -> None:
    queue, settings, limit = adeq.queue("mail"), f"{QUEUE}/settings", f"{QUEUE}/limits/all"
    await queue.enqueue(1)
    old = {at: {"If-Match": (await http.get(at)).headers["etag"]} for at in (settings, limit)}
    await queue.enqueue(2)
    await queue.admin.pause()  # no change of a setting
    assert (await http.patch(settings, json={"lease": 20}, headers=old[settings])).json()["lease"] == 20
    assert (await http.put(limit, json={"concurrency": 2}, headers=old[limit])).json() == {"status": "set"}
    for answer in (
        await http.patch(settings, json={"lease": 30}, headers=old[settings]),
        await http.patch(settings, headers=old[settings]),
        await http.put(limit, json={"concurrency": 3}, headers=old[limit]),
        await http.delete(limit, headers=old[limit]),
    ):
        assert (answer.status_code, answer.json()["code"], answer.json()["may_have_applied"]) == (
            412,
            "ADEQ_STALE",
            False,
        )
    assert ((await queue.settings()).lease, (await queue.limits.get("all")).limit.concurrency) == (20, 2)  # type: ignore[union-attr]
    seen = {"If-Match": (await http.get(limit)).headers["etag"]}
    assert (await http.delete(limit, headers=seen)).json() == {"status": "removed"}
    assert (await http.delete(limit, headers=seen)).status_code == 412
    for condition in ("*", f"W/{seen['If-Match']}", f'"{"0" * 16}", "{"1" * 16}"', f'"{"0" * 32}"', '"r1"', ""):
        for at, verb in ((settings, "PATCH"), (limit, "PUT"), (limit, "DELETE")):
            refused = await http.request(verb, at, json={}, headers={"If-Match": condition})
            assert (refused.status_code, refused.json()["code"]) == (400, "BAD_REQUEST"), condition


async def test_of_many_writers_at_once_one_wins(adeq: Adeq, http: AsyncClient) -> None:
    many = adeq.partitioned("many")
    await many.repartition(3)
    for name, queue in (("mail", adeq.queue("mail")), ("many", many)):
        await queue.enqueue(1)
        at = f"/v1/queues/{name}/settings"
        seen = {"If-Match": (await http.get(at)).headers["etag"]}
        answers = await asyncio.gather(
            *(http.patch(at, json={"max_attempts": most}, headers=seen) for most in range(10, 18))
        )
        assert sorted(answer.status_code for answer in answers) == [200] + 7 * [412], name
        won = next(answer.json()["max_attempts"] for answer in answers if answer.status_code == 200)
        assert (await queue.settings()).max_attempts == won
    parts = [many.part(one.tag) for one in await many.partitions()]
    assert {(await part.settings()).max_attempts for part in parts} == {won}
    none = (await many.limits.get("all")).digest
    assert none == "none"
    assert await many.limits.set("all", concurrency=3, expect=none) == "set"
    with pytest.raises(StaleError):
        await many.limits.remove("all", expect=none)
    assert {(await part.limits.get("all")).limit.concurrency for part in parts} == {3}  # type: ignore[union-attr]


async def test_a_condition_that_cannot_be_checked_is_refused(adeq: Adeq, http: AsyncClient, asking: Ask) -> None:
    await adeq.queue("mail").enqueue(1, id="a")
    condition = {"If-Match": '"x"'}
    for verb, path, body in (
        ("PUT", f"{QUEUE}/shares/ann", {"weight": 2}),
        ("POST", f"{QUEUE}/tasks", {"payload": 1}),
        ("POST", f"{QUEUE}:pause", None),
        ("POST", "/v1/tokens", {}),
        ("POST", f"{QUEUE}/tasks/a:cancel", None),
    ):
        answer = await http.request(verb, path, json=body, headers=condition)
        assert (answer.status_code, answer.json()["code"]) == (400, "IF_MATCH_UNSUPPORTED"), path
    assert await adeq.queue("mail").shares.list() == {}
    stats = await adeq.queue("mail").stats()
    assert (stats.ready, stats.mode) == (1, "running")
    assert (await http.get(f"{QUEUE}/tasks/a", headers=condition)).status_code == 200
    assert (await asking(None).post(f"{QUEUE}/tasks", json={}, headers=condition)).status_code == 401
