"""ETags: reads that have changed nothing are 304, and writes that have seen something old are 412."""

import pytest
from httpx import AsyncClient

from pyadeq.asyncio import Adeq, Every

pytestmark = pytest.mark.any_engine
QUEUE = "/v1/queues/mail"
NIGHTLY = f"{QUEUE}/schedules/nightly"
NEW = {"timing": {"period": 3600}, "task": {"payload": 1}}


@pytest.mark.parametrize("path", ["", "/stats", "/settings", "/limits", "/limits/all", "/schedules", "/schedules/s"])
async def test_what_is_still_the_same_is_not_sent_again(adeq: Adeq, http: AsyncClient, path: str) -> None:
    queue = adeq.queue("mail")
    await queue.schedules.put("s", Every(3600), 1)
    first = await http.get(f"{QUEUE}{path}")
    tag = first.headers["etag"]
    for given in (tag, f'W/{tag}, "other"', f'"other", {tag}', "*"):
        again = await http.get(f"{QUEUE}{path}", headers={"If-None-Match": given})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag), given
    assert (await http.get(f"{QUEUE}{path}", headers={"If-None-Match": '"other"'})).json().keys() == first.json().keys()
    await queue.enqueue(1)
    await queue.settings.change(max_attempts=7)
    await queue.limits.set("all", concurrency=3)
    await queue.schedules.put("s", Every(3600), 2)
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


async def test_a_condition_that_cannot_be_checked_is_refused(adeq: Adeq, http: AsyncClient) -> None:
    await adeq.queue("mail").enqueue(1)
    old = {"If-Match": (await http.get(f"{QUEUE}/settings")).headers["etag"]}
    for answer in (
        await http.patch(f"{QUEUE}/settings", json={"max_attempts": 9}, headers=old),
        await http.put(f"{QUEUE}/limits/all", json={"concurrency": 1}, headers=old),
        await http.delete(f"{QUEUE}/limits/all", headers=old),
    ):
        assert (answer.status_code, answer.json()["code"]) == (400, "IF_MATCH_UNSUPPORTED")
    assert (await adeq.queue("mail").settings()).max_attempts != 9
    assert await adeq.queue("mail").limits.list() == []
