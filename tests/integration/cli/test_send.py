"""`adeq send`: one process sends webhooks and posts."""

import json
import signal
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq.ext.outgoing.posts import Posts
from pyadeq.ext.outgoing.webhooks import Webhooks, new_secret
from tests.integration.outgoing.receivers import Process, allowed, receiving
from tests.waiting import wait_until

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]


def test_one_process_sends_both(url: str, base_name: str, tmp_path: Path) -> None:
    with receiving() as hook, receiving() as chat, Adeq.from_url(url, prefix=base_name) as client:
        Webhooks(client, allowed=allowed(hook)).add("orders", hook.url, secret="env:HOOK", events=["task.dead"])
        Posts(client, allowed=allowed(chat)).add("ops", "json", chat.url)
        process = Process("send", url, base_name, tmp_path / "log", hook, chat, HOOK=new_secret())
        client.queue("mail").enqueue({}, id="a")
        (lease,) = client.queue("mail").claim()
        client.queue("mail").fail(lease, retryable=False)
        wait_until(lambda: hook.seen and chat.seen)
        assert process.end(signal.SIGTERM) == 0
    assert (json.loads(hook.seen[0].body)["type"], json.loads(chat.seen[0].body)["post"]) == ("task.dead", "first")
    log = (tmp_path / "log").read_text()
    assert ("webhooks are sent" in log, "posts are sent" in log, "Traceback" in log) == (True, True, False)
