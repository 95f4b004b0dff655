"""Ten receivers, while the network loses replies and services end: each event reaches each healthy one, and nothing
reaches an address that is forbidden.
"""

import json
import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook

from pyadeq import Adeq
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.ext.outgoing.webhooks import Allowed, Webhooks, delivery, messages
from tests.conftest import free_port
from tests.integration.conftest import Proxy
from tests.integration.outgoing.receivers import Receiver, certificate_in, raw, receiving, server_tls, status
from tests.integration.outgoing.test_webhooks import SECRET, do, serving, told
from tests.integration.outgoing.test_webhooks import messages as messages_in
from tests.waiting import eventually

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]

TASKS = 8
ENDS = {  # how the messages to those that are not healthy end
    "away": {"connection"},
    "redirecting": {"http_307"},
    "hostile": {"timeout"},
    "rebinding": {"refused"},
    "gone": {"gone", "disabled"},
    "wrong-certificate": {"tls"},
    "closing": {"protocol"},
}
HEALTHY = ("good", "slow", "throttling")


class Throttling:
    """Answers 429 to the first attempt of each message."""

    def __init__(self) -> None:
        self._seen = set[str]()

    def __call__(self, handler: Any) -> None:
        id = handler.headers["webhook-id"]
        status(204 if id in self._seen else 429, Retry_After="0")(handler)
        self._seen.add(id)


def slowly(handler: Any) -> None:
    Event().wait(0.2)
    status(204)(handler)


def drip(handler: Any) -> None:
    """An answer that never begins."""
    while True:
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        Event().wait(0.1)


@pytest.fixture
def rebound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name rebinding.example is that of loopback once, when its endpoint is added, and then of something else."""
    real, answers = socket.getaddrinfo, iter(["127.0.0.1"])

    def look_up(host: Any, *args: Any, **options: Any) -> Any:
        return real(next(answers, "169.254.169.254") if host == "rebinding.example" else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def test_ten_receivers(
    url: str, base_name: str, proxy: Proxy, rebound: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    for module in (delivery, messages):
        monkeypatch.setattr(module, "RETRIES", (0.3,))
    away, ids = free_port(), [f"t{n}" for n in range(TASKS)]
    with ExitStack() as stack, Adeq.from_url(url, prefix=base_name) as client:
        other = stack.enter_context(receiving())
        answers = {
            "good": None,
            "slow": slowly,
            "redirecting": status(307, Location=other.url),
            "hostile": drip,
            "rebinding": None,
            "gone": status(410),
            "throttling": Throttling(),
            "closing": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1"),
        }
        found: dict[str, Receiver] = {id: stack.enter_context(receiving(answer)) for id, answer in answers.items()}
        found["wrong-certificate"] = stack.enter_context(receiving(tls=server_tls(certificate_in(tmp_path))))
        urls = {id: one.url for id, one in found.items()}
        urls["rebinding"] = f"http://rebinding.example:{found['rebinding'].port}/"
        urls["away"] = f"http://127.0.0.1:{away}/"
        ports = [away, other.port, *(one.port for one in found.values())]
        allowed = Allowed.of(["127.0.0.1"], http=True, ports=ports)
        for id, to in urls.items():
            Webhooks(client, allowed=allowed).add(
                id, to, secret="env:HOOK_SECRET", events=["task.completed"], concurrency=8
            )
        options: dict[str, Any] = {"allowed": allowed, "timeout": 5.0}
        proxy.lose_every = 25
        async with AsyncAdeq.from_url(proxy.url, prefix=base_name) as first:
            async with (
                AsyncAdeq.from_url(proxy.url, prefix=base_name) as second,
                serving(second, **options),
            ):
                do(client, *ids[: TASKS // 2])
                await eventually(lambda: found["good"].seen)
            async with serving(first, **options):
                do(client, *ids[TASKS // 2 :])
                await eventually(lambda: set(told(found["good"])) == set(ids))
                waiting = ("ready", "delayed", "blocked", "running", "stalled")
                await eventually(lambda: not any(messages_in(client, state) for state in waiting))
        assert proxy.lost > 0
        ended = messages_in(client)
        states = {
            id: {one.reason if one.state == "dead" else one.state for one in ended if one.user == id} for id in urls
        }
        assert {id: states[id] - ENDS[id] for id in ENDS} == {id: set() for id in ENDS}
        assert {id: states[id] for id in HEALTHY} == {id: {"completed"} for id in HEALTHY}
        count = Counter(one.user for one in ended)
        assert count.pop("gone") <= TASKS
        assert count == dict.fromkeys(urls.keys() - {"gone"}, TASKS), "each event is one message to each endpoint"
        for id in HEALTHY:
            assert set(told(found[id])) == set(ids)
            assert len(set(found[id].ids)) == TASKS
        assert other.seen == found["rebinding"].seen == found["wrong-certificate"].seen == []
        for message in (message for one in found.values() for message in one.seen):
            assert Webhook(SECRET).verify(message.body, message.headers) == json.loads(message.body)
