"""What the doctor says of webhooks."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq import Adeq
from pyadeq.ext.doctor import events, webhooks
from pyadeq.ext.doctor.facts import gather
from pyadeq.ext.webhooks import Webhooks
from pyadeq.ext.webhooks.endpoints import Failing
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
        adeq.events("queue", "mail").register("webhooks")
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
