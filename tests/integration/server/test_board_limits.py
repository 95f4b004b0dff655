"""The page of limits: what is in use, who holds and who waits, and the forms that set limits and weights."""

import html
import re

import pytest

from pyadeq.asyncio import Adeq, Queue
from tests.integration.server.conftest import Ask

pytestmark = pytest.mark.any_engine
API = "/do/v1/queues/mail"


async def full(adeq: Adeq) -> Queue:
    """A queue with a limit of one task at a time of `key:smtp`: a/1 runs, a/2 waits. Both hide nothing; s/1 does."""
    queue = adeq.queue("mail")
    await queue.limits.set("key:smtp", concurrency=1)
    await queue.limits.set("user:*", concurrency=9, starts=30, period=60)
    for id in ("a/1", "a/2"):
        await queue.enqueue(1, id=id, limits=["smtp"], user="ann")
    await queue.enqueue(1, id="s/1", user="secret-user", tier="restricted")
    assert len(await queue.claim("w1", 3)) == 2
    return queue


async def test_limits_are_shown_with_their_holders_and_waiters(adeq: Adeq, asking: Ask) -> None:
    await full(adeq)
    http = asking("queue.observe", names=("mail",))
    for path in ("/limits", "/limits?queue=mail"):
        text = (await http.get(path)).text
        assert '<span class="tag warn">full</span>' in text
        assert "each by itself" in text
        assert API not in text
    text = (await http.get("/limits?queue=mail&key=key:smtp")).text
    running, waiting = text.index("Running tasks of this key"), text.index("Tasks that wait for it")
    assert running < text.index("/queues/mail/tasks/a%2F1") < waiting < text.index("/queues/mail/tasks/a%2F2")
    text = (await http.get("/limits?queue=mail&key=all")).text
    assert "/queues/mail/tasks/s%2F1" in text
    assert "secret-user" not in text
    assert "The limit <code>user:*</code> applies" in (await http.get("/limits?queue=mail&key=user:ann")).text
    of_secret = (await http.get("/limits?queue=mail&key=user:secret-user")).text
    assert "s%2F1" not in of_secret  # or one could ask for users until one fits
    assert (await http.get("/limits?queue=mail&key=%3Cb%3E")).status_code == 400
    assert (await http.get("/limits?queue=news")).status_code == 404


async def test_forms_set_and_remove_limits_and_weights(adeq: Adeq, asking: Ask) -> None:
    queue = await full(adeq)
    http = asking("operator")
    text = (await http.get("/limits?queue=mail")).text
    for action in (f"{API}/limits/-", f"{API}/limits/key%3Asmtp", f"{API}/shares/-"):
        assert f'action="{action}"' in text
    form = {"_method": "PUT", "_id": "user:ann", "concurrency:int": "2", "starts:int": "", "policy": "reject"}
    assert (await http.post(f"{API}/limits/-", data=form)).status_code == 303
    limit = (await queue.limits.get("user:ann")).limit
    assert limit
    assert (limit.key, limit.concurrency, limit.rate, limit.policy) == ("user:ann", 2, None, "reject")
    removed = {"_method": "DELETE", "_next": "/limits?queue=mail", "_said": "key:smtp is removed."}
    assert (await http.post(f"{API}/limits/key%3Asmtp", data=removed)).status_code == 303
    assert "key:smtp is removed." in html.unescape((await http.get("/limits?queue=mail")).text)
    assert [one.key for one in await queue.limits.list()] == ["user:*", "user:ann"]
    weight = {"_method": "PUT", "_id": "ann", "weight:float": "2.5"}
    assert (await http.post(f"{API}/shares/-", data=weight)).status_code == 303
    assert await queue.shares.list() == {"ann": 2.5}
    assert '<td class="n">2.5</td>' in (await http.get("/limits?queue=mail")).text


async def test_two_operators_do_not_overwrite_each_other(adeq: Adeq, asking: Ask) -> None:
    queue = await full(adeq)
    await queue.limits.set("tag:x", starts=3, burst=5)
    http, at = asking("operator"), "/limits?queue=mail"
    text = (await http.get(at)).text
    assert re.search('name="starts:int"[^>]* value="30"', text)  # of user:*, 30 in 60 seconds
    seen = re.search('action="/do/v1/queues/mail/limits/tag%3Ax"[^§]*?name="_match" value="(.*?)"', text)
    assert seen
    form = {"_method": "PUT", "_match": seen[1], "_next": at, "starts:int": "3", "period:float": "1", "burst:int": "9"}
    assert (await http.post(f"{API}/limits/tag%3Ax", data=form)).status_code == 303
    for late in (form | {"burst:int": "7"}, {"_method": "DELETE", "_match": seen[1], "_next": at}):
        refused = await http.post(f"{API}/limits/tag%3Ax", data=late)
        assert refused.status_code == 412
        assert "Back to the page, as it is now" in refused.text
    new = {"_method": "PUT", "_match": "none", "_id": "tag:x", "concurrency:int": "1"}
    assert (await http.post(f"{API}/limits/-", data=new)).status_code == 412
    limit = (await queue.limits.get("tag:x")).limit
    assert limit
    assert (limit.concurrency, round(limit.rate or 0, 3), limit.burst) == (None, 3, 9)
    assert 'value="9"' in (await http.get(at)).text


async def test_a_reader_sets_no_limit(adeq: Adeq, asking: Ask) -> None:
    queue = await full(adeq)
    before = await queue.limits.list()
    http = asking("observer")
    form = {"_method": "PUT", "_id": "all", "concurrency:int": "1"}
    assert (await http.post(f"{API}/limits/-", data=form)).status_code == 403
    assert (await http.post(f"{API}/limits/key%3Asmtp", data={"_method": "DELETE"})).status_code == 403
    weight = {"_method": "PUT", "_id": "ann", "weight:float": "2"}
    assert (await http.post(f"{API}/shares/-", data=weight)).status_code == 403
    assert await queue.limits.list() == before


async def test_a_limit_of_a_queue_in_partitions_is_added_up(adeq: Adeq, asking: Ask) -> None:
    queue = adeq.partitioned("many")
    await queue.repartition(2)
    await queue.limits.set("all", concurrency=9)
    for number in range(6):
        await queue.enqueue(1, id=f"t{number}")
    assert len(await queue.claim("w1", 6)) == 6
    page = (await asking().get("/limits?queue=many&key=all")).text
    assert "<b>6</b>in use" in page
    assert "Each of the 3 partitions counts its own tasks." in page
