"""What the doctor says of change domains."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from pyadeq import Adeq
from pyadeq.access import acl_rules
from pyadeq.ext.operate.doctor import changes, examine
from tests.small_server import server, url

__all__ = ["server", "url"]  # the doctor looks at all keys of a server

pytestmark = pytest.mark.any_engine
MINUTE = 60_000  # ms


@pytest.fixture(autouse=True)
def cleared(base_name: str, client: redis.Redis) -> Iterator[None]:
    """The tests damage their domains, and what is left on the server has to be sound."""
    yield
    client.delete(*client.scan_iter(f"{base_name}:*"))


def found(adeq: Adeq) -> Any:
    (one,) = [check for check in examine(adeq).checks if check.name == "changes"]
    return one


def end_review(client: Any, base: str, minutes: int) -> None:
    """As if the review of change c had been over for that long."""
    at = client.time()[0] * 1000 - minutes * MINUTE
    client.hset(f"{base}:change:c", "timeout_at_ms", at)
    client.zadd(f"{base}:due", {"c": at})


def test_steps_that_no_call_does(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        assert found(adeq).found == "no change domain"
        domain = adeq.changes("d")
        domain.policies.set("one", required=1)
        domain.put("c", type="config", description="a change", actor="ann")
        draft = domain.get("c")
        assert draft is not None
        domain.submit(draft, policy="one", reviewers=["user:bob"], actor="ann")
        assert (found(adeq).status, found(adeq).found) == ("ok", "1 change domain")
        end_review(client, domain.base, 2)
        assert found(adeq).status == "ok", "two minutes are not late"
        end_review(client, domain.base, 180)
        late = found(adeq)
        assert late.status == "warn"
        assert late.found == "change domain d: 1 change with a step that is due, the first for 3 h"
        assert late.how == ["regularly: adeq change sweep --domain d"]
        domain.sweep()
        assert found(adeq).status == "ok"


def test_tasks_that_are_not_delivered(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        domain = adeq.changes("d")
        domain.configure()
        now = client.time()[0] * 1000
        client.zadd(f"{domain.base}:outbox", {"c 3": now})
        assert found(adeq).found == "change domain d: 1 task is not in its queue, because the domain has none"
        domain.configure(follow_queue="jobs")
        assert found(adeq).status == "ok", "it has just been put there"
        client.zadd(f"{domain.base}:outbox", {"c 4": now - 10 * MINUTE})
        late = found(adeq)
        assert late.status == "warn"
        assert late.found == "change domain d: 2 tasks are not in their queue, one of them for 10 min"
        assert late.how == ['regularly, in Python: adeq.changes("d").deliver()']


def test_tasks_that_follow_and_are_dead(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        domain, queue = adeq.changes("d"), adeq.queue("jobs")
        domain.configure(follow_queue="jobs")
        for id in ("d/c/1/x", "other/c/1/x"):
            queue.enqueue(1, id=id)
        for lease in queue.claim("w", limit=2):
            queue.fail(lease, "no", retryable=False)
        dead = found(adeq)
        assert (dead.status, dead.found) == ("warn", "change domain d: 1 dead task in the queue jobs")
        assert dead.how == ["adeq dead ls jobs, and when the cause is repaired: adeq dead retry jobs ID"]
        queue.dead.retry_all()
        assert found(adeq).status == "ok"


def test_the_clock_of_a_test_says_nothing(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name, clock=lambda: 5000) as adeq:
        domain = adeq.changes("d")
        domain.configure(clock="test")
        client.zadd(f"{domain.base}:due", {"c": 1000})
        assert changes.look(adeq, domain.base) is None
        assert found(adeq).status == "ok"


def test_what_a_user_may_do(url: str, base_name: str, client: redis.Redis) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:
        adeq.changes("d").configure()
    user = f"user-{base_name}"
    rules = acl_rules("change.review", prefix=base_name)
    allowed = ["+type", "+acl|dryrun", "+acl|whoami"]
    client.execute_command("ACL", "SETUSER", user, "on", ">secret", *rules, *allowed)  # type: ignore[no-untyped-call]
    try:
        with Adeq.from_url(url, prefix=base_name, username=user, password="secret") as adeq:
            assert found(adeq).found == f"1 change domain; user {user} may look, review"
    finally:
        client.acl_deluser(user)
