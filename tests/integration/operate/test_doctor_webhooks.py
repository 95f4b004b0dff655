"""What the doctor says of webhooks and posts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.ext.operate.doctor import events, examine, webhooks
from pyadeq.ext.operate.doctor.facts import gather
from pyadeq.ext.outgoing.follower import STUCK, Stuck
from pyadeq.ext.outgoing.posts import Posts
from pyadeq.ext.outgoing.webhooks import Webhooks
from pyadeq.ext.outgoing.webhooks.endpoints import Failing
from tests.small_server import server, url

__all__ = ["server", "url"]  # the doctor looks at all keys of a server

pytestmark = pytest.mark.any_engine


def test_endpoints_that_get_nothing(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:

        def found(age: float = 0.0) -> Any:
            facts = gather(adeq, [])
            (read,) = facts.groups or ()
            return webhooks.check(facts.webhooks or {}, [events.Read(read.stream, read.group, age)])

        adeq.queue("mail").enqueue({})
        adeq.events("queue", "mail").add("webhooks")
        assert found() == ("ok", "0 endpoints", "", ())
        hooks = Webhooks(adeq)
        hooks.add("orders", "https://1.1.1.1/", secret="env:NONE", events=["task.*"])
        assert found().found == "1 endpoint"
        assert found(601).found == "events of queue:mail have waited 10 min to be forwarded to webhooks"
        for reason, says in (("http_500", "endpoint orders fails: http_500"), ("secret", "cannot read its secret")):
            adeq.config("_webhooks").set("failing:orders", Failing(since=1, reason=reason).model_dump_json().encode())
            assert (found().status, says in found().found) == ("warn", True)
        hooks.disable("orders", why="410 Gone")
        assert found().found == "endpoint orders is disabled: 410 Gone"


def test_posts_that_nobody_gets(url: str, base_name: str) -> None:
    with Adeq.from_url(url, prefix=base_name) as adeq:

        def found() -> Any:
            facts = gather(adeq, [])
            assert facts.posts
            return webhooks.check_posts(facts.posts, facts.groups or ())

        assert gather(adeq, []).posts is None
        Posts(adeq).add("ops", "json", "https://1.1.1.1/")
        assert found() == ("ok", "1 endpoint", "", ())
        queue = adeq.queue("adeq-posts")
        for reason in ("http_500", "removed"):
            queue.enqueue({})
            (lease,) = queue.claim()
            queue.fail(lease, reason=reason, retryable=False)
        assert (found().status, found().found) == ("warn", "1 post could not be sent")
        config = adeq.config("_posts")
        for at, says in (
            (time.time(), "posts: events of queue:mail cannot be forwarded: odd"),
            (1, "1 post could not"),
        ):
            config.set(STUCK, Stuck(stream="queue:mail", error="odd", at=at).model_dump_json().encode())
            assert found().found.startswith(says)
        report = examine(adeq)
        assert [one.status for one in report.checks if one.name == "posts"] == ["warn"]
